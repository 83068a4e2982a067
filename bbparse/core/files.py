"""Problems and solutions as .npz files; see `bbparse.runtime.archive`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from bbparse.core.check import error_context
from bbparse.core.parts import DTYPES
from bbparse.core.proof import ARRAYS, Proof
from bbparse.runtime.archive import FLAGS, INTS, REALS, Rule, read_archive, write_archive
from bbparse.runtime.errors import ProblemError

_PROBLEM = "bbparse.Problem"
_SOLUTION = "bbparse.Solution"

_SOLUTION_RULES: dict[str, Rule] = {
    "heads": (INTS, 2, "scores"),
    "arcs": (INTS, 2, "scores"),
    "scores": (REALS, 1, "scores"),
    "upper_bounds": (REALS, 1, "scores"),
    "proved": (FLAGS, 1, "scores"),
    "status": str,
    "stats": dict,
    "conflict": list,
}
_PROOF_RULES: dict[str, Rule] = {
    "proof_problem": str,
    "proof_k_best": int,
    **{
        f"proof_{name}": (REALS if dtype is np.float64 else INTS, ndim, None)
        for name, (dtype, ndim) in ARRAYS.items()
    },
}

_PROBLEM_RULES: dict[str, Rule] = {
    "n_words": int,
    "quantum": float,
    "projective": bool,
    "single_root": bool,
}
for _name in (*DTYPES, "arc_label"):
    _kind = _name.partition("_")[0]
    _like = None if _kind in ("factor", "count") else f"{_kind}_head"
    _PROBLEM_RULES[_name] = (REALS if _name.endswith("_score") else INTS, 1, _like)


def write_problem(path: str | os.PathLike[str], fields: dict[str, Any]) -> None:
    """Write the fields of a problem; those that are None are left out."""
    known = {name: value for name, value in fields.items() if value is not None}
    write_archive(path, _PROBLEM, known)


def read_problem(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a problem; ProblemError if the file is damaged."""
    return read_archive(path, _PROBLEM, _PROBLEM_RULES, {"arc_label"}, ProblemError)


def write_solution(path: str | os.PathLike[str], fields: dict[str, Any]) -> None:
    """Write the fields of a solution."""
    fields = dict(fields)
    proof = fields.pop("proof")
    if proof is not None:
        fields |= {name: getattr(proof, name.removeprefix("proof_")) for name in _PROOF_RULES}
    write_archive(path, _SOLUTION, fields)


def read_solution(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a solution; ProblemError if the file is damaged."""
    rules = _SOLUTION_RULES | _PROOF_RULES
    fields = read_archive(path, _SOLUTION, rules, _PROOF_RULES.keys(), ProblemError)
    proof = {name: fields.pop(name) for name in _PROOF_RULES if name in fields}
    fields["proof"] = None
    if proof:
        with error_context(os.fspath(path)):
            for name in _PROOF_RULES.keys() - proof.keys():
                raise ProblemError(f"field {name} is missing")
            fields["proof"] = Proof(**{k.removeprefix("proof_"): v for k, v in proof.items()})
    return fields
