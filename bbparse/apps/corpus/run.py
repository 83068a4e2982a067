"""Parse a corpus of shards into a folder: find the shards, name the outputs, run the workers."""

from __future__ import annotations

import glob
import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from bbparse.apps.corpus.files import misc_keys, parse_section
from bbparse.apps.corpus.work import Manifest, Outcome, ParseSpec, Task, locked, lost, parse_task
from bbparse.runtime.errors import OutputError, TreebankError, WorkerError
from bbparse.runtime.output import UNFINISHED
from bbparse.runtime.pool import as_they_end
from bbparse.runtime.progress import Bar, watched
from bbparse.runtime.signals import undone_by
from bbparse.treebank.reading import open_source, raw_lines
from bbparse.treebank.sentence import check_key

_COMPRESSED = (".gz", ".xz")
_KNOWN = (".conllu", ".conll", ".conllx", ".txt")
_WRITTEN = {"conllu": ".conllu", "jsonl": ".jsonl", "tree": ".txt"}


def parse_corpus(
    patterns: Iterable[str],
    folder: str | Path,
    spec: ParseSpec,
    *,
    workers: int = 1,
    cluster: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Counter[str]:
    """Parse shards into a folder, each output atomically, and list the finished ones in a manifest.

    A shard is skipped if its output was made from the same input, with the same model, settings and
    version of bbparse, and has not changed since. Outputs are the same bytes whichever workers make
    them: processes of this machine, or those of a Ray `cluster`. `tell` is called with a line for
    each shard that cannot be parsed and each sentence that is skipped. Returns how many shards were
    parsed, failed, or were kept from an earlier run, and how many sentences and words were parsed.
    """
    folder = Path(folder) if cluster is None else Path(folder).resolve()
    outputs = output_names(find_shards(patterns), folder, spec.settings.format_name)
    if cluster is not None:  # relative names mean other files on other nodes
        outputs = {name: shard.resolve() for name, shard in outputs.items()}
    for key in misc_keys(spec.settings):
        _check_key(key, outputs.values())
    with locked(folder) as word:
        manifest = Manifest(folder)
        tasks = [Task(shard, folder / name, spec.digest) for name, shard in outputs.items()]
        todo = _not_done(tasks, manifest)
        sizes = {task.output.name: task.shard.stat().st_size for task in todo}
        todo.sort(key=lambda task: -sizes[task.output.name])  # so that all workers end together
        about = {"model": Path(spec.model).name, "spec_sha256": spec.digest, **spec.description}
        manifest.write(about)
        if cluster is not None and todo:
            from bbparse.apps.corpus.cluster import work_on_cluster  # imports Ray

            outcomes = work_on_cluster(spec, todo, cluster, word)
        else:
            outcomes = _work_here(spec, todo, workers)
        counts = Counter[str](kept=len(tasks) - len(todo))

        def tidy() -> None:
            """Remove what killed workers have left: a folder has one run."""
            for path in folder.glob(UNFINISHED):
                path.unlink(missing_ok=True)

        with undone_by(lambda _: tidy(), lambda: None):
            try:
                with closing(outcomes), Bar.over(sum(sizes.values())) as bar:
                    for number, (entry, left_out) in enumerate(outcomes, start=1):
                        manifest.add(entry)
                        for error in left_out:
                            tell(f"skipped: {error}")
                        if entry.error:
                            tell(entry.error)
                        counts.update(
                            failed=bool(entry.error),
                            parsed=not entry.error,
                            sentences=entry.sentences,
                            words=entry.words,
                            left_out=entry.left_out,
                        )
                        bar.set_description_str(f"{number}/{len(todo)} shards, ")
                        bar.update(sizes[entry.output])
            finally:
                tidy()
        manifest.write(about)
    return counts


def _not_done(tasks: list[Task], manifest: Manifest) -> list[Task]:
    """Return the tasks whose outputs an earlier run has not made; files are hashed in parallel."""
    known = manifest.entries
    with ThreadPoolExecutor() as threads:
        done = threads.map(lambda task: task.is_done(known.get(task.output.name)), tasks)
        rows = zip(tasks, watched(done, "checked", " shards"))
        return [task for task, is_done in rows if not is_done]


def _check_key(key: str, shards: Iterable[Path]) -> None:
    """Raise `TreebankError` if no shard has a key in MISC."""
    for shard in shards:
        with suppress(TreebankError), open_source(shard) as (stream, name):
            if any(f"{key}=".encode() in line for line in raw_lines(stream, name)):
                return
    check_key(False, key, "the shards")


def _work_here(spec: ParseSpec, tasks: list[Task], workers: int) -> Generator[Outcome, None, None]:
    """Yield the outcomes of tasks as they end in processes."""
    for task in tasks[:1]:
        with suppress(Exception):  # the worker that parses the shard reports it
            first = next(filter(None, spec.sections(task.shard)))
            parse_section(first, spec.parser, spec.settings)  # compiles, once for all forks
    work, size = partial(parse_task, spec), max(1, min(workers, len(tasks)))
    with closing(as_they_end(work, deque(tasks), size)) as ended:
        for task, future in ended:
            has_died = isinstance(future.exception(), WorkerError)
            yield lost(task) if has_died else future.result()


def find_shards(patterns: Iterable[str]) -> list[Path]:
    """Return the files that paths and patterns name, sorted by name; ``**`` is any folders."""
    shards: dict[Path, None] = {}
    for pattern in patterns:
        names = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
        files = [Path(name) for name in names if os.path.isfile(name)]
        if not files:
            problem = "is a folder, expected files" if os.path.isdir(pattern) else "names no file"
            raise TreebankError(
                f"{pattern}: {problem}: a shard, or a pattern such as 'in/*.conllu'"
            )
        shards.update(dict.fromkeys(files))
    if not shards:
        raise TreebankError("no shards: name files, or a pattern in quotes")
    return sorted(shards, key=lambda path: (path.name, path))


def output_names(shards: Iterable[Path], folder: Path, format_name: str) -> dict[str, Path]:
    """Return the shard of each output, by the name of the output in the folder."""
    shard_of: dict[str, Path] = {}
    for shard in shards:
        stem, compression = os.path.splitext(shard.name)
        if compression not in _COMPRESSED:
            stem, compression = shard.name, ""
        start, end = os.path.splitext(stem)
        name = (start if end in _KNOWN else stem) + _WRITTEN[format_name] + compression
        if name in shard_of and not os.path.samefile(shard_of[name], shard):
            raise OutputError(
                f"{shard_of[name]} and {shard}: both would be written as {folder / name}:"
                " rename one, or give each folder an output folder of its own"
            )
        if (folder / name).exists() and os.path.samefile(folder / name, shard):
            raise OutputError(f"{shard}: its output would overwrite it: choose another folder")
        shard_of[name] = shard
    return shard_of
