"""Would it pay to leave scores uncomputed that an upper bound shows cannot matter?

    python bench/delayed.py MODEL DEV [--sentences 300] [--most 40] [--repeat 5]

Riedel, Smith & McCallum (2012, §4.3) never score most parts: bounds of templates tell that they are
in no best tree. This measures what such a scheme could leave out at most, with all that is unknown
given to it: the score of the best tree as the score to beat, and as bounds the largest scores seen
on this very treebank (over all that may be read they are larger).

Parts, without factors: the arcs are scored, and each part by its bound. A first-order pass gives
the best tree with each arc, as if each word's arc had the best of its parts; arcs and parts below
the score to beat go, until none does. The bounds: each template's largest weight; the exact sums of
the templates over three words, and the largest weights of those over four; the same, with this
sentence's largest sum of the latter; and the true scores, below which no bound can be.

Factors: a pass over the whole backbone, all its scores known, with each factor's bound shared among
its arcs; the largest score of its family anywhere; in this sentence; the true score; and the true
score, all given to the arc that needs it least. A factor is scored if all its arcs are left.

Times are a process's own, in turns. Writes bench/results/delayed.json and .md.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from measure import machine, markdown, read_sample, write_result
from numpy.typing import NDArray

from bbparse.factors import FactorView, alive_factors
from bbparse.oracle.projective.chart import Chart, build
from bbparse.parser import Parser
from bbparse.problem import Problem
from bbparse.scoring.compile import template_section
from bbparse.scoring.marginals import max_marginals
from bbparse.scoring.scorer import PartScorer
from bbparse.scoring.templates import Template, TemplateSet
from bbparse.sentence_batch import Work, prepare
from bbparse.solve import solve
from bbparse.treebank import Sentence

Floats = NDArray[np.float64]
KIND = "grandsibling"
ROUNDING = 1e-9
#: Setting → (most heads of a word, margin), as `Parser.problem` takes them.
SETTINGS: dict[str, tuple[int | None, float | None]] = {
    "the model's margin": (None, None), "10 heads": (10, math.inf), "all heads": (0, None),
}  # fmt: skip
PART_BOUNDS = ("templates", "four words", "four words, this sentence", "true")
FACTOR_BOUNDS = ("families", "families, this sentence", "true", "true, to one arc")


class Scored(NamedTuple):
    """A sentence's problem, and what is bounded in it."""

    work: Work
    without_factors: Problem
    three_words: Floats
    family: NDArray[np.int64]
    best: float
    best_backbone: float


def with_templates(scorer: PartScorer, kept: Callable[[str, Template], bool]) -> PartScorer:
    """A scorer by some of the templates, with the same weights."""
    t = scorer.templates
    chosen = {
        kind: tuple(each for each in templates if kept(kind, each))
        for kind, templates in t.templates.items()
    }
    return PartScorer(TemplateSet(t.lines, t.bits, chosen), scorer.weights, scorer.quantum)


def is_over_four(kind: str, template: Template) -> bool:
    """Whether a template looks at all words of a grand-sibling."""
    return kind == KIND and template_section(kind, template) == 1


def part_scores(scorer: PartScorer, work: Work) -> Floats:
    """Scores of the grand-siblings."""
    return scorer.score(
        work.values, work.problem.arc_head, work.problem.arc_mod, marks=work.marks
    ).gsib_score


def largest_weights(parser: Parser, works: list[Work]) -> tuple[float, float]:
    """Sums of the templates' largest scores: of all of them, and of those over four words."""
    total = over_four = 0.0
    for template in parser.scorer.templates.templates[KIND]:
        scorer = with_templates(
            parser.scorer, lambda kind, each, one=template: kind == KIND and each == one
        )
        largest = max(part_scores(scorer, work).max(initial=0.0) for work in works)
        total += largest
        over_four += largest if is_over_four(KIND, template) else 0.0
    return total, over_four


