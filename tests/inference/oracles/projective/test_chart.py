"""The four recurrences against brute force: every answer a chart gives, on small problems."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import pytest

from bbparse.core import FIELDS, Problem
from bbparse.core.parts import PART_NAMES
from bbparse.inference.oracles.projective.recurrences import RECURRENCES, recurrence_for
from bbparse.runtime.errors import ProblemError
from tests.inference.oracles.projective.helpers import Charted
from tests.oracles.enumerate import Scored, enumerate_trees
from tests.strategies import PARTS, SCALES, random_problem

EVERYTHING = 10_000  # more trees than any problem here has
N_PROBLEMS = 250


def backbone_problems(
    seed: int, parts: tuple[str, ...], count: int = N_PROBLEMS
) -> Iterator[tuple[Problem, list[Scored]]]:
    """Problems without factors, of every scale, and all their trees."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        p = random_problem(
            rng, max_words=5, projective=True, parts=parts, max_factors=0,
            scale=SCALES[i % len(SCALES)],
        )  # fmt: skip
        yield p, enumerate_trees(p)


def rounding(p: Problem) -> float:
    """What sums of the problem's scores may differ by when they are added up in another order."""
    arrays = [getattr(p, name) for name in FIELDS if name.endswith("_score")]
    return 1e-14 * float(sum(np.abs(array).sum() for array in arrays))


def check_k_best(p: Problem, chart: Charted, expected: list[Scored], k: int) -> None:
    """The k best trees: real ones with their scores, in order, none twice, none left out."""
    scores, arcs = chart.k_best(k)
    assert scores.shape == (min(k, len(expected)),)
    assert arcs.shape == (len(scores), p.n_words)
    assert (np.diff(scores) <= 0).all()
    assert [best.value for best in chart.oracle.k_best(chart.nothing, k)] == scores.tolist()
    listed = {tuple(row) for row in arcs.tolist()}
    assert len(listed) == len(scores)
    truth = {tree: score for score, tree in expected}
    tolerance = rounding(p)
    for row, score in zip(arcs.tolist(), scores.tolist()):
        assert truth[tuple(row)] == pytest.approx(score, rel=0, abs=tolerance)
    wanted = [score for score, _ in expected[:k]]
    assert scores.tolist() == pytest.approx(wanted, rel=0, abs=tolerance)
    if len(scores):
        surely = {tree for score, tree in expected if score > scores[-1] + tolerance}
        assert surely <= listed


def max_marginals(p: Problem, expected: list[Scored]) -> list[float]:
    """For each arc the best score of a tree that has it, from the list of all trees."""
    best = [-math.inf] * len(p.arc_head)
    for score, tree in expected:
        for arc in tree:
            best[arc] = max(best[arc], score)
    return best


@pytest.mark.parametrize("name", RECURRENCES)
def test_best_tree_k_best_and_max_marginals(name: str) -> None:
    recurrence = RECURRENCES[name]
    parts = tuple(kind for kind in PARTS if kind in recurrence.holds)
    without_trees = labelled = multi_root = fixed = 0
    for p, expected in backbone_problems(31, parts):
        chart = Charted(p, name)
        tolerance = rounding(p)
        score, arcs = chart.viterbi()
        if not expected:
            without_trees += 1
            assert score == -math.inf
            assert len(arcs) == 0
        else:
            assert score == pytest.approx(expected[0][0], rel=0, abs=tolerance)
            truth = {tree: value for value, tree in expected}
            assert truth[tuple(arcs.tolist())] == pytest.approx(score, rel=0, abs=tolerance)
        for k in (1, 2, 7, EVERYTHING):
            check_k_best(p, chart, expected, k)
        marginals = chart.max_marginals()
        assert marginals.tolist() == pytest.approx(
            max_marginals(p, expected), rel=0, abs=tolerance
        )
        labelled += p.arc_label is not None
        multi_root += not p.single_root
        fixed += bool((p.arc_state == 1).any() and (p.arc_state == -1).any())
    # The generator is random: each kind of problem must have come up.
    assert min(without_trees, labelled, multi_root, fixed) >= 5


