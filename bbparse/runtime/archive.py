"""Archives: .npz files of arrays and one card in JSON, written atomically and validated on read.

``card.json`` holds the kind of the file, the version of the format and all values that are no
arrays; each array is a member ``NAME.npy``. Sizes are compared before arrays are made, and nothing
is unpickled.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from types import MappingProxyType
from typing import IO, Any, get_args, get_origin

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bbparse.runtime.errors import BBParseError, ModelError, OutputError, one_line
from bbparse.runtime.options import check_type
from bbparse.runtime.output import replacing, writing

#: Version of the format of all kinds of archives; others are not read.
FORMAT = 1
#: Maximum size of a member, 2 GiB: a larger one means that the file is damaged or hostile.
MAX_BYTES = 1 << 31

INTS, REALS, FLAGS = "iu", "iuf", "b"
_CARD = "card.json"
_ANYTHING: Mapping[str, Any] = MappingProxyType({})
# Types that JSON reads as others.
_WRITTEN_AS: dict[Any, Any] = {list: (list, tuple), int: (int, np.integer), float: (float, int)}
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

Rule = type | tuple[str, int, str | None]
"""Rule of a field: the type of a value of the card; or of an array the kinds of its dtype, the
number of dimensions, and the field of the same length or None.
"""
Fields = dict[str, Any]
"""Arrays, and values that JSON can hold, by name."""


class _Damaged(Exception):
    """An error in an archive, before it becomes an error of the caller's class."""


def write_archive(
    path: str | os.PathLike[str], kind: str, fields: Fields, *, compress: bool = True
) -> None:
    """Write an archive of a kind, such as a model, atomically; compressing it takes longer.

    `OutputError` if it cannot be written, and for devices and pipes, from which none can be read.
    """
    check_type("path", path, (str, os.PathLike), "a path", OutputError)
    name = os.fspath(path)
    with writing(name), replacing(name) as file:
        _write(file, kind, fields, level=9 if compress else 0)


def archive_bytes(kind: str, fields: Fields) -> bytes:
    """Return an archive as bytes for `read_archive`: larger than a file, but made much faster."""
    file = io.BytesIO()
    _write(file, kind, fields, level=1)
    return file.getvalue()


def _write(file: IO[bytes], kind: str, fields: Fields, level: int) -> None:
    """Write an archive; ``level`` is the compression level of zlib, 0 for none."""
    arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
    card = {name: value for name, value in fields.items() if name not in arrays}
    card |= {"kind": kind, "version": FORMAT}
    method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method, compresslevel=level) as archive:
        with archive.open(_CARD, "w") as member:
            text = json.dumps(card, ensure_ascii=False, sort_keys=True, default=np.generic.item)
            member.write(text.encode("utf-8", "surrogatepass"))
        # Not numpy's savez, which pickles arrays of objects.
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                if level == 9 and array.itemsize == 1:
                    # Weights do not repeat: without a search for repeats they take a tenth less.
                    huffman = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_HUFFMAN_ONLY)
                    member._compressor = huffman  # type: ignore[attr-defined]
                npy.write_array(member, array, allow_pickle=False)


def read_archive(
    source: str | os.PathLike[str] | bytes,
    kind: str,
    rules: Mapping[str, Rule],
    optional: Set[str] = frozenset(),
    error: type[BBParseError] = BBParseError,
) -> Fields:
    """Read the fields of an archive, a file or its bytes; check its kind, format and fields."""
    check_type("path", source, (str, os.PathLike, bytes), "a path", error)
    where = "bytes" if isinstance(source, bytes) else os.fspath(source)
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        with zipfile.ZipFile(file) as archive:
            return _read(archive, kind, rules, optional)
    except _Damaged as problem:
        raise error(f"{where}: {problem}") from None
    except FileNotFoundError:
        raise error(f"{where}: no such file") from None
    except OSError as problem:
        raise error(f"{where}: cannot be read: {problem.strerror or problem}") from problem
    except Exception as problem:
        # Damaged archives make zipfile, zlib, json and numpy raise nearly anything.
        reason = one_line(problem) or type(problem).__name__
        raise error(f"{where}: not a complete .npz file: {reason}") from problem


