"""Problems and solutions as .npz files.

Every field is one array of the archive, beside `kind` and `version`. Headers are read and sizes
compared before any data is, nothing is ever unpickled, and a file is written under another name
in the same folder first, so that no half-written one is left behind.
"""

from __future__ import annotations

import os
import secrets
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bbparse.errors import OutputError, ProblemError
from bbparse.problem import FIELDS, Problem
from bbparse.solution import Solution

#: Version of the file format; a reader refuses files of a newer one.
VERSION = 1

#: No array of an honest file is larger: 2 GiB.
MAX_BYTES = 1 << 31

_PROBLEM = "bbparse.Problem"
_SOLUTION = "bbparse.Solution"
_INTS, _REALS, _FLAGS, _TEXT = "iu", "iuf", "b", "U"

# Fields: (kinds of dtype, number of dimensions, name of the field with as many elements or None).
_Rule = tuple[str, int, str | None]


def _problem_rules() -> dict[str, _Rule]:
    rules: dict[str, _Rule] = {}
    for name in FIELDS:
        group = name.partition("_")[0]
        like = None if group == "factor" else f"{group}_head"
        rules[name] = (_REALS if name.endswith("_score") else _INTS, 1, like)
    rules.update(
        n_words=(_INTS, 0, None), quantum=(_REALS, 0, None),
        projective=(_FLAGS, 0, None), single_root=(_FLAGS, 0, None),
    )  # fmt: skip
    return rules


_PROBLEM_RULES = _problem_rules()
_SOLUTION_RULES: dict[str, _Rule] = {
    "heads": (_INTS, 2, "scores"),
    "arcs": (_INTS, 2, "scores"),
    "scores": (_REALS, 1, "scores"),
    "upper_bounds": (_REALS, 1, "scores"),
    "proved": (_FLAGS, 1, "scores"),
    "status": (_TEXT, 0, None),
    "stats_names": (_TEXT, 1, "stats_names"),
    "stats_values": (_REALS, 1, "stats_names"),
    "stats_whole": (_FLAGS, 1, "stats_names"),
}
_KIND_RULES: dict[str, _Rule] = {"kind": (_TEXT, 0, None), "version": (_INTS, 0, None)}


def save_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """See `Problem.save`."""
    arrays = {name: np.asarray(getattr(problem, name)) for name in FIELDS if name != "arc_label"}
    if problem.arc_label is not None:
        arrays["arc_label"] = problem.arc_label
    _write(path, _PROBLEM, arrays)


def load_problem(path: str | os.PathLike[str]) -> Problem:
    """See `Problem.load`."""
    values: dict[str, Any] = dict(_read(path, _PROBLEM, _PROBLEM_RULES, optional={"arc_label"}))
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
    _write(path, _SOLUTION, arrays)


def load_solution(path: str | os.PathLike[str]) -> Solution:
    """See `Solution.load`."""
    arrays = _read(path, _SOLUTION, _SOLUTION_RULES)
    names = arrays.pop("stats_names").tolist()
    values = arrays.pop("stats_values").tolist()
    whole = arrays.pop("stats_whole").tolist()
    status = str(arrays.pop("status").item())
    try:
        stats = {name: int(v) if w else v for name, v, w in zip(names, values, whole)}
        return Solution(**arrays, status=status, stats=stats)
    except (ValueError, OverflowError) as error:
        raise ProblemError(f"{os.fspath(path)}: stats_values: {error}") from error
    except ProblemError as error:
        raise ProblemError(f"{os.fspath(path)}: {error}") from error


def _write(path: str | os.PathLike[str], kind: str, arrays: dict[str, NDArray[Any]]) -> None:
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    marks = {"kind": np.array(kind), "version": np.array(VERSION, dtype=np.int32)}
    try:
        try:
            # Not numpy's savez, which writes pickled objects where it is given some.
            with (
                open(temporary, "xb") as file,
                zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
            ):
                for name, array in {**marks, **arrays}.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        npy.write_array(member, np.asarray(array), allow_pickle=False)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from error


