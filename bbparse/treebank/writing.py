"""Write CoNLL-U and CoNLL-X: the lines that were read, with new heads and labels."""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import IO, Any

from bbparse.runtime.output import open_output
from bbparse.treebank.sentence import NO_HEAD, Sentence, checked_column

#: Comments that `bbparse.treebank.drawing.formats.conllu_of` writes about a tree.
_OF_A_TREE = re.compile(
    r"# (tree = \d+ of \d+|(score|upper_bound) = (-?\d+\.\d{6}|inf)|proved = (yes|no)"
    r"|confidence = [01]\.\d{4}|broken_rule = .*)\r?$"
)
_COLUMNS = {"lemmas": 2, "upos": 3, "xpos": 4, "feats": 5}


def format_sentence(
    sentence: Sentence,
    heads: Sequence[int] | None = None,
    deprels: Sequence[str] | None = None,
    *,
    comments: Sequence[str] = (),
    confidences: Sequence[float] = (),
    deps: Sequence[str] = (),
    first: bool = True,
    last: bool = True,
) -> str:
    """Format a sentence with the line breaks around it, and optionally a new HEAD and DEPREL.

    Only lines of words whose head or label differs change, as in `with_tree`; comments about the
    score, proof and confidence of an earlier tree go. Without heads (-1 is written as ``_``) and
    deprels, the result is the text that was read. Comments, with or without the ``# `` before them,
    follow those of the sentence. Confidences are written into MISC as ``Confidence=0.97``, if the
    words have that column. ``deps`` replaces DEPS, and the empty nodes go. To write several trees
    of one sentence, set `first` for the first and `last` for the last of them only, so that the
    text around the sentence is written once.

    `ValueError` if the length of a column differs from the sentence, a head is out of range, or a
    label or comment has a tab or line break in it.
    """
    lines = sentence.lines
    if heads is not None or deprels is not None:
        sentence = _without_old_comments(sentence)
        heads = sentence.heads if heads is None else heads
        labels = sentence.deprels if deprels is None else deprels
        lines = _tree_lines(sentence, heads, labels, deps)
        for i, confidence in zip(sentence.word_lines, confidences):
            if lines[i].count("\t") == 9:
                lines[i] = with_misc(lines[i], "Confidence", f"{confidence:.2f}")
        if deps and len(lines) > sentence.word_lines[0] + len(sentence.word_lines):
            lines = [line for line in lines if line[0] == "#" or "." not in line.split("\t", 1)[0]]
    if comments:
        start = 0
        while start < len(lines) and lines[start].startswith("#"):
            start += 1
        end_of_line = "\r" if lines[0].endswith("\r") else ""
        new_comments = []
        for comment in comments:
            if "\n" in comment or "\r" in comment:
                raise ValueError(f"comments: expected one line each, found {comment!r}")
            new_comments.append(("" if comment.startswith("#") else "# ") + comment + end_of_line)
        lines = [*lines[:start], *new_comments, *lines[start:]]
    before = sentence.before if first else ""
    after = sentence.after if last else _whole_break(sentence)
    return before + "\n".join(lines) + after


def _whole_break(sentence: Sentence) -> str:
    """Return the text after a sentence that another one follows: at least one blank line."""
    after = sentence.after
    if after.count("\n") >= 2:
        return after
    if sentence.lines[0].endswith("\r"):
        # A last line without a line break had no carriage return either.
        return "\n\r\n" if sentence.lines[-1].endswith("\r") else "\r\n\r\n"
    return "\n\n"


def with_misc(line: str, key: str, value: str) -> str:
    """Set ``KEY=VALUE`` in the MISC column of a line, in place of old values; '' removes them."""
    before, tab, misc = line.rpartition("\t")
    end = "\r" if misc.endswith("\r") else ""
    items = [item for item in misc.rstrip("\r").split("|") if not item.startswith(f"{key}=")]
    items = [item for item in items if item != "_"] + [f"{key}={value}"] * bool(value)
    return before + tab + ("|".join(items) or "_") + end


def _head_texts(sentence: Sentence, heads: Sequence[int]) -> list[str]:
    n = len(sentence.forms)
    if len(heads) != n:
        raise ValueError(f"heads: expected {n} values, found {len(heads)}")
    if not (min(heads) >= NO_HEAD and max(heads) <= n):
        i, head = next((i, h) for i, h in enumerate(heads) if not NO_HEAD <= h <= n)
        raise ValueError(f"heads[{i}]: expected -1 to {n}, found {head}")
    return ["_" if head == NO_HEAD else str(head) for head in heads]


def write_conllu(target: str | os.PathLike[str] | IO[str], sentences: Iterable[Sentence]) -> int:
    """Write sentences with their lines as they now are; return the number of sentences.

    A path is written completely or not at all (see `open_output`, which also names the errors). A
    text file should have been opened with ``newline=""``, or line breaks may be translated. A
    missing blank line between two sentences is added.
    """
    if isinstance(target, str | os.PathLike):
        with open_output(target) as stream:
            return write_conllu(stream, sentences)
    count = 0
    for sentence, following in pairwise(chain(sentences, [None])):
        if sentence is not None:
            target.write(format_sentence(sentence, last=following is None))
            count += 1
    return count


