"""Measure validity rules (faults, accuracy, time) and the calibration of confidence.

    python bench/validity.py NAME MODEL DEV [--tags own] [--repeat 2]

Parses DEV without rules, with rules, and with confidence, batch by batch in turns, and counts
faults of levels 2 and 3 by the official validator (udtools): those of heads and relations and, in
brackets, others. Confidence is fitted to nine tenths of the sentences and measured on the other, in
turns: the expected calibration error (ten bins of equally many arcs; also its expectation under
perfect calibration), and the share of wrong arcs among the least sure tenth, compared with softmax
(the arc's probability times its label's), with the number of the 8 best trees that have the arc,
and with the upper limit. Adds a row to bench/results/validity.json, and rewrites validity.md and
.svg.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import RESULTS, arguments, markdown, race, result, turns, write_result
from udtools import Validator

from bbparse.apps.tuning.plots import label, legend_below, new_figure, save_figure
from bbparse.neural.ragged import batches
from bbparse.parser.confidence import NOTE, STEPS, Calibration
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.parser.validity.rules import Rules
from bbparse.treebank import Sentence, format_sentence, read_conllu
from bbparse.treebank.evaluation import evaluate
from bbparse.treebank.significance import compare

UD = Rules.load("ud")


#: Ways to parse, as `Parser.parse_all` takes them.
WAYS: dict[str, dict[str, Any]] = {
    "none": {"valid": "none"},
    "ud": {"valid": "ud"},
    "sure": {"valid": "ud", "confidence": True},
}


def parse(parser: Parser, sentences: list[Sentence], way: str) -> list[Parse]:
    return list(parser.parse_all(sentences, node_limit=200, **WAYS[way]))


def in_turns(
    parser: Parser, sentences: list[Sentence], repeat: int
) -> tuple[dict[str, list[Parse]], dict[str, float]]:
    """What is found in each way, and the seconds: for each batch the least of some runs."""
    parses: dict[str, list[Parse]] = {way: [] for way in WAYS}
    seconds = dict.fromkeys(WAYS, 0.0)
    for way in WAYS:  # compiles what is not compiled, and fills tables
        parse(parser, sentences[:100], way)
    for batch in batches(sentences):
        best: dict[str, float] = {}
        calls = {way: partial(parse, parser, batch, way) for way in WAYS}
        for way, found, took in turns(calls, repeat, time.process_time):
            if way not in best:
                parses[way] += found
            best[way] = min(best.get(way, np.inf), took)
        for way, took in best.items():
            seconds[way] += took
    return parses, seconds


def written(found: list[Parse], path: Path) -> list[Sentence]:
    """The trees as a file, read again."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        for one in found:
            tree = one.trees[0]
            stream.write(format_sentence(one.sentence, tree.heads, tree.labels))
    return list(read_conllu(path))


def official_faults(path: Path) -> Counter[str]:
    """Errors of level 2 and 3 in heads and relations, by name, others in brackets."""
    found = Validator(lang="ud", level=3, output=None).validate_files([str(path)])
    ours = {rule.name for rule in UD.rules} | {"punct-causes-nonproj"}
    return Counter(
        i.testid if i.testid in ours else f"({i.testid})"
        for i in found.error_tracker
        if i.level in (2, 3) and i.is_error() and (i.level == 2 or str(i.testclass) == "SYNTAX")
    )


def calibration_error(chance: np.ndarray, right: np.ndarray) -> float:
    """Mean distance of chance and share in ten bins of as many arcs."""
    bins = np.array_split(np.argsort(chance, kind="stable"), 10)
    return sum(abs(chance[b].mean() - right[b].mean()) * len(b) for b in bins) / len(chance)


def errors_found(sure: np.ndarray, right: np.ndarray, share: float) -> float:
    """Which share of the wrong arcs is among the least sure ones."""
    least = np.argsort(sure, kind="stable")[: round(share * len(sure))]
    return float((~right[least]).sum() / (~right).sum())


def softmax(evidence: np.ndarray) -> list[float]:
    """Logarithm of what the network gives arcs and labels by themselves, from the evidence."""
    lowest = np.log([0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999])
    hot = evidence[:, -3 - len(STEPS) : -3]
    heads = np.where(hot.any(axis=1), hot @ lowest, np.log(0.001))
    return (heads + evidence[:, -2]).tolist()


def confidence(parser: Parser, gold: list[Sentence], k: int = 8) -> dict[str, Any]:
    rows = list(parser.calibration_data(gold))
    arcs, trees, right, whole, alone, either, both = [], [], [], [], [], [], []
    order: list[int] = []
    for fold in range(10):
        fitted = Calibration.fitted(row for i, row in enumerate(rows) if i % 10 != fold)
        for i in range(fold, len(rows), 10):
            row = rows[i]
            sure = fitted(row.evidence)
            order.append(i)
            arcs += sure.confidences
            either += sure.top2_probabilities
            trees.append(sure.confidence)
            right += row.right.tolist()
            both += row.top2.tolist()
            whole.append(bool(row.right.all()))
            alone += softmax(row.evidence.columns)
    counted: list[float] = []
    for i in order:
        found = parser.parse(gold[i], k_best=k, node_limit=200, valid="none")
        best = zip(*(zip(tree.heads, tree.labels) for tree in found))
        counted += [sum(one == column[0] for one in column) / len(found) for column in best]
    a, r = np.array(arcs), np.array(right)
    random = np.random.default_rng(1)
    chance = [calibration_error(a, random.random(len(a)) < a) for _ in range(20)]
    tenths = np.array_split(np.argsort(a, kind="stable"), 20)
    return {
        "arcs": len(a),
        "right": float(r.mean()),
        "ece": calibration_error(a, r),
        "ece_by_chance": float(np.mean(chance)),
        "ece_either": calibration_error(np.array(either), np.array(both)),
        "either": float(np.mean(both)),
        "ece_trees": calibration_error(np.array(trees), np.array(whole)),
        "reliability": [[float(a[b].mean()), float(r[b].mean())] for b in tenths],
        "errors_10": {
            "confidence": errors_found(a, r, 0.1),
            "softmax": errors_found(np.array(alone), r, 0.1),
            "k best": errors_found(np.array(counted), r, 0.1),
            "possible": min(1.0, 0.1 / float((~r).mean())),
        },
        "errors_5": errors_found(a, r, 0.05),
    }


