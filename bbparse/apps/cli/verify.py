"""``bbparse verify``: check the proof of a solution."""

from __future__ import annotations

import click

from bbparse.apps.cli.common import FILE, command, say
from bbparse.core import Problem, Solution
from bbparse.inference.proof.verify import verify as check
from bbparse.runtime.errors import VerificationError, one_line


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
        check(claimed_problem, claimed)
    except VerificationError as error:
        say(f"not verified: {one_line(error)}")
        raise click.exceptions.Exit(1) from None
    click.echo(f"verified: {_claim(claimed)}")


def _claim(solution: Solution) -> str:
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
