"""Measures one trained model on one treebank and prints a JSON object; the other benchmarks run it
in a process of its own, so that peak memory and warm-up are each model's own.

    python bench/measure.py MODEL DEV [--prune K|none] [--repeat N]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time

from bbparse.parser import Parser
from bbparse.treebank import Sentence, Tally, read_conllu


def measure(parser: Parser, sentences: list[Sentence], prune: int | None, repeat: int) -> dict:
    """Accuracy, speed and what the search did; the median time of several runs."""
    for sentence in sentences[:20]:  # loads the compiled code
        parser.solve(sentence, prune=prune)
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        results = list(parser.parse_all(sentences, prune=prune))
        seconds.append(time.perf_counter() - started)
    tally = Tally()
    for sentence, solution in results:
        labels = parser.labels(sentence, solution.heads[0])
        tally.add(sentence, solution.heads[0, 1:].tolist(), labels)
    scores = tally.scores()
    solutions = [solution for _, solution in results]

    def mean(name: str) -> float:
        return statistics.fmean(solution.stats.get(name, 0) for solution in solutions)

    words = sum(sentence.n_words for sentence in sentences)
    short = [s for sentence, s in results if sentence.n_words <= 60]
    return {
        "sentences": len(sentences),
        "words": words,
        "uas": scores.uas,
        "uas_no_punct": scores.uas_no_punct,
        "las": scores.las if parser.labeller is not None else None,
        "words_per_second": words / statistics.median(seconds),
        "seconds": seconds,
        "dp_calls": mean("dp_calls"),
        "dp_work": mean("dp_work"),
        "nodes": mean("nodes"),
        "closed_at_root": mean("closed_at_root"),
        "within_three_nodes": statistics.fmean(s.stats.get("nodes", 0) <= 3 for s in solutions),
        "proved": statistics.fmean(bool(s.proved.all()) for s in solutions),
        "proved_to_60_words": statistics.fmean(bool(s.proved.all()) for s in short),
        "most_nodes": max(s.stats.get("nodes", 0) for s in solutions),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "by_length": [
            [sentence.n_words, s.stats.get("dp_calls", 0), s.stats.get("seconds", 0.0)]
            for sentence, s in results
        ],
    }


def main() -> None:
    """Read the arguments, measure, print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("dev")
    arguments.add_argument("--prune", default=None)
    arguments.add_argument("--repeat", type=int, default=3)
    given = arguments.parse_args()
    prune = None if given.prune is None else 0 if given.prune == "none" else int(given.prune)
    parser = Parser.load(given.model)
    result = measure(parser, list(read_conllu(given.dev)), prune, given.repeat)
    result["notes"] = parser.notes
    print(json.dumps(result))


if __name__ == "__main__":
    main()
