"""How often `solve` disagrees with answers found otherwise, and how hard problems become.

    python bench/exactness.py small  [--problems 200000] [--seed 1]   # against enumeration, n <= 7
    python bench/exactness.py large  [--problems 2000]     # siblings and factors, against HiGHS
    python bench/exactness.py mixed  [--problems 2000]     # everything, against HiGHS, n = 8..40
    python bench/exactness.py proofs [--problems 20000]    # proofs, and faults planted in them
    python bench/exactness.py pricing [--problems 20000]   # price and cut, see below
    python bench/exactness.py rules [--problems 10000]     # valid trees with labels, n <= 5
    python bench/exactness.py growth                       # factors and their weights

Run it from the checkout: the generator of random problems and the enumeration are those of the
tests. Each mode writes bench/results/exactness-MODE.json, all but small every minute. With
--nonprojective, small and mixed draw problems that allow crossing arcs only, and the name of the
results ends in -nonprojective.

pricing takes problems with crossing arcs and triples: of up to six words against enumeration, and
for each 40 of these one of 8 to 30 words against HiGHS, or against branch and bound where HiGHS
takes more than five seconds. Every fiftieth of the former and all of the latter are bounded with
each set of constraints, too, to see whether theory's order holds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bbparse.errors import VerificationError  # noqa: E402
from bbparse.pricing import CONSTRAINTS, PricingSettings, price_and_cut  # noqa: E402
from bbparse.problem import FIELDS, Problem, Solution  # noqa: E402
from bbparse.problem.proof import BOUND, SPLIT, TREE, tolerances  # noqa: E402
from bbparse.proof.verify import verify  # noqa: E402
from bbparse.solving.solve import solve  # noqa: E402
from bench.random_problems import random_large, random_mixed  # noqa: E402
from tests.oracles.enumerate import enumerate_trees  # noqa: E402
from tests.oracles.ilp import Undecided, best_trees  # noqa: E402
from tests.strategies import random_problem, random_tree  # noqa: E402
from tests.validity.test_random import check_one  # noqa: E402

# Trees to enumerate grow as 8^n (projective) and faster (all, up to six words); most problems are
# small.
_SIZES = (1, 2, 3, 4, 5, 6, 7)
_SHARES = (0.05, 0.15, 0.25, 0.25, 0.2, 0.08, 0.02)


def spread(problem: Problem) -> float:
    """The sum of all magnitudes, of which rounding errors are a tiny share."""
    arrays = [getattr(problem, name) for name in FIELDS if name.endswith("_score")]
    return float(sum(np.abs(a[np.isfinite(a)]).sum() for a in arrays))


def differs(problem: Problem, answer: Solution, expected: list[tuple], k: int) -> str:
    """What is wrong with the k best trees, or the empty string.

    Trees of one score may come in any order, and which of those tied with the k-th are given is
    open; apart from that the sets must be the same.
    """
    wanted = expected[:k]
    if len(answer) != len(wanted):
        return f"{len(answer)} trees, expected {len(wanted)}"
    slack = 1e-11 * spread(problem)
    scores = {tuple(arcs): score for score, arcs in expected}
    seen = set()
    for arcs, score, (best, _) in zip(answer.arcs.tolist(), answer.scores, wanted):
        if abs(score - best) > slack:
            return f"score {score}, expected {best}"
        if abs(scores.get(tuple(arcs), np.inf) - score) > slack:
            return f"tree {arcs} does not score {score}"
        seen.add(tuple(arcs))
    if len(seen) < len(wanted):
        return "a tree is there twice"
    last = wanted[-1][0] if wanted else 0.0
    missing = [arcs for score, arcs in wanted if score > last + slack and tuple(arcs) not in seen]
    return f"tree {missing[0]} is missing" if missing else ""


def count_kinds(kinds: Counter[str], problem: Problem) -> None:
    """Add a problem to the numbers of its kinds."""
    kinds["projective" if problem.projective else "non-projective"] += 1
    kinds["single root" if problem.single_root else "several roots"] += 1
    kinds["labelled" if problem.arc_label is not None else "unlabelled"] += 1
    kinds["with count factors"] += len(problem.count_ptr) > 1


class Notes:
    """What is known so far, in the file of results, so that a run that is ended loses little."""

    def __init__(self, mode: str) -> None:
        self.path = HERE / "results" / f"exactness-{mode}.json"
        self.path.parent.mkdir(exist_ok=True)
        self.started = self.last = time.monotonic()

    def write(self, result: Callable[[], dict[str, Any]], done: bool = False) -> None:
        """Write a result, once a minute or when all is done."""
        now = time.monotonic()
        if done or now - self.last > 60.0:
            self.last = now
            values = {**result(), "complete": done, "wall_seconds": now - self.started}
            self.path.write_text(json.dumps(values, indent=1) + "\n")


def small(count: int, seed: int, projective: bool | None = None) -> dict[str, Any]:
    """Random problems of every kind against enumeration; ``projective`` None: some of each."""
    rng = np.random.default_rng(seed)
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    nodes = calls = 0
    hardest = (0, 0)
    notes = Notes("small" if projective is None else "small-nonprojective")

    def result() -> dict[str, Any]:
        return {
            "problems": number + 1, "seed": seed, "disagreements": wrong, "kinds": dict(kinds),
            "nodes": nodes / (number + 1), "dp_calls": calls / (number + 1),
            "most_nodes": hardest[0], "hardest": hardest[1],
        }  # fmt: skip

    for number in range(count):
        n = min(int(rng.choice(_SIZES, p=_SHARES)), 7 if projective is None else 6)
        counts = int(rng.choice([0, 4]))
        problem = random_problem(
            rng, min_words=min(n, 5), max_words=n, max_counts=counts, projective=projective
        )
        k = int(rng.integers(1, 21))
        expected = [(float(s), tuple(a)) for s, a in enumerate_trees(problem)]
        answer = solve(problem, k_best=k)
        fault = differs(problem, answer, expected, k)
        if fault:
            wrong.append(f"problem {number} of seed {seed}: {fault}: {problem!r}")
        nodes += int(answer.stats.get("nodes", 0))
        calls += int(answer.stats.get("dp_calls", 0))
        hardest = max(hardest, (int(answer.stats.get("nodes", 0)), number))
        count_kinds(kinds, problem)
        kinds["infeasible"] += not expected
        notes.write(result)
    return result()


def against_program(
    mode: str, count: int, seed: int, projective: bool | None = None
) -> dict[str, Any]:
    """Random problems of 8 to 40 words against an integer program."""
    rng = np.random.default_rng(seed)
    wrong: list[str] = []
    kinds: Counter[str] = Counter()
    open_ours = open_highs = 0
    ours = theirs = 0.0
    nodes: list[int] = []
    notes = Notes(mode if projective is None else f"{mode}-nonprojective")

    def result() -> dict[str, Any]:
        return {
            "problems": len(nodes), "seed": seed, "disagreements": wrong, "kinds": dict(kinds),
            "undecided": open_ours, "undecided_by_highs": open_highs, "seconds": ours,
            "seconds_highs": theirs, "median_nodes": float(np.median(nodes or [0])),
            "most_nodes": max(nodes, default=0),
        }  # fmt: skip

    for number in range(count):
        n = int(rng.integers(8, 41))
        k = 1
        if mode == "mixed":
            problem = random_mixed(rng, n, projective)
            k = int(rng.choice([1, 1, 2, 5]))
        else:
            problem = random_large(rng, n)
        started = time.process_time()
        answer = solve(problem, k_best=k, time_limit=60.0, explain=False)
        ours += time.process_time() - started
        nodes.append(int(answer.stats.get("nodes", 0)))
        count_kinds(kinds, problem)
        started = time.process_time()
        try:
            expected = best_trees(problem, k, 300.0)
        except Undecided:
            open_highs += 1
            continue
        finally:
            theirs += time.process_time() - started
            notes.write(result)
        if answer.status not in ("optimal", "infeasible"):
            open_ours += 1
            continue
        slack = 1e-9 * spread(problem)
        scores = [float(score) for score, _ in expected]
        same = len(answer) == len(scores) and np.allclose(answer.scores, scores, 0.0, slack)
        if not same:
            wrong.append(f"problem {number} of seed {seed}: {answer!r}, HiGHS has {scores}")
    return result()


def proofs(count: int, seed: int) -> dict[str, Any]:
    """Random problems with proofs: all must hold, and five planted faults must not.

    Up to seven words as a rule; one problem in a hundred has 8 to 20.
    """
    rng = np.random.default_rng(seed)
    kinds: Counter[str] = Counter()
    failed: list[str] = []
    missed: list[str] = []
    leaves: list[int] = []
    faults: Counter[str] = Counter()
    making = checking = 0.0
    notes = Notes("proofs")

    def result() -> dict[str, Any]:
        return {
            "problems": len(leaves), "seed": seed, "disagreements": failed + missed,
            "kinds": dict(kinds), "faults_planted": dict(faults),
            "leaves": float(np.mean(leaves or [0])), "most_leaves": max(leaves, default=0),
            "seconds_making": making, "seconds_checking": checking,
        }  # fmt: skip

    for number in range(count):
        if number % 100 == 99:
            problem = random_mixed(rng, int(rng.integers(8, 21)))
        else:
            n = int(rng.choice(_SIZES, p=_SHARES))
            problem = random_problem(
                rng, min_words=min(n, 5), max_words=n, max_counts=int(rng.choice([0, 4]))
            )
        k = int(rng.integers(1, 21))
        name = f"problem {number} of seed {seed}"
        started = time.process_time()
        answer = solve(problem, k_best=k, proof=True, explain=False, time_limit=600.0)
        making += time.process_time() - started
        started = time.process_time()
        try:
            verify(problem, answer)
        except VerificationError as error:
            failed.append(f"{name}: {error}: {problem!r}")
        checking += time.process_time() - started
        leaves.append(int(answer.stats.get("proof_leaves", 0)))
        count_kinds(kinds, problem)
        kinds["without a tree"] += not len(answer)
        if number % 10 == 0 and answer.proof is not None:
            for fault, broken in planted(rng, problem, answer):
                faults[fault] += 1
                try:
                    verify(problem, broken)
                except VerificationError:
                    continue
                missed.append(f"{name}: the checker does not see: {fault}")
        notes.write(result)
    return result()


#: What is at least as tight comes first; with all columns, and when they come in as they matter.
BOUNDS = {
    "all": PricingSettings(CONSTRAINTS), "OneGP, GPArc": PricingSettings(),
    "ArcGP, GPArc": PricingSettings(("ArcGP", "GPArc")),
    "OneGP, NoGP": PricingSettings(("OneGP", "NoGP")),
    "flow": PricingSettings(connectivity="flow"),
}  # fmt: skip


def with_triples(rng: np.random.Generator, n: int) -> Problem:
    """Crossing arcs, some five heads a word, and all their triples."""
    chosen = rng.random((n + 1, n + 1)) < 4.0 / n
    chosen[random_tree(rng, n, False)[1:], np.arange(1, n + 1)] = True
    np.fill_diagonal(chosen, False)
    chosen[:, 0] = False
    head, mod = np.nonzero(chosen)
    above, below = np.nonzero((mod[:, None] == head) & (head[:, None] != mod))
    return Problem(
        n, head, mod, 2.0 * rng.normal(size=len(head)), gc_grand=head[above], gc_head=mod[above],
        gc_mod=mod[below], gc_score=rng.choice([0.3, 1.0, 2.0]) * rng.normal(size=len(above)),
        projective=False, single_root=bool(rng.integers(2)),
    )  # fmt: skip


def pricing(count: int, seed: int) -> dict[str, Any]:
    """Price and cut against enumeration and HiGHS, and its bounds against each other."""
    rng = np.random.default_rng(seed)
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    order: Counter[str] = Counter()
    notes = Notes("pricing")

    def result() -> dict[str, Any]:
        return {
            "problems": kinds["small"], "problems_large": kinds["large"], "seed": seed,
            "disagreements": wrong, "kinds": dict(kinds), "bounds": dict(order),
        }  # fmt: skip

    def check(problem: Problem, k: int, settings: PricingSettings, size: str, name: str) -> None:
        answer = price_and_cut(problem, k, time_limit=300.0, settings=settings)
        if size == "small":
            expected = [(float(s), tuple(a)) for s, a in enumerate_trees(problem)]
        else:
            try:
                expected = best_trees(problem, k, 5.0)
            except Undecided:
                kinds["undecided by HiGHS"] += 1
                other = solve(problem, k_best=k, explain=False)
                expected = [(float(s), tuple(a)) for s, a in zip(other.scores, other.arcs)]
        kinds["several nodes"] += int(answer.stats["nodes"] > 1)
        kinds["not integral at the root"] += not answer.stats["integral_at_root"]
        slack = 1e-9 * spread(problem)
        scores = [score for score, _ in expected[:k]]
        if answer.status not in ("optimal", "infeasible"):
            wrong.append(f"{name}: {answer.status}")
        elif len(answer) != len(scores) or not np.allclose(answer.scores, scores, 0.0, slack):
            wrong.append(f"{name}: {answer!r}, expected {scores}")
        elif scores and answer.stats["root_bound"] < scores[0] - slack:
            wrong.append(f"{name}: bound {answer.stats['root_bound']} of {scores[0]}")
        if not scores or (size == "small" and kinds["small"] % 50):
            return
        found = {
            key: [
                price_and_cut(
                    problem, node_limit=1, settings=dataclasses.replace(own, delayed=delayed)
                ).stats["root_bound"]
                for delayed in (True, False)
            ]
            for key, own in BOUNDS.items()
        }
        # a bound is as low as the best tree at least: then the program was not solved to its end
        known = {key: max(*values, scores[0]) for key, values in found.items()}
        slack = 1e-7 * spread(problem)
        order["problems"] += 1
        for key, (late, early) in found.items():
            if min(late, early) < scores[0] - slack:
                wrong.append(f"{name}: {key} has {late} and {early}, {scores[0]} is there")
            order[f"{key} closes"] += int(known[key] <= scores[0] + slack)
        for less, more in (("all", "OneGP, GPArc"), ("OneGP, GPArc", "all"),
                           ("OneGP, GPArc", "ArcGP, GPArc"), ("OneGP, GPArc", "OneGP, NoGP"),
                           ("OneGP, GPArc", "flow")):  # fmt: skip
            if known[less] > known[more] + slack:
                wrong.append(f"{name}: {less} has {known[less]}, {more} {known[more]}")
            order[f"{less} < {more}"] += int(known[less] < known[more] - slack)

    for number in range(count):
        name = f"problem {number} of seed {seed}"
        problem = random_problem(
            rng, max_words=6, projective=False, parts=("gc",), max_factors=0, labelled=False
        )
        kinds["small"] += 1
        settings = PricingSettings()
        if rng.random() < 0.5:
            settings = dataclasses.replace(
                BOUNDS[str(rng.choice(list(BOUNDS)))], delayed=bool(rng.integers(2)),
                raised=bool(rng.integers(2)),
            )  # fmt: skip
        check(problem, int(rng.choice([1, 1, 2, 5])), settings, "small", name)
        if number % 40 == 39:
            large = with_triples(rng, int(rng.integers(8, 31)))
            kinds["large"] += 1
            check(large, int(rng.choice([1, 1, 2])), PricingSettings(), "large", f"{name}, large")
        notes.write(result)
    return result()


def planted(
    rng: np.random.Generator, problem: Problem, answer: Solution
) -> Iterator[tuple[str, Solution]]:
    """The solution with a fault: one of each kind that can be planted in it."""
    proof = answer.proof
    assert proof is not None

    def changed(**fields: Any) -> Solution:
        return dataclasses.replace(answer, proof=dataclasses.replace(proof, **fields))

    size = 1e-3 if tolerances(problem)[0] < 1e-4 else 1e-3 * spread(problem)
    bounds = np.flatnonzero(np.isin(proof.node_kind, (BOUND, TREE)))
    leaves = np.flatnonzero(proof.node_kind != SPLIT)
    if len(bounds):
        lower = np.array(proof.node_bound)
        lower[rng.choice(bounds)] -= size
        yield "bound lowered", changed(node_bound=lower)
    gone = int(rng.choice(leaves))
    kept = np.arange(len(proof.node_kind)) != gone
    yield "leaf removed", changed(
        node_kind=proof.node_kind[kept], node_bound=proof.node_bound[kept],
        node_vector=proof.node_vector[kept], node_ptr=np.delete(proof.node_ptr, gone + 1),
    )  # fmt: skip
    used = proof.node_vector[bounds][proof.node_kind[bounds] == BOUND]
    soft = np.flatnonzero(np.isfinite(problem.factor_score))
    if len(used) and len(soft):
        lam = np.array(proof.factor_multipliers)
        row, factor = int(rng.choice(used)), int(rng.choice(soft))
        weight = float(problem.factor_score[factor])
        at = int(problem.factor_ptr[factor])
        lam[row, at] = lam[row, at] + size if weight >= 0.0 else size - weight
        yield "multiplier outside", changed(factor_multipliers=lam)
    heads: dict[int, set[int]] = {}
    for head, mod, _, state in zip(*(column.tolist() for column in problem.arcs)):
        if state != -1 and not (problem.arc_state[problem.arc_mod == mod] == 1).any():
            heads.setdefault(mod, set()).add(head)
    free = sum(len(own) > 1 for own in heads.values())
    if proof.pair_multipliers.shape[1] and proof.node_kind[0] == BOUND and free > 1:
        # the tree is paid for all arcs, and automata can do without all but one
        pairs = np.array(proof.pair_multipliers)
        most = max(spread(problem), 1.0) + np.abs(pairs).sum()
        pairs[:, : pairs.shape[1] // 2] += 1e3 * most
        yield "multipliers of pairs", changed(pair_multipliers=pairs)
    more = solve(problem, k_best=len(answer) + 1, explain=False) if len(answer) else answer
    if len(more) > len(answer) and answer.scores[-1] - more.scores[-1] > size:
        place = [*range(len(answer) - 1), len(answer)]
        yield "tree swapped", dataclasses.replace(
            answer, heads=more.heads[place], arcs=more.arcs[place], scores=more.scores[place],
            upper_bounds=more.scores[place],
        )  # fmt: skip


def rules(count: int, seed: int) -> dict[str, Any]:
    """The k best valid trees under random rules, against all trees with all labels."""
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    notes = Notes("rules")

    def result() -> dict[str, Any]:
        return {
            "problems": kinds.total(), "seed": seed, "disagreements": wrong, "kinds": dict(kinds)
        }

    for number in range(seed * 1_000_000, seed * 1_000_000 + count):
        try:
            kinds[check_one(number).partition(" ")[0]] += 1
        except AssertionError as error:
            wrong.append(f"seed {number}: {error}")
            kinds["wrong"] += 1
        notes.write(result)
    return result()


def growth(seed: int) -> dict[str, Any]:
    """25 words, five heads each: nodes, calls and time as factors and their weights grow."""
    rows = []
    for factors in (10, 100, 1000, 10000):
        for weight in (0.1, 0.3, 1.0, 3.0, 10.0):
            rng = np.random.default_rng(seed)
            times, nodes, calls, gaps = [], [], [], []
            for _ in range(5):
                n = 25
                pairs = {(m - 1, m) for m in range(1, n + 1)}
                for m in range(1, n + 1):
                    others = [h for h in range(n + 1) if h != m]
                    pairs.update((int(h), m) for h in rng.choice(others, size=4, replace=False))
                arcs = np.array(sorted(pairs), np.int32)
                sets = [rng.choice(len(arcs), size=2, replace=False) for _ in range(factors)]
                problem = Problem(
                    n, arcs[:, 0], arcs[:, 1], rng.normal(size=len(arcs)),
                    factor_ptr=2 * np.arange(factors + 1), factor_arcs=np.concatenate(sets),
                    factor_score=weight * rng.normal(size=factors),
                )  # fmt: skip
                started = time.perf_counter()
                answer = solve(problem, time_limit=10.0)
                times.append(time.perf_counter() - started)
                nodes.append(int(answer.stats["nodes"]))
                calls.append(int(answer.stats["dp_calls"]))
                gaps.append(float(answer.upper_bounds[0] - answer.scores[0]))
            rows.append({
                "factors": factors, "weight": weight, "seconds": float(np.median(times)),
                "nodes": float(np.median(nodes)), "dp_calls": float(np.median(calls)),
                "proved": sum(gap <= 1e-9 for gap in gaps), "gap": float(np.median(gaps)),
            })  # fmt: skip
            print(rows[-1], flush=True)
    return {"words": 25, "problems_each": 5, "time_limit": 10.0, "rows": rows}


def growth_table(rows: list[dict[str, Any]]) -> str:
    """Nodes, DP calls and seconds by number of factors and their weights, in Markdown."""
    weights = sorted({row["weight"] for row in rows})
    head = ["factors", *(f"{weight:g} × the arcs" for weight in weights)]
    lines = [" | ".join(head), " | ".join(["---:"] * len(head))]
    for factors in sorted({row["factors"] for row in rows}):
        cells = [f"{factors:,}"]
        for weight in weights:
            row = next(r for r in rows if (r["factors"], r["weight"]) == (factors, weight))
            cell = f"{row['nodes']:,.0f} / {row['dp_calls']:,.0f} / {1e3 * row['seconds']:,.1f} ms"
            short = row["proved"] < 5
            cells.append(cell + (f" ({row['proved']} of 5 proved)" if short else ""))
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    """Run one mode and write its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    modes = ("small", "large", "mixed", "proofs", "pricing", "rules", "growth")
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--problems", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nonprojective", action="store_true")
    given = parser.parse_args()
    if given.nonprojective and given.mode not in ("small", "mixed"):
        parser.error("--nonprojective: for small and mixed only")
    projective = False if given.nonprojective else None
    notes = Notes(f"{given.mode}-nonprojective" if given.nonprojective else given.mode)
    if given.mode == "small":
        result = small(given.problems or 200_000, given.seed, projective)
    elif given.mode == "proofs":
        result = proofs(given.problems or 20_000, given.seed)
    elif given.mode == "pricing":
        result = pricing(given.problems or 20_000, given.seed)
    elif given.mode == "rules":
        result = rules(given.problems or 10_000, given.seed)
    elif given.mode == "growth":
        result = growth(given.seed)
        table = "Search nodes / calls of the dynamic program / time, medians of five problems.\n\n"
        notes.path.with_suffix(".md").write_text(table + growth_table(result["rows"]) + "\n")
    else:
        result = against_program(given.mode, given.problems or 2_000, given.seed, projective)
    notes.write(lambda: result, done=True)
    print(json.dumps(result, indent=1))
    raise SystemExit(bool(result.get("disagreements")))


if __name__ == "__main__":
    main()
