"""The journal of an annotation: one line of JSON for each step, written before it is answered.

The first step of a sentence has its text as it was in the file (``base``). Every step has the
marks, the tree and a digest of the text that is written; undo and redo have the number of the step
that they lead to. So the journal restores all steps of all sentences, saved or not. A line that
a killed process did not complete is dropped.
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

from bbparse.apps.annotate.marks import Marks, checked_number, checked_text
from bbparse.runtime.errors import BBParseError, OutputError, TreebankError
from bbparse.runtime.output import lock_file, writing
from bbparse.treebank import NO_HEAD, Sentence, read_conllu

_FORMAT = {"bbparse": "annotate", "version": 1}
#: What comes of reading lines that the program did not write.
_DAMAGES = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Step:
    """Marks of a sentence and the tree that was completed around them."""

    marks: Marks
    heads: tuple[int, ...]
    labels: tuple[str, ...]


@dataclass(slots=True)
class History:
    """Steps of a sentence in the journal, without the first, which is the file's."""

    base: Sentence  #: The sentence in the file before the first step.
    steps: list[Step] = field(default_factory=list)
    at: int = 0  #: Number of the step that counts; 0 is the file's.
    digests: set[str] = field(default_factory=set)  #: Of all texts that were written.


def digest(text: str) -> str:
    """Return a short digest of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class Journal:
    """A journal file, locked as long as it is open, and made if it does not exist.

    `OutputError` if it cannot be written or another process has it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.exists = path.exists()
        with writing(path):
            self._file: IO[bytes] = open(path, "a+b", buffering=0)
        if lock_file(self._file) is False:
            self._file.close()
            raise OutputError(f"{path}: another bbparse annotate is at work on this treebank")

    def histories(self) -> dict[int, History]:
        """Read the steps of all sentences, by their index; drop an incomplete last line.

        `TreebankError` if it is no journal.
        """
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)
        found: dict[int, History] = {}
        lines = data[:whole].splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if number == 1:
                    if record != _FORMAT:
                        raise ValueError
                    continue
                _replay(found, record)
            except (BBParseError, *_DAMAGES):
                self._file.close()
                raise TreebankError(
                    f"{self.path}, line {number}: no line of a journal of bbparse annotate: move"
                    " the file away to begin anew"
                ) from None
        if not lines:
            self._append(_FORMAT)
        return found

    def step(self, index: int, number: int, step: Step, text: str, base: str | None = None) -> None:
        """Write a step, whose text will be written to the file; the first one with the file's."""
        tree = {"heads": step.heads, "labels": step.labels, "digest": digest(text)}
        record = {"sentence": index, "step": number, **step.marks.record(), **tree}
        self._append(record if base is None else {**record, "base": base})

    def move(self, index: int, number: int) -> None:
        """Write that another step counts: undo and redo."""
        self._append({"sentence": index, "at": number})

    def _append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        size = self._file.seek(0, os.SEEK_END)
        reason: str | None = "the disk is full"
        try:  # what the system has survives the end of the process
            if self._file.write(line) == len(line):
                return
        except OSError as error:
            reason = error.strerror
        with suppress(OSError):
            self._file.truncate(size)  # the next line begins anew
        raise OutputError(f"{self.path}: cannot be written: {reason}")

    def sync(self) -> None:
        """Have the system write the journal to the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close and unlock the file; an empty journal is removed."""
        empty = self._file.seek(0, os.SEEK_END) <= len(json.dumps(_FORMAT))
        if empty and not self.exists:
            self.path.unlink(missing_ok=True)
        self._file.close()


def _replay(found: dict[int, History], record: dict[str, Any]) -> None:
    """Repeat what a line says; raises whatever comes of a line that the program did not write."""
    index = checked_number(record["sentence"], 0, sys.maxsize)
    if "base" in record:
        text = record["base"]
        (base,) = read_conllu(io.StringIO(text))
        found[index] = History(base, digests={digest(text)})
    history = found[index]
    last = len(history.steps)
    if "step" not in record:
        if "base" not in record:
            history.at = checked_number(record["at"], 0, last)
        return
    number = checked_number(record["step"], 1, last + 1)
    history.steps[number - 1 :] = [_step(record, history.base.n_words)]
    history.digests.add(record["digest"])
    history.at = number


def _step(record: dict[str, Any], n: int) -> Step:
    """Return the step of a line about a sentence of n words."""
    heads = tuple([checked_number(head, NO_HEAD, n) for head in record["heads"]])
    labels = tuple([checked_text("label", label) for label in record["labels"]])
    if not len(heads) == len(labels) == n or "" in labels:
        raise ValueError(f"found {len(heads)} heads and {len(labels)} labels, expected {n}")
    return Step(Marks.from_record(record, n), heads, labels)
