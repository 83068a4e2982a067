"""A corpus from shards to a folder of trees: which files, what becomes of their names, the run."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bbparse.corpus.recipe import Recipe
from bbparse.corpus.work import (
    Crew,
    LocalCrew,
    Manifest,
    Task,
    first_new,
    locked,
    warm_up,
    work_through,
)
from bbparse.errors import BBParseError, OutputError, TreebankError
from bbparse.storage.output import remove_unfinished
from bbparse.treebank.progress import Bar

_PACKED = (".gz", ".xz")
_KNOWN = (".conllu", ".conll", ".conllx", ".txt")
_WRITTEN = {"conllu": ".conllu", "jsonl": ".jsonl", "tree": ".txt"}


@dataclass(slots=True)
class Done:
    """What a run has done."""

    parsed: int = 0  #: Shards.
    kept: int = 0  #: Shards that were done before, and are as they were.
    failed: int = 0
    sentences: int = 0  #: Of the shards parsed.
    words: int = 0
    left_out: int = 0  #: Sentences of these shards that cannot be parsed.


def parse_corpus(
    patterns: Iterable[str],
    folder: str | Path,
    recipe: Recipe,
    *,
    workers: int = 1,
    cluster: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
    show_progress: bool = False,
) -> Done:
    """Parse shards into a folder, each whole or not at all, and note in a manifest what is done.

    A shard is not parsed again if its input, the model, the settings and the version of bbparse are
    those it was parsed with, and its output is what was written then. Outputs are the same bytes
    whatever parses them.

    Parameters
    ----------
    patterns : iterable of str
        Files, or patterns as shells have them.
    folder : path
        Made if it is not there.
    recipe : Recipe
    workers : int
        Processes of this machine.
    cluster : str, optional
        Address of a Ray cluster whose processors parse instead, or ``auto``.
    tell : callable
        Is given a line for each shard that cannot be parsed, and each sentence that is left out.
    show_progress : bool
        On standard error.

    Raises
    ------
    TreebankError
        If there are no shards.
    OutputError
        If two shards would have one output, or another run is writing to the folder.
    BBParseError
        If there is something wrong with the recipe, the cluster, or the disk.
    """
    folder = Path(folder) if cluster is None else Path(folder).resolve()
    outputs = output_names(find_shards(patterns), folder, recipe.settings.format_name)
    with locked(folder) as word:
        manifest = Manifest(folder)
        known = manifest.entries
        tasks = [Task(shard, folder / name, known.get(name)) for name, shard in outputs.items()]
        if cluster is not None:  # elsewhere, names mean something else
            tasks = [replace(task, shard=task.shard.resolve()) for task in tasks]
        sizes = {task.shard: task.shard.stat().st_size for task in tasks}
        tasks.sort(key=lambda task: -sizes[task.shard])  # so that all end together
        about = {"model": Path(recipe.model).name, "recipe": recipe.digest, **recipe.description}
        manifest.write(about)
        with closing(manifest), _crew(recipe, tasks, workers, cluster, word) as crew:
            done = _work(crew, tasks, sizes, manifest, tell, show_progress)
        remove_unfinished(folder, 0.0)  # of workers that were killed; no other is left
        manifest.write(about)
    return done


def _crew(
    recipe: Recipe, tasks: list[Task], workers: int, cluster: str | None, word: str
) -> AbstractContextManager[Crew]:
    if cluster is not None:
        from bbparse.corpus.cluster import ray_crew  # only where Ray is asked for

        return ray_crew(recipe, tasks, cluster, word)
    new = first_new(recipe, tasks)
    if new is not None:
        warm_up(recipe, new)  # once, for all forks
    return closing(LocalCrew(recipe, min(workers, len(tasks))))


def _work(
    crew: Crew,
    tasks: list[Task],
    sizes: dict[Path, int],
    manifest: Manifest,
    tell: Callable[[str], None],
    show_progress: bool,
) -> Done:
    done = Done()
    shown: dict[str, Any] = {
        "bar_format": "{percentage:3.0f}%|{bar}| {desc}, {remaining} left", "delay": 2,
        "disable": not show_progress, "total": sum(sizes.values()),
    }  # fmt: skip
    with Bar(**shown) as bar, closing(work_through(crew, tasks)) as outcomes:
        for outcome in outcomes:
            entry, size = outcome.entry, sizes[outcome.task.shard]
            if outcome.state == "fatal":
                raise BBParseError(entry.error)
            if outcome.state == "kept":
                done.kept += 1
                bar.total -= size  # no measure of how fast the others go
            else:
                manifest.add(entry)
                bar.update(size)
            if outcome.state == "failed":
                done.failed += 1
                tell(entry.error)
            if outcome.state == "parsed":
                done.parsed += 1
                done.sentences += entry.sentences
                done.words += entry.words
            for what in outcome.left_out:
                tell(f"left out: {what}")
            done.left_out += len(outcome.left_out)
            rate = done.words / max(bar.format_dict["elapsed"], 1e-9)
            ended = done.parsed + done.kept + done.failed
            bar.set_description_str(f"{ended}/{len(tasks)} shards, {rate:,.0f} words/s")
    return done


def find_shards(patterns: Iterable[str]) -> list[Path]:
    """The files that paths and patterns name, sorted by name; ``**`` is any folders."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        names = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
        files = [Path(name) for name in names if os.path.isfile(name)]
        if not files:
            what = "is a folder, expected files" if os.path.isdir(pattern) else "names no file"
            raise TreebankError(f"{pattern}: {what}: a shard, or a pattern such as 'in/*.conllu'")
        found.update(dict.fromkeys(files))
    if not found:
        raise TreebankError("no shards are given: say which files, or a pattern in quotes")
    return sorted(found, key=lambda path: (path.name, path))


def output_names(shards: Iterable[Path], folder: Path, format_name: str) -> dict[str, Path]:
    """The name of each shard's output in a folder, and the shard.

    An output is packed as its shard is. It is found by the shard's name alone, so that the same
    shard has the same output whatever other shards it is parsed with.
    """
    found: dict[str, Path] = {}
    for shard in shards:
        stem, packed = os.path.splitext(shard.name)
        if packed not in _PACKED:
            stem, packed = shard.name, ""
        start, end = os.path.splitext(stem)
        name = (start if end in _KNOWN else stem) + _WRITTEN[format_name] + packed
        if name in found and not os.path.samefile(found[name], shard):
            raise OutputError(
                f"{found[name]} and {shard}: both would be written as {folder / name}: rename one,"
                " or give each folder an output folder of its own"
            )
        if (folder / name).exists() and os.path.samefile(folder / name, shard):
            raise OutputError(f"{shard}: its output would take its place: choose another folder")
        found[name] = shard
    return found
