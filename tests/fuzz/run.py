"""Running a case: an empty text if all is as it must be."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from typing import Any

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.order import in_original_order, ranked, sort_arcs
from bbparse.core.parts import FIELDS
from bbparse.core.proof import ARRAYS, Proof, rounding_of
from bbparse.core.score import tree_terms
from bbparse.inference.programs.price_and_cut import price_and_cut
from bbparse.inference.proof.certify import certify
from bbparse.inference.proof.verify import verify
from bbparse.inference.solve import solve, solve_batch
from bbparse.runtime.errors import VerificationError
from tests.fuzz.agreement import check_agreement
from tests.fuzz.checks import fault
from tests.fuzz.draw import Case, draw_settings
from tests.oracles.forest import Forest, TooMany, forest, forest_of
from tests.permuted import permuted

Notes = Counter[str]
#: What a solution says that can be proved.
DECIDED = ("optimal", "infeasible")


def run(case: Case, notes: Notes) -> str:
    """What is wrong, or the empty string; ``notes`` counts what was met."""
    if case.kind == "agree":
        return check_agreement(case.rng(), notes)
    if case.kind == "rules":
        return check_rules(case)
    p = case.problem
    assert p is not None
    if case.kind == "large":
        return check_large(case, notes)
    try:
        trees = forest(p)
    except TooMany:
        notes["too many trees"] += 1
        return ""
    if case.kind == "batch":
        return check_batch(case, trees)
    answer = answer_of(case)
    notes[
        "gap that was not asked for"
        if answer.status == "gap" and "gap" not in case.options
        else answer.status
    ] += 1
    wrong = fault(p, answer, trees, case)
    if not wrong and case.kind == "proof":
        wrong = check_proof(case, answer, trees, notes)
    return wrong


def answer_of(case: Case) -> Solution:
    """The solution of a case; a deadline is kept within a second."""
    p, options = case.problem, dict(case.options)
    assert p is not None
    if "delayed" in options:
        ordered, order = sort_arcs(p)
        found = price_and_cut(ordered, case.k_best, delayed=options["delayed"])
        return in_original_order(within(ordered, found, case.k_best), p, order)
    for _ in range(2):  # the first call may load kernels
        started = time.process_time()
        answer = solve(p, k_best=case.k_best, explain=False, proof=case.kind == "proof", **options)
        spent = time.process_time() - started
        if spent <= options.get("time_limit", math.inf) + 1.0:
            return answer
    raise TimeoutError(f"{spent} s with a limit of {options['time_limit']}")


def within(p: Problem, found: Solution, k_best: int) -> Solution:
    """The solution with a gap where its tolerance is more than what rounding excuses."""
    if found.status != "optimal" or len(found) < k_best:
        return found
    last, tolerance = float(found.scores[-1]), float(found.stats["tolerance"])
    if all(tolerance <= rounding_of(tree_terms(p, arcs)) for arcs in found.arcs):
        return found
    return ranked(p, found.arcs, found.scores, last + tolerance, "gap", found.stats)


def check_large(case: Case, notes: Notes) -> str:
    """A problem whose trees are too many: no method may miss a tree that another has."""
    p, k, rng = case.problem, case.k_best, case.rng()
    assert p is not None
    asked: dict[str, dict[str, Any]] = {"search": {}, "settings": {"settings": draw_settings(rng)}}
    if rng.random() < 0.3 and len(p.arc_head) < 60:  # more take linear programs seconds
        asked |= {name: {"method": name} for name in ("ilp", "price-and-cut")}
    cases = {
        name: dataclasses.replace(case, options={**options, "time_limit": 5.0})
        for name, options in asked.items()
    }
    answers = {
        name: solve(p, k_best=k, explain=False, **one.options) for name, one in cases.items()
    }
    tamed = solve(without_penalties(p), k_best=k, explain=False, time_limit=5.0)
    found = [tamed, *answers.values()]
    trees = forest_of(p, [row for s in found for row in s.arcs.tolist()])
    for name, answer in answers.items():
        notes[f"large: {name}: {answer.status}"] += 1
        if wrong := fault(p, answer, trees, cases[name]):
            return f"{name}: {wrong}"
    return ""


def without_penalties(p: Problem) -> Problem:
    """The problem with what scores least forbidden, so that its trees have no penalty."""
    names = [name for name in FIELDS if name.endswith("_score")]
    sizes = np.abs(np.concatenate([getattr(p, name) for name in names]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    least = -1e3 * float(np.median(sizes)) if len(sizes) else -np.inf
    state = np.where((p.arc_score < least) & (p.arc_state == 0), -1, p.arc_state)
    return dataclasses.replace(
        p,
        arc_state=state,
        arc_score=np.where(state == -1, 0.0, p.arc_score),
        quantum=0.0,
        factor_score=np.where(p.factor_score < least, -np.inf, p.factor_score),
        count_score=np.where(p.count_score < least, -np.inf, p.count_score),
    )


def check_batch(case: Case, trees: Forest) -> str:
    """One problem in two orders: each answer is right, and they are the same trees."""
    p, rng = case.problem, case.rng()
    assert p is not None
    other, order = permuted(rng, p)
    answers = solve_batch(
        [p, other, p],
        threads=int(rng.integers(1, 4)),
        k_best=case.k_best,
        explain=False,
        **case.options,
    )
    for answer in (answers[0], answers[2]):
        if wrong := fault(p, answer, trees, case):
            return wrong
    if not np.array_equal(answers[0].arcs, order[answers[1].arcs].reshape(answers[0].arcs.shape)):
        return f"another order of arcs gives {answers[1].scores}, not {answers[0].scores}"
    return ""


def spoiled(rng: np.random.Generator, proof: Proof, n_arcs: int) -> Proof:
    """A proof with one random change."""
    arrays = {name: np.array(getattr(proof, name)) for name in ARRAYS}
    name = str(
        rng.choice(
            [
                "node_kind",
                "node_bound",
                "node_vector",
                "node_arcs",
                "factor_multipliers",
                "count_multipliers",
                "pair_multipliers",
                "two leaves",
            ]
        )
    )
    if name == "two leaves":
        pair = rng.integers(len(proof.node_kind), size=2)
        for field in ("node_bound", "node_vector"):
            arrays[field][pair] = arrays[field][pair[::-1]]
        return dataclasses.replace(proof, **arrays)
    array = arrays[name]
    if array.size:
        at = int(rng.integers(array.size))
        value = {
            "node_kind": int(rng.integers(4)),
            "node_vector": int(rng.integers(-1, len(proof.factor_multipliers) + 1)),
            "node_arcs": int(rng.integers(n_arcs)),
        }.get(name)
        if value is None:
            old = float(array.flat[at])
            sizes = [1.0, abs(old) if math.isfinite(old) else 1.0]
            value = old + float(rng.choice([-1.0, 1.0]) * rng.choice(sizes)) * 10.0 ** float(
                rng.integers(-6, 7)
            )
        array.flat[at] = value
    return dataclasses.replace(proof, **arrays)


def check_proof(case: Case, answer: Solution, trees: Forest, notes: Notes) -> str:
    """The proof must be accepted, and no lie with it or with what it is spoiled to."""
    p, rng = case.problem, case.rng()
    assert p is not None
    if answer.proof is None:
        _, reason = certify(p, answer, case.k_best) if answer.status in DECIDED else (None, "")
        notes[f"no proof: {answer.status} {reason}"] += 1
        far = "too far apart" in reason and is_far_apart(p, answer, trees)
        is_due = answer.status in DECIDED and not far
        return f"{answer.status} without a proof: {reason}" if is_due else ""
    try:
        verify(p, answer)
    except VerificationError as error:
        return f"the proof is refused: {error}"
    for name, lie in lies(rng, p, answer, trees):
        for times in range(4):
            told = lie
            for _ in range(times):
                assert told.proof is not None
                told = dataclasses.replace(
                    told, proof=spoiled(rng, told.proof, max(1, len(p.arc_head)))
                )
            notes[f"lie: {name}"] += 1
            try:
                verify(p, told)
            except VerificationError:
                continue
            return f"the checker believes a lie: {name}, proof spoiled {times} times"
    return ""


def is_far_apart(p: Problem, answer: Solution, trees: Forest) -> bool:
    """Whether all scores are so much larger than the last tree's that rounding may hide it."""
    names = [name for name in FIELDS if name.endswith("_score")]
    sizes = np.abs(np.concatenate([getattr(p, name) for name in names]))
    last = float(trees.size[trees.place[tuple(answer.arcs[-1].tolist())]])
    return float(sizes[np.isfinite(sizes)].sum()) > 1e3 * last


