"""The page: one self-contained HTML file.

This module prepares the values for the templates in ``templates``, which escape all input text.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from bbparse import __version__
from bbparse.apps.explain.charts import FILTERS, bound_curve, number, ordinal
from bbparse.apps.explain.explanation import ArcGap, Explanation
from bbparse.apps.explain.terms import PARTS, Term
from bbparse.runtime.errors import counted
from bbparse.treebank.drawing.layout import in_english, printable, runs_to_the_left
from bbparse.treebank.drawing.svg import Arc, describe_tree, draw_arcs, graph_arcs


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("bbparse.apps.explain"),
        autoescape=select_autoescape(),
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters.update(FILTERS)
    environment.tests["favours"] = lambda entry, sign: sign * entry[1] > 0
    return environment


def page(explanation: Explanation, *, model: str = "") -> str:
    """Render an explanation as a complete HTML document; `model` is named in its footer."""
    e = explanation
    arcs = _Arcs(e)
    by_word: dict[int, list[Term]] = defaultdict(list)
    groups: dict[str, list[Term]] = defaultdict(list)
    for term in sorted(e.terms[0], key=lambda t: (-abs(t.value), t.kind, t.words)):
        groups[term.kind].append(term)
        # A part belongs to its last arc, that of its modifier.
        for _, mod in term.arcs if term.kind not in PARTS else term.arcs[-1:]:
            by_word[mod].append(term)
    order = [*PARTS, *e.families]
    finite = [gap.gap for gap in e.gaps if gap.heads]
    largest = (abs(math.fsum(t.value for t in terms)) for terms in groups.values())
    return (
        _templates()
        .get_template("page.html")
        .render(
            e=e,
            model=model,
            version=__version__,
            names=PARTS,
            infinity=math.inf,
            forms=["root", *map(in_english, e.sentence.forms)],
            word=arcs.word,
            side="rtl" if runs_to_the_left(e.sentence.forms) else "ltr",
            in_words=e.in_words,
            changes=arcs.changes,
            image=arcs.best_tree(),
            rivals=[arcs.rival(k) for k in range(1, len(e.trees))],
            gaps=[(gap, by_word[gap.mod]) for gap in e.gaps],
            longest=max(finite, default=0.0) or 1.0,
            groups={kind: groups[kind] for kind in sorted(groups, key=order.index)},
            largest=max(largest, default=0.0) or 1.0,
            curve=bound_curve(e.trace.curve),
        )
    )


class _Arcs:
    """Renders the arcs of an explanation as text and images."""

    def __init__(self, e: Explanation) -> None:
        self.e = e
        self.forms = ["root", *e.sentence.forms]

    def word(self, index: int) -> str:
        """Name a word with its number, or the root."""
        return f"{in_english(self.forms[index])} ({index})" if index else "the root"

    def arc(self, head: int, mod: int) -> str:
        """Name an arc: modifier ← head."""
        return f"{self.word(mod)} ← {self.word(head)}"

    def changes(self, rival: dict[str, Any]) -> Markup:
        """Describe the differences of a tree from the best tree in one sentence."""
        changed, heads = rival["changed"], rival["tree"].heads
        pieces = [
            Markup("{} attaches to {} instead of {}").format(
                *map(self._quoted, (m, heads[m - 1], self.e.best.heads[m - 1]))
            )
            for m in changed[:3]
        ]
        if len(changed) > 3:
            pieces.append(Markup("and {}").format(counted(len(changed) - 3, "more change")))
        return Markup("; ").join(pieces) + "."

    def _quoted(self, index: int) -> Markup:
        quoted = Markup("<em>“{}”</em>").format(printable(in_english(self.forms[index])))
        return quoted if index else Markup("the root")

    def best_tree(self) -> Markup:
        """Draw the best tree with the gap of each arc."""
        e, arcs, close = self.e, [], self.e.close_calls
        for gap in e.gaps:
            label = e.best.labels[gap.mod - 1] if e.best.labels else ""
            kind = "close" if gap.mod in close else "forced" if gap.forced else ""
            name = f"{self.arc(gap.head, gap.mod)}{f', {label}' if label else ''}"
            arcs.append(Arc(gap.head, gap.mod, label, kind, f"{name}: {self._gap(gap)}"))
        return self._image(graph_arcs(arcs, e.best.enhanced), 0, "The best tree")

    def _gap(self, gap: ArcGap) -> str:
        """Describe the best tree without an arc."""
        if gap.forced:
            return "the only candidate that any tree can use"
        if not gap.heads:
            return "no tree without it was found within the limits"
        size = "" if gap.exact else "at most "
        instead = self.word(gap.heads[gap.mod - 1])
        return f"without it {size}{number(gap.gap)} lost: {instead} instead"

    def rival(self, k: int) -> dict[str, Any]:
        """Return tree k (from 0) and its differences from the best tree for the template."""
        e, arcs = self.e, []
        tree, best, changed = e.trees[k], e.best, e.changed(k)
        for m, head in enumerate(tree.heads, start=1):
            label = tree.labels[m - 1] if tree.labels else ""
            tip = f"{self.arc(head, m)}: the best tree has {self.word(best.heads[m - 1])}"
            arcs.append(Arc(head, m, label, *(("other", tip) if m in changed else ())))
        for m in changed:
            label = best.labels[m - 1] if best.labels else ""
            tip = f"{self.arc(best.heads[m - 1], m)}: only in the best tree"
            arcs.append(Arc(best.heads[m - 1], m, label, "gone", tip, below=True))
        rank = ordinal(k + 1)
        return {
            "tree": tree,
            "rank": rank,
            "less": best.score - tree.score,
            "changed": changed,
            "balance": e.feature_balance(k),
            "words": e.word_balance(k),
            "image": self._image(arcs, k, f"The {rank} best tree"),
        }

    def _image(self, arcs: list[Arc], k: int, title: str) -> Markup:
        forms, tree = self.e.sentence.forms, self.e.trees[k]
        description = describe_tree(forms, tree.heads, tree.labels)
        return Markup(
            draw_arcs(forms, arcs, self.e.sentence.upos, title=title, description=description)
        )
