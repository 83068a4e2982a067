"""A corpus from a folder of shards to a folder of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bbparse.corpus.local import local_crew
from bbparse.corpus.manifest import Manifest, locked
from bbparse.corpus.recipe import Recipe
from bbparse.corpus.shards import find_shards, output_names
from bbparse.corpus.work import Crew, Outcome, Task, first_new, warm_up, work_through
from bbparse.errors import BBParseError
from bbparse.treebank.progress import Bar

__all__ = ["Done", "parse_corpus"]


@dataclass(slots=True)
class Done:
    """What a run has done."""

    parsed: int = 0  #: Shards.
    kept: int = 0  #: Shards that were done before, and are as they were.
    failed: int = 0
    sentences: int = 0  #: Of the shards parsed.
    words: int = 0


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
        Is given a line for each shard that cannot be parsed.
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
    return local_crew(recipe, min(workers, len(tasks)))


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
                _note(outcome, manifest, done)
                bar.update(size)
            if outcome.state == "failed":
                tell(entry.error)
            rate = done.words / max(bar.format_dict["elapsed"], 1e-9)
            ended = done.parsed + done.kept + done.failed
            bar.set_description_str(f"{ended}/{len(tasks)} shards, {rate:,.0f} words/s")
    return done


def _note(outcome: Outcome, manifest: Manifest, done: Done) -> None:
    manifest.add(outcome.entry)
    if outcome.state == "failed":
        done.failed += 1
    else:
        done.parsed += 1
        done.sentences += outcome.entry.sentences
        done.words += outcome.entry.words