def lies(rng: np.random.Generator, p: Problem, s: Solution, trees: Forest) -> Any:
    """Solutions that are not so, each with what it says."""
    assert s.proof is not None
    order = trees.order()
    if not len(s):
        yield "optimal without trees", dataclasses.replace(s, status="optimal")
        return

    def of(rows: Any, **changes: Any) -> Solution:
        arcs = trees.arcs[rows].astype(np.int32)
        scores = trees.high[rows]
        arrays = {
            "arcs": arcs,
            "scores": scores,
            "upper_bounds": scores,
            "heads": np.hstack([np.full((len(arcs), 1), -1, np.int32), p.arc_head[arcs]]),
            "proved": np.ones(len(arcs), np.bool_),
        }
        return dataclasses.replace(s, labels=None, **{**arrays, **changes})

    rows = [trees.place[tuple(row)] for row in s.arcs.tolist()]
    worse = [
        t
        for t in order.tolist()
        if (trees.high[rows[-1]] - trees.high[t]) + (trees.low[rows[-1]] - trees.low[t])
        > 1e-6 * max(trees.size[rows[-1]], trees.size[t])
    ]
    if worse:
        place = int(rng.integers(len(rows)))
        kept = rows[:place] + rows[place + 1 :]
        yield "a worse tree", of([*kept, worse[0]])
        yield "the worst tree", of([*kept, worse[-1]])
        if kept:
            yield "one tree fewer, all there are", of(kept)
        yield (
            "all there are",
            dataclasses.replace(s, proof=dataclasses.replace(s.proof, k_best=len(s) + 1)),
        )
    yield "infeasible", dataclasses.replace(of(rows[:0]), status="infeasible", proof=s.proof)


def check_rules(case: Case) -> str:
    """The best valid trees under random rules: see the tests of validity."""
    from tests.parser.validity.test_random import check_one

    try:
        check_one(case.seed[0] * 10_000_000 + case.seed[1])
    except AssertionError as error:
        return f"rules: {' '.join(str(error).split())}"
    return ""