def arcs_of(work: Work) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Candidate arcs, writable as kernels want them."""
    return work.problem.arc_head.copy(), work.problem.arc_mod.copy()


def factors_by_family(parser: Parser, work: Work) -> tuple[Problem, NDArray[np.int64]]:
    """The problem with its factors family by family, and the family of each."""
    view = FactorView(work.sentence, *arcs_of(work), work.values)
    found = [alive_factors([family], view, parser.table) for family in parser.families]
    sizes = np.concatenate([np.diff(each.ptr) for each in found])
    family = np.repeat(np.arange(len(found)), [len(each.scores) for each in found])
    problem = dataclasses.replace(
        work.problem,
        factor_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        factor_arcs=np.concatenate([each.arcs for each in found]),
        factor_score=np.concatenate([each.scores for each in found]),
    )
    return problem, family


def scored(
    parser: Parser, three: PartScorer, sentence: Sentence, setting: tuple[Any, Any]
) -> Scored:
    """A sentence with all that is known afterwards."""
    (work,) = prepare(parser, [sentence], *setting)
    work.problem, family = factors_by_family(parser, work)
    alone = dataclasses.replace(
        work.problem, factor_ptr=np.zeros(1, np.int64), factor_arcs=np.zeros(0, np.int32),
        factor_score=np.zeros(0),
    )  # fmt: skip
    best = [
        float(solve(p, backbone=parser.config.model.backbone).scores[0])
        for p in (work.problem, alone)
    ]
    return Scored(work, alone, part_scores(three, work), family, best[0], best[1])


def parts_left(p: Problem, bound: Floats, best: float) -> int:
    """How many parts have to be scored, given a bound of each and the score to beat."""
    n = p.n_words
    arc = np.full((n + 1, n + 1), -np.inf)
    arc[p.arc_head, p.arc_mod] = p.arc_score
    alive = np.ones(len(bound), bool)
    h, m = p.gsib_head, p.gsib_outer
    while True:
        highest = np.full((n + 1, n + 1), -np.inf)
        np.maximum.at(highest, (h[alive], m[alive]), bound[alive])
        with_arc = max_marginals(arc + highest, p.single_root)
        gone = with_arc < best - ROUNDING
        left = alive & ~gone[h, m]
        left &= (p.gsib_inner < 0) | ~gone[h, p.gsib_inner]
        left &= (p.gsib_grand < 0) | ~gone[p.gsib_grand, h]
        at = h[left], m[left]
        left[left] = with_arc[at] - highest[at] + bound[left] >= best - ROUNDING
        if left.sum() == alive.sum():
            return int(alive.sum())
        alive = left


def factors_left(p: Problem, chart: Chart, bound: Floats, best: float, to_one: bool) -> int:
    """How many factors have to be scored, given a bound of each and the score to beat."""
    bonus = np.zeros(len(p.arc_head))
    size = np.diff(p.factor_ptr)
    owner = np.repeat(np.arange(len(size)), size)
    bound = np.maximum(bound, 0.0)
    if to_one:
        need = chart.max_marginals()[p.factor_arcs]
        weakest = np.lexsort((need, owner))[p.factor_ptr[:-1]]
        np.add.at(bonus, p.factor_arcs[weakest], bound)
    else:
        np.add.at(bonus, p.factor_arcs, (bound / size)[owner])
    score = chart.arc_score + bonus[chart.order]
    with_arc = dataclasses.replace(chart, arc_score=score).max_marginals()
    gone = np.zeros(len(size), bool)
    gone[owner[with_arc[p.factor_arcs] < best - ROUNDING]] = True
    return int((~gone).sum())


def shares(
    parser: Parser, rows: list[Scored], sums: tuple[float, float], by_family: Floats
) -> dict[str, Any]:
    """What has to be scored, in all sentences together."""
    counts: Counter[str] = Counter()
    best = 0.0
    for row in rows:
        p = row.work.problem
        counts["words"] += p.n_words
        counts["arcs"] += len(p.arc_head)
        counts["parts"] += len(p.gsib_score)
        counts["factors"] += len(p.factor_score)
        best += row.best
        over_four = p.gsib_score - row.three_words
        for name, bound in zip(
            PART_BOUNDS,
            (
                np.full(len(over_four), sums[0]), row.three_words + sums[1],
                row.three_words + over_four.max(initial=0.0), p.gsib_score,
            ),
        ):  # fmt: skip
            counts[f"parts: {name}"] += parts_left(p, bound, row.best_backbone)
        here = np.zeros(len(by_family))
        np.maximum.at(here, row.family, p.factor_score)
        chart = build(row.without_factors, parser.config.model.backbone)
        for name, bound in zip(
            FACTOR_BOUNDS,
            (by_family[row.family], here[row.family], p.factor_score, p.factor_score),
        ):
            to_one = name == FACTOR_BOUNDS[-1]
            counts[f"factors: {name}"] += factors_left(p, chart, bound, row.best, to_one)
    found: dict[str, Any] = {
        "sentences": len(rows), "words": counts["words"], "score_a_word": best / counts["words"]
    }  # fmt: skip
    for kind in ("arcs", "parts", "factors"):
        found[f"{kind}_a_word"] = counts[kind] / counts["words"]
    for kind, names in (("parts", PART_BOUNDS), ("factors", FACTOR_BOUNDS)):
        found[kind] = {name: counts[f"{kind}: {name}"] / counts[kind] for name in names}
    return found


def times(parser: Parser, rows: list[Scored], repeat: int) -> dict[str, float]:
    """Microseconds a word of what could be saved, and of the passes that it takes."""
    only_arcs = with_templates(parser.scorer, lambda kind, _: kind == "arc")
    backbone, search = parser.config.model.backbone, parser.config.search
    squares = [
        np.zeros((row.work.problem.n_words + 1, row.work.problem.n_words + 1)) for row in rows
    ]

    def score(scorer: PartScorer) -> None:
        for row in rows:
            p = row.work.problem
            scorer.score(row.work.values, p.arc_head, p.arc_mod, marks=row.work.marks)

    def find_factors() -> None:
        for row in rows:
            view = FactorView(row.work.sentence, *arcs_of(row.work), row.work.values)
            alive_factors(parser.families, view, parser.table)

    calls: dict[str, Callable[[], object]] = {
        "arcs": lambda: score(only_arcs),
        "arcs and parts": lambda: score(parser.scorer),
        "factors": find_factors,
        "search": lambda: [
            solve(row.work.problem, backbone=backbone, settings=search) for row in rows
        ],
        "first-order pass": lambda: [max_marginals(square, True) for square in squares],
        "backbone pass": lambda: [
            build(row.without_factors, backbone).max_marginals() for row in rows
        ],
    }
    least = dict.fromkeys(calls, math.inf)
    for _ in range(repeat + 1):
        for name, call in calls.items():
            started = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - started)
    words = sum(row.work.problem.n_words for row in rows)
    return {name: 1e6 * seconds / words for name, seconds in least.items()}


def percent(kind: str, name: str) -> tuple[str, Callable[[Any], str]]:
    """A column of the table."""
    return f"{kind}: {name}, %", lambda row: f"{100 * row[kind][name]:.0f}"


def second_order(row: dict[str, Any]) -> float:
    """Microseconds a word that parts take to score."""
    return row["times"]["arcs and parts"] - row["times"]["arcs"]


COLUMNS = (
    ("heads a word", lambda row: f"{row['arcs_a_word']:.1f}"),
    ("parts a word", lambda row: f"{row['parts_a_word']:,.0f}"),
    ("factors a word", lambda row: f"{row['factors_a_word']:.0f}"),
    *(percent("parts", name) for name in PART_BOUNDS),
    *(percent("factors", name) for name in FACTOR_BOUNDS),
    ("arcs, µs/word", lambda row: f"{row['times']['arcs']:.1f}"),
    ("parts", lambda row: f"{second_order(row):.1f}"),
    ("factors", lambda row: f"{row['times']['factors']:.1f}"),
    ("search", lambda row: f"{row['times']['search']:.1f}"),
    ("first-order pass", lambda row: f"{row['times']['first-order pass']:.1f}"),
    ("backbone pass", lambda row: f"{row['times']['backbone pass']:.1f}"),
)


def main() -> None:
    """Measure every setting."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("model")
    arguments.add_argument("dev")
    arguments.add_argument("--sentences", type=int, default=300)
    arguments.add_argument("--most", type=int, default=40, help="words of a sentence")
    arguments.add_argument("--repeat", type=int, default=5)
    given = arguments.parse_args()
    parser = Parser.load(given.model)
    sentences = [s for s in read_sample(given.dev, given.sentences) if s.n_words <= given.most]
    three = with_templates(
        parser.scorer, lambda kind, each: kind == KIND and not is_over_four(kind, each)
    )
    sums = (0.0, 0.0)
    by_family = np.zeros(len(parser.families))
    found = []
    for name, setting in SETTINGS.items():
        rows = [scored(parser, three, sentence, setting) for sentence in sentences]
        if not found:
            sums = largest_weights(parser, [row.work for row in rows])
            for row in rows:
                np.maximum.at(by_family, row.family, row.work.problem.factor_score)
        result = shares(parser, rows, sums, by_family)
        result["times"] = times(parser, rows, given.repeat)
        found.append((name, result))
        print(name, result, flush=True)
    families = {each.name: bound for each, bound in zip(parser.families, by_family.tolist())}
    write_result(
        "delayed",
        {
            "machine": machine(), "most_words": given.most, "largest_weights": sums,
            "largest_factors": families, "settings": dict(found),
        },
        markdown("candidates", found, COLUMNS),
    )  # fmt: skip


if __name__ == "__main__":
    main()
