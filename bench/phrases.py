"""Accuracy, speed and agreement of phrase structure: the grammar alone and with other models.

    python bench/phrases.py MODEL GOLD.ptb [--every N] [--longest N]

Repeats Tables 1-3 and Figure 5 of Rush, Sontag, Collins & Jaakkola (2010) with a model of
``bbparse train-phrases``. Writes bench/results/phrases.json and .md. Times are processor times of
this process, without loading and compiling.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import arguments, markdown, peak_memory_mb, write_result

from bbparse.grammar.evaluation import BracketScores, compare_trees, paired_p
from bbparse.grammar.model import load_phrases
from bbparse.grammar.parser import PhraseParse, PhraseParser
from bbparse.grammar.phrases import PhraseTree, sentence_of, to_phrase
from bbparse.grammar.training import read_treebank
from bbparse.inference.oracles.tree_oracles import ProjectiveTrees

CALLS = (3, 10, 20, 50)
LIMITS = (1, 2, 3, 5, 10, 20, 50)
JOINT = ("arcs", "both")
#: Row, what it is, row that it is compared with.
ROWS = (
    ("gold tags", "grammar, gold tags", None),
    ("none", "grammar, the tagger's tags", None),
    ("tags", "grammar and tagger together", "none"),
    ("naive", "grammar, the parser's arcs where a tree has them", "none"),
    ("arcs", "grammar and dependency parser agree", "naive"),
    ("both", "all three", "arcs"),
)
TABLE = """
    precision {precision:.2p} | recall {recall:.2p} | F1 {f1:.2p} | exact {exact:.2p}
    | tags {tags:.2p} | heads {heads:.2p} | words/s {words_per_second:.0f} | p {against}"""


def dependencies(parser: PhraseParser, words: list[str]) -> tuple[list[str], list[int]]:
    """The tagger's tags, and the heads that the dependency parser finds alone."""
    leaves = parser.tagger.leaves(words)
    tags = [parser.grammar.symbols[tag] for tag in leaves.tag[leaves.ptr[:-1]]]
    assert parser.dependencies is not None
    problem = parser.dependencies.problem(sentence_of(words, tags))
    tree = ProjectiveTrees(problem).best(np.zeros(len(problem.arc_mod))).on
    heads = [0] * len(words)
    for arc in np.flatnonzero(tree):
        heads[problem.arc_mod[arc] - 1] = int(problem.arc_head[arc])
    return tags, heads


def timed(parse: Callable[[PhraseTree], Any], trees: list[PhraseTree]) -> tuple[list[Any], float]:
    """Parses, and the seconds that they took; the first sentence compiles and does not count."""
    parse(min(trees, key=lambda tree: abs(len(tree.words) - 8)))
    start = time.process_time()
    return [parse(tree) for tree in trees], time.process_time() - start


def row(
    found: list[PhraseParse], seconds: float, trees: list[PhraseTree]
) -> tuple[dict[str, Any], BracketScores]:
    """Accuracy, speed, and how the models agreed; and all counts of brackets."""
    scores = compare_trees([(tree, one.trees[0]) for tree, one in zip(trees, found)])
    words = sum(len(tree.words) for tree in trees)
    gold = [to_phrase(tree).heads() for tree in trees]
    right = sum(a == b for one, heads in zip(found, gold) for a, b in zip(one.heads, heads))
    shown: dict[str, Any] = {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "exact": scores.exact / scores.sentences,
        "tags": scores.tags / scores.words,
        "heads": right / words,
        "words_per_second": words / seconds,
        "sentences_per_second": len(trees) / seconds,
        "fallback": sum(one.fallback for one in found),
    }
    if any(one.agreement is not None for one in found):
        shown["agreement"] = agreed(found)
    return shown, scores


def agreed(found: list[PhraseParse]) -> dict[str, Any]:
    """Calls at the root, by sentence, and proofs."""
    some = [one.agreement for one in found if one.agreement is not None]
    at_root = [a.root_calls for a in some if a.nodes == 1 and a.proved]
    bins = [sum(low < c <= high for c in at_root) for low, high in zip((0, *CALLS), CALLS)]
    return {
        "sentences": len(some),
        "calls": bins,
        "more": len(at_root) - sum(bins),
        "at_root": len(at_root),
        "proved": sum(a.proved for a in some),
        "nodes": sum(a.nodes for a in some),
        "most_nodes": max((a.nodes for a in some), default=0),
    }


