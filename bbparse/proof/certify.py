"""Making proofs of solutions: `certify`, and `with_proof`, which `bbparse.solve` calls.

Bounds are lowered in floats, which is fast (:mod:`bbparse.proof.certifier`). If scores are so
unbalanced that rounding could exceed the tolerance of a proof, each subspace is reduced first, and
the checker's exact bounds decide (:mod:`bbparse.proof.unbalanced`).
"""

from __future__ import annotations

import time
from dataclasses import replace

from bbparse.problem import Problem, Solution
from bbparse.problem.proof import Proof
from bbparse.proof.certifier import Certifier
from bbparse.proof.unbalanced import UnbalancedCertifier, is_unbalanced


def certify(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Proof | None, str]:
    """Prove that the trees of a solution are the k best of a problem, or all that exist.

    The solution has the status "optimal" or "infeasible". The time limit, in seconds, is checked
    between subspaces. Returns the proof, None if the limit was reached or the solution lacks a
    better tree, and the reason why there is none; empty if there is one.
    """
    certifier = Certifier(problem, solution, k_best)
    if is_unbalanced(certifier):
        certifier = UnbalancedCertifier(problem, solution, k_best)
    return certifier.run(time_limit)


def with_proof(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Solution, str]:
    """Return the solution with its proof, and the reason if there is none.

    Arguments are those of `certify`. ``stats`` gain ``proof_seconds`` and, with a proof,
    ``proof_leaves``. A solution whose search reached a limit gets no proof.
    """
    started = time.perf_counter()
    if solution.status in ("optimal", "infeasible"):
        proof, reason = certify(problem, solution, k_best, time_limit=time_limit)
    else:
        proof, reason = None, f"the search ended with the status {solution.status}"
    stats = dict(solution.stats)
    stats["proof_seconds"] = time.perf_counter() - started
    if proof is not None:
        stats["proof_leaves"] = proof.n_leaves
    return replace(solution, proof=proof, stats=stats), reason
