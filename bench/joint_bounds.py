"""Would bounding factors that exclude each other together, not one by one, give better bounds?

    python bench/joint_bounds.py MODEL DEV [--every 8] [--times 3,10] [--calls 200] [--most 20]

A factor of positive weight pays for itself through multipliers of its arcs. Factors that share all
arcs but one, and whose other arcs are heads of the same word, exclude each other, so that a shared
arc need pay only the largest of their multipliers and not the sum: Σ_g z_gpc = z_pc says so to a
linear program. This computes the bound of the root both ways, by the same number of Polyak steps
towards the best score, without elimination, for the problems of a treebank with their factors'
weights multiplied; problems that the search closes in a few calls tell nothing and are left out.
Writes bench/results/joint_bounds.json and .md.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections import defaultdict
from statistics import fmean, median
from typing import Any

import numpy as np
from measure import markdown, write_result
from numpy.typing import NDArray

from bbparse.bounding.multipliers import project_simplex
from bbparse.oracle.projective.chart import Chart, build
from bbparse.oracle.projective.recurrences import RECURRENCES
from bbparse.parser import Parser
from bbparse.presolve import presolve
from bbparse.problem import Problem
from bbparse.solve import solve
from bbparse.treebank import read_conllu

FEW_CALLS = 8
Floats = NDArray[np.float64]
COLUMNS = [
    ("problems", lambda row: f"{row['problems']}"),
    ("shared payments", lambda row: f"{row['shared']:.1f}"),
    ("mean gap, one by one", lambda row: f"{row['alone']:.2f}"),
    ("mean gap, together", lambda row: f"{row['together']:.2f}"),
    ("median ratio", lambda row: f"{row['ratio']:.3f}"),
]


def exclusive(factors: list[list[int]], weight: Floats, mod: Floats) -> list[list[int]]:
    """For each arc of each factor the number of the payment it shares with others, or -1."""
    groups: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for f, arcs in enumerate(factors):
        if weight[f] > 0.0:
            for i, arc in enumerate(arcs):
                groups[tuple(sorted(arcs[:i] + arcs[i + 1 :])), mod[arc]].append((f, i))
    shared = [[-1] * len(arcs) for arcs in factors]
    taken: set[int] = set()
    n_shared = 0
    for (rest, _), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        members = [(f, i) for f, i in members if f not in taken]
        if len(members) < 2:
            continue
        taken.update(f for f, _ in members)
        for arc in rest:
            for f, _ in members:
                shared[f][factors[f].index(arc)] = n_shared
            n_shared += 1
    return shared


def root_bound(
    problem: Problem, chart: Chart, best: float, calls: int, together: bool
) -> tuple[float, int]:
    """The lowest bound that so many steps find, and how many payments are shared."""
    place = np.empty(len(chart.order), np.int64)
    place[chart.order] = np.arange(len(chart.order))
    pieces = np.split(place[problem.factor_arcs], problem.factor_ptr[1:-1])
    factors, weight = [piece.tolist() for piece in pieces], problem.factor_score
    shared = exclusive(factors, weight, problem.arc_mod[chart.order])
    if not together:
        shared = [[-1] * len(arcs) for arcs in factors]
    n_shared = 1 + max((s for row in shared for s in row), default=-1)
    lam = [
        np.full(len(arcs), weight[f] / len(arcs)) if weight[f] > 0.0 else np.zeros(1)
        for f, arcs in enumerate(factors)
    ]
    lowest = previous = np.inf
    mild = 1.0
    for _ in range(calls):
        score, constant = chart.arc_score.copy(), 0.0
        payer: dict[int, tuple[int, int]] = {}
        for f, arcs in enumerate(factors):
            if weight[f] <= 0.0:
                score[arcs] -= lam[f][0]
                constant += lam[f][0] * (len(arcs) - 1)
                continue
            for i, arc in enumerate(arcs):
                s = shared[f][i]
                if s < 0:
                    score[arc] += lam[f][i]
                elif s not in payer or lam[f][i] > lam[payer[s][0]][payer[s][1]]:
                    payer[s] = (f, i)
        for f, i in payer.values():
            score[factors[f][i]] += lam[f][i]
        goal, tree = dataclasses.replace(chart, arc_score=score).viterbi()
        bound = goal + constant
        lowest = min(lowest, bound)
        mild *= 0.97 if bound > previous else 1.0
        previous = bound
        on = np.zeros(len(score))
        on[place[tree]] = 1.0
        directions = []
        for f, arcs in enumerate(factors):
            if weight[f] <= 0.0:
                directions.append(np.array([len(arcs) - 1 - on[arcs].sum()]))
                continue
            pays = [shared[f][i] < 0 or payer[shared[f][i]] == (f, i) for i in range(len(arcs))]
            direction = on[arcs] * pays
            directions.append(direction - direction.mean())
        norm = sum(float(d @ d) for d in directions)
        if norm == 0.0 or lowest <= best:
            break
        step = mild * (bound - best) / norm
        for f, direction in enumerate(directions):
            lam[f] -= step * direction
            if weight[f] > 0.0:
                project_simplex(lam[f], 0, len(lam[f]), weight[f], np.empty(len(lam[f])))
            else:
                lam[f] = np.clip(lam[f], 0.0, -weight[f])
    return lowest, n_shared


def main() -> None:
    """Compare and write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("dev")
    arguments.add_argument("--every", type=int, default=8)
    arguments.add_argument("--times", default="3,10")
    arguments.add_argument("--calls", type=int, default=200)
    arguments.add_argument("--most", type=int, default=20, help="problems of each set")
    given = arguments.parse_args()
    parser = Parser.load(given.model)
    sentences = list(read_conllu(given.dev))[:: given.every]
    recurrence = RECURRENCES[parser.config.model.backbone]
    rows = []
    for times in map(float, given.times.split(",")):
        gaps: list[tuple[float, float, int]] = []
        for sentence in sentences:
            problem = parser.problem(sentence)
            problem = dataclasses.replace(problem, factor_score=times * problem.factor_score)
            found = solve(problem, backbone=recurrence.name, node_limit=300)
            if found.stats["dp_calls"] <= FEW_CALLS or not found.proved.all():
                continue
            small, _ = presolve(problem, recurrence.holds)
            chart, best = build(small, recurrence), float(found.scores[0])
            alone, _ = root_bound(small, chart, best, given.calls, together=False)
            joint, n_shared = root_bound(small, chart, best, given.calls, together=True)
            gaps.append((alone - best, joint - best, n_shared))
            if len(gaps) == given.most:
                break
        rows.append(
            (
                f"{times:g}",
                {
                    "problems": len(gaps),
                    "shared": fmean(g[2] for g in gaps),
                    "alone": fmean(g[0] for g in gaps),
                    "together": fmean(g[1] for g in gaps),
                    "ratio": median(g[1] / g[0] for g in gaps if g[0] > 0.0),
                },
            )
        )
    result = {"calls": given.calls, "by_times": dict(rows)}
    write_result("joint_bounds", result, markdown("factors times", rows, COLUMNS))


if __name__ == "__main__":
    main()
