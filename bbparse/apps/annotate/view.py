"""JSON records for the page: sentences with their trees, and lists of them."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from typing import Any

from bbparse.apps.annotate.completion import BrokenRule, Likely, RatedTree
from bbparse.apps.annotate.marks import Marks
from bbparse.apps.annotate.treebank import Entry, Treebank
from bbparse.models.graph.enhancer import Graph
from bbparse.treebank import NO_HEAD, Sentence
from bbparse.treebank.drawing.layout import printable, runs_to_the_left
from bbparse.treebank.drawing.svg import (
    compared_arcs,
    describe_tree,
    draw_arcs,
    graph_arcs,
    tree_arcs,
)
from bbparse.treebank.sentence import multiword_tokens

#: Maximum length of a form or label in the drawing; the panel shows them in full.
_LONGEST = 24
#: Probabilities at which the colour of arcs changes.
_GRADES = (0.5, 0.8, 0.95)


def percent(probability: float) -> str:
    """Format a probability; only certainty is shown as 0 % or 100 %."""
    if 0 < probability < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= probability < 1 else f"{100 * probability:.0f} %"


def row(treebank: Treebank, index: int) -> dict[str, Any]:
    """Return the row of a sentence in the list; values not known yet are None."""
    entry = treebank.entries[index]
    tree, broken = entry.tree, [rule.name for rule in entry.broken]
    if tree and tree.complaint and not broken:
        broken = ["no-tree"]
    return {
        "index": index,
        "name": entry.base.name,
        "text": entry.base.written[:160],
        "words": entry.base.n_words,
        "state": treebank.state(entry),
        "revision": entry.revision,
        "sure": tree and round(tree.confidence, 4),
        "least": tree and round(min(tree.confidences), 4),
        "broken": tree and broken,
    }


def rows(treebank: Treebank, since: int) -> list[dict[str, Any]]:
    """Return the rows of sentences that changed after a value of ``changes``; -1: all rows."""
    with treebank.lock:
        changed = (i for i, entry in enumerate(treebank.entries) if entry.changed > since)
        return [row(treebank, i) for i in changed]


def search(treebank: Treebank, by: str, text: str) -> list[int]:
    """Return the indices of sentences with a form (or part of one) or with a relation."""
    text = text.casefold()

    def is_found(entry: Entry) -> bool:
        if by == "form":
            return any(text in form.casefold() for form in entry.base.forms)
        labels = entry.tree.labels if entry.tree else entry.base.deprels
        return any(text in (label, label.partition(":")[0]) for label in labels)

    with treebank.lock:
        return [i for i, entry in enumerate(treebank.entries) if is_found(entry)]


def sentence_view(treebank: Treebank, index: int, number: int = 0) -> dict[str, Any]:
    """Return the record of a sentence with tree `number` or its last one; 0: the current tree."""
    with treebank.lock:
        entry = treebank.entries[index]
        trees = treebank.trees(index, number + 1)
        number = min(number, len(trees) - 1)
        tree, sentence, marks = trees[number], treebank.tagged(entry), entry.step.marks
        broken = treebank.completer.broken(sentence, tree) if number else entry.broken
        graph = treebank.completer.graph(sentence, tree.heads, tree.labels)
        edges = _edges(graph, marks, sentence.n_words)
        cells = []
        columns = zip(
            sentence.forms,
            sentence.lemmas,
            sentence.upos,
            sentence.xpos,
            sentence.feats,
            tree.heads,
            tree.labels,
            tree.confidences,
        )
        for m, (form, lemma, upos, xpos, feats, head, label, sure) in enumerate(columns, start=1):
            fixed_head, fixed_label = marks.fixed.get(m, (NO_HEAD, ""))
            is_fixed = head == fixed_head >= 0 and fixed_label in ("", label)
            cells.append(
                {
                    "form": printable(form),
                    "lemmas": lemma,
                    "upos": upos,
                    "xpos": xpos,
                    "feats": feats,
                    "head": head,
                    "label": label,
                    "sure": round(sure, 4),
                    "fixed": is_fixed,
                    "named": is_fixed and fixed_label == label,
                    "edges": edges[m - 1],
                }
            )
        against = trees[0] if number else None
        return {
            **row(treebank, index),
            "svg": _drawing(sentence, cells, broken, against),
            "proved": tree.proved,
            "complaint": tree.complaint,
            "cells": cells,
            "graph": treebank.completer.parser.model.enhancer is not None,
            "tree": number,
            "sure": round(tree.confidence, 4),
            "source": tree.source,
            "rtl": runs_to_the_left(sentence.forms),
            "written": sentence.written,
            "forbidden": sorted(map(list, marks.forbidden)),
            "faults": [rule._asdict() for rule in broken],
            "undo": entry.at,
            "redo": len(entry.steps) - 1 - entry.at,
            "saved": treebank.is_saved,
            "trouble": treebank.trouble,
            **_others(entry),
        }


def _drawing(
    sentence: Sentence,
    cells: list[dict[str, Any]],
    broken: Sequence[BrokenRule],
    against: RatedTree | None,
) -> str:
    """Draw a tree; arcs of the tree `against` alone, or edges of the graph, are below the words."""
    graph = [[(head, label) for head, label, _ in cell["edges"]] for cell in cells]
    fixed = {
        (h, m) for m, cell in enumerate(cells, 1) for h, _, is_fixed in cell["edges"] if is_fixed
    }
    heads, labels = [cell["head"] for cell in cells], [cell["label"] for cell in cells]
    arcs = tree_arcs(heads, labels)
    if against is not None:
        arcs = compared_arcs(arcs, tree_arcs(against.heads, against.labels))
    else:
        arcs = graph_arcs(arcs, graph)
    faulty = {m for rule in broken for m in rule.arcs}
    for arc in arcs:
        cell = cells[arc.mod - 1]
        arc.label = arc.label[:_LONGEST]
        if arc.below:
            if against is None and (arc.head, arc.mod) in fixed:
                arc.classes, arc.tip = f"{arc.classes} fixed", "fixed"
            continue
        classes = [arc.classes, f"c{bisect(_GRADES, cell['sure'])}"]
        certainty = f"{percent(cell['sure'])} sure"
        if cell["fixed"]:
            classes.append("fixed")
            certainty = "fixed" if cell["named"] else f"head fixed, label {certainty}"
        if arc.mod in faulty:
            classes.append("broken")
            arc.label = f"! {arc.label}"
        arc.classes, arc.tip = " ".join(filter(None, classes)), certainty
    return draw_arcs(
        [_short(form) for form in sentence.forms],
        [arc for arc in arcs if arc.head >= 0 and arc.head != arc.mod],
        sentence.upos,
        title="The tree",
        description="" if NO_HEAD in heads else describe_tree(sentence.forms, heads, labels),
    )


def _edges(graph: Graph, marks: Marks, n: int) -> list[list[tuple[int, str, bool]]]:
    """Return the edges of each word, fixed ones last: head, label, and True if it is fixed."""
    edges = [[(*edge, False) for edge in own] for own in graph] or [[] for _ in range(n)]
    for head, label, m in sorted(marks.edges):
        labels = {h: name for h, name, _ in edges[m - 1]}
        others = [edge for edge in edges[m - 1] if edge[0] != head]
        edges[m - 1] = [*others, (head, labels.get(head, label), True)]
    return edges


def _short(form: str) -> str:
    form = printable(form)
    return form if len(form) <= _LONGEST else f"{form[: _LONGEST - 1]}…"


def _others(entry: Entry) -> dict[str, Any]:
    """Return the other lines of a sentence (comments, multiword tokens, empty nodes)."""
    words = set(entry.base.word_lines)
    lines = [line.rstrip("\r") for i, line in enumerate(entry.base.lines) if i not in words]
    rows = [line.split("\t")[:2] for line in lines if not line.startswith("#")]
    return {
        "comments": [line for line in lines if line.startswith("#")],
        "tokens": [[first, last, cells[1]] for first, last, cells in multiword_tokens(entry.base)],
        "empty": [[int(name.partition(".")[0]), form] for name, form in rows if "." in name],
    }


def options_view(treebank: Treebank, index: int, word: int, number: int) -> dict[str, Any]:
    """Return the likely heads of a word and the labels of its arc, with probabilities.

    For an open arc they are scaled to agree with the probability of the arc. For a fixed arc they
    are what the model would choose.
    """
    with treebank.lock:
        trees = treebank.trees(index, number + 1)
        tree = trees[min(number, len(trees) - 1)]
        if tree.complaint or not 1 <= word <= len(tree.heads):
            return {"heads": [], "labels": []}
        entry = treebank.entries[index]
        heads, labels = treebank.completer.options(treebank.tagged(entry), tree.heads, word)
        if word not in entry.step.marks.fixed:
            heads, labels = _agreeing(heads, labels, tree, word)
        return {"heads": heads[:9], "labels": labels}


def _agreeing(
    heads: list[Likely], labels: list[Likely], tree: RatedTree, word: int
) -> tuple[list[Likely], list[Likely]]:
    """Scale probabilities so that those of head and label multiply to that of the arc."""
    head, label, sure = tree.heads[word - 1], tree.labels[word - 1], tree.confidences[word - 1]
    of_head, of_label = dict(heads).get(head, 1.0), dict(labels).get(label, 1.0)
    together = math.log(of_head * of_label) if of_head * of_label else -math.inf
    if not 0 < sure < 1 or together == -math.inf:
        return heads, labels
    if together > -1e-9:
        return _scaled(heads, head, sure), labels
    power = math.log(sure) / together
    return _scaled(heads, head, of_head**power), _scaled(labels, label, of_label**power)


def _scaled(options: list[Likely], value: int | str, probability: float) -> list[Likely]:
    """Set the probability of one option, and scale the others to the rest."""
    others = math.fsum(share for option, share in options if option != value)
    factor = (1.0 - probability) / others if others else 0.0
    scaled = [(o, probability if o == value else factor * share) for o, share in options]
    return sorted(scaled, key=lambda option: -option[1])
