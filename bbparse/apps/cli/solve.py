"""``bbparse solve`` solves a problem in a file; ``bbparse verify`` checks the proof."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, RealRange, aligned, command, flag, option, say
from bbparse.core import Problem, Solution
from bbparse.inference.methods import METHODS
from bbparse.inference.proof.certify import with_proof
from bbparse.inference.proof.verify import verify as check_proof
from bbparse.inference.solve import solve as find_trees
from bbparse.runtime.errors import VerificationError, one_line
from bbparse.treebank.drawing.formats import finite

_MEANING = {
    "optimal": "proved",
    "gap": "stopped by the gap",
    "time_limit": "stopped by the time limit",
    "node_limit": "stopped by the node limit",
    "work_limit": "stopped by the work limit",
    "tree_limit": "stopped by the limit on trees",
    "infeasible": "no tree keeps all constraints",
}


@command()
@click.argument("problem_file", type=FILE, metavar="PROBLEM.npz")
@options.number("k_best", "Find the K best trees.", 1)
@options.limits(nodes=None)
@option(
    "--gap",
    "Stop when score and bound differ by at most this fraction, such as 0.01.",
    RealRange(0.0),
    0.0,
    metavar="G",
    show_default=False,
)
@option(
    "--method",
    "Branch and bound, integer program, or price and cut; the last two need bbparse[ilp].",
    list(METHODS),
    "auto",
)
@option(
    "--output", "Write the solution to a file.", OutputFile(streams=False), metavar="SOLUTION.npz"
)
@option(
    "--proof proof_file",
    "Prove the solution and write both to a file; see 'bbparse verify'.",
    OutputFile(streams=False),
    metavar="SOLUTION.npz",
)
@flag("--json as_json", "Print one JSON object.")
def solve(
    problem_file: str, output: str | None, proof_file: str | None, as_json: bool, **search: Any
) -> None:
    """Solve a problem saved by Problem.save: find its best trees.

    The output has, for each tree, its score, an upper bound on the score of any tree of its rank,
    whether it is proved, and the head of each word (0 is the root; head:label if arcs have labels).

    The exit status is 0 for every answer, also if no tree exists or a limit stopped the search. It
    is 1 if no proof could be made for --proof, which then writes no file, and 2 if a file cannot be
    read or written.

    \b
    Example:
      bbparse solve problem.npz --k-best 5 --time-limit 10 --output solution.npz
    """
    problem = Problem.load(problem_file)
    solution = find_trees(problem, **search)
    no_proof = ""
    if proof_file is not None:
        taken = float(solution.stats["seconds"])
        limit = search["time_limit"]
        left = None if limit is None else max(0.0, limit - taken)
        solution, no_proof = with_proof(problem, solution, search["k_best"], time_limit=left)
        if not no_proof:
            solution.save(proof_file)
    if output is not None:
        solution.save(output)
    if as_json:
        click.echo(json.dumps(_as_dict(problem, solution), indent=2))
    else:
        click.echo(_table(problem, solution))
    if no_proof:
        say(f"no proof: {no_proof}")
        raise click.exceptions.Exit(1)


def _as_dict(problem: Problem, solution: Solution) -> dict[str, object]:
    return {
        "status": solution.status,
        "n_words": problem.n_words,
        "trees": [
            {
                "heads": heads,
                **({} if labels is None else {"labels": labels}),
                "score": score,
                "upper_bound": finite(bound),
                "proved": proved,
            }
            for heads, labels, score, bound, proved in _trees(problem, solution)
        ],
        "stats": {name: finite(value) for name, value in solution.stats.items()},
        **({"conflict": [*solution.conflict]} if solution.status == "infeasible" else {}),
    }


def _trees(problem: Problem, solution: Solution) -> Iterator[tuple[Any, ...]]:
    """Yield heads, labels or None, score, upper bound and proof of each tree."""
    s, labels = solution, problem.arc_label
    numbers = zip(s.scores.tolist(), s.upper_bounds.tolist(), s.proved.tolist())
    for heads, arcs, about in zip(s.heads[:, 1:].tolist(), s.arcs, numbers):
        yield heads, None if labels is None else labels[arcs].tolist(), *about


def _table(problem: Problem, solution: Solution) -> str:
    status, nodes = solution.status, int(solution.stats.get("nodes", 0))
    seconds = solution.stats["seconds"]
    lines = [str(problem), f"{status}: {_MEANING[status]}; {nodes} nodes, {seconds:.3f} s"]
    if not len(solution):
        if status != "infeasible":
            lines.append("no tree was found")
        if solution.conflict:
            lines.append("these cannot all be kept:")
            lines.extend(f"  {line}" for line in solution.conflict)
        return "\n".join(lines)
    rows = [("tree", "score", "upper bound", "proved", f"heads of words 1..{problem.n_words}")]
    trees = enumerate(_trees(problem, solution), start=1)
    for k, (heads, labels, score, bound, proved) in trees:
        arcs = heads if labels is None else [f"{h}:{label}" for h, label in zip(heads, labels)]
        shown = f"{score:.10g}", f"{bound:.10g}", "yes" if proved else "no"
        rows.append((str(k), *shown, " ".join(map(str, arcs))))
    return "\n".join([*lines, "", aligned(rows, left=[4])])


@command()
@click.argument("problem", type=FILE, metavar="PROBLEM.npz")
@click.argument("solution", type=FILE, metavar="SOLUTION.npz")
def verify(problem: str, solution: str) -> None:
    """Check the proof that SOLUTION has the best trees of PROBLEM.

    The checker shares no code with the solver: it scores the trees by the definition and recomputes
    the bound of every leaf of the proof. The exit status is 0 if the proof holds, 1 if it does not,
    and 2 if a file cannot be read.

    \b
    Example:
      bbparse solve problem.npz --proof solution.npz
      bbparse verify problem.npz solution.npz
    """
    claimed_problem, claimed = Problem.load(problem), Solution.load(solution)
    try:
        check_proof(claimed_problem, claimed)
    except VerificationError as error:
        say(f"not verified: {one_line(error)}")
        raise click.exceptions.Exit(1) from None
    click.echo(f"verified: {_claim(claimed)}")


def _claim(solution: Solution) -> str:
    """Describe what a proof shows."""
    count = len(solution)
    if solution.proof is None or not count:
        return "there is no feasible tree"
    leaves = f"shown by {solution.proof.n_leaves} leaves"
    best = f"best score {solution.scores[0]:.10g}, {leaves}"
    if count < solution.proof.k_best:
        return f"these are all feasible trees, {count} of them; {best}"
    if count == 1:
        return f"this is the best tree; {best}"
    return f"these are the {count} best trees; {best}"
