"""Parse single shards, on any machine, and distribute shards among workers.

A manifest lists what an output folder holds, and from what it was made.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal

from bbparse.apps.corpus.spec import ParseSpec
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import BBParseError, OutputError, TreebankError, one_line
from bbparse.runtime.output import lock_file, open_binary_output, open_output, writing
from bbparse.runtime.pool import as_they_end
from bbparse.text.segmentation import read_text, split_of_name
from bbparse.treebank import Sentence, read_conllu

NAME, LOCK, FORMAT = "manifest.jsonl", ".bbparse.lock", 1
#: Seconds to wait for a lock, which processes of a killed run may still hold.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One shard of a manifest. With an `error` it has no output, and the next run repeats it."""

    output: str  #: Name of its file in the folder.
    shard: str  #: Name of the input, without folders.
    recipe: str  #: `ParseSpec.digest` of its run.
    input_sha256: str = ""
    output_sha256: str = ""
    sentences: int = 0
    words: int = 0
    left_out: int = 0  #: Sentences that cannot be parsed, if they are skipped.
    error: str = ""

    @property
    def line(self) -> str:
        """The entry as a line of JSON."""
        values = {key: value for key, value in asdict(self).items() if value != ""}
        return json.dumps(values, ensure_ascii=False) + "\n"


class Manifest:
    """List of the finished shards in an output folder: lines of JSON after a header.

    A line is added as soon as a shard is finished, so that an interrupted run loses nothing;
    `write` sorts the lines and replaces the file atomically. An existing manifest is read without
    incomplete lines; `OutputError` if it is of another version, or the file is none.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.entries: dict[str, ManifestEntry] = {}
        try:
            header, *lines = self.path.read_text("utf-8", errors="replace").splitlines() or [""]
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be read: {error.strerror}") from error
        if _json(header).get("manifest") != FORMAT:
            raise OutputError(
                f"{self.path}: not a manifest of this version of bbparse: choose another folder"
            )
        for line in lines:
            with suppress(TypeError):
                entry = ManifestEntry(**_json(line))
                self.entries[entry.output] = entry

    def add(self, entry: ManifestEntry) -> None:
        """Add a shard and write it to disk at once; `write` comes first."""
        self.entries[entry.output] = entry
        with writing(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(entry.line)

    def write(self, about: dict[str, Any]) -> None:
        """Write the manifest atomically, with a header of facts about the run and counts."""
        entries = [self.entries[name] for name in sorted(self.entries)]
        header = {
            "manifest": FORMAT, **about, "shards": len(entries),
            "failed": sum(bool(entry.error) for entry in entries),
            "sentences": sum(entry.sentences for entry in entries),
            "words": sum(entry.words for entry in entries),
        }
        with open_output(self.path) as file:
            file.write(json.dumps(header, ensure_ascii=False) + "\n")
            file.writelines(entry.line for entry in entries)


def _json(line: str) -> dict[str, Any]:
    """Read an object; {} if the line is none."""
    with suppress(ValueError):
        value = json.loads(line)
        if isinstance(value, dict):
            return value
    return {}


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """Make a folder if it does not exist, and lock it; yields a random word that marks this run.

    The lock ends with this process and its forks, however they end. Raises `OutputError` if another
    run is writing there, or the folder cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / LOCK, "a+", encoding="utf-8")
    with file:
        end = time.monotonic() + PATIENCE
        while lock_file(file) is False:
            if time.monotonic() > end:
                file.seek(0)
                owner = _json(file.read())
                raise OutputError(
                    f"{folder}: another run is writing here (process {owner.get('process')} on"
                    f" {owner.get('machine')}): wait until it ends, or choose another folder"
                )
            time.sleep(0.05)
        word = secrets.token_hex(8)
        owner = {"process": os.getpid(), "machine": socket.gethostname(), "word": word}
        with writing(folder):
            file.truncate(0)
            file.write(json.dumps(owner))
            file.flush()
        yield word


