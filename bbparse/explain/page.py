"""The page: one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bbparse import __version__
from bbparse.explain import sections
from bbparse.explain.style import CSS, SCRIPT
from bbparse.explain.words import count, number, scope, verdict
from bbparse.show.svg import markup

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation

__all__ = ["page"]


def page(explanation: Explanation, *, model: str = "") -> str:
    """The explanation as a complete HTML document.

    Parameters
    ----------
    explanation : Explanation
    model : str
        Name of the model, to be told in the footer.

    Returns
    -------
    str
        The same for the same explanation.
    """
    e = explanation
    text = e.sentence.text
    for line in e.sentence.lines:
        if line.startswith("# text = "):
            text = line.removeprefix("# text = ").strip()
    parts = [
        sections.best_tree(e),
        sections.runners_up(e),
        sections.losses(e),
        sections.makeup(e),
        sections.search(e),
        sections.elimination(e),
    ]
    long = ' class="long"' if len(text) > 110 else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="bbparse {markup(__version__)}">
<title>Why this tree? {markup(text[:80])}</title>
<style>{CSS}</style>
</head>
<body>
<header>
<p class="over"><b>Why this tree?</b> · {markup(e.sentence.name)}</p>
<h1{long}>{markup(text)}</h1>
<p class="verdict">{verdict(e)}</p>
<p class="scope">{scope(e)}</p>
{_facts(e)}
</header>
<main>
{"".join(parts)}
</main>
{_footer(e, model)}
<div id="tip" role="tooltip" hidden></div>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _facts(e: Explanation) -> str:
    trace = e.trace
    facts = [("score", number(e.best.score), "proved" if e.best.proved else "not proved")]
    if len(e.trees) > 1:
        facts.append(("ahead of the next by", number(e.best.score - e.trees[1].score), ""))
    left = f"of {e.sentence.n_words**2:,}"
    facts += [
        ("candidate arcs", f"{e.n_candidates:,}", left),
        ("factors weighed", f"{len(e.problem.factor_score):,}", ""),
        ("dynamic-program calls", f"{trace.dp_calls:,}", ""),
        ("search nodes", f"{len(trace.nodes):,}", ""),
    ]
    inner = "".join(
        f"<div><dt>{name}</dt><dd>{value} <small>{note}</small></dd></div>"
        for name, value, note in facts
    )
    return f'<dl class="facts">{inner}</dl>'


def _footer(e: Explanation, model: str) -> str:
    families = ", ".join(e.families) or "none"
    used = f"Model: {markup(model)}. " if model else ""
    return f"""<footer>
<details class="more"><summary>Words used on this page</summary><dl>
<dt><dfn>candidate arc</dfn></dt><dd>An arc that the pruner lets trees have. The proof is about
trees made of these.</dd>
<dt><dfn>factor</dfn></dt><dd>A set of arcs with a score of its own, wherever they lie.</dd>
<dt><dfn>dynamic program</dfn></dt><dd>Finds the best tree when only arcs and neighbouring arcs
have scores. Factors reach it as scores of arcs, chosen so that its best score is never below the
true one: that makes it an upper bound. Finding the best tree with each arc (inside and outside)
counts as three calls.</dd>
<dt><dfn>feature</dfn></dt><dd>What the model looks at, with the weight it has learned. In the
dynamic program h is the head, m the modifier, s the sibling nearer to the head, g the head of the
head, b a word between; m-1 is the word before m. Marks with @ are properties of the arcs, such as
direction and distance; +@ stands for a feature both with and without one. Other letters are the
words of a family's factors.</dd>
<dt><dfn>upper bound</dfn></dt><dd>No tree scores more.</dd>
<dt><dfn>search node</dfn></dt><dd>A set of trees, given by arcs they have or have not.</dd>
</dl></details>
<p>{used}Dynamic program: {markup(e.backbone)}. Factor families: {markup(families)}.
{count(e.sentence.n_words, "word")}. Made by bbparse {markup(__version__)}.</p>
</footer>"""
