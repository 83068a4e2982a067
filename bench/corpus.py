"""Shards in, shards out: what the engines cost.

    python bench/corpus.py MODEL DEV [--sentences N] [--copies N] [--shards N] [--repeat N]
        [--no-ray]

The sentences of DEV, in shards, are parsed without any engine, by one and by two processes, and on
a Ray cluster of two nodes on this machine with a processor each; all of them take turns, and must
write the same bytes. Processor time is that of all processes but Ray's.
Writes bench/results/corpus.json and .md.
"""

from __future__ import annotations

import gc
import lzma
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from measure import arguments, machine, markdown, read_sample, write_result

from bbparse.corpus import ParseSpec, parse_corpus
from bbparse.corpus.work import sentences_of, warm_up
from bbparse.storage.output import open_binary_output
from bbparse.treebank import format_sentence


class Corpus:
    """Sentences in shards, in a folder of their own."""

    def __init__(self, folder: Path, spec: ParseSpec, texts: list[str], shards: int) -> None:
        self.folder, self.spec = folder, spec
        (folder / "in").mkdir(parents=True)
        self.runs = 0
        for i in range(shards):
            some = "".join(texts[i::shards]).encode()
            (folder / "in" / f"{i:04}.conllu.xz").write_bytes(lzma.compress(some))

    def out(self) -> Path:
        """A new folder."""
        self.runs += 1
        return self.folder / f"out-{self.runs}"

    def plain(self) -> Path:
        """Shard after shard, in this process, with nothing around it."""
        out, parser = self.out(), self.spec.parser()
        out.mkdir()
        for shard in sorted((self.folder / "in").iterdir()):
            with open_binary_output(out / shard.name) as file:
                sentences = sentences_of(shard, parser, self.spec)
                for found in self.spec.parse(parser, sentences):
                    file.write(self.spec.text(found).encode())
        return out

    def run(self, workers: int, cluster: str | None = None) -> Path:
        """What ``bbparse parse --output-dir`` does when the model is loaded."""
        out = self.out()
        pattern = f"{self.folder}/in/*.xz"
        done = parse_corpus([pattern], out, self.spec, workers=workers, cluster=cluster)
        if done.failed or done.kept:
            raise SystemExit(f"{done}")
        return out


def clocks() -> tuple[float, float]:
    """Seconds, and seconds of processor of this process and those that it has waited for."""
    times = os.times()
    return time.perf_counter(), sum(times[:4])


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds and processor seconds of a call."""
    before = clocks()
    call()
    after = clocks()
    return after[0] - before[0], after[1] - before[1]


def contents(folder: Path) -> dict[str, bytes]:
    """Of the outputs."""
    return {path.name: path.read_bytes() for path in folder.glob("*.xz")}


def main() -> None:
    """Measure."""
    given = arguments(
        __doc__, "model", "dev", sentences=int, copies=1, shards=8, repeat=3, no_ray=False
    )
    sentences = read_sample(given.dev, given.sentences)
    texts = [format_sentence(sentence) for sentence in sentences] * given.copies
    words = sum(sentence.n_words for sentence in sentences) * given.copies
    spec = ParseSpec.of(given.model)
    with tempfile.TemporaryDirectory() as name:
        corpus = Corpus(Path(name, "corpus"), spec, texts, given.shards)
        warm_up(spec, next((corpus.folder / "in").iterdir()))
        calls: dict[str, Callable[[], Path]] = {
            "no engine": corpus.plain,
            "1 process": lambda: corpus.run(1),
            "2 processes": lambda: corpus.run(2),
        }
        cluster = None
        if not given.no_ray:
            os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
            from ray.cluster_utils import Cluster

            node = {"num_cpus": 1, "object_store_memory": 80 << 20}
            cluster = Cluster(
                initialize_head=True, head_node_args={**node, "include_dashboard": False}
            )
            cluster.add_node(**node)
            calls["Ray, 2 nodes"] = lambda: corpus.run(2, cluster.address)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
        first: dict[str, bytes] = {}
        same = True
        for turn in range(given.repeat):
            for name_of, call in calls.items():
                gc.collect()
                out: list[Path] = []
                times[name_of].append(timed(lambda call=call, out=out: out.append(call())))
                first = first or contents(out[0])
                same &= contents(out[0]) == first
            print(turn + 1, {name: values[-1] for name, values in times.items()}, flush=True)
        if cluster is not None:
            cluster.shutdown()
    plain = median(cpu for _, cpu in times["no engine"])
    rows = {
        name: {
            "words_per_second": words / median(wall for wall, _ in values),
            "words_per_processor_second": words / median(cpu for _, cpu in values)
            if "Ray" not in name else None,
            "cost": median(cpu / other for (_, cpu), (_, other) in zip(values, times["no engine"]))
            - 1 if "Ray" not in name else None,
        }
        for name, values in times.items()
    }  # fmt: skip
    result = {
        "machine": machine("ray"), "dev": Path(given.dev).name, "words": words,
        "sentences": len(texts), "shards": given.shards, "same_bytes": same,
        "plain_processor_seconds": plain, "rows": rows,
    }  # fmt: skip

    table = markdown("engine", rows.items(), """
        words/s {words_per_second:,.0f} | words/s of processor {words_per_processor_second:,.0f}
        | engine costs {cost:.1%}""")
    write_result("corpus", result, table)
    print(table, result, sep="\n")


if __name__ == "__main__":
    main()