@pytest.mark.parametrize("scale", ["ties", "halves", "zero"])
def test_whole_scores_are_exact(scale: str) -> None:
    """Sums of small whole numbers have no rounding error, whatever the order."""
    rng = np.random.default_rng(32)
    for _ in range(60):
        p = random_problem(rng, max_words=5, projective=True, max_factors=0, scale=scale)
        expected = enumerate_trees(p)
        chart = Charted(p)
        scores, arcs = chart.k_best(EVERYTHING)
        assert scores.tolist() == [score for score, _ in expected]
        assert {tuple(row) for row in arcs.tolist()} == {tree for _, tree in expected}
        assert chart.max_marginals().tolist() == max_marginals(p, expected)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ((), ("first", "sibling", "carreras", "grandsib")),
        (("sib",), ("sibling", "carreras", "grandsib")),
        (("sib", "ogc"), ("carreras", "grandsib")),
    ],
    ids=["arcs", "siblings", "outermost grandchildren"],
)
def test_recurrences_agree_where_they_can(parts: tuple[str, ...], names: tuple[str, ...]) -> None:
    rng = np.random.default_rng(33)
    for _ in range(60):
        p = random_problem(
            rng, max_words=12, min_words=4, labelled=bool(rng.random() < 0.2), projective=True,
            parts=dict.fromkeys(parts, (0.2, 1.0)), max_factors=0,
        )  # fmt: skip
        charts = [Charted(p, name) for name in names]
        tolerance = rounding(p)
        scores = [chart.k_best(20)[0].tolist() for chart in charts]
        marginals = [chart.max_marginals().tolist() for chart in charts]
        for other in range(1, len(charts)):
            assert scores[other] == pytest.approx(scores[0], rel=0, abs=tolerance)
            assert marginals[other] == pytest.approx(marginals[0], rel=0, abs=tolerance)


def test_a_best_arc_has_the_best_score_and_labels_differ_by_their_scores() -> None:
    rng = np.random.default_rng(34)
    for _ in range(60):
        p = random_problem(
            rng, max_words=5, projective=True, labelled=True, max_factors=0, states=False,
            scale="halves",
        )  # fmt: skip
        chart = Charted(p)
        score, arcs = chart.viterbi()
        marginals = chart.max_marginals()
        if score > -math.inf:
            assert (marginals[arcs] == score).all()
        words = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
        for a, pair in enumerate(words):
            b = words.index(pair)
            if marginals[b] > -math.inf:
                assert marginals[a] - marginals[b] == p.arc_score[a] - p.arc_score[b]


def test_what_a_chart_cannot_be_built_for() -> None:
    crossing = Problem(2, [0, 1], [1, 2], [0, 0], projective=False)
    with pytest.raises(ProblemError, match="this problem allows crossing arcs"):
        Charted(crossing)
    siblings = Problem(
        2, [0, 1], [1, 2], [0, 0], sib_head=[0], sib_inner=[-1], sib_outer=[1], sib_score=[1]
    )
    with pytest.raises(ProblemError, match="unknown backbone 'third': one of first, sibling, "):
        Charted(siblings, "third")
    with pytest.raises(ProblemError, match="the first backbone cannot score parts of kind sib"):
        Charted(siblings, "first")


def test_the_cheapest_recurrence_that_holds_the_parts() -> None:
    p = Problem(3, [0, 1, 2], [1, 2, 3], np.zeros(3))
    words = {"sib": (0, -1, 1), "gc": (0, 1, 2), "ogc": (0, 1, 2), "gsib": (0, 1, -1, 2)}
    for kinds, name in (
        ((), "first"), (("sib",), "sibling"), (("ogc",), "carreras"), (("gc",), "grandsib"),
        (("sib", "gsib"), "grandsib"),
    ):  # fmt: skip
        rows = [zip(PART_NAMES[kind], (*words[kind], 1.0)) for kind in kinds]
        fields = {field: [value] for row in rows for field, value in row}
        assert recurrence_for(dataclasses.replace(p, **fields), None).name == name


def test_parts_over_words_that_no_arc_joins_do_nothing() -> None:
    p = Problem(
        3, [0, 1, 2], [1, 2, 3], [1, 1, 1],
        sib_head=[1, 1], sib_inner=[2, -1], sib_outer=[3, 3], sib_score=[100, 100],
        gc_grand=[2], gc_head=[1], gc_mod=[3], gc_score=[100],
        ogc_grand=[0], ogc_head=[3], ogc_mod=[1], ogc_score=[100],
        gsib_grand=[0, 3], gsib_head=[1, 1], gsib_inner=[-1, -1], gsib_outer=[3, 2],
        gsib_score=[100, 100],
    )  # fmt: skip
    assert Charted(p).viterbi()[0] == 3.0
