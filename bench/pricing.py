"""Parse, price and cut against the full linear program, and against the other methods (RSM12 §6).

    python bench/pricing.py NAME=MODEL,DEV… [--sentences 100] [--words 40] [--full-words 25]
        [--others 4] [--limit 20]

Models are of configs/price-and-cut.toml; no arc is pruned, and trees need not be projective.

1. (Table 1) Price and cut, its variants and the full program, without branching, on the same
   sentences of up to --full-words words. Scores are part of every time.
2. (Table 2) The full program with the paper's sets of constraints, on the shorter half of them.
3. Branching: all sentences of up to --words words.
4. Branch and bound and the integer program on the same problems, all triples scored, --others
   sentences from each of three lengths, with --limit seconds for each.

Times are the process's own. Writes bench/results/pricing.json and .md.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

import numpy as np
from measure import machine, markdown, read_sample, write_result

from bbparse.parsing.parser import Parser
from bbparse.pricing import PricingSettings, price_and_cut
from bbparse.problem import Problem, Solution
from bbparse.scoring.delayed import DelayedScorer
from bbparse.solving.solve import solve
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode

VARIANTS = {
    "price and cut": PricingSettings(),
    "all arcs open, duals as they are": PricingSettings(raised=False),
    "flow instead of cuts": PricingSettings(connectivity="flow"),
    "full program": PricingSettings(delayed=False),
    "full program, with flow": PricingSettings(connectivity="flow", delayed=False),
}
SETS = {
    "ArcGP, GPArc": ("ArcGP", "GPArc"),
    "OneGP, NoGP": ("OneGP", "NoGP"),
    "all four": ("ArcGP", "GPArc", "OneGP", "NoGP"),
    "OneGP, GPArc": ("OneGP", "GPArc"),
}
COUNTS = ("scored", "added", "triples", "rounds", "pivots", "nodes", "cuts", "integral_at_root")


def parse(
    model: DelayedScorer, sentence: Sentence, settings: PricingSettings, **limits: Any
) -> Solution:
    """A sentence, scored and solved."""
    values = encode(sentence)
    problem = Problem.from_arc_scores(model.arcs.score_all_arcs(values), projective=False)
    return price_and_cut(problem, columns=model.columns(values), settings=settings, **limits)


def whole_problem(model: DelayedScorer, sentence: Sentence) -> Problem:
    """All arcs and all triples, scored."""
    values = encode(sentence)
    arcs = Problem.from_arc_scores(model.arcs.score_all_arcs(values), projective=False)
    pairs = ~np.eye(arcs.n_words + 1, dtype=bool)
    pairs[:, 0] = False
    grand, head, mod = np.nonzero(pairs[:, :, None] & pairs[None])
    keep = grand != mod
    grand, head, mod = grand[keep], head[keep], mod[keep]
    score = model.columns(values).score(grand, head, mod)
    return Problem(
        arcs.n_words, arcs.arc_head, arcs.arc_mod, arcs.arc_score, projective=False,
        gc_grand=grand, gc_head=head, gc_mod=mod, gc_score=score,
    )  # fmt: skip


def run(
    model: DelayedScorer, sentences: list[Sentence], settings: PricingSettings, **limits: Any
) -> dict[str, Any]:
    """Sums over sentences."""
    found: dict[str, Any] = {"sentences": len(sentences), "seconds": 0.0}
    totals = dict.fromkeys(
        (*COUNTS, "score", "bound", "right", "words", "exact", "lp", "scoring", "pricing"), 0.0
    )
    for sentence in sentences:
        started = time.process_time()
        s = parse(model, sentence, settings, **limits)
        found["seconds"] += time.process_time() - started
        for name in COUNTS:
            totals[name] += s.stats[name]
        for name in ("lp", "scoring", "pricing"):
            totals[name] += s.stats[f"{name}_seconds"] / s.stats["seconds"]
        totals["score"] += s.scores[0]
        totals["bound"] += s.stats["root_bound"]
        totals["exact"] += s.status == "optimal"
        totals["right"] += int(
            (s.heads[0, 1:] == np.array(sentence.heads)[-sentence.n_words :]).sum()
        )
        totals["words"] += sentence.n_words
    return found | totals


def others(
    model: DelayedScorer, sentences: list[Sentence], limit: float
) -> dict[str, dict[str, Any]]:
    """Methods on problems in which all triples are scored."""
    found = {}
    for method in ("price-and-cut", "bb", "ilp"):
        seconds, exact, gaps = [], 0, []
        for sentence in sentences:
            problem = whole_problem(model, sentence)
            started = time.process_time()
            s = solve(problem, method=method, time_limit=limit)
            seconds.append(time.process_time() - started)
            exact += s.status == "optimal"
            gaps.append(s.upper_bound - s.scores[0] if len(s) else np.inf)
        found[method] = {
            "seconds": float(np.mean(seconds)), "exact": exact / len(sentences),
            "gap": float(np.median(gaps)),
        }  # fmt: skip
    return found


def share(above: str, below: str) -> Any:
    """A share in percent."""
    return lambda row: f"{100 * row[above] / max(row[below], 1e-9):.1f}"


def table(rows: list[tuple[str, dict[str, Any]]], base: dict[str, Any]) -> str:
    """One line for each system; speed and objective relative to `base`."""
    speed = base["sentences"] / base["seconds"]
    return markdown("", rows, (
        ("sentences/s", lambda r: f"{r['sentences'] / r['seconds']:.1f}"),
        ("relative, %", lambda r: f"{100 * r['sentences'] / r['seconds'] / speed:.0f}"),
        ("triples scored, %", share("scored", "triples")),
        ("added, %", share("added", "triples")),
        ("objective, %", lambda r: f"{100 * r['bound'] / base['bound']:.4f}"),
        ("integral, %", share("integral_at_root", "sentences")),
        ("exact, %", share("exact", "sentences")),
        ("UAS", share("right", "words")),
        ("rounds", lambda r: f"{r['rounds'] / r['sentences']:.1f}"),
        ("nodes", lambda r: f"{r['nodes'] / r['sentences']:.2f}"),
        ("LP, %", share("lp", "sentences")), ("pricing, %", share("pricing", "sentences")),
        ("scores, %", share("scoring", "sentences")),
    ))  # fmt: skip


def measure(name: str, model_file: str, dev: str, given: argparse.Namespace) -> tuple[dict, str]:
    """Everything for one treebank."""
    model = DelayedScorer(Parser.load(model_file).maker.scorer)
    sample = read_sample(dev, None)
    random.Random(1).shuffle(sample)
    every = [s for s in sample if s.n_words <= given.words][: given.sentences]
    short = [s for s in every if s.n_words <= given.full_words]
    for settings in VARIANTS.values():  # compiles
        parse(model, min(short, key=lambda s: s.n_words), settings)
    one = {key: run(model, short, settings, node_limit=1) for key, settings in VARIANTS.items()}
    shorter = sorted(short, key=lambda s: s.n_words)[: len(short) // 2]
    two = {
        key: run(model, shorter, PricingSettings(chosen, delayed=False), node_limit=1)
        for key, chosen in SETS.items()
    }
    branched = run(model, every, PricingSettings(), time_limit=given.limit)
    by_length: dict[str, Any] = {}
    for least, most in ((8, 12), (18, 22), (28, 32)):
        chosen = [s for s in sample if least <= s.n_words <= most][: given.others]
        if chosen:
            by_length[f"{least}-{most}"] = others(model, chosen, given.limit)
    text = f"## {name}\n\n"
    text += f"{len(short)} sentences of up to {given.full_words} words, the root alone:\n\n"
    text += table(list(one.items()), one["full program"])
    text += f"\nThe full program, {len(shorter)} sentences:\n\n"
    text += table(list(two.items()), two["ArcGP, GPArc"])
    text += f"\nWith branching, {len(every)} sentences of up to {given.words} words:\n\n"
    text += table([("price and cut", branched)], branched)
    text += "\nAll triples scored beforehand:\n\n"
    lines = [
        (f"{words}, {method}", row)
        for words, found in by_length.items()
        for method, row in found.items()
    ]
    text += markdown("words", lines, (
        ("seconds", lambda r: f"{r['seconds']:.2f}"),
        ("exact, %", lambda r: f"{100 * r['exact']:.0f}"),
        ("gap, median", lambda r: f"{r['gap']:.2g}"),
    ))  # fmt: skip
    return {
        "root": one,
        "constraints": two,
        "branching": branched,
        "methods": by_length,
    }, text + "\n"


def main() -> None:
    """Measure every treebank."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("treebanks", nargs="+", metavar="NAME=MODEL,DEV")
    arguments.add_argument("--sentences", type=int, default=100)
    arguments.add_argument("--words", type=int, default=40)
    arguments.add_argument("--full-words", type=int, default=25, help="for the full program")
    arguments.add_argument("--others", type=int, default=4, help="sentences of a length")
    arguments.add_argument("--limit", type=float, default=20.0, help="seconds for a sentence")
    given = arguments.parse_args()
    results: dict[str, Any] = {"machine": machine("highspy"), "options": vars(given)}
    text = ""
    for treebank in given.treebanks:
        name, _, files = treebank.partition("=")
        results[name], part = measure(name, *files.split(","), given)
        text += part
        print(part, flush=True)
    write_result("pricing", results, text)


if __name__ == "__main__":
    main()
