"""Problems and solutions as .npz files; see `bbparse.runtime.archive`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from bbparse.core.check import naming
from bbparse.core.parts import DTYPES
from bbparse.core.proof import ARRAYS, Proof
from bbparse.runtime.archive import FLAGS, INTS, REALS, TEXT, Rule, read_archive, write_archive
from bbparse.runtime.errors import ProblemError

_PROBLEM = "bbparse.Problem"
_SOLUTION = "bbparse.Solution"


_SOLUTION_RULES: dict[str, Rule] = {
    "heads": (INTS, 2, "scores"), "arcs": (INTS, 2, "scores"), "scores": (REALS, 1, "scores"),
    "upper_bounds": (REALS, 1, "scores"), "proved": (FLAGS, 1, "scores"), "status": (TEXT, 0, None),
    "stats_names": (TEXT, 1, "stats_names"), "stats_values": (REALS, 1, "stats_names"),
    "stats_whole": (FLAGS, 1, "stats_names"), "conflict": (TEXT, 1, None),
}
_PROOF_RULES: dict[str, Rule] = {
    "proof_problem": (TEXT, 0, None),
    "proof_k_best": (INTS, 0, None),
    **{
        f"proof_{name}": (REALS if dtype is np.float64 else INTS, ndim, None)
        for name, (dtype, ndim) in ARRAYS.items()
    },
}


_PROBLEM_RULES: dict[str, Rule] = {
    "n_words": (INTS, 0, None), "quantum": (REALS, 0, None),
    "projective": (FLAGS, 0, None), "single_root": (FLAGS, 0, None),
}  # fmt: skip
for _name in (*DTYPES, "arc_label"):
    _kind = _name.partition("_")[0]
    _like = None if _kind in ("factor", "count") else f"{_kind}_head"
    _PROBLEM_RULES[_name] = (REALS if _name.endswith("_score") else INTS, 1, _like)


def write_problem(path: str | os.PathLike[str], values: dict[str, Any]) -> None:
    """Write the fields of a problem; those that are None are left out."""
    arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
    write_archive(path, _PROBLEM, arrays)


def read_problem(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a problem; ProblemError if the file is damaged."""
    arrays = read_archive(
        path, _PROBLEM, _PROBLEM_RULES, optional={"arc_label"}, error=ProblemError
    )
    return {name: array if array.ndim else array.item() for name, array in arrays.items()}


def write_solution(path: str | os.PathLike[str], fields: dict[str, Any]) -> None:
    """Write the fields of a solution."""
    arrays = dict(fields)
    stats, proof = arrays.pop("stats"), arrays.pop("proof")
    numbers = list(stats.values())
    whole = [isinstance(value, int | np.integer) for value in numbers]
    arrays["status"] = np.array(arrays["status"])
    arrays["stats_names"] = np.array(list(stats), dtype=np.str_)
    arrays["stats_values"] = np.array(numbers, dtype=np.float64)
    arrays["stats_whole"] = np.array(whole, dtype=np.bool_)
    conflict = arrays.pop("conflict")
    if conflict:
        arrays["conflict"] = np.array(conflict, dtype=np.str_)
    if proof is not None:
        arrays.update({f"proof_{name}": array for name, array in proof.as_arrays().items()})
    write_archive(path, _SOLUTION, arrays)


def read_solution(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a solution; ProblemError if the file is damaged."""
    rules = {**_SOLUTION_RULES, **_PROOF_RULES}
    optional = {"conflict", *_PROOF_RULES}
    arrays: dict[str, Any] = dict(
        read_archive(path, _SOLUTION, rules, optional=optional, error=ProblemError)
    )
    proof_arrays = {
        name.removeprefix("proof_"): arrays.pop(name) for name in _PROOF_RULES if name in arrays
    }
    missing = [name for name in _PROOF_RULES if name.removeprefix("proof_") not in proof_arrays]
    stats = zip(*(arrays.pop(f"stats_{name}").tolist() for name in ("names", "values", "whole")))
    with naming(os.fspath(path)):
        if proof_arrays and missing:
            raise ProblemError(f"field {missing[0]} is missing")
        try:
            arrays["stats"] = {name: int(value) if whole else value for name, value, whole in stats}
        except (ValueError, OverflowError) as error:
            raise ProblemError(f"stats_values: {error}") from error
        arrays["proof"] = Proof.from_arrays(proof_arrays) if proof_arrays else None
    arrays["status"] = str(arrays["status"].item())
    arrays["conflict"] = [str(line) for line in arrays.get("conflict", ())]
    return arrays
