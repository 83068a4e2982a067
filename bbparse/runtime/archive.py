"""Archives of arrays: .npz files, written atomically and validated on read.

Every field is one array of the archive, beside its `kind` and the `version` of the format. Headers
are read and sizes compared before any data, and nothing is unpickled. A file is first written under
another name in the same folder, so that no incomplete one is left behind.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from collections.abc import Set
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bbparse.runtime.errors import BBParseError, OutputError, one_line
from bbparse.runtime.options import check_type
from bbparse.runtime.output import replacing, writing

#: Version of the format of all kinds of archives; others are not read.
FORMAT = 1
#: Maximum size of an array, 2 GiB: a larger one means that the file is damaged or hostile.
MAX_BYTES = 1 << 31

INTS, REALS, FLAGS, TEXT = "iu", "iuf", "b", "U"

#: Rule of a field: kinds of dtype, number of dimensions, field of the same length or None.
Rule = tuple[str, int, str | None]
_KIND_RULES: dict[str, Rule] = {"kind": (TEXT, 0, None), "version": (INTS, 0, None)}
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class _Damaged(Exception):
    """An error in an archive, before it becomes an error of the caller's class."""


def write_archive(
    path: str | os.PathLike[str],
    kind: str,
    arrays: dict[str, NDArray[Any]],
    *,
    compress: bool = True,
) -> None:
    """Write an archive of a kind, such as a model, atomically; `OutputError` if that fails.

    `arrays` are its fields by name. To compress makes the file smaller; not to, writing faster.
    """
    check_type("path", path, (str, os.PathLike), "a path", OutputError)
    name = os.fspath(path)
    with writing(name), replacing(os.path.realpath(name), name) as file:
        _write(file, kind, arrays, None if compress else 0)


def archive_bytes(kind: str, arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return an archive as bytes for `read_archive`: larger than a file, but made much faster."""
    file = io.BytesIO()
    _write(file, kind, arrays, 1)
    return file.getvalue()


def _write(
    file: IO[bytes], kind: str, arrays: dict[str, NDArray[Any]], level: int | None
) -> None:
    """Write an archive; ``level`` is the compression level of zlib, None its default, 0 none."""
    method = zipfile.ZIP_STORED if level == 0 else zipfile.ZIP_DEFLATED
    labels = {"kind": np.array(kind), "version": np.array(FORMAT, dtype=np.int32)}
    # Not numpy's savez, which pickles arrays of objects.
    with zipfile.ZipFile(file, "w", method, compresslevel=level) as archive:
        for field, array in {**labels, **arrays}.items():
            with archive.open(f"{field}.npy", "w", force_zip64=True) as member:
                if array.dtype.itemsize == 1 and level is None and hasattr(member, "_compressor"):
                    # Numbers repeat no sequences; to look for some makes their codes longer.
                    member._compressor = zlib.compressobj(
                        zlib.Z_BEST_COMPRESSION, zlib.DEFLATED, -15, 9, zlib.Z_HUFFMAN_ONLY
                    )
                npy.write_array(member, np.asarray(array), allow_pickle=False)


def read_archive(
    source: str | os.PathLike[str] | bytes,
    kind: str,
    rules: dict[str, Rule],
    optional: Set[str] = frozenset(),
    error: type[BBParseError] = BBParseError,
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an archive, a file or its bytes, after checking its headers.

    It must be of this kind and of the `FORMAT`, and its fields must obey their rules; those in
    `optional` may be missing. Otherwise an `error` names the file and the field.
    """
    check_type("path", source, (str, os.PathLike, bytes), "a path", error)
    where = "bytes" if isinstance(source, bytes) else os.fspath(source)
    try:
        with zipfile.ZipFile(
            io.BytesIO(source) if isinstance(source, bytes) else source
        ) as archive:
            return _read(archive, kind, rules, optional)
    except _Damaged as problem:
        raise error(f"{where}: {problem}") from problem.__cause__
    except FileNotFoundError:
        raise error(f"{where}: no such file") from None
    except OSError as problem:
        raise error(f"{where}: cannot be read: {problem.strerror or problem}") from problem
    except Exception as problem:
        # Damaged archives make zipfile, zlib and numpy raise nearly anything.
        reason = one_line(problem) or type(problem).__name__
        raise error(f"{where}: not a complete .npz file: {reason}") from problem


def archive_kind(path: str | os.PathLike[str]) -> str:
    """Return the kind of an archive; empty if the file cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("kind.npy") as member:
            return str(npy.read_array(member, allow_pickle=False).item())
    except Exception:  # see _read
        return ""


def _read(
    archive: zipfile.ZipFile, kind: str, rules: dict[str, Rule], optional: Set[str]
) -> dict[str, NDArray[Any]]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name == info.filename:
            raise _Damaged(f"field {name!r} is no .npy array")
        if name in members:
            raise _Damaged(f"field {name!r} is there twice")
        members[name] = info
    for name, rule in _KIND_RULES.items():
        if name not in members:
            raise _Damaged(f"field {name} is missing: not written by bbparse")
        _check_header(archive, members[name], name, rule)
    stored_kind = str(_array(archive, members["kind"]).item())
    if stored_kind != kind:
        raise _Damaged(f"holds a {stored_kind!r}, expected a {kind!r}")
    stored = int(_array(archive, members["version"]).item())
    if stored != FORMAT:
        raise _Damaged(f"its format is {stored}, expected {FORMAT}: make the file anew")
    missing = sorted(rules.keys() - optional - members.keys())
    if missing:
        raise _Damaged(f"field {missing[0]} is missing")
    extra = sorted(members.keys() - rules.keys() - _KIND_RULES.keys())
    if extra:
        raise _Damaged(f"field {extra[0]!r} is unknown")
    shapes = {
        name: _check_header(archive, members[name], name, rules[name])
        for name in members
        if name in rules
    }
    for name, shape in shapes.items():
        like = rules[name][2]
        if like is None:
            continue
        if like not in shapes:  # optional, but not without this one
            raise _Damaged(f"field {like} is missing")
        if shape[0] != shapes[like][0]:
            raise _Damaged(
                f"{name} has {shape[0]} elements, expected {shapes[like][0]} as in {like}"
            )
    return {name: _array(archive, members[name]) for name in shapes}


def _check_header(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, rule: Rule
) -> tuple[int, ...]:
    """Return the shape of a member after checking its dtype, dimensions and size."""
    kinds, ndim, _ = rule
    try:
        with archive.open(info) as member:
            read = _HEADERS[npy.read_magic(member)]
            shape, _order, dtype = read(member)
            header = member.tell()
    except (ValueError, KeyError) as error:
        raise _Damaged(f"field {name} is no .npy array: {error}") from error
    if dtype.hasobject:
        raise _Damaged(f"field {name} holds pickled objects, which are not read")
    if dtype.kind not in kinds:
        raise _Damaged(f"field {name} has dtype {dtype}, expected kind {kinds!r}")
    if len(shape) != ndim:
        raise _Damaged(f"field {name} has shape {shape}, expected {ndim} dimensions")
    size = math.prod(shape) * dtype.itemsize
    if info.file_size != header + size:
        raise _Damaged(
            f"field {name} has {info.file_size - header} bytes of data,"
            f" expected {size} for its shape {shape}"
        )
    if size > MAX_BYTES:
        raise _Damaged(f"field {name} is {size} bytes long, expected <= {MAX_BYTES}")
    return shape


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(info) as member:
        array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
    return array
