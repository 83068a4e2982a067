"""The annotation journal: one line of JSON per step, written before the request is answered.

Sentences are numbered in the order of their first steps. The first step of a sentence records its
original text (``base``), its position in the file, and a digest of the words of the previous
sentence (``neighbour``). Every step records the marks, the tree and a digest of the resulting text;
undo and redo record the number of the step they lead to. The journal thus restores all steps, saved
or not, even after other programs have added or removed sentences. An incomplete last line, left by
a killed process, is dropped.
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
#: Errors caused by lines that this program did not write.
_DAMAGES = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


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
    neighbour: str  #: Digest of the words of the previous sentence.
    digests: list[str]  #: Digests of the texts of steps 0, 1, ….
    written: set[str]  #: These, and digests of steps that were replaced after undo.
    steps: list[Step] = field(default_factory=list)
    at: int = 0  #: Number of the current step.


def digest(text: str) -> str:
    """Return a short digest of a text, ignoring surrounding blank lines and a byte order mark."""
    data = text.strip("\ufeff\r\n \t").encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=12).hexdigest()


class Journal:
    """A journal file, created if necessary and locked while it is open.

    `OutputError` if it cannot be written or another process has locked it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._n_sentences = path, 0
        self.exists = path.exists()
        with writing(path):
            self._file: IO[bytes] = open(path, "a+b", buffering=0)
        if lock_file(self._file) is False:
            self._file.close()
            raise OutputError(f"{path}: another bbparse annotate is using this treebank")

    def histories(self) -> list[History]:
        """Read the steps of all sentences, by number; drop an incomplete last line.

        `TreebankError` if the file is not a journal.
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
                    f"{self.path}, line {number}: not written by bbparse annotate: move the file"
                    " away to start over"
                ) from None
        if not lines:
            self._append(_FORMAT)
        self._n_sentences = len(found)
        return found

    def begin(self, base: str, place: tuple[int, str], step: Step, text: str) -> int:
        """Write the first step of a sentence; return the number of the sentence in the journal.

        `base` is its text in the file; `place` is its position and the digest of its neighbour.
        """
        number = self._n_sentences
        index, neighbour = place
        self._step(number, 1, step, text, base=base, index=index, neighbour=neighbour)
        self._n_sentences += 1
        return number

    def step(self, sentence: int, number: int, step: Step, text: str) -> None:
        """Write a further step of a sentence; `text` is the resulting text."""
        self._step(sentence, number, step, text)

    def _step(self, sentence: int, number: int, step: Step, text: str, **first: Any) -> None:
        tree = {"heads": step.heads, "labels": step.labels, "digest": digest(text)}
        self._append(
            {"sentence": sentence, "step": number, **step.marks.record(), **tree, **first}
        )

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
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close and unlock the file; remove it if it is empty."""
        empty = self._file.seek(0, os.SEEK_END) <= len(json.dumps(_FORMAT))
        if empty and not self.exists:
            self.path.unlink(missing_ok=True)
        self._file.close()


def _replay(found: list[History], record: dict[str, Any]) -> None:
    """Apply a line; one that this program did not write raises any of `_DAMAGES`."""
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
    """Read a step of a sentence of n words."""
    heads = tuple([checked_number(head, NO_HEAD, n) for head in record["heads"]])
    labels = tuple([checked_text("label", label) for label in record["labels"]])
    if not len(heads) == len(labels) == n or "" in labels:
        raise ValueError(f"found {len(heads)} heads and {len(labels)} labels, expected {n}")
    return Step(Marks.from_record(record, n), heads, labels)
