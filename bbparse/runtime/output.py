"""Output files that are written atomically: completely or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from bbparse.runtime.errors import OutputError
from bbparse.runtime.signals import undone_by

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Pattern of the names of files that are being written, or that killed processes have left.
UNFINISHED = ".bbparse-*.tmp"

# Errors of the disk: they become an OutputError even inside the with block, where other errors pass
# unchanged.
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EBADF}


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file (UTF-8, line breaks as written) that appears if the block ends well.

    ``-`` is the standard output, which is written as it comes; ``.gz`` and ``.xz`` are compressed.
    `OutputError` if it cannot be written. If this or any other error leaves the block, an existing
    file is unchanged and no incomplete one is left.
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
    """Open a binary file that appears when the block ends without error; see `open_output`."""
    name = os.fspath(path)
    try:
        descriptor = _descriptor(name)
        if descriptor == 1:
            if sys.stdout is None:
                raise OutputError("standard output: cannot be written: it is closed")
            stream = sys.stdout.buffer
            yield stream
            stream.flush()
        elif descriptor is not None or _is_special(name):
            with _open(name if descriptor is None else descriptor, name, "wb") as file:
                yield file
        else:
            with replacing(name) as file, _packed(file, name) as packed:
                yield packed
    except OSError as error:
        if error.errno in _DISK_ERRORS:
            raise OutputError(f"{_shown(name)}: cannot be written: {error.strerror}") from error
        raise


def check_output(path: str | os.PathLike[str], *, streams: bool = True) -> None:
    """Check that a file can be written (`OutputError`), before hours of work and not after.

    Without `streams`, the standard output, devices and pipes are refused, as by `replacing`.
    """
    name = os.fspath(path)
    if streams and (_descriptor(name) is not None or _is_special(name)):
        return
    target = _replaceable(name)
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise OutputError(f"{name}: cannot be written: there is no folder {folder}")
    # just as the file will be written: as a new one in the same folder
    probe = os.path.join(os.path.dirname(target), _unfinished())
    with _begun(probe, name) as file:
        file.close()
        os.unlink(probe)


def identity(path: str | os.PathLike[str], standard: int) -> object:
    """Return a value that all names of one file share, and no names of devices.

    ``-`` is the descriptor `standard`. A file that does not exist is known by its path without
    links.
    """
    name = os.fspath(path)
    try:
        found = os.fstat(standard) if name == "-" else os.stat(name)
    except OSError:
        return standard if name == "-" else os.path.realpath(name)
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return found.st_dev, found.st_ino
    return standard if name == "-" else object()


def _unfinished() -> str:
    """Return a name that no file has."""
    return UNFINISHED.replace("*", secrets.token_hex(8))


def _descriptor(name: str) -> int | None:
    """Return the open file that a name from a shell stands for, whose content is kept, or None."""
    if name == "-":
        return 1
    own = re.compile(rf"/(?:dev|proc/{os.getpid()}(?:/task/[0-9]+)?)/fd/([0-9]+)")
    for _ in range(40):  # as many links as the system follows
        folder, last = os.path.split(name)
        place = os.path.join(os.path.realpath(folder), last)
        if match := own.fullmatch(place):
            return int(match[1])
        if not os.path.islink(place):
            break
        name = os.path.join(os.path.dirname(place), os.readlink(place))
    return None


def _is_special(name: str) -> bool:
    """Return True for a device or a pipe, which a file cannot replace."""
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise OutputError(f"{name}: cannot be written: it is a folder")
    return not stat.S_ISREG(mode)


@contextmanager
def writing(name: object) -> Iterator[None]:
    """Raise the system's errors of writing a file as `OutputError`, which names it."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{name}: cannot be written: {error.strerror or error}") from error


@contextmanager
def replacing(name: str) -> Iterator[IO[bytes]]:
    """Open a new file that gets the name `name` at the end of the block; a link stays a link.

    `OutputError` for what no file can replace: a folder, a device, a pipe, the standard output.
    """
    target = _replaceable(name)
    temporary = os.path.join(os.path.dirname(target), _unfinished())
    with _begun(temporary, name) as file:
        try:
            with file:
                yield file
            if os.path.exists(target):
                with suppress(OSError):
                    os.chmod(temporary, os.stat(target).st_mode & 0o7777)
            with writing(name):
                os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def is_free(folder: Path) -> bool:
    """Return True if a folder can be made, as there is none of that name or an empty one."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder that appears if the block ends well; if there is one, it must be empty."""
    name = os.fspath(path)
    target = Path(os.path.realpath(name))
    temporary = target.parent / _unfinished()

    def remove(*_: object) -> None:
        shutil.rmtree(temporary, ignore_errors=True)

    with writing(name):
        if not is_free(target):
            reason = "not empty" if target.is_dir() else "no folder"
            raise OutputError(f"{name}: cannot be written: it is {reason}")
        target.parent.mkdir(parents=True, exist_ok=True)
    with undone_by(remove, partial(_make_folder, temporary, name)):
        try:
            yield temporary
            with writing(name):
                if target.exists():
                    target.rmdir()
                os.replace(temporary, target)
        except BaseException:
            remove()
            raise


def _make_folder(folder: Path, name: str) -> None:
    with writing(name):
        folder.mkdir()


def _replaceable(name: str) -> str:
    """Return the path, without links, of a file that is new or that may be replaced."""
    if _descriptor(name) is not None or _is_special(name):
        raise OutputError(f"{_shown(name)}: cannot be written: expected the name of a file")
    target = os.path.realpath(name)
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise OutputError(f"{name}: cannot be written: {os.strerror(errno.EACCES)}")
    return target


def _begun(path: str, name: str) -> AbstractContextManager[IO[bytes]]:
    """Open a new file, which is removed if a signal ends the process."""
    return undone_by(lambda _: os.unlink(path), lambda: _open(path, name, "xb"))


def lock_file(file: IO[Any]) -> bool | None:
    """Lock a file until it is closed; False if it is locked, None if the system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _open(path: str | int, name: str, mode: str) -> IO[bytes]:
    with writing(name):
        return cast("IO[bytes]", open(path, mode, closefd=not isinstance(path, int)))


def _packed(file: IO[bytes], name: str) -> AbstractContextManager[Any]:
    """Return the file, or one that compresses its content."""
    if name.endswith(".gz"):
        # Without a name and a time, so that the same text gives the same bytes.
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    return lzma.LZMAFile(file, "wb") if name.endswith(".xz") else nullcontext(file)


def _shown(name: str) -> str:
    return "standard output" if name == "-" else name
