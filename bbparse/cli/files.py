"""The kind of argument that is a file, so that shells complete its name.

Whether it can be read or written is for what reads or writes it to say, in words of our own.
"""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

FILE = click.Path(readable=False, allow_dash=True)


class FileOrName(click.Path):
    """A file, or the name of something that comes with the package."""

    def __init__(self, names: Callable[[], list[str]]) -> None:
        super().__init__(readable=False)
        self.names = names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names that go on so; files where there is none."""
        found = [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]
        # shells complete files themselves, and show nothing else then
        return found if found and incomplete else super().shell_complete(ctx, param, incomplete)
