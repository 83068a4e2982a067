"""What a worker does with a shard, on whatever machine; and who gets which shard.

A manifest says what an output folder holds, and from what it was made.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import file_digest
from multiprocessing import connection
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from bbparse.corpus.recipe import Recipe
from bbparse.errors import BBParseError, OutputError, TreebankError
from bbparse.parsing.parser import Parser
from bbparse.solving.processes import GRACE, Worker
from bbparse.storage.output import lock_file, open_binary_output, open_output
from bbparse.text.segmentation import read_text, split_of_name
from bbparse.treebank import Sentence, read_conllu

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


#: Workers that may be lost with one shard before it counts as what they die of.
MOST_LOSSES = 3
START = "fork" if sys.platform == "linux" else "spawn"


@dataclass(frozen=True, slots=True)
class Task:
    """A shard that is to be parsed, if it is not what an entry says."""

    shard: Path
    output: Path
    known: Entry | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task. After a fatal one, which is no shard's fault, nothing goes on."""

    task: Task
    entry: Entry
    state: Literal["parsed", "kept", "failed", "fatal"]
    left_out: tuple[str, ...] = ()  #: What is wrong with sentences that were left out.


def parse_task(recipe: Recipe, task: Task) -> Outcome:
    """Parse a shard; raises nothing, as what is wrong with one is no matter for the others."""
    entry = Entry(task.output.name, task.shard.name, recipe.digest)
    try:
        entry = replace(entry, input_sha256=digest_of(task.shard))
        if _is_done(task, entry):
            return Outcome(task, task.known or entry, "kept")
        try:
            parser = recipe.parser()
            recipe.parses(parser, ())
        except BBParseError as error:
            return Outcome(task, replace(entry, error=str(error)), "fatal")
        sentences = words = 0
        wrong: list[str] = []
        leave_out = wrong.append if recipe.settings.skip_invalid else None
        given = sentences_of(task.shard, parser, recipe, leave_out)
        with open_binary_output(task.output) as file:
            for found in recipe.parses(parser, given, leave_out):
                file.write(recipe.text(found).encode())
                sentences += 1
                words += found.sentence.n_words
            if wrong and not sentences:
                raise TreebankError(
                    f"{task.shard}: no sentence is left to parse: {len(wrong)} are invalid"
                )
        entry = replace(
            entry, output_sha256=digest_of(task.output), sentences=sentences, words=words,
            left_out=len(wrong),
        )  # fmt: skip
        return Outcome(task, entry, "parsed", tuple(wrong))
    except OutputError as error:
        return Outcome(task, replace(entry, error=str(error)), "fatal")
    except BBParseError as error:
        what = str(error)
    except OSError as error:
        what = f"{task.shard}: cannot be read: {error.strerror or error}"
    except Exception as error:
        what = f"{task.shard}: internal error: {type(error).__name__}: {error}"
    with suppress(OSError):
        task.output.unlink()  # of what the shard was before
    return Outcome(task, replace(entry, error=" ".join(what.split())), "failed")


def digest_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _is_done(task: Task, entry: Entry) -> bool:
    """Whether the known output was made of what the entry has, and is as it was made."""
    known = task.known
    if known is None or known.error:
        return False
    if (known.recipe, known.input_sha256) != (entry.recipe, entry.input_sha256):
        return False
    try:
        return digest_of(task.output) == known.output_sha256
    except OSError:
        return False


def sentences_of(
    shard: Path, parser: Parser, recipe: Recipe, leave_out: Callable[[str], None] | None = None
) -> Iterator[Sentence]:
    """The sentences of a shard: of CoNLL-U, or of running text, which ``.txt`` is by its name.

    With ``leave_out``, invalid ones are left out, and it is given what is wrong with each.
    """
    split = recipe.settings.split or split_of_name(shard.name)
    if split is None:
        if leave_out is None:
            return read_conllu(shard)
        return read_conllu(
            shard, skip_invalid=True, on_skip=lambda error: leave_out(str(error))
        )
    return read_text(shard, parser.needed_cutter(), split)


def first_new(recipe: Recipe, tasks: Iterable[Task]) -> Path | None:
    """The first shard that is certainly to be parsed."""
    other = (one for one in tasks if one.known is None or one.known.recipe != recipe.digest)
    return next((one.shard for one in other), None)


def warm_up(recipe: Recipe, shard: Path) -> None:
    """Load the model, and compile what parsing needs, by the beginning of a shard.

    Raises what is wrong with the recipe.
    """
    parser = recipe.parser()
    recipe.parses(parser, ())
    with suppress(Exception):  # told by who parses the shard
        next(recipe.parses(parser, sentences_of(shard, parser, recipe)), None)


class Crew(Protocol):
    """Workers, each of which does one task at a time."""

    def has_room(self) -> bool:
        """Whether another task can be taken now."""

    def take(self, task: Task) -> None:
        """Begin with a task."""

    def wait(self) -> list[tuple[Task, Outcome | None]]:
        """Wait for tasks to end, or for room; None is for those whose worker was lost."""


class LocalCrew:
    """Processes of this machine, so many, started as they are needed.

    On Linux they are forks, which have the model and the compiled code in common.
    """

    def __init__(self, recipe: Recipe, most: int) -> None:
        self.recipe = recipe
        self.most = most
        self.workers: list[Worker] = []

    def has_room(self) -> bool:
        """Whether one is idle or may still be started."""
        return len(self.workers) < self.most or any(one.task is None for one in self.workers)

    def take(self, task: Task) -> None:
        worker = next((one for one in self.workers if one.task is None), None)
        if worker is None:
            worker = Worker(partial(parse_task, self.recipe), self.workers, START)
            self.workers.append(worker)
        worker.take(task)

    def wait(self) -> list[tuple[Task, Outcome | None]]:
        busy = {one.connection: one for one in self.workers if one.task is not None}
        found: list[tuple[Task, Outcome | None]] = []
        for side in connection.wait(list(busy)):
            worker = busy[side]
            task, worker.task = worker.task, None
            try:
                found.append((task, worker.connection.recv()))
            except (OSError, EOFError):
                worker.end(GRACE)
                self.workers.remove(worker)
                found.append((task, None))
        return found

    def close(self) -> None:
        """End all processes, whatever they are doing; they leave nothing half written."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.end(GRACE)


def work_through(crew: Crew, tasks: Iterable[Task]) -> Generator[Outcome, None, None]:
    """What becomes of tasks, in the order in which they end; whoever is idle takes the next.

    What a lost worker had is done again.
    """
    waiting = deque(tasks)
    losses: Counter[Task] = Counter()
    busy = 0
    while waiting or busy:
        while waiting and crew.has_room():
            crew.take(waiting.popleft())
            busy += 1
        for task, outcome in crew.wait():
            busy -= 1
            if outcome is not None:
                yield outcome
                continue
            losses[task] += 1
            if losses[task] < MOST_LOSSES:
                waiting.append(task)
                continue
            what = (
                f"{task.shard}: {MOST_LOSSES} processes were killed that parsed it, as the system"
                " does when memory runs out: use fewer --threads, or smaller shards"
            )
            entry = Entry(task.output.name, task.shard.name, "", error=what)
            yield Outcome(task, entry, "failed")