def archive_card(path: str | os.PathLike[str]) -> Fields:
    """Return the card of an archive, with its kind; empty if the file cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _card(archive)
    except Exception:  # see read_archive
        return {}


class _Given(Fields):
    """Fields of a file for a part: one that is asked for, but missing, is an error of the file."""

    def __init__(self, part: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.part = part

    def __missing__(self, name: str) -> Any:
        raise ModelError(f"{self.part}: {name!r} is missing")


@contextmanager
def reading_part(
    name: str, fields: Mapping[str, Any], where: str, expected: Mapping[str, Any] = _ANYTHING
) -> Iterator[Fields]:
    """Yield the fields of a model file to read a part of it, which is an entry of the card.

    The entry must have the `expected` values, such as ``{"labels": list[str]}``. Errors of the
    file, also those that the block finds, become errors of the file ``where``; others are bugs.
    """
    given = _Given(name, fields)
    try:
        entry = _Given(name, given[name]) if expected else {}
        for key, kind in expected.items():
            check_entry(f"the entry {name} of the card is damaged", key, entry[key], kind)
        yield given
    except BBParseError as error:
        raise ModelError(f"{where}: {error}") from None


def check_entry(
    where: str, key: str, value: Any, kind: Any, error: type[BBParseError] = ModelError
) -> None:
    """Check the type of a value of JSON; the error says where it is."""
    if not fits(value, kind):
        shown = kind.__name__ if isinstance(kind, type) else kind
        raise error(f"{where}: {key} is {value!r:.60}, expected {shown}")


def fits(value: Any, kind: Any) -> bool:
    """Return True if a value is of a type of JSON such as ``dict[str, list[int]]``."""
    *_, inner = get_args(kind) or [None]
    own = get_origin(kind) or kind
    if not isinstance(value, _WRITTEN_AS.get(own, own)) or (
        isinstance(value, bool) and own is not bool
    ):
        return False
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(inner, type) and {*map(type, parts)} <= {inner}:  # long lists are usual
        return True
    return inner is None or all(fits(part, inner) for part in parts)


def _card(archive: zipfile.ZipFile) -> Fields:
    """Return the card, with the kind and the version."""
    if _CARD not in archive.namelist():
        raise _Damaged(f"{_CARD} is missing: not written by bbparse")
    card = json.loads(_bytes(archive, archive.getinfo(_CARD)))
    if not isinstance(card, dict):
        raise _Damaged(f"{_CARD} is no dict")
    return card


def _read(
    archive: zipfile.ZipFile, kind: str, rules: Mapping[str, Rule], optional: Set[str]
) -> Fields:
    card = _card(archive)
    stored_kind, version = card.pop("kind", ""), card.pop("version", 0)
    if stored_kind != kind:
        raise _Damaged(f"holds a {stored_kind!r}, expected a {kind!r}")
    if version != FORMAT:
        raise _Damaged(f"its format is {version}, expected {FORMAT}: make the file anew")
    fields = dict(card)
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if info.filename != _CARD:
            if name in fields:
                raise _Damaged(f"field {name!r} is there twice")
            fields[name] = info
    for name in sorted(rules.keys() - optional - fields.keys()):
        raise _Damaged(f"field {name} is missing")
    for name in sorted(fields.keys() - rules.keys()):
        raise _Damaged(f"field {name!r} is unknown")
    for name, value in fields.items():
        rule = rules[name]
        if not isinstance(rule, type):
            if not isinstance(value, zipfile.ZipInfo):
                raise _Damaged(f"field {name} is no .npy array")
            fields[name] = _array(name, _bytes(archive, value), *rule[:2])
        elif not isinstance(value, rule):
            raise _Damaged(f"field {name} is no {rule.__name__} of the card")
    for name, value in fields.items():
        rule = rules[name]
        like = None if isinstance(rule, type) else rule[2]
        if like is not None and like not in fields:  # optional, but not without this one
            raise _Damaged(f"field {like} is missing")
        if like is not None and len(value) != len(fields[like]):
            raise _Damaged(
                f"{name} has {len(value)} elements, expected {len(fields[like])} as in {like}"
            )
    return fields


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.file_size > MAX_BYTES:
        raise _Damaged(f"{info.filename} is {info.file_size} bytes long, expected <= {MAX_BYTES}")
    return archive.read(info)


def _array(name: str, data: bytes, kinds: str, ndim: int) -> NDArray[Any]:
    """Return an array after checking its dtype, dimensions and size."""
    file = io.BytesIO(data)
    try:
        shape, is_fortran, dtype = _HEADERS[npy.read_magic(file)](file)
    except (ValueError, KeyError) as error:
        raise _Damaged(f"field {name} is no .npy array: {error}") from error
    if dtype.hasobject:
        raise _Damaged(f"field {name} holds pickled objects, which are not read")
    if dtype.kind not in kinds:
        raise _Damaged(f"field {name} has dtype {dtype}, expected kind {kinds!r}")
    if len(shape) != ndim:
        raise _Damaged(f"field {name} has shape {shape}, expected {ndim} dimensions")
    header, size = file.tell(), math.prod(shape) * dtype.itemsize
    if len(data) != header + size:
        raise _Damaged(
            f"field {name} has {len(data) - header} bytes of data, expected {size} for its shape"
            f" {shape}"
        )
    array = np.frombuffer(data, dtype, offset=header).copy()  # which can be written to
    return array.reshape(shape, order="F" if is_fortran else "C")