def with_columns(
    sentence: Sentence,
    *,
    lemmas: Sequence[str] | None = None,
    upos: Sequence[str] | None = None,
    xpos: Sequence[str] | None = None,
    feats: Sequence[str] | None = None,
) -> Sentence:
    """Return a copy with new columns in its lists and lines; `likely_tags` go with the tags."""
    given = {"lemmas": lemmas, "upos": upos, "xpos": xpos, "feats": feats}
    columns: dict[str, Any] = {
        title: checked_column(title, column, sentence.n_words)
        for title, column in given.items()
        if column is not None
    }
    lines = sentence.lines.copy()
    for i, line in enumerate(sentence.word_lines):
        cells = lines[line].split("\t")
        for title, column in columns.items():
            cells[_COLUMNS[title]] = column[i]
        lines[line] = "\t".join(cells)
    if columns.keys() & {"upos", "xpos", "feats"}:
        columns["likely_tags"] = None
    return replace(sentence, lines=lines, **columns)


def with_tree(sentence: Sentence, heads: Sequence[int], deprels: Sequence[str]) -> Sentence:
    """Return a copy of a sentence with another tree; only words that change have other lines.

    DEPS stays, too, but for the entry of the old arc (``5:obl`` or ``5:obl:in``) in a word that
    changes, which becomes that of the new arc. What follows the label in DEPS stays if the label
    does. Other entries, and those of empty nodes, stay. In a word that changes, ``Confidence=`` in
    MISC goes; PHEAD and PDEPREL of CoNLL-X, which have no such entry, become ``_``. Comments about
    the score, proof and confidence of an earlier tree go.

    `ValueError` as in `format_sentence`.
    """
    sentence = _without_old_comments(sentence)
    lines = _tree_lines(sentence, heads, deprels)
    return replace(sentence, lines=lines, heads=list(heads), deprels=list(deprels))


def _without_old_comments(sentence: Sentence) -> Sentence:
    """Return a sentence without comments about the tree that it has had."""
    old = [
        i for i, line in enumerate(sentence.lines) if line[:2] == "# " and _OF_A_TREE.match(line)
    ]
    if not old:
        return sentence
    lines = [line for i, line in enumerate(sentence.lines) if i not in old]
    return replace(
        sentence, lines=lines, word_lines=[i - bisect(old, i) for i in sentence.word_lines]
    )


def _tree_lines(
    sentence: Sentence, heads: Sequence[int], deprels: Sequence[str], deps: Sequence[str] = ()
) -> list[str]:
    """Return the lines of a sentence with another tree, and other DEPS if any; see `with_tree`."""
    lines, texts = sentence.lines.copy(), _head_texts(sentence, heads)
    labels = checked_column("deprels", deprels, len(texts))
    is_changed = is_apart = False
    for m, (line, head, label) in enumerate(zip(sentence.word_lines, texts, labels)):
        cells = lines[line].split("\t")
        if "Confidence=" in cells[-1] and (cells[6] != head or cells[7] != label):
            cells = with_misc(lines[line], "Confidence", "").split("\t")
        if deps and not cells[8].isdecimal():
            cells[6:9] = head, label, deps[m]
            lines[line] = "\t".join(cells)
        elif cells[6] != head or cells[7] != label:
            if cells[8].isdecimal():
                cells[8:] = ["_", "_\r" if cells[9].endswith("\r") else "_"]
            cells[8] = _with_edge(cells[8], (cells[6], cells[7]), (head, label))
            cells[6], cells[7] = head, label
            lines[line] = "\t".join(cells)
            is_changed = True
        # A graph that has all arcs of the tree reaches every word.
        is_apart |= f"|{head}:" not in f"|{cells[8]}"
    if is_changed and is_apart:
        _connect(lines, sentence.word_lines)
    return lines


def _connect(lines: list[str], word_lines: Sequence[int]) -> None:
    """Add arcs of the tree to DEPS, wherever the root of the graph reaches a word by no path."""
    nodes = {}
    for line in lines:
        cells = line.split("\t")
        if len(cells) == 10 and ":" in cells[8] and not line.startswith("#"):
            nodes[cells[0]] = {edge.partition(":")[0] for edge in cells[8].split("|")}
    reached, words = {"0"}, {lines[i].partition("\t")[0]: i for i in word_lines}
    while nodes:
        new = {node for node, heads in nodes.items() if heads & reached}
        if not new:
            cells = next(
                (
                    cells
                    for node in nodes
                    if node in words
                    if (cells := lines[words[node]].split("\t"))[6] in reached
                ),
                [],
            )
            if not cells:
                return
            edges = [edge.partition(":") for edge in (*cells[8].split("|"), ":".join(cells[6:8]))]
            cells[8] = _sorted(edges)
            lines[words[cells[0]]] = "\t".join(cells)
            new = {cells[0]}
        reached |= new
        for node in new:
            del nodes[node]


def _with_edge(deps: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """Replace the arc of the tree in DEPS; entries stay sorted by head."""
    edges = [edge.partition(":") for edge in deps.split("|")]
    for place, (head, colon, label) in enumerate(edges):
        if colon and head == old[0] and f"{label}:".startswith(f"{old[1]}:"):
            subtype = label[len(old[1]) :] if new[1] == old[1] else ""
            edges[place : place + 1] = [(new[0], colon, new[1] + subtype)] * (new[0] != "_")
            return _sorted(edges)
    return deps


def _sorted(edges: Iterable[tuple[str, str, str]]) -> str:
    return "|".join("".join(edge) for edge in sorted({*edges}, key=_by_head)) or "_"


def _by_head(edge: tuple[str, str, str]) -> tuple[list[int], str]:
    return [int(part) if part.isdecimal() else 0 for part in edge[0].split(".")], edge[2]
