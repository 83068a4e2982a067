"""Parse single shards, on any machine, and distribute shards among workers.

A manifest lists what an output folder holds, and from what it was made.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import IO, Any, Literal

from bbparse.apps.corpus.spec import ParseSpec
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import BBParseError, OutputError, TreebankError, one_line
from bbparse.runtime.output import lock_file, open_binary_output, open_output, writing
from bbparse.runtime.pool import as_they_end
from bbparse.text.segmentation import read_text, split_of_name
from bbparse.treebank import Sentence, read_conllu

NAME, LOCK, FORMAT = "manifest.jsonl", ".bbparse.lock", 1
#: Seconds that a folder may stay locked by processes whose parent was just killed.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One shard of a manifest. With an `error` it has no output, and the next run repeats it."""

    output: str  #: Name of its file in the folder.
    shard: str  #: Name of the input, without folders.
    recipe: str  #: `ParseSpec.digest` of its run, under the name that it has in files.
    input_sha256: str = ""
    output_sha256: str = ""
    sentences: int = 0
    words: int = 0
    left_out: int = 0  #: Sentences that cannot be parsed, if they are skipped.
    error: str = ""


class Manifest:
    """List of the finished shards in an output folder: lines of JSON after a header.

    A line is added as soon as a shard is finished, so that an interrupted run loses nothing;
    `write` sorts the lines and replaces the file atomically. An incomplete last line is ignored. An
    existing manifest is read; `OutputError` if it is of another version, or the file is none.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.entries: dict[str, ManifestEntry] = {}
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
                entry = ManifestEntry(**_json(line))
            except TypeError:
                continue
            self.entries[entry.output] = entry

    def add(self, entry: ManifestEntry) -> None:
        """Add a shard and write it to disk at once; `write` comes first."""
        self.entries[entry.output] = entry
        with writing(self.path):
            if self._file is None:
                self._file = open(self.path, "a", encoding="utf-8")
            self._file.write(_line(entry))
            self._file.flush()

    def write(self, about: dict[str, Any]) -> None:
        """Write the manifest atomically, with a header of facts about the run and counts."""
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
        """Close the file."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()


def _line(entry: ManifestEntry) -> str:
    values = {key: value for key, value in asdict(entry).items() if value != ""}
    return json.dumps(values, ensure_ascii=False) + "\n"


