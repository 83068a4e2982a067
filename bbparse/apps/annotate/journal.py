"""The journal of an annotation: one line of JSON for each step, written before it is answered.

Sentences are numbered in the order of their first steps. The first step of a sentence has its text
as it was in the file (``base``), its position there and a digest of the forms before it
(``neighbour``). Every step has the marks, the tree and a digest of the text that is written; undo
and redo have the number of the step that they lead to. So the journal restores all steps of all
sentences, saved or not, also if other programs add or remove sentences. A line that a killed
process did not complete is dropped.
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
    index: int  #: Its position then.
    neighbour: str  #: Digest of the forms of the sentence before it.
    digests: list[str]  #: Of the texts of all steps, the file's first.
    written: set[str]  #: All these, and those of steps that others replaced.
    steps: list[Step] = field(default_factory=list)
    at: int = 0  #: Number of the step that counts; 0 is the file's.


def digest(text: str) -> str:
    """Return a short digest of a text without the blank lines around it and a byte order mark."""
    data = text.strip("\ufeff\r\n \t").encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=12).hexdigest()


class Journal:
    """A journal file, locked as long as it is open, and made if it does not exist.

    `OutputError` if it cannot be written or another process has it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._n_sentences = path, 0
        self.exists = path.exists()
        with writing(path):
            self._file: IO[bytes] = open(path, "a+b", buffering=0)
        if lock_file(self._file) is False:
            self._file.close()
            raise OutputError(f"{path}: another bbparse annotate is at work on this treebank")

    def histories(self) -> list[History]:
        """Read the steps of all sentences, by their number; drop an incomplete last line.

        `TreebankError` if it is no journal.
        """
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)
        found: list[History] = []
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
        self._n_sentences = len(found)
        return found

    def begin(self, base: str, place: tuple[int, str], step: Step, text: str) -> int:
        """Write the first step of a sentence; return the number of the sentence.

        `base` is its text in the file, and `place` its position and a digest of its neighbour.
        """
        number = self._n_sentences
        index, neighbour = place
        self._step(number, 1, step, text, base=base, index=index, neighbour=neighbour)
        self._n_sentences += 1
        return number

    def step(self, sentence: int, number: int, step: Step, text: str) -> None:
        """Write another step of a sentence, whose text will be written to the file."""
        self._step(sentence, number, step, text)

    def _step(self, sentence: int, number: int, step: Step, text: str, **first: Any) -> None:
        tree = {"heads": step.heads, "labels": step.labels, "digest": digest(text)}
        self._append(
            {"sentence": sentence, "step": number, **step.marks.record(), **tree, **first}
        )

    def move(self, sentence: int, number: int) -> None:
        """Write that another step counts: undo and redo."""
        self._append({"sentence": sentence, "at": number})

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


def _replay(found: list[History], record: dict[str, Any]) -> None:
    """Repeat what a line says; raises whatever comes of a line that the program did not write."""
    sentence = checked_number(record["sentence"], 0, len(found))
    if "base" in record:
        checked_number(sentence, len(found), len(found))
        text = record["base"]
        (base,) = read_conllu(io.StringIO(text))
        index, neighbour = checked_number(record["index"], 0, sys.maxsize), record["neighbour"]
        found.append(History(base, index, neighbour, [digest(text)], {digest(text)}))
    history = found[sentence]
    last = len(history.steps)
    if "step" not in record:
        history.at = checked_number(record["at"], 0, last)
        return
    number = checked_number(record["step"], 1, last + 1)
    history.steps[number - 1 :] = [_step(record, history.base.n_words)]
    history.digests[number:] = [record["digest"]]
    history.written.add(record["digest"])
    history.at = number


def _step(record: dict[str, Any], n: int) -> Step:
    """Return the step of a line about a sentence of n words."""
    heads = tuple([checked_number(head, NO_HEAD, n) for head in record["heads"]])
    labels = tuple([checked_text("label", label) for label in record["labels"]])
    if not len(heads) == len(labels) == n or "" in labels:
        raise ValueError(f"found {len(heads)} heads and {len(labels)} labels, expected {n}")
    return Step(Marks.from_record(record, n), heads, labels)