def _read(
    path: str | os.PathLike[str],
    kind: str,
    rules: dict[str, _Rule],
    optional: set[str] | frozenset[str] = frozenset(),
) -> dict[str, NDArray[Any]]:
    """The arrays of an archive, after its headers have been checked against `rules`."""
    where = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(where, archive)
            _check_kind(where, archive, members, kind)
            wanted = set(rules) | set(_KIND_RULES)
            missing = sorted(wanted - optional - set(members))
            if missing:
                raise ProblemError(f"{where}: field {missing[0]} is missing")
            extra = sorted(set(members) - wanted)
            if extra:
                raise ProblemError(f"{where}: field {extra[0]!r} is unknown to format {VERSION}")
            shapes = {
                name: _check_header(where, archive, members[name], name, rules[name])
                for name in members
                if name in rules
            }
            for name, shape in shapes.items():
                like = rules[name][2]
                if like is not None and shape[0] != shapes[like][0]:
                    raise ProblemError(
                        f"{where}: {name} has {shape[0]} elements, expected {shapes[like][0]}"
                        f" as in {like}"
                    )
            return {name: _array(archive, members[name]) for name in shapes}
    except ProblemError:
        raise
    except FileNotFoundError:
        raise ProblemError(f"{where}: no such file") from None
    except OSError as error:
        raise ProblemError(f"{where}: cannot be read: {error.strerror or error}") from error
    except Exception as error:
        # Damaged archives make zipfile, zlib and numpy raise nearly anything.
        what = " ".join(str(error).split()) or type(error).__name__
        raise ProblemError(f"{where}: not a complete .npz file: {what}") from error


def _members(where: str, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name == info.filename:
            raise ProblemError(f"{where}: field {name!r} is no .npy array")
        if name in members:
            raise ProblemError(f"{where}: field {name!r} is there twice")
        members[name] = info
    return members


def _check_kind(
    where: str, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], kind: str
) -> None:
    for name, rule in _KIND_RULES.items():
        if name not in members:
            raise ProblemError(f"{where}: field {name} is missing: not written by bbparse")
        _check_header(where, archive, members[name], name, rule)
    found = str(_array(archive, members["kind"]).item())
    if found != kind:
        raise ProblemError(f"{where}: holds a {found!r}, expected a {kind!r}")
    version = int(_array(archive, members["version"]).item())
    if not 1 <= version <= VERSION:
        raise ProblemError(
            f"{where}: version is {version}, this bbparse reads 1..{VERSION}: install a newer one"
        )


def _check_header(
    where: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, rule: _Rule
) -> tuple[int, ...]:
    """Shape of a member, if its dtype, its dimensions and its size are what they should be."""
    kinds, ndim, _ = rule
    try:
        with archive.open(info) as member:
            version = npy.read_magic(member)
            if version == (1, 0):
                shape, _order, dtype = npy.read_array_header_1_0(member)
            else:
                shape, _order, dtype = npy.read_array_header_2_0(member)
            header = member.tell()
    except ValueError as error:
        raise ProblemError(f"{where}: field {name} is no .npy array: {error}") from error
    if dtype.hasobject:
        raise ProblemError(f"{where}: field {name} holds pickled objects, which are not read")
    if dtype.kind not in kinds:
        raise ProblemError(f"{where}: field {name} has dtype {dtype}, expected kind {kinds!r}")
    if len(shape) != ndim:
        raise ProblemError(f"{where}: field {name} has shape {shape}, expected {ndim} dimensions")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if info.file_size != header + size:
        raise ProblemError(
            f"{where}: field {name} has {info.file_size - header} bytes of data,"
            f" expected {size} for its shape {shape}"
        )
    if size > MAX_BYTES:
        raise ProblemError(f"{where}: field {name} is {size} bytes long, expected <= {MAX_BYTES}")
    return shape


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(info) as member:
        array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
    return array
