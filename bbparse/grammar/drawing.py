"""Drawings of phrase-structure trees as text."""

from __future__ import annotations

from bbparse.grammar.trees import PhraseTree


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
