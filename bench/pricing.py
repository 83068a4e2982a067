"""Compare price and cut with the full linear program and other methods (RSM12 §6).

    python bench/pricing.py NAME=MODEL,DEV… [--sentences 100] [--words 60] [--full-words 25]
        [--others 4] [--limit 5]

Models of configs/price-and-cut.toml, without pruning, with crossing arcs:

1. (Table 1) Price and cut and the full program, without branching, on sentences of up to
   --full-words words. Times include scoring.
2. Branching, on sentences of up to --words words.
3. Branch and bound and the integer program on the same problems, --others sentences of each of four
   lengths, with --limit seconds each.

With a model of another configuration, the methods are compared on ten sentences of 10 to 30 words,
projective, and crossing if the model is. Processor times of this process, after compiling. Writes
bench/results/pricing.json and .md; treebanks that are not named stay in the result.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from measure import arguments, markdown, read_sample, result, turns, write_result

from bbparse.core import Problem, Solution
from bbparse.inference.programs.price_and_cut import price_and_cut
from bbparse.inference.search.search import SearchLimits
from bbparse.inference.solve import solve
from bbparse.parser.parser import Parser
from bbparse.runtime.deadline import Deadline
from bbparse.treebank import Sentence

#: Name → whether triples become columns only when they may help.
VARIANTS = {"price and cut": True, "full program": False}
COUNTS = ("added", "triples", "rounds", "pivots", "nodes", "cuts", "integral_at_root")
#: What seconds are counted of.
PARTS = ("lp", "pricing")


def parse(
    parser: Parser,
    sentence: Sentence,
    delayed: bool,
    nodes: float = np.inf,
    seconds: float | None = None,
) -> Solution:
    """A sentence, scored and solved."""
    limits = SearchLimits(Deadline.after(seconds), nodes)
    return price_and_cut(parser.problem(sentence, prune=0), limits=limits, delayed=delayed)


def run(
    parser: Parser, sentences: list[Sentence], every: dict[str, bool], **limits: Any
) -> dict[str, dict[str, Any]]:
    """Sums over sentences, for each of the settings; these take turns, twice, the faster counts."""
    totals = {key: Counter[str](sentences=len(sentences)) for key in every}
    for sentence in sentences:
        calls = {key: partial(parse, parser, sentence, s, **limits) for key, s in every.items()}
        best: dict[str, tuple[float, Solution]] = {}
        for key, s, seconds in turns(calls, 2, time.process_time):
            best[key] = min(best.get(key, (seconds, s)), (seconds, s), key=lambda pair: pair[0])
        gold = np.array(sentence.heads)[-sentence.n_words :]
        for key, (seconds, s) in best.items():
            totals[key].update({name: s.stats[name] for name in COUNTS})
            totals[key].update({part: s.stats[f"{part}_seconds"] for part in PARTS})
            totals[key].update(
                seconds=seconds,
                score=s.scores[0],
                bound=s.stats["root_bound"],
                exact=s.status == "optimal",
                right=int((s.heads[0, 1:] == gold).sum()),
                words=sentence.n_words,
            )
    return {key: dict(total) for key, total in totals.items()}


def others(problems: list[Problem], limit: float) -> dict[str, dict[str, Any]]:
    """Methods on the same problems, each after it has been compiled."""
    found = {}
    for method in ("price-and-cut", "bb", "ilp"):
        for _ in range(0 if method == "ilp" and problems[0].n_words > 30 else 2):
            # the first run, compiling, may have no time left for some kernels
            solve(problems[0], method=method, time_limit=0.5, explain=False)
        rows = []
        for problem in problems:
            started = time.process_time()
            s = solve(problem, method=method, time_limit=limit, explain=False)
            seconds = time.process_time() - started
            gap = s.upper_bound - s.scores[0] if len(s) else np.inf
            rows.append([seconds, s.status == "optimal", gap, s.stats.get("nodes", 0)])
        means, medians = np.mean(rows, axis=0).tolist(), np.median(rows, axis=0).tolist()
        found[method] = {
            "problems": len(problems),
            "seconds": means[0],
            "median": medians[0],
            "exact": means[1],
            "gap": medians[2],
            "nodes": means[3],
        }
    return found


def compared(groups: dict[str, dict[str, dict[str, Any]]]) -> str:
    """One line for each group of problems and method."""
    lines = [(f"{group}, {name}", row) for group in groups for name, row in groups[group].items()]
    return markdown(
        "problems",
        lines,
        """
        number {problems} | seconds, mean {seconds:.4f} | median {median:.4f}
        | exact, % {exact:.0p} | gap, median {gap:.2g} | nodes {nodes:.1f}""",
    )


def of_factors(parser: Parser, sample: list[Sentence], limit: float) -> dict[str, Any]:
    """Methods on pruned problems with factors."""
    some = [s for s in sample if 10 <= s.n_words <= 30][:10]
    parsers = {"projective": parser}
    if not parser.model.config.projective:
        parsers = {"projective": parser.with_options(projective=True), "crossing": parser}
    return {title: others([one.problem(s) for s in some], limit) for title, one in parsers.items()}


def share(above: str, below: str) -> Any:
    """A share in percent."""
    return lambda row: f"{100 * row[above] / max(row[below], 1e-9):.1f}"


def table(rows: list[tuple[str, dict[str, Any]]], base: dict[str, Any]) -> str:
    """One line for each system; speed and objective relative to `base`."""
    speed = base["sentences"] / base["seconds"]
    return markdown(
        "",
        rows,
        (
            ("sentences/s", lambda r: f"{r['sentences'] / r['seconds']:.1f}"),
            ("relative, %", lambda r: f"{100 * r['sentences'] / r['seconds'] / speed:.0f}"),
            ("triples added, %", share("added", "triples")),
            ("objective, %", lambda r: f"{100 * r['bound'] / base['bound']:.4f}"),
            ("integral, %", share("integral_at_root", "sentences")),
            ("exact, %", share("exact", "sentences")),
            ("UAS", share("right", "words")),
            ("rounds", lambda r: f"{r['rounds'] / r['sentences']:.1f}"),
            ("nodes", lambda r: f"{r['nodes'] / r['sentences']:.2f}"),
            ("LP, %", share("lp", "seconds")),
            ("pricing, %", share("pricing", "seconds")),
        ),
    )


def measure(model_file: str, dev: str, given: argparse.Namespace) -> dict[str, Any]:
    """Everything for one treebank."""
    parser = Parser.load(model_file)
    sample = read_sample(dev, None)
    random.Random(1).shuffle(sample)
    maker = parser.model.maker
    if maker.families or not maker.scorer.templates.templates["grandchild"]:
        return {"methods": of_factors(parser, sample, given.limit)}
    every = [s for s in sample if s.n_words <= given.words][: given.sentences]
    short = [s for s in every if s.n_words <= given.full_words]
    for delayed in VARIANTS.values():  # compiles
        for sentence in sorted(short, key=lambda s: s.n_words)[-3:]:
            parse(parser, sentence, delayed, nodes=3)
    by_length: dict[str, Any] = {}
    for least, most in ((8, 12), (18, 22), (28, 32), (45, 60)):
        some = [s for s in sample if least <= s.n_words <= most][: given.others]
        if some:
            problems = [parser.problem(s, prune=0) for s in some]
            by_length[f"{least}-{most} words"] = others(problems, given.limit)
    return {
        "root": run(parser, short, VARIANTS, nodes=1),
        "branching": run(parser, every, {"price and cut": True}, seconds=given.limit),
        "methods": by_length,
    }


def report(name: str, found: dict[str, Any]) -> str:
    """What there is of one treebank, for reading."""
    text = f"### {name}\n\n"
    for part, title, base in (
        ("root", "The root alone, {} sentences of up to {full_words} words", "full program"),
        ("branching", "With branching, {} sentences of up to {words} words", "price and cut"),
    ):
        if part in found:
            rows = found[part]
            title = title.format(rows[base]["sentences"], **found["options"])
            text += f"{title}:\n\n{table(list(rows.items()), rows[base])}\n"
    title = "All arcs and triples" if "root" in found else "Problems with factors"
    return f"{text}{title}:\n\n{compared(found['methods'])}"


def main() -> None:
    """Measure, and keep what the results have of other treebanks."""
    given = arguments(
        __doc__, "treebanks+", sentences=100, words=60, full_words=25, others=4, limit=5.0
    )
    treebanks = result("pricing").get("treebanks", {})
    for treebank in given.treebanks:
        name, _, files = treebank.partition("=")
        options = {key: value for key, value in vars(given).items() if key != "treebanks"}
        treebanks[name] = {"options": options, **measure(*files.split(","), given)}
        text = "\n".join(report(*pair) for pair in treebanks.items())
        write_result("pricing", {"treebanks": treebanks}, text, ["highspy"])


if __name__ == "__main__":
    main()