def _json(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """Make a folder if it does not exist, and lock it; yields a random word that marks this run.

    The lock ends with this process and its forks, however they end. Raises `OutputError` if another
    run is writing there, or the folder cannot be written.
    """
    path = folder / LOCK
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+", encoding="utf-8")
    with file:
        end = time.monotonic() + PATIENCE
        while lock_file(file) is False:
            if time.monotonic() > end:
                file.seek(0)
                owner = _json(file.read())
                raise OutputError(
                    f"{folder}: another run is writing there (process {owner.get('process')} on"
                    f" {owner.get('machine')}): wait for its end, or choose another folder"
                )
            time.sleep(0.05)
        word = secrets.token_hex(8)
        owner = {"process": os.getpid(), "machine": socket.gethostname(), "word": word}
        with writing(folder):
            file.truncate(0)
            file.write(json.dumps(owner))
            file.flush()
        yield word


Outcomes = Generator["Outcome", None, None]
#: Number of processes that died with one shard after which the shard counts as the cause.
MAX_LOSSES = 3


@dataclass(frozen=True, slots=True)
class Task:
    """A shard to be parsed, unless its output agrees with the entry of an earlier run."""

    shard: Path
    output: Path
    previous: ManifestEntry | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a task. After a fatal one, which no shard causes, the run ends."""

    task: Task
    entry: ManifestEntry
    state: Literal["parsed", "kept", "failed", "fatal"]
    left_out: tuple[str, ...] = ()  #: Errors of the sentences that were left out.


def parse_task(spec: ParseSpec, task: Task) -> Outcome:
    """Parse a shard; raises nothing, because the error of one shard must not stop the others."""
    entry = ManifestEntry(task.output.name, task.shard.name, spec.digest)
    try:
        entry = replace(entry, input_sha256=digest_of(task.shard))
        if _is_done(task, entry):
            return Outcome(task, task.previous or entry, "kept")
        try:
            parser = spec.parser()
            spec.parse(parser, ())
        except BBParseError as error:
            return Outcome(task, replace(entry, error=str(error)), "fatal")
        sentences = words = 0
        errors: list[str] = []
        leave_out = errors.append if spec.settings.skip_invalid else None
        shard_sentences = sentences_of(task.shard, parser, spec, leave_out)
        with open_binary_output(task.output) as file:
            for parse in spec.parse(parser, shard_sentences, leave_out):
                file.write(spec.text(parse).encode())
                sentences += 1
                words += parse.sentence.n_words
            if errors and not sentences:
                raise TreebankError(
                    f"{task.shard}: no sentence is left to parse: {len(errors)} are invalid"
                )
        entry = replace(
            entry, output_sha256=digest_of(task.output), sentences=sentences, words=words,
            left_out=len(errors),
        )  # fmt: skip
        return Outcome(task, entry, "parsed", tuple(errors))
    except OutputError as error:
        return Outcome(task, replace(entry, error=str(error)), "fatal")
    except BBParseError as error:
        problem = str(error)
    except OSError as error:
        problem = f"{task.shard}: cannot be read: {error.strerror or error}"
    except Exception as error:
        problem = f"{task.shard}: internal error: {type(error).__name__}: {error}"
    with suppress(OSError):
        task.output.unlink()  # the output of an earlier version of the shard
    return Outcome(task, replace(entry, error=one_line(problem)), "failed")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _is_done(task: Task, entry: ManifestEntry) -> bool:
    """Return True if the previous output was made from the same input, and is unchanged."""
    previous, wanted = task.previous, (entry.recipe, entry.input_sha256)
    if previous is not None and not previous.error:
        with suppress(OSError):
            made_from = previous.recipe, previous.input_sha256
            return made_from == wanted and digest_of(task.output) == previous.output_sha256
    return False


def sentences_of(
    shard: Path, parser: Parser, spec: ParseSpec, leave_out: Callable[[str], None] | None = None
) -> Iterator[Sentence]:
    """Read the sentences of a shard: CoNLL-U, or running text if its name ends in ``.txt``.

    With ``leave_out``, invalid sentences are left out, and it is called with the error of each.
    """
    split = spec.settings.split or split_of_name(shard.name)
    if split is None:
        if leave_out is None:
            return read_conllu(shard)
        return read_conllu(
            shard, skip_invalid=True, on_skip=lambda error: leave_out(str(error))
        )
    return read_text(shard, parser.needed_tokenizer(), split)


def first_new(spec: ParseSpec, tasks: Iterable[Task]) -> Path | None:
    """Return the first shard that certainly has to be parsed, or None."""
    for task in tasks:
        if task.previous is None or task.previous.recipe != spec.digest:
            return task.shard
    return None


def warm_up(spec: ParseSpec, shard: Path) -> None:
    """Load the model, and compile what parsing needs with the beginning of a shard.

    Raises the error of the specification, if it has one.
    """
    parser = spec.parser()
    spec.parse(parser, ())
    with suppress(Exception):  # the worker that parses the shard reports it
        next(spec.parse(parser, sentences_of(shard, parser, spec)), None)


def work_through(spec: ParseSpec, tasks: Iterable[Task], workers: int) -> Outcomes:
    """Yield the outcomes of tasks as they end in processes of this machine.

    The task of a process that died is done again.
    """
    queue = deque(tasks)
    losses: Counter[Task] = Counter()
    with closing(as_they_end(partial(parse_task, spec), queue, workers)) as ended:
        for task, future in ended:
            if not isinstance(future.exception(), BrokenProcessPool):
                yield future.result()
                continue
            losses[task] += 1
            if losses[task] < MAX_LOSSES:
                queue.append(task)
            else:
                yield lost(task)


def lost(task: Task) -> Outcome:
    """Return the outcome of a task whose processes have died."""
    problem = (
        f"{task.shard}: {MAX_LOSSES} processes died that parsed it, as when memory runs out: use"
        " fewer --threads, or smaller shards"
    )
    entry = ManifestEntry(task.output.name, task.shard.name, "", error=problem)
    return Outcome(task, entry, "failed")
