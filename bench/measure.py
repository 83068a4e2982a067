"""Shared by the benchmarks: arguments, clocks, tables, results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import string
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from bbparse.treebank import Sentence, read_conllu

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
Columns = Sequence[tuple[str, Callable[[Any], str]]] | str


def machine(*packages: str) -> dict[str, Any]:
    """What the figures were measured on, with the versions of packages that took part."""
    found = {}
    for name in ("numpy", "numba", *packages):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = [*names, platform.processor() or platform.machine()][0]
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": found,
        "date": time.strftime("%Y-%m-%d"),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def result(name: str) -> dict[str, Any]:
    """What ``results/NAME.json`` holds; nothing if there was no run."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write_result(
    name: str, facts: dict[str, Any], text: str = "", packages: Sequence[str] = ()
) -> None:
    """Write facts and the machine to ``results/NAME.json``; print a table, and write NAME.md."""
    RESULTS.mkdir(exist_ok=True)
    found = {"machine": machine(*packages), **facts}
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if text:
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
        print(text, flush=True)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table, all columns but the first `left` aligned to the right."""
    rule = [" --- "] * left + [" ---: "] * (len(head) - left)
    return "".join(
        "|" + "|".join(cell if cell.startswith(" --") else f" {cell} " for cell in line) + "|\n"
        for line in [head, rule, *rows]
    )


def markdown(first: str, rows: Iterable[tuple[str, Any]], columns: Columns) -> str:
    """A table of named rows, with a title and a format for each column.

    Columns are functions of rows, or a text: ``UAS {uas:.2p} | ms {ms:.1f}``; what a row does not
    have, or has as None, is an empty cell.
    """
    if isinstance(columns, str):
        parts = (column.partition("{") for column in columns.split("|"))
        columns = [(title.strip(), cell(brace + form.strip())) for title, brace, form in parts]
    cells = [[name, *(show(row) for _, show in columns)] for name, row in rows]
    return table([first, *(title for title, _ in columns)], cells)


def cell(form: str) -> Callable[[Any], str]:
    """What shows a row by a format."""

    def show(row: Any) -> str:
        try:
            return Cells().vformat(form, (), row)
        except KeyError:
            return ""

    return show


class Cells(string.Formatter):
    """Formats with ``p``: hundred times as much with so many decimals, without a sign."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """One value."""
        if value is None:
            return ""
        if format_spec.endswith("p"):
            return format(100 * value, f"{format_spec[:-1]}f")
        return str(super().format_field(value, format_spec))


def turns(
    calls: dict[str, Callable[[], Any]], repeat: int, clock: Callable[[], Any] = time.perf_counter
) -> Iterator[tuple[str, Any, Any]]:
    """Call all in turns, in both orders; yield names, what calls gave, and the seconds taken."""
    for turn in range(repeat):
        for name in calls if turn % 2 else reversed(calls):
            started = clock()
            given = calls[name]()
            yield name, given, clock() - started


def race(
    calls: dict[str, Callable[[], object]],
    repeat: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of each call; they take turns, after one turn that does not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for name, _, seconds in turns(calls, repeat + 1, clock):
        times[name].append(seconds)
    return {name: median(seconds[1:]) for name, seconds in times.items()}


def train_udpipe(path: Path, conllu: str, tokenizer: str, tagger: str, parser: str) -> None:
    """Train UDPipe 1 on a treebank by these options into a file; "none" leaves a part out, and ""
    takes UDPipe's own."""
    from ufal import udpipe

    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(conllu)
    error, sentences, sentence = udpipe.ProcessingError(), udpipe.Sentences(), udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = udpipe.Sentence()
    trained = udpipe.Trainer.train(
        "morphodita_parsito", sentences, udpipe.Sentences(), tokenizer, tagger, parser, error
    )
    if error.occurred():
        raise SystemExit(f"UDPipe: {error.message}")
    given = trained if isinstance(trained, bytes) else trained.encode("utf-8", "surrogateescape")
    path.write_bytes(given)


def udpipe(path: Path, reader: str, tagger: str, parser: str) -> Callable[[str], str]:
    """What makes CoNLL-U of a text by a model of UDPipe 1."""
    from ufal import udpipe

    model = udpipe.Model.load(str(path))
    pipeline = udpipe.Pipeline(model, reader, tagger, parser, "conllu")

    def process(text: str, _keep: object = model) -> str:  # the pipeline does not
        error = udpipe.ProcessingError()
        made: str = pipeline.process(text, error)
        if error.occurred():
            raise SystemExit(f"UDPipe: {error.message}")
        return made

    return process


def arguments(doc: str | None, *names: str, **options: Any) -> argparse.Namespace:
    """What a script is given: arguments (several where a name ends in ``+``), and options.

    An option is given by its default: a flag by False, a choice by a tuple with the default first,
    a list by an empty one; without a default, by its type.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in names:
        parser.add_argument(name.rstrip("+"), nargs="+" if name.endswith("+") else None)
    for name, default in options.items():
        kind: dict[str, Any] = {"type": type(default), "default": default}
        if default is False:
            kind = {"action": "store_true"}
        elif isinstance(default, type):
            kind = {"type": default}
        elif isinstance(default, tuple):
            kind = {"choices": default, "default": default[0]}
        elif isinstance(default, list):
            kind = {"action": "extend", "nargs": "*", "default": default}
        parser.add_argument(f"--{name.replace('_', '-')}", **kind)
    return parser.parse_args()


def read_sample(path: str | Path, sentences: int | None) -> list[Sentence]:
    """The sentences of a treebank, or a random choice of so many, the same each time."""
    treebank = list(read_conllu(path, require_heads=True))
    if sentences is None or sentences >= len(treebank):
        return treebank
    return random.Random(1).sample(treebank, sentences)


def peak_memory_mb() -> float | None:
    """Most memory this process has held; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    unit = 2**20 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
