"""An annotator's decisions about a sentence: fixed and forbidden arcs, edges, edited cells."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bbparse.models.graph.enhancer import Graph
from bbparse.treebank.graph import WordEdge, format_deps, read_graph
from bbparse.treebank.sentence import NO_HEAD, Sentence
from bbparse.treebank.writing import format_sentence, with_columns

#: Columns that can be edited.
COLUMNS = ("lemmas", "upos", "xpos", "feats")
#: Maximum number of characters of a label, a tag, features or a lemma.
MAX_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class Act:
    """One act of the annotator on a sentence."""

    kind: (
        Literal["fix", "forbid", "release", "fix-edge", "release-edge"]
        | Literal["accept", "cell", "undo", "redo"]
    )
    revision: int  #: Revision of the sentence that the annotator saw.
    word: int = 0
    head: int = 0
    label: str = ""
    column: str = ""
    value: str = ""
    tree: int = 0  #: Number of the tree that the annotator saw.


@dataclass(frozen=True, slots=True)
class Marks:
    """Decisions about the words of a sentence; words are numbered from 1."""

    #: Word → its head and label; an empty label means that only the head is fixed.
    fixed: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    forbidden: frozenset[tuple[int, int]] = frozenset()  #: Arcs (head, word).
    edges: frozenset[WordEdge] = frozenset()  #: Edges of the graph; '' is any label.
    #: (column, word) → new value.
    cells: Mapping[tuple[str, int], str] = field(default_factory=dict)

    @classmethod
    def of_file(cls, sentence: Sentence, suggest_only: bool) -> Marks:
        """Fix all arcs of a sentence if some are missing, or all are suggestions; else none."""
        if sentence.has_heads and not suggest_only:
            return cls()
        rows = enumerate(zip(sentence.heads, sentence.deprels), start=1)
        return cls(
            {
                m: (head, "" if label == "_" else label)
                for m, (head, label) in rows
                if head != NO_HEAD
            }
        )

    def arcs(self, n: int) -> list[tuple[int, str]]:
        """Return the fixed head and label of each of n words; -1 and ``_`` if they are open."""
        fixed = (self.fixed.get(m, (NO_HEAD, "")) for m in range(1, n + 1))
        return [(head, label or "_") for head, label in fixed]

    def allow(self, heads: Sequence[int], labels: Sequence[str]) -> bool:
        """Return True if a tree has all fixed arcs and no forbidden one."""
        keeps = all(
            heads[m - 1] == head and label in ("", labels[m - 1])
            for m, (head, label) in self.fixed.items()
        )
        return keeps and self.forbidden.isdisjoint((head, m) for m, head in enumerate(heads, 1))

    def with_fixed(self, arcs: Mapping[int, tuple[int, str]]) -> Marks:
        """Fix the arcs of some words, even if they were forbidden."""
        allowed = {(head, m) for m, (head, _) in arcs.items()}
        return replace(self, fixed={**self.fixed, **arcs}, forbidden=self.forbidden - allowed)

    def after(self, act: Act) -> Marks:
        """Return the marks after an act on a word; a release without a word frees all arcs."""
        word, arc = act.word, (act.head, act.word)
        match act.kind:
            case "fix":
                return self.with_fixed({word: (act.head, "" if act.label == "_" else act.label)})
            case "forbid":
                fixed = {m: own for m, own in self.fixed.items() if (own[0], m) != arc}
                return replace(self, fixed=fixed, forbidden=self.forbidden | {arc})
            case "release":
                fixed = {m: own for m, own in self.fixed.items() if word and m != word}
                others = frozenset(x for x in self.forbidden if word and x[1] != word)
                edges = frozenset(edge for edge in self.edges if word and edge.dependent != word)
                return replace(self, fixed=fixed, forbidden=others, edges=edges)
            case "fix-edge" | "release-edge":
                edges = frozenset(e for e in self.edges if (e.head, e.dependent) != arc)
                new = {WordEdge(act.head, act.label, word)} if act.kind == "fix-edge" else set()
                return replace(self, edges=edges | new)
            case "cell":
                cells = {**self.cells, (act.column, word): act.value or "_"}
                return replace(self, cells=cells)
        return self

    def rewritten(self, sentence: Sentence) -> Sentence:
        """Return a sentence with the edited values; `ValueError` if one cannot be written."""
        columns: dict[str, list[str]] = {}
        for (column, word), value in self.cells.items():
            columns.setdefault(column, list(getattr(sentence, column)))[word - 1] = value
        return with_columns(sentence, **columns) if columns else sentence

    def record(self) -> dict[str, Any]:
        """Return the marks as a JSON object."""
        return {
            "fixed": [[m, *arc] for m, arc in sorted(self.fixed.items())],
            "forbidden": sorted(map(list, self.forbidden)),
            "edges": sorted(map(list, self.edges)),
            "cells": [[*place, value] for place, value in sorted(self.cells.items())],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], n: int) -> Marks:
        """Read marks of n words from a record; `ValueError` for marks that no act makes."""

        def word(value: object) -> int:
            return whole(value, 1, n)

        def head(value: object, m: object) -> int:
            if value == m:
                raise ValueError
            return whole(value, 0, n)

        return cls(
            {word(m): (head(h, m), checked_entry("label", x)) for m, h, x in record["fixed"]},
            frozenset((head(h, m), word(m)) for h, m in record["forbidden"]),
            frozenset(
                WordEdge(head(h, m), checked_entry("edge", x), word(m))
                for h, x, m in record.get("edges", ())
            ),
            {
                (COLUMNS[COLUMNS.index(column)], word(m)): checked_entry(column, value) or "_"
                for column, m, value in record["cells"]
            },
        )


def whole(value: object, low: int, high: int) -> int:
    """Return an integer of a journal; `ValueError` if it is none or out of range."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError
    return value


def checked_entry(title: str, value: str) -> str:
    """Return what an annotator entered, or raise `ValueError`; only lemmas contain blanks."""
    if not isinstance(value, str):
        raise ValueError(f"{title}: expected text")
    if len(value) > MAX_LENGTH:
        raise ValueError(f"{title}: found {len(value):,} characters, expected at most {MAX_LENGTH}")
    if title == "edge" and "|" in value:  # as an item of MISC it would be two
        raise ValueError(f"{title}: found '|', expected a label")
    for i, c in enumerate(value):
        category = unicodedata.category(c)
        is_inner_blank = title == "lemmas" and category == "Zs" and 0 < i < len(value) - 1
        if category in ("Cc", "Cs", "Zl", "Zp") or (c.isspace() and not is_inner_blank):
            raise ValueError(
                f"{title}: found the character {c!r}, expected text without control characters and"
                f" blanks{' at its ends' if title == 'lemmas' else ''}"
            )
    return value


def written(
    base: Sentence,
    tagged: Sentence,
    marks: Marks,
    heads: Sequence[int],
    labels: Sequence[str],
    graph: Graph,
) -> str:
    """Return the text of the sentence `base` with marks, a tree, and the tags of `tagged`.

    If the tree is a new one, the edges of its ``graph``, if any, replace those of the sentence.
    """
    sentence = marks.rewritten(tagged)
    if list(heads) == base.heads and list(labels) == base.deprels:
        return format_sentence(sentence)
    deps = [*map(format_deps, graph)] if read_graph(base) else []
    return format_sentence(sentence, heads, labels, deps=deps)
