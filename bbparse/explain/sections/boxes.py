"""What several sections stand in."""

from __future__ import annotations

from bbparse.show.svg import markup


def box(inner: str, label: str) -> str:
    """A box that scrolls by itself, by keyboard, too."""
    return f'<div class="box" role="region" tabindex="0" aria-label="{markup(label)}">{inner}</div>'
