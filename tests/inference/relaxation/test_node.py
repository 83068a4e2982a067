"""Bounding a node: nothing that would change the k best is ever lost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest

from bbparse.inference.search.lagrangian import Lagrangian, Subspace
from bbparse.inference.search.search import Search
from bbparse.inference.search.settings import AS_PUBLISHED, DEFAULT, SearchSettings
from tests.inference.search.helpers import search_of
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem

SETTINGS = {
    "default": DEFAULT,
    "published": AS_PUBLISHED,
    "one pass": DEFAULT.with_(root_calls=1, eliminate_every=0, close_k=1),
    "elimination always": DEFAULT.with_(root_calls=4, eliminate_every=1, close_k=1),
    "paper with elimination": DEFAULT.with_(method="paper", root_calls=10, close_k=4),
}


@dataclass
class Bounded:
    """A search before its first node is bounded, and all its trees (oracle arcs) with scores."""

    run: Lagrangian
    truth: dict[tuple[int, ...], float]
    slack: float

    def alive(self, node: Subspace) -> np.ndarray:
        """bool[A]: the arcs that are alive in a node."""
        alive = node.state.base > -math.inf
        alive[node.dead] = False
        arc, present = node.branched
        if arc >= 0 and not present:
            alive[arc] = False
        return alive


def cases(
    seed: int, settings: SearchSettings, counted: bool, count: int, projective: bool = True
) -> Iterator[Bounded]:
    rng = np.random.default_rng(seed)
    while count:
        p = random_problem(
            rng, min_words=2, max_words=5, projective=projective, max_factors=25, labelled=False,
            scale=str(rng.choice(["halves", "ties", "normal"])), max_counts=3 if counted else 0,
            states=False,
        )  # fmt: skip
        k = int(rng.choice([1, 1, 2, 5]))
        run = search_of(p, k, settings)
        if not len(run.order):
            continue
        count -= 1
        place = np.full(len(p.arc_head), -1, np.int32)
        place[run.order] = np.arange(len(run.order), dtype=np.int32)
        truth = {tuple(place[list(arcs)].tolist()): score for score, arcs in enumerate_trees(p)}
        yield Bounded(run, truth, 4 * run.slack)


@pytest.mark.parametrize("projective", [True, False], ids=["projective", "crossing"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_every_tree_is_listed_or_bounded_or_too_poor(
    settings: SearchSettings, projective: bool
) -> None:
    stayed_open = 0
    some = (cases(103, settings, counted, 40, projective) for counted in (False, True))
    for case in chain.from_iterable(some):
        run, truth = case.run, case.truth
        stays = Search(run).bound(run.root)
        stayed_open += stays
        found = int(run.best.found[0])
        listed = [tuple(row) for row in run.best.trees[run.best.place[:found]].tolist()]
        assert len(set(listed)) == found
        for tree, score in zip(listed, run.best.scores.tolist()):
            assert truth[tree] == pytest.approx(score, rel=0, abs=case.slack)
        assert (np.diff(run.best.scores[:found]) <= 0).all()
        full = found == len(run.best.scores)
        floor = run.best.scores[-1] + run.margin if full else -math.inf
        for tree, score in truth.items():
            # Trees equal to the k-th best up to rounding may be kept or not.
            if tree in listed or score < floor + case.slack:
                continue
            assert stays, "a node with a better tree was closed"
            assert score <= run.root.bound + case.slack
            assert case.alive(run.root)[list(tree)].all()
        if stays and run.root.arc >= 0:  # else its best tree is known
            arc = run.root.arc
            mod = run.root.state.arc_mod
            rivals = np.flatnonzero((mod == mod[arc]) & case.alive(run.root))
            assert arc in rivals
            assert len(rivals) > 1, "the branching arc must be free"
    if settings is SETTINGS["one pass"]:
        assert stayed_open > 10


@pytest.mark.parametrize("counted", [False, True], ids=["factors", "count factors"])
def test_children_divide_the_trees_of_their_parent(counted: bool) -> None:
    weak = SETTINGS["one pass"]
    divided = 0
    for case in cases(102, weak, counted, 80):
        run = case.run
        if not Search(run).bound(run.root):
            continue
        parent_alive = case.alive(run.root)
        bound, arc = run.root.bound, run.root.arc
        with_arc, without_arc = Search(run).divide(run.root)
        divided += 1
        assert with_arc.depth == without_arc.depth == 1
        for tree in case.truth:
            if parent_alive[list(tree)].all():
                in_first = bool(case.alive(with_arc)[list(tree)].all())
                in_second = bool(case.alive(without_arc)[list(tree)].all())
                assert (in_first, in_second) == (arc in tree, arc not in tree)
        before = without_arc.state.base.copy()
        run.bound(with_arc)
        assert with_arc.bound <= bound + case.slack, "a child's bound is at most its parent's"
        assert without_arc.state.base.tolist() == before.tolist(), "children share no arrays"
    assert divided > 10
