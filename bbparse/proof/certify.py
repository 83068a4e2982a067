"""Making proofs of solutions: `certify`, and `with_proof`, which `bbparse.solve` calls.

Bounds are lowered in floats, which is quick (:mod:`bbparse.proof.certifier`). Where scores are so
far out of proportion that rounding could be more than the tolerance of a proof, each subspace is
reduced first, and the checker's own exact bounds decide (:mod:`bbparse.proof.unbalanced`).
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
    """Prove that the trees of a solution are the k best of a problem, or all there are.

    The limit is looked at between subspaces. Without a proof the text says why.
    """
    certifier = Certifier(problem, solution, k_best)
    if is_unbalanced(certifier):
        certifier = UnbalancedCertifier(problem, solution, k_best)
    return certifier.run(time_limit)


def with_proof(
    problem: Problem, solution: Solution, k_best: int, *, time_limit: float | None = None
) -> tuple[Solution, str]:
    """The solution with its proof, if it has one, and why if it has none.

    Arguments are as for `certify`. ``stats`` gain ``proof_seconds`` and, with a proof,
    ``proof_leaves``. A search that a limit stopped has nothing to prove.
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
