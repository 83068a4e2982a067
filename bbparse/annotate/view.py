"""Records that the page draws: a sentence with one of its trees."""

from __future__ import annotations

from typing import Any

from bbparse.annotate.completion import Tree
from bbparse.annotate.treebank import Entry, Treebank
from bbparse.show.layout import Arc, lay_out, printable, runs_to_the_left
from bbparse.treebank import Sentence

#: Longest form and label that are drawn in full; the panel shows all of them.
_LONGEST = 24


def row(treebank: Treebank, index: int) -> dict[str, Any]:
    """Return the row of a sentence in the list; what is not known yet is None."""
    entry = treebank.entries[index]
    known = entry.summary
    return {
        "index": index, "name": entry.base.name, "text": entry.base.written[:160],
        "words": entry.base.n_words, "state": treebank.state(entry), "revision": entry.revision,
        "sure": known and round(known.sure, 4), "least": known and round(known.least, 4),
        "broken": known and list(known.broken),
    }  # fmt: skip


def rows(treebank: Treebank, since: int) -> list[dict[str, Any]]:
    """Return the rows of the sentences that changed after a value of ``changes``; -1: of all."""
    with treebank.lock:
        changed = (i for i, entry in enumerate(treebank.entries) if entry.changed > since)
        return [row(treebank, i) for i in changed]


def search(treebank: Treebank, by: str, text: str) -> list[int]:
    """Return the indices of sentences with a form (or part of one) or with a relation."""
    text = text.casefold()
    with treebank.lock:
        found = []
        for i, entry in enumerate(treebank.entries):
            labels = entry.summary.labels if entry.summary else entry.base.deprels
            if (
                any(text in form.casefold() for form in entry.base.forms)
                if by == "form"
                else any(text in (label, label.partition(":")[0]) for label in labels)
            ):
                found.append(i)
        return found


def sentence_view(treebank: Treebank, index: int, number: int = 0) -> dict[str, Any]:
    """Return the record of a sentence with its tree of a number, from 0, the current one.

    If no tree has the number, the last one is shown.
    """
    with treebank.lock:
        entry = treebank.entries[index]
        trees = treebank.trees(index, number + 1)
        number = min(number, len(trees) - 1)
        tree, sentence = trees[number], treebank.tagged(entry)
        marks = entry.step.marks
        words = []
        columns = zip(
            sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats,
            tree.heads, tree.labels, tree.sure,
        )  # fmt: skip
        for m, (form, lemma, upos, xpos, feats, head, label, sure) in enumerate(columns, start=1):
            fixed = marks.fixed.get(m)
            is_fixed = fixed is not None and fixed[0] == head and fixed[1] in ("", label)
            words.append(
                {
                    "form": printable(form), "lemmas": lemma, "upos": upos, "xpos": xpos,
                    "feats": feats, "head": head, "label": label, "sure": round(sure, 4),
                    "fixed": is_fixed, "named": is_fixed and fixed == (head, label),
                }
            )  # fmt: skip
        return {
            **row(treebank, index), **_drawing(sentence, tree, trees[0] if number else None),
            "proved": tree.proved, "complaint": tree.complaint, "cells": words, "tree": number,
            "sure": round(tree.sure_of_all, 4),
            "rtl": runs_to_the_left(sentence.forms), "written": sentence.written,
            "forbidden": sorted(map(list, marks.forbidden)),
            "faults": [rule._asdict() for rule in treebank.broken(index, tree)],
            "undo": entry.at, "redo": len(entry.steps) - 1 - entry.at,
            "saved": treebank.is_saved, "trouble": treebank.trouble, **_others(entry),
        }  # fmt: skip


def _drawing(sentence: Sentence, tree: Tree, against: Tree | None) -> dict[str, Any]:
    """Place the words and arcs; arcs that only another tree has lie below the words."""
    arcs = [
        Arc(head, m, label[:_LONGEST])
        for m, (head, label) in enumerate(zip(tree.heads, tree.labels), start=1)
        if head >= 0 and head != m
    ]
    if against is not None:
        known = {(arc.head, arc.mod, arc.label) for arc in arcs}
        others = {
            (head, m, label[:_LONGEST])
            for m, (head, label) in enumerate(zip(against.heads, against.labels), start=1)
        }
        for arc in arcs:
            if (arc.head, arc.mod, arc.label) not in others:
                arc.classes = "new"
        arcs += [Arc(*arc, below=True) for arc in sorted(others - known) if arc[0] >= 0]
    layout = lay_out([printable(form)[:_LONGEST] for form in sentence.forms], arcs, sentence.upos)
    return {
        "width": round(layout.width), "height": round(layout.height), "baseline": layout.baseline,
        "centres": [round(x, 1) for x in layout.centres],
        "arcs": [
            {
                "head": p.arc.head, "mod": p.arc.mod, "label": p.arc.label, "below": p.arc.below,
                "new": p.arc.classes == "new", "start": round(p.start, 1), "end": round(p.end, 1),
                "foot": p.foot, "top": p.top,
            }
            for p in layout.arcs
        ],
    }  # fmt: skip


def _others(entry: Entry) -> dict[str, Any]:
    """Return the lines of a sentence that are no words: they are shown and never changed."""
    words = set(entry.base.word_lines)
    lines = [
        line.rstrip("\r") for i, line in enumerate(entry.base.lines) if i not in words
    ]  # fmt: skip
    rows = [line.split("\t")[:2] for line in lines if not line.startswith("#")]
    return {
        "comments": [line for line in lines if line.startswith("#")],
        "tokens": [
            [*map(int, name.rpartition("_")[2].split("-")), form] for name, form in rows
            if "-" in name
        ],
        "empty": [[int(name.partition(".")[0]), form] for name, form in rows if "." in name],
    }  # fmt: skip


def options_view(treebank: Treebank, index: int, word: int, number: int) -> dict[str, Any]:
    """Return the likely heads of a word and the labels of its arc, with probabilities."""
    with treebank.lock:
        trees = treebank.trees(index, number + 1)
        tree = trees[min(number, len(trees) - 1)]
        if tree.complaint or not 1 <= word <= len(tree.heads):
            return {"heads": [], "labels": []}
        sentence = treebank.tagged(treebank.entries[index])
        heads, labels = treebank.completer.options(sentence, tree.heads, word)
        return {"heads": heads[:9], "labels": labels}
