"""The kind of argument that is a file, so that shells complete its name.

Whether it can be read or written is for what reads or writes it to say, in words of our own.
"""

from __future__ import annotations

import click

FILE = click.Path(readable=False, allow_dash=True)
