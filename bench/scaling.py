"""Time, DP calls and memory against sentence length and against the number of factors.

    python bench/scaling.py MODEL DEV [--lengths 10,20,…] [--samples N] [--shares 0,0.25,0.5,1,2]

Long sentences are dev sentences put one after another, cut to length. Each length runs in a process
of its own, for its peak memory. For the second part every sentence of 20 to 60 words is solved with
a random share of its factors; a share of 2 adds as many more, over random arcs of the sentence with
the weights of its own factors, which no training has made agree. Writes bench/results/scaling.json,
.md and .svg.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from measure import (
    RESULTS,
    arguments,
    in_own_process,
    machine,
    markdown,
    peak_memory_mb,
    read_sample,
    write_result,
)

from bbparse.parsing.parser import Parser
from bbparse.problem import Problem
from bbparse.solving.solve import solve
from bbparse.treebank import Sentence
from bbparse.tuning.plots import PALETTE, label, new_figure, plain_numbers, save_figure

NODE_LIMIT = 10_000
REPEAT = 3


def concatenated(sentences: list[Sentence], length: int, seed: int) -> Sentence:
    """Random sentences one after another, cut to so many words."""
    rng = random.Random(seed)
    names = ("forms", "lemmas", "upos", "xpos", "feats")
    columns: dict[str, list[str]] = {name: [] for name in names}
    while len(columns["forms"]) < length:
        picked = rng.choice(sentences)
        for name, values in columns.items():
            values.extend(getattr(picked, name))
    forms = columns.pop("forms")[:length]
    return Sentence.from_words(forms, **{name: v[:length] for name, v in columns.items()})


def one_length(model: str, dev: str, length: int, samples: int) -> dict[str, Any]:
    """Sentences of one length, in this process."""
    parser = Parser.load(model)
    sentences = read_sample(dev, None)
    for sentence in sentences[:5]:  # loads the compiled code
        parser.solve(sentence)
    before = peak_memory_mb()
    rows = []
    for seed in range(samples):
        sentence = concatenated(sentences, length, seed)
        times, solving = [], []
        for _ in range(REPEAT):
            started = time.perf_counter()
            solution = parser.solve(sentence, node_limit=NODE_LIMIT)
            times.append(time.perf_counter() - started)
            solving.append(solution.stats["seconds"])
        problem = parser.problem(sentence)
        rows.append({
            "seconds": median(times), "seconds_solving": median(solving),
            "dp_calls": solution.stats["dp_calls"], "nodes": solution.stats["nodes"],
            "proved": bool(solution.proved.all()), "arcs": len(problem.arc_head),
            "parts": sum(len(getattr(problem, f"{k}_score")) for k in ("sib", "gc", "ogc", "gsib")),
            "factors": len(problem.factor_score),
        })  # fmt: skip
    found: dict[str, Any] = {key: fmean(row[key] for row in rows) for key in rows[0]}
    found["slowest"] = max(row["seconds"] for row in rows)
    found["peak_memory_mb"] = peak_memory_mb()
    found["peak_memory_before_mb"] = before
    return found


def with_share(problem: Problem, share: float, rng: np.random.Generator) -> Problem:
    """A random share of the factors; beyond 1, more of the same weights over random arcs."""
    count = len(problem.factor_score)
    sets = [
        tuple(problem.factor_arcs[problem.factor_ptr[f] : problem.factor_ptr[f + 1]].tolist())
        for f in range(count)
    ]
    scores = problem.factor_score.tolist()
    if share <= 1.0:
        kept = sorted(rng.choice(count, size=round(share * count), replace=False).tolist())
        sets, scores = [sets[f] for f in kept], [scores[f] for f in kept]
    else:
        arcs = len(problem.arc_head)
        for f in rng.choice(count, size=round((share - 1.0) * count)).tolist():
            picked = rng.choice(arcs, size=len(sets[f]), replace=False)
            sets.append(tuple(sorted(picked.tolist())))
            scores.append(scores[f])
    return problem.changed(
        factor_ptr=np.cumsum([0, *map(len, sets)]),
        factor_arcs=np.array([a for arcs in sets for a in arcs], np.int32),
        factor_score=np.array(scores),
    )


def by_factors(model: str, dev: str, shares: list[float], most: int) -> list[dict[str, Any]]:
    """The same sentences with more and more factors."""
    parser = Parser.load(model)
    sentences = [s for s in read_sample(dev, None) if 20 <= s.n_words <= 60][:most]
    problems = [problem for problem in map(parser.problem, sentences) if len(problem.factor_score)]
    config = parser.config
    rows = []
    for share in shares:
        rng = np.random.default_rng(1)
        times, calls, nodes, counts = [], [], [], []
        for problem in problems:
            changed = with_share(problem, share, rng)
            seconds = []
            for _ in range(REPEAT):
                solution = solve(
                    changed, node_limit=NODE_LIMIT, backbone=config.model.backbone,
                    settings=config.search,
                )  # fmt: skip
                seconds.append(solution.stats["seconds"])
            times.append(median(seconds))
            calls.append(solution.stats["dp_calls"])
            nodes.append(solution.stats["nodes"])
            counts.append(len(changed.factor_score))
        rows.append({
            "share": share, "sentences": len(problems), "factors": fmean(counts),
            "seconds": fmean(times), "dp_calls": fmean(calls), "nodes": fmean(nodes),
            "most_nodes": max(nodes),
        })  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def draw(lengths: list[dict[str, Any]], factors: list[dict[str, Any]]) -> None:
    """Four plots: time, calls and memory by length; time by factors."""
    figure, (times, calls, memory, more) = new_figure(2, rows=2)
    x = [row["words"] for row in lengths]
    style = {"color": PALETTE[0], "marker": "o", "markersize": 4.5}
    times.plot(x, [1000 * row["seconds"] for row in lengths], **style)
    calls.plot(x, [row["dp_calls"] for row in lengths], **style)
    memory.plot(x, [row["peak_memory_mb"] for row in lengths], **style)
    more.plot([r["factors"] for r in factors], [1000 * r["seconds"] for r in factors], **style)
    times.set_yscale("log")
    plain_numbers(times.yaxis)
    for ax in (calls, memory, more):
        ax.set_ylim(bottom=0.0)
    for ax in (times, calls, memory, more):
        ax.set_xlim(left=0.0)
    label(times, "Time by sentence length", "words", "milliseconds a sentence")
    label(calls, "DP calls by sentence length", "words", "DP calls a sentence")
    label(memory, "Peak memory by sentence length", "words", "MB of the process")
    label(more, "Time by factors (20 to 60 words)", "factors a sentence", "milliseconds, solving")
    save_figure(figure, RESULTS / "scaling.svg")


def main() -> None:
    """Measure by length and by factors."""
    given = arguments(
        __doc__, "model", "dev", lengths="10,20,40,60,80,120,160,200,240", samples=5,
        shares="0,0.25,0.5,0.75,1,1.5,2", sentences=200, one_length=int,
    )  # fmt: skip
    if given.one_length:
        print(json.dumps(one_length(given.model, given.dev, given.one_length, given.samples)))
        return
    lengths = []
    for length in map(int, given.lengths.split(",")):
        row = in_own_process(
            "scaling.py", given.model, given.dev, "--one-length", str(length),
            "--samples", str(given.samples),
        )  # fmt: skip
        lengths.append({"words": length, **row})
        print(lengths[-1], flush=True)
    factors = by_factors(
        given.model, given.dev, [float(s) for s in given.shares.split(",")], given.sentences
    )
    table = markdown(
        "words",
        [(str(row["words"]), row) for row in lengths],
        [
            ("ms a sentence", lambda r: f"{1000 * r['seconds']:.1f}"),
            ("slowest, ms", lambda r: f"{1000 * r['slowest']:.1f}"),
            ("solving, ms", lambda r: f"{1000 * r['seconds_solving']:.1f}"),
            ("DP calls", lambda r: f"{r['dp_calls']:.1f}"),
            ("nodes", lambda r: f"{r['nodes']:.1f}"),
            ("proved, %", lambda r: f"{100 * r['proved']:.0f}"),
            ("arcs", lambda r: f"{r['arcs']:,.0f}"),
            ("parts", lambda r: f"{r['parts']:,.0f}"),
            ("factors", lambda r: f"{r['factors']:,.0f}"),
            ("peak memory, MB", lambda r: f"{r['peak_memory_mb'] or 0:.0f}"),
        ],
    )
    table += "\n" + markdown(
        "share of the factors",
        [(f"{row['share']:g}", row) for row in factors],
        [
            ("factors", lambda r: f"{r['factors']:.0f}"),
            ("solving, ms", lambda r: f"{1000 * r['seconds']:.2f}"),
            ("DP calls", lambda r: f"{r['dp_calls']:.2f}"),
            ("nodes", lambda r: f"{r['nodes']:.2f}"),
            ("most nodes", lambda r: f"{r['most_nodes']}"),
        ],
    )
    write_result(
        "scaling",
        {"machine": machine(), "model": Path(given.model).name, "samples": given.samples,
         "lengths": lengths, "factors": factors},
        table,
    )  # fmt: skip
    draw(lengths, factors)
    print(table)


if __name__ == "__main__":
    main()
