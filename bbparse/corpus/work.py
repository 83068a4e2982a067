"""What a worker does with a shard, on whatever machine; and who gets which shard."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import file_digest
from multiprocessing import connection
from pathlib import Path
from typing import Literal, Protocol

from bbparse.corpus.manifest import Entry
from bbparse.corpus.recipe import Recipe
from bbparse.errors import BBParseError, OutputError, TreebankError
from bbparse.parsing.parser import Parser
from bbparse.solving.processes import GRACE, Worker
from bbparse.storage.output import open_binary_output
from bbparse.text.cutting import read_text, split_of_name
from bbparse.treebank import Sentence, read_conllu

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
