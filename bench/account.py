"""Compare a network alone, with factors, and with scores of whole trees.

    python bench/account.py NAME TRAIN DEV [--sentences N] [--config universal] [--crossing]
        [--tags] [--alone] [--tree-score]
    python bench/account.py NAME MODEL DEV --trained [--tags] [--tree-score]

Trains one network on TRAIN for all rows, and the families of `FAMILIES` beside it (not with
``--alone``), like ``bbparse train`` but without choosing an epoch by DEV. ``--tree-score`` adds the
fixed rules of `bench/rules.py`. ``--tags`` also trains a tagger and parses with its tags. No
validity rules; p-values by paired randomization against the network alone. Models are kept in
``--store``, so that an interrupted run resumes. Adds rows, with the best of the k best trees by
gold, to bench/results/account.json, and rewrites account.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from measure import arguments, markdown, read_sample, result, write_result
from one_backbone import OneBackbone
from rules import Balanced, Depth

from bbparse.models.configuration import Configuration
from bbparse.models.learning.train import train_text_models
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence
from bbparse.treebank.evaluation import Tally
from bbparse.treebank.sentence import ScoredTree
from bbparse.treebank.significance import compare_tallies

#: Families that were worth most beside a network (docs/notes/learning.md).
FAMILIES = ("brackets", "parallel-conjuncts", "series")
KS = (1, 2, 4, 8, 16, 64)
MEASURES = ("uas", "las", "complete")


def parsed(parser: Parser, sentences: Iterable[Sentence], **options: Any) -> list[Parse]:
    """Parses without rules of valid trees."""
    return list(parser.parse_all(sentences, valid="none", **options))


def tally_of(dev: list[Sentence], trees: Iterable[ScoredTree]) -> Tally:
    """Counts of right arcs."""
    tally = Tally()
    for sentence, tree in zip(dev, trees):
        tally.add(sentence, tree.heads, tree.labels)
    return tally


def oracle(dev: list[Sentence], found: list[Parse]) -> dict[str, dict[str, float]]:
    """Accuracy of the best of the first k trees, by gold."""

    def best(sentence: Sentence, parse: Parse, k: int) -> ScoredTree:
        def right(tree: ScoredTree) -> int:
            return sum(a == b for a, b in zip(tree.heads, sentence.heads))

        return max(parse.trees[:k], key=right)

    rows = {}
    for k in KS:
        scores = tally_of(dev, [best(*pair, k) for pair in zip(dev, found)]).scores()
        rows[str(k)] = {name: 100 * getattr(scores, name) for name in MEASURES}
    return rows


def learned(given: Any, train: list[Sentence]) -> dict[str, Parser]:
    """The network alone, and with factors; what was learned before is read."""
    config = Configuration.load(given.config).with_("network", members=1)
    config = config.with_("model", projective=not given.crossing)
    store = Path(given.store) / given.name.replace(" ", "_")
    shared = OneBackbone(train, (), config, store)
    parsers = {"network": shared.parser(())[0]}
    if not given.alone:
        parsers["with factors"], _ = shared.parser(FAMILIES)
    if given.tags:
        seed, kept = config.learning.seed, shared.checkpoint
        tagger = train_text_models(train, seed, None, kept, say=print).tagger
        for name, parser in parsers.items():
            parser.model.tagger = tagger
            parsers[name] = Parser(parser.model)
    return parsers


def measured(given: Any, parsers: dict[str, Parser], dev: list[Sentence]) -> dict[str, Any]:
    """Accuracy of each row, by the tags that are given."""
    result: dict[str, Any] = {}
    alone = parsers["network"]
    assert alone.tagger is not None or not given.tags
    tags = {"gold tags": dev}
    if given.tags:
        tags["own tags"] = list(map(alone.tagger, dev))
    for title, sentences in tags.items():
        found = {name: parsed(parser, sentences) for name, parser in parsers.items()}
        if given.tree_score:
            rules = {"depth": Depth, "balanced": Balanced}
            for name, family in rules.items():
                found[f"whole trees, {name}"] = parsed(alone, sentences, tree_score=family)
        best = {name: [one.trees[0] for one in parses] for name, parses in found.items()}
        network = tally_of(dev, best["network"])
        rows: dict[str, Any] = {}
        for name, trees in best.items():
            differences = compare_tallies(tally_of(dev, trees), network)
            rows[name] = {
                measure: {
                    "value": 100 * differences[measure].first,
                    "gain": 100 * differences[measure].difference,
                    "p": differences[measure].p_value,
                }
                for measure in MEASURES
            }
        result[title] = {
            "rows": rows,
            "oracle": oracle(dev, parsed(alone, sentences, k_best=max(KS))),
        }
    return result


def lines(found: dict[str, Any]) -> str:
    """Both tables, of all treebanks so far."""
    rows, best = [], []
    for name, treebank in found.items():
        for title, part in treebank["inputs"].items():
            rows += [(f"{name}, {title}, {row}", values) for row, values in part["rows"].items()]
            best += [(f"{name}, {title}, k = {k}", values) for k, values in part["oracle"].items()]
    columns = " | ".join(
        [
            *(f"{name.upper()} {{{name}[value]:.2f}}" for name in MEASURES),
            *(f"+ {name} (p) {{{name}[gain]:+.2f}} ({{{name}[p]:.3f}})" for name in MEASURES),
        ]
    )
    oracles = " | ".join(f"{name.upper()} {{{name}:.2f}}" for name in MEASURES)
    return markdown("dev", rows, columns) + "\n" + markdown("best of k", best, oracles)


def main() -> None:
    """Train what is missing, measure, and add the rows."""
    given = arguments(
        __doc__,
        "name",
        "train",
        "dev",
        sentences=int,
        config="universal",
        crossing=False,
        tags=False,
        alone=False,
        trained=False,
        tree_score=False,
        store="build/account",
    )
    dev = read_sample(given.dev, None)
    started = time.process_time()
    if given.trained:
        parsers, size = {"network": Parser.load(given.train)}, None
    else:
        train = read_sample(given.train, given.sentences)
        parsers, size = learned(given, train), len(train)
    inputs = measured(given, parsers, dev)
    rows = result("account").get("rows", {}) | {
        given.name: {
            "sentences": size,
            "config": given.config,
            "inputs": inputs,
            "seconds": time.process_time() - started,
        }
    }
    write_result("account", {"rows": rows}, lines(rows))


if __name__ == "__main__":
    main()