@dataclass(frozen=True, slots=True)
class Task:
    """A shard to be parsed, unless its output agrees with the entry of an earlier run."""

    shard: Path
    output: Path
    previous: ManifestEntry | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a task."""

    task: Task
    entry: ManifestEntry
    state: Literal["parsed", "kept", "failed"]
    left_out: tuple[str, ...] = ()  #: Errors of the sentences that were left out.


Outcomes = Generator[Outcome, None, None]


def parse_task(spec: ParseSpec, task: Task) -> Outcome:
    """Parse a shard; raises only `OutputError`: the error of one shard must not stop the others."""
    entry = ManifestEntry(task.output.name, task.shard.name, spec.digest)
    try:
        entry = replace(entry, input_sha256=digest_of(task.shard))
        if _is_done(task, entry):
            return Outcome(task, task.previous or entry, "kept")
        return _parse(spec, task, entry)
    except OutputError:
        raise
    except BBParseError as error:
        problem = str(error)
    except OSError as error:
        problem = f"{task.shard}: cannot be read: {error.strerror or error}"
    except Exception as error:
        problem = f"{task.shard}: internal error: {type(error).__name__}: {error}"
    with suppress(OSError):
        task.output.unlink()  # the output of an earlier version of the shard
    return Outcome(task, replace(entry, error=one_line(problem)), "failed")


def _parse(spec: ParseSpec, task: Task, entry: ManifestEntry) -> Outcome:
    """Parse a shard and write its output."""
    parser, errors = spec.parser(), list[str]()
    leave_out = errors.append if spec.settings.skip_invalid else None
    sentences = words = 0
    with open_binary_output(task.output) as file:
        found = sentences_of(task.shard, parser, spec, leave_out)
        for parse in spec.parse(parser, found, leave_out):
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
    )
    return Outcome(task, entry, "parsed", tuple(errors))


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _is_done(task: Task, entry: ManifestEntry) -> bool:
    """Return True if the previous output was made from the same input, and is unchanged."""
    previous = task.previous
    if previous is None or previous.error:
        return False
    if (previous.recipe, previous.input_sha256) != (entry.recipe, entry.input_sha256):
        return False
    with suppress(OSError):
        return digest_of(task.output) == previous.output_sha256
    return False


def sentences_of(
    shard: Path, parser: Parser, spec: ParseSpec, leave_out: Callable[[str], None] | None = None
) -> Iterator[Sentence]:
    """Read the sentences of a shard; with `leave_out`, report invalid ones and go on."""
    split = spec.settings.split or split_of_name(shard.name)
    if split is not None:
        return read_text(shard, parser.needed_tokenizer(), split)
    if leave_out is None:
        return read_conllu(shard)
    return read_conllu(shard, skip_invalid=True, on_skip=lambda error: leave_out(str(error)))


def warm_up(spec: ParseSpec, shard: Path) -> None:
    """Compile the kernels by parsing the beginning of a shard."""
    parser = spec.parser()
    with suppress(Exception):  # the worker that parses the shard reports it
        next(spec.parse(parser, sentences_of(shard, parser, spec)), None)


def work_through(spec: ParseSpec, tasks: Iterable[Task], workers: int) -> Outcomes:
    """Yield the outcomes of tasks as they end in processes."""
    with closing(as_they_end(partial(parse_task, spec), deque(tasks), workers)) as ended:
        for task, future in ended:
            has_died = isinstance(future.exception(), BrokenProcessPool)
            yield lost(task) if has_died else future.result()


def lost(task: Task) -> Outcome:
    """Return the outcome of a task whose process died."""
    problem = (
        f"{task.shard}: the process that parsed it died, perhaps because memory ran out: use fewer"
        " --threads or smaller shards"
    )
    entry = ManifestEntry(task.output.name, task.shard.name, "", error=problem)
    return Outcome(task, entry, "failed")
