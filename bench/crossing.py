"""Trees that may cross against projective ones: accuracy, crossing arcs, speed and proofs.

    python bench/crossing.py NAME DEV PROJECTIVE.model CROSSING.model [NAME DEV …]
        [--repeat N] [--sentences N] [--time-limit 10] [--cpu]

Both models are trained on the same sentences, one with --projective yes, the other with no, and
parse DEV with its tags, without rules of valid trees. The second also parses it without crossing
arcs, which tells what training on the trees as they are does from what drawing them does. Treebanks
that are not named stay as they are in the results. Writes bench/results/crossing.json and .md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from typing import Any

import numpy as np
from measure import arguments, known, machine, markdown, read_sample, write_result

from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence, compare_tallies
from bbparse.treebank.sentence import crossing_words
from bbparse.tuning import Setting, measure_settings

ROWS = ("projective", "crossing", "crossing, drawn projective")
MEASURES = ("uas", "las", "complete", "crossing_f1")


def reachable(parser: Parser, sentences: list[Sentence]) -> tuple[int, int]:
    """How many of the gold arcs that cross another are candidates, and how many there are."""
    found = total = 0
    for sentence in sentences:
        crossing = crossing_words(sentence.heads)
        if not crossing:
            continue
        problem = parser.problem(sentence)
        arcs = set(zip(problem.arc_head.tolist(), problem.arc_mod.tolist()))
        found += sum((sentence.heads[m - 1], m) in arcs for m in crossing)
        total += len(crossing)
    return found, total


def row_of(setting: Setting) -> dict[str, Any]:
    """What is reported of one parser."""
    scores = setting.tally.scores()
    seconds = 1e3 * setting.sentence_seconds
    return {
        **setting.as_dict(), "complete": scores.complete,
        "crossing_precision": scores.crossing_precision or 0.0,
        "crossing_recall": scores.crossing_recall or 0.0,
        "crossing_f1": scores.crossing_f1 or 0.0,
        "median_ms": float(np.median(seconds)), "longest_ms": float(seconds.max()),
        "by_length": setting.by_length(width=10).tolist(),
    }  # fmt: skip


def compared(
    name: str, sentences: list[Sentence], models: list[str], given: argparse.Namespace
) -> dict[str, Any]:
    """All parsers of a treebank."""
    parsers = [Parser.load(model) for model in models]
    wrong = [m for m, p, yes in zip(models, parsers, (True, False)) if p.config.projective != yes]
    if wrong:
        raise SystemExit(f"{wrong[0]}: expected a projective model, then one that is not")
    parsers.append(parsers[1].with_projective(True))
    clock = time.process_time if given.cpu else time.perf_counter
    settings = {}
    for title, parser in zip(ROWS, parsers):
        (settings[title],) = measure_settings(
            parser, sentences, [parser.config.pruner.k], passes=given.repeat,
            time_limit=given.time_limit, valid="none", clock=clock,
        )  # fmt: skip
        print(name, title, settings[title].as_dict(), flush=True)
    base = settings[ROWS[0]].tally
    return {
        "sentences": len(sentences),
        "words": sum(sentence.n_words for sentence in sentences),
        "training_sentences": parsers[1].notes.get("sentences"),
        "gold_crossing_candidates": reachable(parsers[1], sentences),
        "rows": {title: row_of(setting) for title, setting in settings.items()},
        "against_projective": {
            title: {
                measure: asdict(difference)
                for measure, difference in compare_tallies(settings[title].tally, base).items()
                if measure in MEASURES
            }
            for title in ROWS[1:]
        },
    }


def table(treebanks: dict[str, Any]) -> str:
    """One table for each treebank, in Markdown."""
    parts = []
    for name, found in treebanks.items():
        against = found["against_projective"]

        def gain(title: str, measure: str, against: dict[str, Any] = against) -> str:
            if title not in against or measure not in against[title]:
                return ""
            row = against[title][measure]
            return f" ({100 * row['difference']:+.2f}, p {row['p_value']:.3f})"

        columns = [
            (short, lambda row, m=m: f"{100 * row[1][m]:.2f}{gain(row[0], m)}")
            for short, m in (("UAS", "uas"), ("LAS", "las"), ("complete", "complete"))
        ]
        columns += [
            ("crossing arcs, P / R / F1",
             lambda row: " / ".join(
                 f"{100 * row[1][f'crossing_{m}']:.1f}" for m in ("precision", "recall", "f1")
             )),
            ("words/s", lambda row: f"{row[1]['words_per_second']:,.0f}"),
            ("calls", lambda row: f"{row[1]['dp_calls']:.1f}"),
            ("closed at root, %", lambda row: f"{100 * row[1]['closed_at_root']:.2f}"),
            ("within three nodes, %", lambda row: f"{100 * row[1]['within_three_nodes']:.2f}"),
            ("proved to 60 words, %", lambda row: f"{100 * row[1]['proved_to_60_words']:.2f}"),
            ("longest, ms", lambda row: f"{row[1]['longest_ms']:,.0f}"),
        ]  # fmt: skip
        rows = [(title, (title, row)) for title, row in found["rows"].items()]
        candidates, total = found["gold_crossing_candidates"]
        parts.append(
            f"### {name}\n\n{found['training_sentences']:,} training sentences, dev of"
            f" {found['sentences']} sentences and {found['words']:,} words; of its {total} arcs"
            f" that cross another, {candidates} are candidates.\n\n"
            + markdown("model", rows, columns)
        )
    return "\n".join(parts)


def main() -> None:
    """Measure, and keep what the results have of other treebanks."""
    given = arguments(__doc__, "treebank+", repeat=3, sentences=int, time_limit=10.0, cpu=False)
    if len(given.treebank) % 4:
        raise SystemExit("expected four arguments for each treebank")
    found = known("crossing", "treebanks")
    for i in range(0, len(given.treebank), 4):
        name, dev, *models = given.treebank[i : i + 4]
        found[name] = compared(name, read_sample(dev, given.sentences), models, given)
        result = {"machine": machine(), "time_limit": given.time_limit, "treebanks": found}
        write_result("crossing", result, table(found))
    print(table(found))


if __name__ == "__main__":
    main()
