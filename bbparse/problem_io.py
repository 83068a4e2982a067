"""Problems and solutions as .npz files; see `bbparse.archive` for how they are read and written."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.archive import FLAGS, INTS, REALS, TEXT, Rule, read_archive, write_archive
from bbparse.errors import ProblemError
from bbparse.problem import FIELDS, Problem
from bbparse.proof.proof import ARRAYS, Proof
from bbparse.solution import Solution

#: Version of the file format; a reader refuses files of a newer one.
VERSION = 1

_PROBLEM = "bbparse.Problem"
_SOLUTION = "bbparse.Solution"


def _problem_rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for name in FIELDS:
        group = name.partition("_")[0]
        like = None if group in ("factor", "count") else f"{group}_head"
        rules[name] = (REALS if name.endswith("_score") else INTS, 1, like)
    rules.update(
        n_words=(INTS, 0, None), quantum=(REALS, 0, None),
        projective=(FLAGS, 0, None), single_root=(FLAGS, 0, None),
    )  # fmt: skip
    return rules


_PROBLEM_RULES = _problem_rules()
#: Fields that may be missing: files of version 1 had no count factors at first.
_OPTIONAL = {"arc_label", "count_ptr", "count_arcs", "count_score_ptr", "count_score"}
_SOLUTION_RULES: dict[str, Rule] = {
    "heads": (INTS, 2, "scores"),
    "arcs": (INTS, 2, "scores"),
    "scores": (REALS, 1, "scores"),
    "upper_bounds": (REALS, 1, "scores"),
    "proved": (FLAGS, 1, "scores"),
    "status": (TEXT, 0, None),
    "stats_names": (TEXT, 1, "stats_names"),
    "stats_values": (REALS, 1, "stats_names"),
    "stats_whole": (FLAGS, 1, "stats_names"),
    "conflict": (TEXT, 1, None),
}
_PROOF_RULES: dict[str, Rule] = {
    "proof_problem": (TEXT, 0, None),
    "proof_k_best": (INTS, 0, None),
    **{
        f"proof_{name}": (REALS if dtype is np.float64 else INTS, ndim, None)
        for name, (dtype, ndim) in ARRAYS.items()
    },
}


def save_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """See `Problem.save`."""
    arrays = {name: np.asarray(getattr(problem, name)) for name in FIELDS if name != "arc_label"}
    if problem.arc_label is not None:
        arrays["arc_label"] = problem.arc_label
    write_archive(path, _PROBLEM, VERSION, arrays)


def load_problem(path: str | os.PathLike[str]) -> Problem:
    """See `Problem.load`."""
    values: dict[str, Any] = dict(
        read_archive(
            path, _PROBLEM, VERSION, _PROBLEM_RULES, optional=_OPTIONAL, error=ProblemError
        )
    )
    for name in ("n_words", "projective", "single_root", "quantum"):
        values[name] = values[name].item()
    try:
        return Problem(**values)
    except ProblemError as error:
        raise ProblemError(f"{os.fspath(path)}: {error}") from error


def save_solution(solution: Solution, path: str | os.PathLike[str]) -> None:
    """See `Solution.save`."""
    values = list(solution.stats.values())
    whole = [isinstance(value, int | np.integer) for value in values]
    arrays: dict[str, NDArray[Any]] = {
        "heads": solution.heads,
        "arcs": solution.arcs,
        "scores": solution.scores,
        "upper_bounds": solution.upper_bounds,
        "proved": solution.proved,
        "status": np.array(solution.status),
        "stats_names": np.array(list(solution.stats), dtype=np.str_),
        "stats_values": np.array(values, dtype=np.float64),
        "stats_whole": np.array(whole, dtype=np.bool_),
    }
    if solution.conflict:
        arrays["conflict"] = np.array(solution.conflict, dtype=np.str_)
    if solution.proof is not None:
        own = solution.proof.as_arrays()
        arrays.update({f"proof_{name}": array for name, array in own.items()})
    write_archive(path, _SOLUTION, VERSION, arrays)


def load_solution(path: str | os.PathLike[str]) -> Solution:
    """See `Solution.load`."""
    rules = {**_SOLUTION_RULES, **_PROOF_RULES}
    arrays = read_archive(
        path, _SOLUTION, VERSION, rules, optional={"conflict", *_PROOF_RULES}, error=ProblemError
    )
    own = {
        name.removeprefix("proof_"): arrays.pop(name) for name in _PROOF_RULES if name in arrays
    }
    if own and len(own) < len(_PROOF_RULES):
        missing = next(name for name in _PROOF_RULES if name.removeprefix("proof_") not in own)
        raise ProblemError(f"{os.fspath(path)}: field {missing} is missing, and others are there")
    names = arrays.pop("stats_names").tolist()
    values = arrays.pop("stats_values").tolist()
    whole = arrays.pop("stats_whole").tolist()
    status = str(arrays.pop("status").item())
    try:
        stats = {name: int(v) if w else v for name, v, w in zip(names, values, whole)}
        proof = Proof.from_arrays(own) if own else None
        conflict = arrays.pop("conflict", np.array([], dtype=np.str_)).tolist()
        return Solution(**arrays, status=status, stats=stats, proof=proof, conflict=conflict)
    except (ValueError, OverflowError) as error:
        raise ProblemError(f"{os.fspath(path)}: stats_values: {error}") from error
    except ProblemError as error:
        raise ProblemError(f"{os.fspath(path)}: {error}") from error