#: A difference that rules make, with its interval.
MADE = (
    "{{difference[{0}][0]:+.2p}} [{{difference[{0}][1]:+.2p}}, {{difference[{0}][2]:+.2p}}]"
    " (p = {{difference[{0}][3]:.3f}})"
)


def write(rows: dict[str, Any]) -> None:
    """The tables and the plot."""
    shown = {
        name: {
            **row,
            "speed": row["words"] / row["seconds"]["none"],
            "slowest": max(row["longest"], default=0),
        }
        for name, row in rows.items()
    }
    first = markdown(
        "treebank, tags",
        shown.items(),
        f"""
        sentences {{sentences:,}} | faults {{faults[0]}} | with rules {{faults[1]}}
        | LAS {{before[las]:.2p}} | LAS with rules {MADE.format("las")}
        | UAS with rules {MADE.format("uas")}
        | complete with labels {MADE.format("complete_labelled")} | solved again {{again}}
        | words/s {{speed:,.0f}} | extra time, % {{more:.1f}} | with confidence, % {{more_sure:.1f}}
        | largest extra time, ms {{slowest}}""",
    )
    sure = [(name, row["confidence"]) for name, row in rows.items()]
    second = markdown(
        "confidence: treebank, tags",
        sure,
        """
        right arcs, % {right:.2p} | calibration error, % {ece:.2p}
        | the same if perfectly calibrated, % {ece_by_chance:.2p}
        | head or rival right, % {either:.2p} | calibration error of that, % {ece_either:.2p}
        | calibration error of trees, % {ece_trees:.2p}
        | errors in the least sure 5 % {errors_5:.2p} | 10 % {errors_10[confidence]:.2p}
        | 10 %, by softmax {errors_10[softmax]:.2p} | 10 %, by k best {errors_10[k best]:.2p}
        | 10 %, upper limit {errors_10[possible]:.2p}""",
    )
    names = Counter[str]()
    for row in rows.values():
        names.update(row["rules"][0])
    third = markdown(
        "rule",
        ((name, name) for name, _ in names.most_common()),
        [
            (title, lambda n, r=row: f"{r['rules'][0].get(n, 0)} → {r['rules'][1].get(n, 0)}")
            for title, row in rows.items()
        ],
    )
    write_result("validity", {"rows": rows}, "\n".join([first, second, third]), ["udtools"])
    figure, (ax,) = new_figure(1, width=5.5, height=5.0)
    ax.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
    for name, row in rows.items():
        ax.plot(*zip(*row["confidence"]["reliability"]), marker="o", markersize=3, label=name)
    label(ax, "Of arcs with this confidence, how many are right", "confidence", "right")
    legend_below(figure, ax)
    save_figure(figure, RESULTS / "validity.svg")


def main() -> None:
    given = arguments(
        __doc__, "name", "model", "dev", tags=("given", "own"), repeat=2, sentences=int
    )
    parser = Parser.load(given.model)
    gold = list(read_conllu(given.dev, require_heads=True))[: given.sentences]
    sentences = gold if given.tags == "given" else [parser.model.tagger(s) for s in gold]
    if NOTE not in parser.model.notes or "either" not in parser.model.notes[NOTE]:
        parser.calibrate(gold[:100])
    found, seconds = in_turns(parser, sentences, given.repeat)
    plain, parses = found["none"], found["ud"]
    again = [one for one in parses if one.stats.get("rounds")]
    slowest = []
    for one in again:
        calls = {way: partial(parse, parser, [one.sentence], way) for way in ("none", "ud")}
        took = race(calls, 1, time.process_time)
        slowest.append(round(1000 * (took["ud"] - took["none"]), 1))
    with tempfile.TemporaryDirectory() as folder:
        before = written(plain, Path(folder) / "plain.conllu")
        after = written(parses, Path(folder) / "valid.conllu")
        faults = [official_faults(Path(folder) / f"{n}.conllu") for n in ("plain", "valid")]
    scores = [evaluate(gold, trees) for trees in (before, after)]
    row = {
        "sentences": len(gold),
        "words": sum(s.n_words for s in gold),
        "rules": [dict(one) for one in faults],
        "faults": [sum(n for name, n in f.items() if name[0] != "(") for f in faults],
        "before": scores[0].as_dict(),
        "after": scores[1].as_dict(),
        "difference": {
            name: [one.difference, one.low, one.high, one.p_value]
            for name, one in compare(gold, after, before).items()
            if name in ("uas", "las", "complete", "complete_labelled")
        },
        "again": len(again),
        "rounds": max((one.stats["rounds"] for one in again), default=0),
        "proved": sum(all(tree.proved for tree in one.trees) for one in again),
        "seconds": seconds,
        "more": 100 * (seconds["ud"] / seconds["none"] - 1),
        "more_sure": 100 * (seconds["sure"] / seconds["none"] - 1),
        "longest": sorted(slowest, reverse=True)[:5],
        "confidence": confidence(parser, sentences),
    }
    rows = result("validity").get("rows", {})
    rows[f"{given.name}, {given.tags}"] = row
    write(rows)
    print(json.dumps(row))


if __name__ == "__main__":
    main()
