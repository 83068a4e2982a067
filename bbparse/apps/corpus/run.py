"""Parse a corpus of shards into a folder: find the shards, name the outputs, run the workers."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bbparse.apps.corpus.spec import ParseSpec
from bbparse.apps.corpus.work import Manifest, Outcomes, Task, locked, warm_up, work_through
from bbparse.runtime.errors import OutputError, TreebankError
from bbparse.runtime.output import remove_unfinished
from bbparse.runtime.signals import undone_by
from bbparse.treebank.progress import Bar

_COMPRESSED = (".gz", ".xz")
_KNOWN = (".conllu", ".conll", ".conllx", ".txt")
_WRITTEN = {"conllu": ".conllu", "jsonl": ".jsonl", "tree": ".txt"}


@dataclass(slots=True)
class CorpusSummary:
    """Counts of a run."""

    parsed: int = 0  #: Shards that this run has parsed.
    kept: int = 0  #: Shards that an earlier run has parsed and that are unchanged.
    failed: int = 0  #: Shards that could not be parsed.
    sentences: int = 0  #: Sentences of the shards parsed.
    words: int = 0  #: Words of the shards parsed.
    left_out: int = 0  #: Sentences of the shards parsed that cannot be parsed.


def parse_corpus(
    patterns: Iterable[str], folder: str | Path, spec: ParseSpec, *, workers: int = 1,
    cluster: str | None = None, tell: Callable[[str], None] = lambda text: None,
    show_progress: bool = False,
) -> CorpusSummary:
    """Parse shards into a folder, each output atomically, and list the finished ones in a manifest.

    A shard is not parsed again if its input, the model, the settings and the version of bbparse are
    those of its output, and the output is unchanged. Outputs are the same bytes whichever workers
    parse them.

    Parameters
    ----------
    patterns : iterable of str
        Files, or patterns as in a shell.
    folder : path
        Made if it does not exist.
    spec : ParseSpec
    workers : int
        Number of processes on this machine.
    cluster : str, optional
        Address of a Ray cluster whose processors parse instead, or ``auto``.
    tell : callable
        Called with one line for each shard that cannot be parsed, and each sentence that is left
        out.
    show_progress : bool
        Draw a progress bar on standard error.

    Returns
    -------
    CorpusSummary

    Raises
    ------
    TreebankError
        If there are no shards.
    OutputError
        If two shards would have one output, or another run is writing to the folder.
    BBParseError
        If the specification, the cluster or the disk fails.
    """
    folder = Path(folder) if cluster is None else Path(folder).resolve()
    outputs = output_names(find_shards(patterns), folder, spec.settings.format_name)
    with locked(folder) as word:
        manifest = Manifest(folder)
        previous = manifest.entries
        tasks = [Task(shard, folder / name, previous.get(name)) for name, shard in outputs.items()]
        if cluster is not None:  # relative names mean other files on other nodes
            tasks = [replace(task, shard=task.shard.resolve()) for task in tasks]
        sizes = {task.shard: task.shard.stat().st_size for task in tasks}
        tasks.sort(key=lambda task: -sizes[task.shard])  # so that all workers end together
        about = {"model": Path(spec.model).name, "recipe": spec.digest, **spec.description}
        manifest.write(about)
        outcomes = _outcomes(spec, tasks, workers, cluster, word)
        tidy = partial(remove_unfinished, folder, 0.0)  # after killed workers; one run has a folder
        with undone_by(lambda _: tidy(), lambda: None):
            try:
                with closing(outcomes):
                    summary = _work(outcomes, tasks, sizes, manifest, tell, show_progress)
            finally:
                tidy()
        manifest.write(about)
    return summary


def _outcomes(
    spec: ParseSpec, tasks: list[Task], workers: int, cluster: str | None, word: str
) -> Outcomes:
    """Yield the outcomes of tasks as they end, here or on a cluster."""
    new = [task.shard for task in tasks if not task.previous or task.previous.recipe != spec.digest]
    if new:
        spec.parse(spec.parser(), ())  # raises the errors of the specification
    if cluster is not None:
        from bbparse.apps.corpus.cluster import work_on_cluster  # imports Ray

        return work_on_cluster(spec, tasks, cluster, word)
    if new:
        warm_up(spec, new[0])  # once for all forks
    return work_through(spec, tasks, min(workers, len(tasks)))


def _work(
    outcomes: Outcomes, tasks: list[Task], sizes: dict[Path, int], manifest: Manifest,
    tell: Callable[[str], None], show_progress: bool,
) -> CorpusSummary:
    """Record all outcomes in the manifest, and count them."""
    summary = CorpusSummary()
    with Bar.of_bytes(sum(sizes.values()), disable=not show_progress) as bar:
        for outcome in outcomes:
            entry, size = outcome.entry, sizes[outcome.task.shard]
            if outcome.state == "kept":
                summary.kept += 1
                bar.total -= size  # says nothing about the speed of the others
            else:
                manifest.add(entry)
                bar.update(size)
                for error in outcome.left_out:
                    tell(f"skipped: {error}")
                if outcome.state == "failed":
                    tell(entry.error)
                summary.failed += outcome.state == "failed"
                summary.parsed += outcome.state == "parsed"
                summary.sentences += entry.sentences
                summary.words += entry.words
                summary.left_out += entry.left_out
            rate = summary.words / max(bar.format_dict["elapsed"], 1e-9)
            ended = summary.parsed + summary.kept + summary.failed
            bar.set_description_str(f"{ended}/{len(tasks)} shards, {rate:,.0f} words/s")
    return summary


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