def limits(parser: PhraseParser, trees: list[PhraseTree]) -> Iterator[dict[str, Any]]:
    """Figure 5: F1 and certificates of all three, with fewer calls and no branching."""
    for calls in LIMITS:
        parser.root_calls = calls
        found = [parser.parse(tree.words, use="both", node_limit=1) for tree in trees]
        scores = compare_trees([(tree, one.trees[0]) for tree, one in zip(trees, found)])
        yield {
            "calls": calls,
            "f1": scores.f1,
            "certificates": sum(one.agreement is not None and one.agreement.proved for one in found)
            / len(trees),
        }


def shown(result: dict[str, Any]) -> str:
    """The tables."""
    rows = result["rows"]
    first = {title: dict(rows[name]) for name, title, _ in ROWS}
    for _, title, against in ROWS:
        if against is not None:
            first[title]["against"] = f"{first[title]['p']:.4f} ({against})"
    speed = result["speed"]
    first["dependency parser alone"] = {
        "heads": result["heads_alone"],
        "words_per_second": speed["dependency parser"],
    }
    text = f"{result['sentences']} sentences, {result['words']} words ({result['gold']}):\n\n"
    text += markdown("", first.items(), TABLE)
    second = []
    for name in JOINT:
        a = rows[name]["agreement"]
        counts = [*a["calls"], a["more"], a["at_root"], a["proved"]]
        shares = {f"share {i}": count / a["sentences"] for i, count in enumerate(counts)}
        second.append((name, {**a, **shares}))
    text += "\nPercent of sentences by calls until the root was proved, and by branching:\n\n"
    text += markdown(
        "models",
        second,
        """
        sentences {sentences} | 1-3 {share 0:.1p} | 4-10 {share 1:.1p}
        | 11-20 {share 2:.1p} | 21-50 {share 3:.1p} | more {share 4:.1p}
        | at root, % {share 5:.1p} | proved, % {share 6:.1p} | nodes, most {most_nodes}""",
    )
    told = ", ".join(f"{name} {value:,.0f}" for name, value in speed.items())
    text += f"\nWords per second: {told}. Peak memory: {result['megabytes']:.0f} MB.\n"
    limits = [(str(one["calls"]), one) for one in result.get("limits", ())]
    text += "\nAll three, without branching, by the limit of calls:\n\n"
    return text + markdown("calls", limits, "F1 {f1:.2p} | certificates, % {certificates:.1p}")


def main() -> None:
    """Measure and write."""
    given = arguments(__doc__, "model", "gold", every=1, longest=60)
    parser = load_phrases(given.model)
    trees = [t for t in read_treebank(given.gold) if len(t.words) <= given.longest]
    trees = trees[:: given.every]
    words = sum(len(tree.words) for tree in trees)
    facts = {"gold": Path(given.gold).name, "sentences": len(trees), "words": words}
    alone, seconds = timed(lambda tree: dependencies(parser, tree.words), trees)
    speed = {"dependency parser": words / seconds}
    speed["tagger"] = words / timed(lambda tree: parser.tagger.leaves(tree.words), trees)[1]
    of = {id(tree): found for tree, found in zip(trees, alone)}
    gold = [to_phrase(tree).heads() for tree in trees]
    right = sum(a == b for (_, one), two in zip(alone, gold) for a, b in zip(one, two))
    parse = parser.parse
    ways: dict[str, Callable[[PhraseTree], PhraseParse]] = {
        "gold tags": lambda t: parse(t.words, t.tags, use="none"),
        "naive": lambda t: parse(t.words, of[id(t)][0], use="none", heads=of[id(t)][1]),
        **{use: lambda t, use=use: parse(t.words, use=use) for use in ("none", "tags", *JOINT)},
    }
    rows, scores = {}, {}
    for name, _, against in ROWS:
        rows[name], scores[name] = row(*timed(ways[name], trees), trees)
        if against is not None:
            rows[name]["p"] = paired_p(scores[name], scores[against])
        print(name, rows[name], flush=True)
    result = facts | {
        "heads_alone": right / words,
        "speed": speed,
        "rows": rows,
        "megabytes": peak_memory_mb(),
    }
    write_result("phrases", result, shown(result))  # what comes now takes long
    result["limits"] = list(limits(parser, trees))
    write_result("phrases", result, shown(result))


if __name__ == "__main__":
    main()
