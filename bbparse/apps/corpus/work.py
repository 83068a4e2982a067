"""Parse single shards; a manifest lists what an output folder holds, and from what it was made."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

from bbparse import __version__
from bbparse.apps.corpus.files import USUAL_FILES, FileOptions, parse_section, read_sections
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.parser.parser import Parser
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import BBParseError, OutputError, TreebankError, one_line
from bbparse.runtime.output import lock_file, open_binary_output, open_output, writing
from bbparse.treebank.sections import Section

NAME, LOCK, FORMAT = "manifest.jsonl", ".bbparse.lock", 1
#: Seconds to wait for a lock, which processes of a killed run may still hold.
PATIENCE = 2.0


class ParseSpec:
    """A model and the settings to parse with it: all that outputs depend on beside the input."""

    def __init__(
        self,
        model: str | Path = DEFAULT_MODEL,
        settings: FileOptions = USUAL_FILES,
        factors: Sequence[str] = (),
    ) -> None:
        path, rules = MODELS.path(model), settings.valid
        self.model, self.settings = model, settings
        self.parser = Parser.load(path, factors, settings)
        applied, families = self.parser.rules, self.parser.model.maker.families
        packages = {type(family).__module__.partition(".")[0] for family in families}
        #: Everything that distinguishes it, for manifests; the model, the rules and the code of
        #: factor families by their hashes.
        self.description: dict[str, Any] = {
            "bbparse": __version__,
            "model_sha256": digest_of(path),
            "settings": asdict(settings) | {"valid": None if isinstance(rules, Rules) else rules},
            "factors": factors,
            "families_sha256": {name: _code_of(name) for name in sorted(packages)},
        }
        if applied is not None:
            known = repr((applied.rules, sorted(applied.relations)))
            self.description["rules_sha256"] = sha256(known.encode()).hexdigest()
        #: SHA-256 of the description, in hexadecimal.
        self.digest = sha256(json.dumps(self.description, sort_keys=True).encode()).hexdigest()

    def sections(self, shard: Path) -> Iterator[Section | None]:
        """Read a shard in sections."""
        return read_sections([str(shard)], self.parser.needed_tokenizer, self.settings.split)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _code_of(package: str) -> str:
    """Return the SHA-256 of the Python files of an imported package, or of a module."""
    top = sys.modules[package]
    files = [path for folder in getattr(top, "__path__", ()) for path in Path(folder).rglob("*.py")]
    files = files or [Path(top.__file__ or "")]
    digests = sorted(digest_of(path) for path in files if path.is_file())
    return sha256(" ".join(digests).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One shard of a manifest. With an `error` it has no output, and the next run repeats it."""

    output: str  #: Name of its file in the folder.
    shard: str  #: Name of the input, without folders.
    spec_sha256: str  #: `ParseSpec.digest` of its run.
    input_sha256: str = ""
    output_sha256: str = ""
    sentences: int = 0
    words: int = 0
    left_out: int = 0
    error: str = ""

    @property
    def line(self) -> str:
        """The entry as a line of JSON."""
        values = {key: value for key, value in asdict(self).items() if value != ""}
        return json.dumps(values, ensure_ascii=False) + "\n"


class Manifest:
    """List of the finished shards in an output folder: lines of JSON after a header.

    A line is added as soon as a shard is finished, so that an interrupted run loses nothing;
    `write` sorts the lines and replaces the file atomically.
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
        version = None
        with suppress(ValueError, AttributeError):
            version = json.loads(header).get("manifest")
        if version != FORMAT:
            raise OutputError(
                f"{self.path}: not a manifest of this version of bbparse: choose another folder"
            )
        for line in lines:
            with suppress(ValueError, TypeError):  # an interrupted run leaves half a line
                entry = ManifestEntry(**json.loads(line))
                self.entries[entry.output] = entry

    def add(self, entry: ManifestEntry) -> None:
        """Add a shard and write it to disk at once; `write` comes first."""
        self.entries[entry.output] = entry
        with writing(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(entry.line)

    def write(self, about: dict[str, Any]) -> None:
        """Write the manifest atomically, with a header of facts about the run."""
        header = {"manifest": FORMAT, **about}
        with open_output(self.path) as file:
            file.write(json.dumps(header, ensure_ascii=False) + "\n")
            file.writelines(self.entries[name].line for name in sorted(self.entries))


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """Make a folder if it does not exist, and lock it; yields a random word that marks this run.

    The lock ends with this process and its forks, however they end.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / LOCK, "a+b", buffering=0)  # closing it then writes nothing
    with file:
        end = time.monotonic() + PATIENCE
        while lock_file(file) is False:
            if time.monotonic() > end:
                raise OutputError(
                    f"{folder}: another run is writing here: wait until it ends, or choose another"
                    " folder"
                )
            time.sleep(0.05)
        word = secrets.token_hex(8)
        with writing(folder):
            file.truncate(0)
            file.write(word.encode())
        yield word


class Task(NamedTuple):
    """A shard to be parsed."""

    shard: Path
    output: Path
    spec_sha256: str  #: See `ManifestEntry`.

    def entry(self, **fields: Any) -> ManifestEntry:
        return ManifestEntry(self.output.name, self.shard.name, self.spec_sha256, **fields)

    def is_done(self, previous: ManifestEntry | None) -> bool:
        """Return True if an earlier run made the output from the same input, and it is unchanged.

        A shard that cannot be read is not done: parsing it reports the error.
        """
        if previous is None or previous.error or previous.spec_sha256 != self.spec_sha256:
            return False
        with suppress(OSError):
            found = digest_of(self.shard), digest_of(self.output)
            return found == (previous.input_sha256, previous.output_sha256)
        return False


class Outcome(NamedTuple):
    """Result of a task."""

    entry: ManifestEntry
    left_out: Sequence[str] = ()  #: Errors of the sentences that were left out.


def parse_task(spec: ParseSpec, task: Task) -> Outcome:
    """Parse a shard; raises only `OutputError`: the error of one shard must not stop the others."""
    digest = ""
    try:
        digest = digest_of(task.shard)
        return _parse(spec, task, digest)
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
    return Outcome(task.entry(input_sha256=digest, error=one_line(problem)))


def _parse(spec: ParseSpec, task: Task, digest: str) -> Outcome:
    """Parse a shard and write its output."""
    left_out, sentences, words = list[str](), 0, 0
    with open_binary_output(task.output) as file:
        for section in spec.sections(task.shard):
            if section is not None:
                answer = parse_section(section, spec.parser, spec.settings)
                file.write(answer.text.encode())
                if answer.error is not None:
                    raise answer.error
                left_out += answer.left_out
                sentences, words = sentences + answer.sentences, words + answer.words
        if left_out and not sentences:
            raise TreebankError(
                f"{task.shard}: no sentence is left to parse: {len(left_out)} invalid"
            )
    entry = task.entry(
        input_sha256=digest,
        output_sha256=digest_of(task.output),
        sentences=sentences,
        words=words,
        left_out=len(left_out),
    )
    return Outcome(entry, left_out)


def lost(task: Task) -> Outcome:
    """Return the outcome of a task whose process died."""
    problem = (
        f"{task.shard}: the process that parsed it died, perhaps because memory ran out: use fewer"
        " --threads or smaller shards"
    )
    return Outcome(task.entry(error=problem))
