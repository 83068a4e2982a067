"""Measure words per second of the whole parser, and the time of each step.

    python bench/throughput.py DEV --model MODEL [--model MODEL…] [--prune 3,5,10,20]
        [--threads 1,2] [--sentences N] [--times N] [--repeat N]

For each model with its own pruning, and for the first model with several numbers of candidate
heads: the rate of ``bbparse parse --threads`` from file to file, the time of reading, scoring,
solving, labelling and writing, and the accuracy with the tags of DEV. The file is DEV, repeated.
Medians, in turns, without loading and compiling but with starting the processes. Writes
bench/results/throughput.json and .md.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from measure import arguments, markdown, race, read_sample, write_result

from bbparse.apps.cli.options import prune_number
from bbparse.apps.cli.parse import parse_files
from bbparse.apps.corpus.files import FileOptions
from bbparse.core import Solution
from bbparse.models.scoring.labels import best_labels
from bbparse.models.scoring.problem_maker import Scored
from bbparse.neural.ragged import batches
from bbparse.parser.parser import Parser
from bbparse.parser.search import Search
from bbparse.treebank import Sentence, format_sentence, read_conllu
from bbparse.treebank.evaluation import Tally
from bbparse.treebank.writing import with_columns

NODE_LIMIT = 200
PHASES = ("reading", "scoring", "solving", "labelling", "writing")


def parse_file(parser: Parser, source: Path, prune: int | None = None, threads: int = 1) -> Path:
    """From file to file: what ``bbparse parse`` does when the model is loaded."""
    output = source.with_name(f"parsed-{threads}.conllu")
    options = FileOptions(prune=prune, node_limit=NODE_LIMIT)
    parse_files(parser, [str(source)], str(output), options, threads=threads)
    return output


class Run:
    """One model under one pruning (None: its own), on a file, phase by phase."""

    def __init__(self, parser: Parser, prune: int | None, path: Path) -> None:
        self.parser, self.prune, self.path = parser, prune, path
        self.sentences = list(read_conllu(path))
        self.batches = list(batches(self.sentences, together=prune != 0))
        self.scored = self.score()
        self.solutions = self.solve()
        self.labels = self.label()

    def score(self) -> list[Scored]:
        return [one for batch in self.batches for one in self.parser.model.maker(batch, self.prune)]

    def solve(self) -> list[Solution]:
        parser = self.parser.with_options(node_limit=NODE_LIMIT)
        return [Search(parser, one.sentence).solver(one)(one.problem) for one in self.scored]

    def label(self) -> list[list[list[str]]]:
        labeller = self.parser.model.labeller
        if labeller is None:
            return [[] for _ in self.scored]
        return [
            [
                best_labels(labeller.labels, labeller.tree_scores(one, heads))
                for heads in solution.heads
            ]
            for one, solution in zip(self.scored, self.solutions)
        ]

    def write(self) -> str:
        return "".join(
            format_sentence(sentence, solution.heads[0, 1:].tolist(), labels[0] if labels else None)
            for sentence, solution, labels in zip(self.sentences, self.solutions, self.labels)
        )

    def calls(self, threads: list[int]) -> dict[str, Callable[[], object]]:
        """What is timed: all by so many threads, and each phase by itself."""
        phases = (lambda: list(read_conllu(self.path)), self.score, self.solve, self.label)
        found: dict[str, Callable[[], object]] = dict(zip(PHASES, (*phases, self.write)))
        for t in threads:
            whole = self.path.with_name("whole.conllu")
            found[f"threads {t}"] = partial(parse_file, self.parser, whole, self.prune, t)
        return found

    def quality(self) -> dict[str, float]:
        """Attachment scores, calls of the dynamic program, and the share that is proved."""
        tally = Tally()
        for gold, solution, labels in zip(self.sentences, self.solutions, self.labels):
            tally.add(gold, solution.heads[0, 1:].tolist(), labels[0])
        scores = tally.scores()
        return {
            "uas": scores.uas,
            "las": scores.las,
            "complete": scores.complete,
            "dp_calls": mean(solution.stats["dp_calls"] for solution in self.solutions),
            "proved": mean(bool(solution.proved[0]) for solution in self.solutions),
        }


def text_of(sentences: list[Sentence]) -> str:
    """The sentences as CoNLL-U."""
    return "".join(format_sentence(sentence) for sentence in sentences)


def without_tags(sentence: Sentence) -> Sentence:
    """The words of a sentence, without tags and lemmas."""
    empty = ["_"] * sentence.n_words
    return with_columns(sentence, upos=empty, xpos=empty, feats=empty, lemmas=empty)


def main() -> None:
    """Time every model and every pruning."""
    given = arguments(
        __doc__, "dev", model=[], prune="3,5,10,20", threads="1,2", sentences=int, times=4, repeat=5
    )
    gc.set_threshold(200_000, 20, 100)  # as the command does
    threads = [int(t) for t in given.threads.split(",")]
    sentences = read_sample(given.dev, given.sentences)
    words = sum(sentence.n_words for sentence in sentences)
    first = Path(given.model[0]).stem
    settings: dict[str, tuple[str, int | None]] = {
        Path(model).stem: (model, None) for model in given.model
    }
    for k in filter(None, given.prune.split(",")):
        settings[f"{first}, k = {k}"] = given.model[0], prune_number(k)
    rows: dict[str, dict[str, Any]] = {}
    parsers = {model: Parser.load(model) for model in given.model}
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "input.conllu")
    path.write_text(text_of(sentences), encoding="utf-8")
    path.with_name("whole.conllu").write_text(given.times * text_of(sentences), encoding="utf-8")
    for name, (model, prune) in settings.items():
        run = Run(parsers[model], prune, path)
        times = race(run.calls(threads), given.repeat)
        outputs = {path.with_name(f"parsed-{t}.conllu").read_bytes() for t in threads}
        rows[name] = {
            "words_per_second": {t: given.times * words / times[f"threads {t}"] for t in threads},
            "speed_up": times[f"threads {threads[0]}"] / times[f"threads {threads[-1]}"],
            "same_output": len(outputs) == 1,
            **run.quality(),
            "microseconds_a_word": {phase: 1e6 * times[phase] / words for phase in PHASES},
        }
        print(name, rows[name], flush=True)
    columns = " | ".join(
        [
            "UAS {uas:.2p}",
            "LAS {las:.2p}",
            *(f"words/s, `--threads {t}` {{words_per_second[{t}]:,.0f}}" for t in threads),
            "speed-up {speed_up:.2f}",
            *(f"{phase}, µs/word {{microseconds_a_word[{phase}]:.1f}}" for phase in PHASES),
        ]
    )
    table = markdown("model", rows.items(), columns)
    facts = {"dev": Path(given.dev).name, "sentences": len(sentences), "words": words}
    write_result("throughput", {**facts, "rows": rows}, table)


if __name__ == "__main__":
    main()
