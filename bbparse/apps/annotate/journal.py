"""The annotation journal: one line of JSON per step, written before the request is answered.

Sentences are numbered in the order of their first steps. The first step of a sentence records its
original text (``base``) and its position in the file. Every step records the marks, the tree and a
digest of the resulting text; undo and redo record the number of the step they lead to. The journal
thus restores all steps, saved or not, even after other programs have added or removed sentences. An
incomplete last line, left by a killed process, is dropped.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from bbparse.apps.annotate.marks import Marks, whole
from bbparse.runtime.errors import BBParseError, OutputError, TreebankError
from bbparse.runtime.output import lock_file, writing
from bbparse.treebank import NO_HEAD, Sentence, read_conllu
from bbparse.treebank.sentence import checked_column

_FORMAT = {"bbparse": "annotate", "version": 1}


@dataclass(frozen=True, slots=True)
class Step:
    """Marks of a sentence, and the best tree with them."""

    marks: Marks
    heads: tuple[int, ...]
    labels: tuple[str, ...]


@dataclass(slots=True)
class History:
    """Steps of a sentence in the journal; step 0, the sentence in the file, is `base`."""

    base: Sentence  #: The sentence before the first step.
    index: int  #: Its position in the file at that time.
    digests: list[str]  #: Digests of the texts of steps 0, 1, ….
    written: set[str]  #: These, and digests of steps that were replaced after undo.
    steps: list[Step] = field(default_factory=list)
    at: int = 0  #: Number of the current step.


def digest(text: str) -> str:
    """Return a short digest of a text, ignoring surrounding blank lines and a byte order mark."""
    data = text.strip("\ufeff\r\n \t").encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=12).hexdigest()


class Journal:
    """A journal file, created if necessary and locked while it is open."""

    def __init__(self, path: Path) -> None:
        self.path, self._n_sentences = path, 0
        self.exists = path.exists()
        with writing(path):
            self._file: IO[bytes] = open(path, "a+b", buffering=0)
        if lock_file(self._file) is False:
            self._file.close()
            raise OutputError(f"{path}: another bbparse annotate is using this treebank")

    def histories(self) -> list[History]:
        """Read the steps of all sentences, by number; `TreebankError` if it is no journal."""
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)
        found: list[History] = []
        header, *lines = data[:whole].splitlines() or [b""]
        at = 1
        try:
            if header and json.loads(header) != _FORMAT:
                raise ValueError
            for line in lines:
                at += 1
                record = json.loads(line)
                json.dumps(record, ensure_ascii=False).encode()  # it can be written
                _replay(found, record)
        except (BBParseError, ValueError, LookupError, TypeError, RecursionError):
            self._file.close()
            raise TreebankError(
                f"{self.path}, line {at}: not written by bbparse annotate: move the file away to"
                " start over"
            ) from None
        if not header:
            self._append(_FORMAT)
        self._n_sentences = len(found)
        return found

    def begin(self, base: str, index: int, step: Step, text: str) -> int:
        """Write the first step of a sentence, which results in `text`; return its number."""
        self.step(self._n_sentences, 1, step, text, base=base, index=index)
        self._n_sentences += 1
        return self._n_sentences - 1

    def step(self, sentence: int, number: int, step: Step, text: str, **first: Any) -> None:
        """Write a step of a sentence; `text` is the resulting text."""
        tree = {"heads": step.heads, "labels": step.labels, "digest": digest(text)}
        self._append({"sentence": sentence, "step": number, **step.marks.record(), **tree, **first})

    def move(self, sentence: int, number: int) -> None:
        """Make another step the current one: undo and redo."""
        self._append({"sentence": sentence, "at": number})

    def _append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        size = self._file.seek(0, os.SEEK_END)
        reason: str | None = "the disk is full"
        try:  # data that the system has received survives if this process is killed
            if self._file.write(line) == len(line):
                return
        except OSError as error:
            reason = error.strerror
        with suppress(OSError):
            self._file.truncate(size)  # drop the incomplete line
        raise OutputError(f"{self.path}: cannot be written: {reason}")

    def sync(self) -> None:
        """Flush the journal to disk."""
        with writing(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close and unlock the file; remove it if it is empty."""
        empty = self._file.seek(0, os.SEEK_END) <= len(json.dumps(_FORMAT))
        if empty and not self.exists:
            self.path.unlink(missing_ok=True)
        self._file.close()


def _replay(found: list[History], record: dict[str, Any]) -> None:
    """Apply a line of the journal."""
    if "base" in record:
        text = record["base"]
        (base,) = read_conllu(io.StringIO(text))
        index = whole(record["index"], 0, sys.maxsize)
        found.append(History(base, index, [digest(text)], {digest(text)}))
    history = found[whole(record["sentence"], 0, len(found) - 1)]
    n, last = history.base.n_words, len(history.steps)
    if "step" not in record:
        history.at = whole(record["at"], 0, last)
        return
    number, marks = whole(record["step"], 1, last + 1), Marks.from_record(record, n)
    heads = tuple(whole(head, NO_HEAD, n) for head in record["heads"])
    if len(heads) != n:
        raise ValueError
    labels = tuple(checked_column("deprels", record["labels"], n))
    history.steps[number - 1 :] = [Step(marks, heads, labels)]
    history.digests[number:] = [str(record["digest"])]
    history.written.add(str(record["digest"]))
    history.at = number
