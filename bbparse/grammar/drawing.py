"""Drawings of phrase-structure trees: as text and as SVG."""

from __future__ import annotations

from bbparse.grammar.trees import PhraseTree
from bbparse.treebank.drawing.layout import text_width
from bbparse.treebank.drawing.svg import markup

_SIZE, _ROW, _GAP = 14.0, 44.0, 14.0


def draw_phrases(tree: PhraseTree) -> str:
    """Draw a tree with a phrase or a word on each line, children indented below their phrase."""
    lines = [tree.label]

    def draw(node: PhraseTree, indent: str) -> None:
        for i, child in enumerate(node.children):
            last = i == len(node.children) - 1
            lines.append(f"{indent}{'└─' if last else '├─'}{child.label} {child.word}".rstrip())
            draw(child, indent + ("  " if last else "│ "))

    draw(tree, "")
    return "\n".join(lines) + "\n"


def phrases_svg(tree: PhraseTree) -> str:
    """Draw a tree as SVG: phrases above their children, words in a row at the bottom."""
    shapes: list[str] = []
    edge = _GAP
    depth = _depth(tree)

    def text(x: float, y: float, label: str, kind: str) -> None:
        shapes.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{markup(label)}</text>')

    def draw(node: PhraseTree, level: int) -> tuple[float, float]:
        nonlocal edge
        if not node.children:
            half = max(text_width(s, _SIZE) for s in (node.word, node.label)) / 2
            x, y = edge + half, _ROW * depth
            edge += 2 * half + _GAP
            text(x, y + 20, node.word, "word")
        else:
            positions = [draw(child, level + 1) for child in node.children]
            x, y = (positions[0][0] + positions[-1][0]) / 2, _ROW * (level + 1)
            for to_x, to_y in positions:
                shapes.append(f'<path d="M{x:.1f} {y + 5:.1f}L{to_x:.1f} {to_y - _SIZE:.1f}"/>')
        text(x, y, node.label, "label")
        return x, y

    draw(tree, 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{edge:.0f}"'
        f' height="{_ROW * depth + 32:.0f}" role="img" font-family="sans-serif"'
        f' font-size="{_SIZE:g}" text-anchor="middle"><title>{markup(str(tree))}</title>'
        "<style>path{stroke:#888;fill:none}.label{fill:#1456a0}</style>"
        f"{''.join(shapes)}</svg>\n"
    )


def _depth(tree: PhraseTree) -> int:
    return 1 + max(map(_depth, tree.children), default=0)
