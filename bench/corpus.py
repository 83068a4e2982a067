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
from itertools import count
from pathlib import Path

import numpy as np
from measure import arguments, markdown, read_sample, turns, write_result

from bbparse.apps.corpus import ParseSpec, parse_corpus
from bbparse.apps.corpus.work import sentences_of, warm_up
from bbparse.runtime.output import open_binary_output
from bbparse.treebank import format_sentence


class Corpus:
    """Sentences in shards, in a folder of their own; each run has a new folder beside it."""

    def __init__(self, folder: Path, spec: ParseSpec, texts: list[str], shards: int) -> None:
        self.shards, self.spec = folder / "in", spec
        self.outputs = (folder / f"out-{number}" for number in count())
        self.shards.mkdir(parents=True)
        for i in range(shards):
            some = "".join(texts[i::shards]).encode()
            (self.shards / f"{i:04}.conllu.xz").write_bytes(lzma.compress(some))

    def plain(self) -> Path:
        """Shard after shard, in this process, with nothing around it."""
        out, parser = next(self.outputs), self.spec.parser()
        out.mkdir()
        for shard in sorted(self.shards.iterdir()):
            with open_binary_output(out / shard.name) as file:
                sentences = sentences_of(shard, parser, self.spec)
                for found in self.spec.parse(parser, sentences):
                    file.write(self.spec.text(found).encode())
        return out

    def run(self, workers: int, cluster: str | None = None) -> Path:
        """What ``bbparse parse --output-dir`` does when the model is loaded."""
        out, pattern = next(self.outputs), f"{self.shards}/*.xz"
        done = parse_corpus([pattern], out, self.spec, workers=workers, cluster=cluster)
        if done.failed or done.kept:
            raise SystemExit(f"{done}")
        return out


def clocks() -> np.ndarray:
    """Seconds, and seconds of processor of this process and those that it has waited for."""
    return np.array([time.perf_counter(), sum(os.times()[:4])])


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
        warm_up(spec, next(corpus.shards.iterdir()))
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
        times: dict[str, list[np.ndarray]] = {name: [] for name in calls}
        outputs = []
        for name_of, out, seconds in turns(calls, given.repeat, clocks):
            times[name_of].append(seconds)
            outputs.append({path.name: path.read_bytes() for path in out.glob("*.xz")})
            gc.collect()
            print(name_of, seconds, flush=True)
        if cluster is not None:
            cluster.shutdown()
    plain, rows = np.array(times["no engine"]), {}
    for name_of, turn in times.items():
        wall, cpu = np.median(turn, axis=0).tolist()
        rows[name_of] = {"words_per_second": words / wall}
        if "Ray" not in name_of:
            cost = float(np.median(np.array(turn)[:, 1] / plain[:, 1])) - 1
            rows[name_of] |= {"words_per_processor_second": words / cpu, "cost": cost}
    facts = {
        "dev": Path(given.dev).name, "words": words, "sentences": len(texts),
        "shards": given.shards, "same_bytes": all(one == outputs[0] for one in outputs),
        "plain_processor_seconds": float(np.median(plain, axis=0)[1]), "rows": rows,
    }  # fmt: skip
    table = markdown("engine", rows.items(), """
        words/s {words_per_second:,.0f} | words/s of processor {words_per_processor_second:,.0f}
        | engine costs {cost:.1%}""")
    write_result("corpus", facts, table, ["ray"])
    print(facts)


if __name__ == "__main__":
    main()
