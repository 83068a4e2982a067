"""Output files are whole or absent."""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bbparse.runtime.errors import OutputError
from bbparse.runtime.output import check_output, new_folder, open_binary_output, open_output


def test_writes_text_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with open_output(path) as stream:
        stream.write("ä\r\nb\n")
        assert not path.exists()
    assert path.read_bytes() == "ä\r\nb\n".encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


def test_packs_by_name_and_repeatably(tmp_path: Path) -> None:
    for name, unpack in (("a.gz", gzip.decompress), ("a.xz", lzma.decompress)):
        contents = []
        for _ in range(2):
            with open_output(tmp_path / name) as stream:
                stream.write("text")
            contents.append((tmp_path / name).read_bytes())
        assert contents[0] == contents[1]
        assert unpack(contents[0]) == b"text"


@pytest.mark.parametrize("name", ["out.txt", "out.gz", "out.xz"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_what_was_there(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    path = tmp_path / name
    path.write_bytes(b"before")
    with pytest.raises(error), open_output(path) as stream:
        stream.write("half")
        raise error
    assert path.read_bytes() == b"before"
    with pytest.raises(error), open_binary_output(tmp_path / ("new" + name)) as binary:
        binary.write(b"half")
        raise error
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("missing/out", "missing/out: cannot be written: No such file"),
        (".", "it is a folder"),
        ("file/out", "file/out: cannot be written: Not a directory"),
        ("out", "out: cannot be written: No space left on device"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, place: str, message: str) -> None:
    """The last one is on a disk that is full by then."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=message), open_output(tmp_path / place):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")
def test_links_modes_and_devices(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("before")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(target)
    with open_output(link) as stream:
        stream.write("after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    with open_output("/dev/null") as stream:
        stream.write("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_standard_output_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw))
    with open_output("-") as stream:
        stream.write("ä\n")
    assert raw.getvalue() == "ä\n".encode()
    with open_output("-") as stream:
        stream.write("b\n")
    assert raw.getvalue() == "ä\nb\n".encode()


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are those of POSIX")
@pytest.mark.parametrize(
    "name",
    ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "link", "folder/1"],
)
def test_the_standard_output_by_other_names(name: str, tmp_path: Path) -> None:
    if name[0] != "/":
        links = tmp_path / "links"
        links.mkdir()
        (links / "link").symlink_to("/dev/stdout")
        (links / "folder").symlink_to("/dev/fd")
        name = str(links / name)
    if not os.path.exists(name):
        pytest.skip("no such name here")
    write = f"with open_output({name!r}) as stream: stream.write('x')"
    run = [sys.executable, "-c", f"from bbparse.runtime.output import open_output\n{write}"]
    assert subprocess.run(run, stdout=subprocess.PIPE, check=True).stdout == b"x"
    kept = tmp_path / "kept"
    kept.write_text("before ")
    with kept.open("ab") as stream:
        subprocess.run(run, stdout=stream, check=True)
    assert kept.read_text() == "before x"
    assert {entry.name for entry in tmp_path.iterdir()} <= {"kept", "links"}


@pytest.mark.skipif(sys.platform == "win32", reason="users are those of POSIX")
@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("before")
    path.chmod(0o400)
    for refuse in (check_output, lambda name: open_output(name).__enter__()):
        with pytest.raises(OutputError, match="kept: cannot be written: Permission denied"):
            refuse(path)


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are those of POSIX")
def test_a_pipe_that_a_shell_names(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with open_output(f"/dev/fd/{writing}") as stream:
        stream.write("through")
    os.close(writing)
    assert os.read(reading, 100) == b"through"
    os.close(reading)


def test_a_folder_appears_as_a_whole(tmp_path: Path) -> None:
    place = tmp_path / "new" / "folder"
    with new_folder(place) as unfinished:
        (unfinished / "a").touch()
        assert not place.exists()
    assert [*place.iterdir()] == [place / "a"] and [*place.parent.iterdir()] == [place]
    with pytest.raises(OutputError, match="folder: cannot be written: it is not empty"):
        new_folder(place).__enter__()
    (place / "a").unlink()
    with pytest.raises(KeyError), new_folder(place) as unfinished:
        (unfinished / "b").touch()
        raise KeyError
    assert not [*place.iterdir()] and [*place.parent.iterdir()] == [place]
    with new_folder(place) as unfinished:
        (unfinished / "c").touch()
    assert [*place.iterdir()] == [place / "c"]
    (place.parent / "file").touch()
    with pytest.raises(OutputError, match="file: cannot be written: "):
        new_folder(place.parent / "file").__enter__()
