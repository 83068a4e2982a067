"""Output files that are there whole or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, cast

from bbparse.errors import OutputError

__all__ = ["open_binary_output", "open_output"]

# Errors of the disk, whoever was writing: reported as such even from inside the with block, where
# other errors pass as they are.
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file (UTF-8, line breaks as written) that appears when the block ends well.

    Parameters
    ----------
    path : path or "-"
        ``-`` is the standard output, which is written as it comes. ``.gz`` and ``.xz`` are packed.

    Raises
    ------
    OutputError
        If the file cannot be written. When this or any other error leaves the block, a file that
        was there before is untouched and none is left half written.
    """
    with open_binary_output(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError, ValueError):
                text.detach()


@contextmanager
def open_binary_output(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The same for bytes; see `open_output`."""
    name = os.fspath(path)
    try:
        if name == "-":
            if sys.stdout is None:
                raise OutputError("standard output: cannot be written: it is closed")
            stream = sys.stdout.buffer
            yield stream
            stream.flush()
        else:
            # A link stays a link; devices and pipes cannot be replaced by a file.
            target = os.path.realpath(name)
            if os.path.exists(target) and not os.path.isfile(target):
                if os.path.isdir(target):
                    raise OutputError(f"{name}: cannot be written: it is a folder")
                with _open(target, name, "wb") as file:
                    yield file
            else:
                with _replacing(target, name) as file, _packed(file, name) as packed:
                    yield packed
    except OSError as error:
        if error.errno in _DISK_ERRORS:
            raise OutputError(f"{_shown(name)}: cannot be written: {error.strerror}") from error
        raise


@contextmanager
def _replacing(target: str, name: str) -> Iterator[IO[bytes]]:
    """A new file in the same folder, which takes the target's place at the end."""
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise OutputError(f"{name}: cannot be written: {os.strerror(errno.EACCES)}")
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".bbparse-{secrets.token_hex(8)}.tmp")
    file = _open(temporary, name, "xb")
    try:
        with file:
            yield file
        if os.path.exists(target):
            with suppress(OSError):
                os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise OutputError(f"{name}: cannot be written: {error.strerror}") from error
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _open(path: str, name: str, mode: str) -> IO[bytes]:
    try:
        return cast("IO[bytes]", open(path, mode))
    except OSError as error:
        raise OutputError(f"{name}: cannot be written: {error.strerror}") from error


@contextmanager
def _packed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if name.endswith(".gz"):
        # No name and no time inside, so that the same text gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    elif name.endswith(".xz"):
        with lzma.LZMAFile(file, "wb") as packed_xz:
            yield cast("IO[bytes]", packed_xz)
    else:
        yield file


def _shown(name: str) -> str:
    return "standard output" if name == "-" else name
