"""What an output folder holds and from what it was made; and who is writing there."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from bbparse.errors import OutputError
from bbparse.storage.output import lock_file, open_output

NAME, LOCK, FORMAT = "manifest.jsonl", ".bbparse.lock", 1
#: Seconds for which a folder may stay locked by processes whose parent was just killed.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One shard. With an `error` there is no output, and it is tried again in the next run."""

    output: str  #: Name of its file in the folder.
    shard: str  #: Name of the input, without folders.
    recipe: str  #: `Recipe.digest` of what it was made with.
    input_sha256: str = ""
    output_sha256: str = ""
    sentences: int = 0
    words: int = 0
    left_out: int = 0  #: Sentences that cannot be parsed, if that is no error.
    error: str = ""


class Manifest:
    """The shards of an output folder that are done, as lines of JSON after a header.

    A line is added for each shard as it is done, whatever becomes of the run; `write` puts them in
    order, whole or not at all. A last line that was cut off does not count. What a folder has is
    read; `OutputError` if it has a file of that name that is something else, or of a newer version.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.entries: dict[str, Entry] = {}
        self._file: IO[str] | None = None
        try:
            lines = self.path.read_text("utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be read: {error.strerror}") from error
        header = _json(lines[0]) if lines else {}
        if header.get("manifest") != FORMAT:
            raise OutputError(
                f"{self.path}: not a manifest of this version of bbparse: choose another folder"
            )
        for line in lines[1:]:
            try:
                entry = Entry(**_json(line))
            except TypeError:
                continue
            self.entries[entry.output] = entry

    def add(self, entry: Entry) -> None:
        """Note a shard, at once on disk; `write` comes first."""
        self.entries[entry.output] = entry
        try:
            if self._file is None:
                self._file = open(self.path, "a", encoding="utf-8")
            self._file.write(_line(entry))
            self._file.flush()
        except OSError as error:
            self.close()
            raise OutputError(f"{self.path}: cannot be written: {error.strerror}") from error

    def write(self, about: dict[str, Any]) -> None:
        """Write it whole, with what is known about the run, and counts."""
        self.close()
        entries = [self.entries[name] for name in sorted(self.entries)]
        header = {
            "manifest": FORMAT, **about,
            "shards": len(entries),
            "failed": sum(bool(entry.error) for entry in entries),
            "sentences": sum(entry.sentences for entry in entries),
            "words": sum(entry.words for entry in entries),
        }  # fmt: skip
        with open_output(self.path) as file:
            file.write(json.dumps(header, ensure_ascii=False) + "\n")
            file.writelines(map(_line, entries))

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            file.close()


def _line(entry: Entry) -> str:
    known = {key: value for key, value in asdict(entry).items() if value != ""}
    return json.dumps(known, ensure_ascii=False) + "\n"


def _json(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """Make a folder, if need be, and have it to oneself; yields a word that only this run knows.

    The lock ends with its process and those that this one has forked, however they end. Raises
    `OutputError` if another run is writing there, or nobody can.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from error
    with file:
        end = time.monotonic() + PATIENCE
        while lock_file(file) is False:
            if time.monotonic() > end:
                file.seek(0)
                who = _json(file.read())
                raise OutputError(
                    f"{folder}: another run is writing there (process {who.get('process')} on"
                    f" {who.get('machine')}): wait for its end, or choose another folder"
                )
            time.sleep(0.05)
        word = secrets.token_hex(8)
        owner = {"process": os.getpid(), "machine": socket.gethostname(), "word": word}
        try:
            file.truncate(0)
            file.write(json.dumps(owner))
            file.flush()
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written: {error.strerror}") from error
        yield word
