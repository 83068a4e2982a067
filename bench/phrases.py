"""Phrase structure: agreement, accuracy and speed of the grammar alone and with other models.

    python bench/phrases.py MODEL GOLD.ptb [--every N] [--longest N]
                            [--nltk N] [--others NAME=FILE,SECONDS…]

Redoes Tables 1-3 and Figure 5 of Rush, Sontag, Collins & Jaakkola (2010) for a model of
``bbparse train-phrases``, and writes bench/results/phrases.json and .md. With --nltk or --others
the model is compared with others instead, in bench/results/phrases-others.json: the chart parser of
NLTK parses the N shortest sentences of five words and more without words; FILE has the
trees that another parser, trained on the same, made of the same sentences in so many seconds. Times
are the process's own; loading and compiling are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from measure import arguments, markdown, peak_memory_mb, write_result

from bbparse.grammar.evaluation import BracketScores, compare_trees, paired_p
from bbparse.grammar.model import load_phrases
from bbparse.grammar.parser import PhraseParse, PhraseParser
from bbparse.grammar.prune import prune
from bbparse.grammar.training import read_treebank
from bbparse.grammar.trees import PhraseTree, default_rules, sentence_of, to_phrase
from bbparse.inference.oracles.trees import ProjectiveTrees

CALLS = (3, 10, 20, 50)
LENGTHS = (10, 20, 30, 40, 60, 1000)
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
    gold = [to_phrase(tree, default_rules()).heads() for tree in trees]
    right = sum(a == b for one, heads in zip(found, gold) for a, b in zip(one.heads, heads))
    shown: dict[str, Any] = {
        "precision": scores.precision, "recall": scores.recall, "f1": scores.f1,
        "exact": scores.exact / scores.sentences, "tags": scores.tags / scores.words,
        "heads": right / words, "words_per_second": words / seconds,
        "sentences_per_second": len(trees) / seconds,
        "fallback": sum(one.fallback for one in found),
    }  # fmt: skip
    if any(one.agreement is not None for one in found):
        shown["agreement"] = [agreed(found, trees, 0, 1000)] + [
            agreed(found, trees, least, most) for least, most in zip((0, *LENGTHS), LENGTHS)
        ]
    return shown, scores


def agreed(
    found: list[PhraseParse], trees: list[PhraseTree], least: int, most: int
) -> dict[str, Any]:
    """Calls at the root of sentences of more than `least` words, up to `most`."""
    some = [
        one.agreement for one, tree in zip(found, trees)
        if one.agreement is not None and least < len(tree.words) <= most
    ]  # fmt: skip
    at_root = [a.root_calls for a in some if a.nodes == 1 and a.proved]
    bins = [sum(low < c <= high for c in at_root) for low, high in zip((0, *CALLS), CALLS)]
    return {
        "words": f"{least + 1}-{most}", "sentences": len(some), "calls": bins,
        "more": len(at_root) - sum(bins), "at_root": len(at_root),
        "proved": sum(a.proved for a in some), "nodes": sum(a.nodes for a in some),
        "most_nodes": max((a.nodes for a in some), default=0),
    }  # fmt: skip


def limits(parser: PhraseParser, trees: list[PhraseTree]) -> Iterator[dict[str, Any]]:
    """Figure 5: F1 and certificates of all three, with fewer calls and no branching."""
    settings = parser.settings
    for calls in LIMITS:
        parser.settings = replace(settings, root_calls=calls)
        found = [parser.parse(tree.words, use="both", node_limit=1) for tree in trees]
        scores = compare_trees([(tree, one.trees[0]) for tree, one in zip(trees, found)])
        yield {
            "calls": calls, "f1": scores.f1,
            "certificates": sum(one.agreement is not None and one.agreement.proved for one in found)
            / len(trees),
        }  # fmt: skip
    parser.settings = settings


def plain_rules(parser: PhraseParser) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """The grammar without words as a PCFG: (left side, right side, log probability)."""
    grammar = parser.grammars[-1]
    pairs, symbols = grammar.pairs, grammar.symbols
    for x, (parent, head) in enumerate(zip(pairs.parent, pairs.head)):
        stop, p = pairs.stop[:, :, x], symbols[parent]
        yield f"R0:{x}", (symbols[head],), float(pairs.score[x])
        yield f"N0:{x}", (f"R0:{x}",), float(stop[1, 0])
        yield f"A1:{x}", (f"R1:{x}",), float(stop[1, 1])
        yield p, (f"A1:{x}",), float(stop[0, 0])
        yield p, (f"L1:{x}",), float(stop[0, 1])
        if head < grammar.n_tags:
            yield p, (f"N0:{x}",), float(stop[0, 0])
    for m, symbol in enumerate(symbols):
        if pairs.root[m] > -np.inf:
            yield "ROOT", (symbol,), float(pairs.root[m])
        for r in range(pairs.rule_ptr[m], pairs.rule_ptr[m + 1]):
            x, (near, far) = pairs.rule_pair[r], map(float, pairs.rule_score[r])
            if pairs.rule_side[r]:
                yield f"R1:{x}", (f"R0:{x}", symbol), near
                yield f"R1:{x}", (f"R1:{x}", symbol), far
            else:
                yield f"L1:{x}", (symbol, f"N0:{x}"), near
                yield f"L1:{x}", (symbol, f"A1:{x}"), near
                yield f"L1:{x}", (symbol, f"L1:{x}"), far


def against_nltk(parser: PhraseParser, trees: list[PhraseTree], number: int) -> dict[str, Any]:
    """Best trees of short sentences by the grammar without words: ours and those of NLTK."""
    from nltk import Nonterminal, ProbabilisticProduction
    from nltk.grammar import CFG, PCFG
    from nltk.parse.viterbi import ViterbiParser

    class Weighted(PCFG):
        """A PCFG whose rules need not sum to one: intermediate symbols know their heads."""

        def __init__(self, start: Nonterminal, rules: list[ProbabilisticProduction]) -> None:
            CFG.__init__(self, start, rules)

    tags = parser.grammar.symbols[: parser.grammar.n_tags]
    rules = [
        ProbabilisticProduction(
            Nonterminal(left), [Nonterminal(one) for one in right], prob=float(np.exp(score))
        )
        for left, right, score in plain_rules(parser)
    ] + [ProbabilisticProduction(Nonterminal(tag), [f"w:{tag}"], prob=1.0) for tag in tags]
    theirs = ViterbiParser(Weighted(Nonterminal("ROOT"), rules), max_time=None)
    some = sorted((t for t in trees if len(t.words) >= 5), key=lambda t: len(t.words))[:number]
    seconds, values = np.zeros(2), []
    for turn, tree in enumerate([some[0], *some]):
        leaf = np.full((len(tree.words), len(tags)), -np.inf, np.float32)
        leaf[range(len(tree.words)), [tags.index(tag) for tag in tree.tags]] = 0
        start = time.process_time()
        ours, _, _ = prune(leaf, parser.grammars[-1].pairs, 0.0)
        middle = time.process_time()
        best = list(theirs.parse([f"w:{tag}" for tag in tree.tags])) if turn else []
        if turn:
            seconds += middle - start, time.process_time() - middle
            values.append((float(ours), float(np.log(best[0].prob())) if best else -np.inf))
    return {
        "sentences": len(some), "words": sum(len(t.words) for t in some), "rules": len(rules),
        "ours": seconds[0], "nltk": seconds[1], "same": sum(abs(a - b) < 1e-3 for a, b in values
                                                           if b > -np.inf),
    }  # fmt: skip


def shown(result: dict[str, Any]) -> str:
    """The tables."""
    rows = result["rows"]
    first = {title: dict(rows[name]) for name, title, _ in ROWS}
    for _, title, against in ROWS:
        if against is not None:
            first[title]["against"] = f"{first[title]['p']:.4f} ({against})"
    speed = result["speed"]
    first["dependency parser alone"] = {
        "heads": result["heads_alone"], "words_per_second": speed["dependency parser"]
    }  # fmt: skip
    text = f"{about(result)}{markdown('', first.items(), TABLE)}"
    second = [
        (name, {**a, "words": "all" if a is rows[name]["agreement"][0] else a["words"], **{
            f"share {i}": count / a["sentences"]
            for i, count in enumerate([*a["calls"], a["more"], a["at_root"], a["proved"]])
        }})
        for name in JOINT for a in rows[name]["agreement"] if a["sentences"]
    ]  # fmt: skip
    text += "\nSentences by calls until they were proved at the root, and by branching:\n\n"
    text += markdown("models", second, """
        words {words} | sentences {sentences} | 1-3 {share 0:.1p} | 4-10 {share 1:.1p}
        | 11-20 {share 2:.1p} | 21-50 {share 3:.1p} | more {share 4:.1p}
        | at root, % {share 5:.1p} | proved, % {share 6:.1p} | nodes, most {most_nodes}""")
    told = ", ".join(f"{name} {value:,.0f}" for name, value in speed.items())
    text += f"\nWords a second: {told}. Most memory: {result['megabytes']:.0f} MB.\n"
    limits = [(str(one["calls"]), one) for one in result.get("limits", ())]
    text += "\nAll three, without branching, by the limit of calls:\n\n"
    return text + markdown("calls", limits, "F1 {f1:.2p} | certificates, % {certificates:.1p}")


def about(result: dict[str, Any]) -> str:
    """What was parsed."""
    return f"{result['sentences']} sentences, {result['words']} words ({result['gold']}):\n\n"


def shown_others(result: dict[str, Any]) -> str:
    """Tables of what was compared with other parsers."""
    text = about(result) + markdown("", result["rows"].items(), """
        F1 {f1:.2p} | exact {exact:.2p} | words/s {words_per_second:,.0f}""")
    if "nltk" in result:
        n = result["nltk"]
        text += (
            f"\nThe plain grammar ({n['rules']:,} rules) on {n['sentences']} sentences of"
            f" {n['words']} words, gold tags: {n['ours'] * 1e3:.1f} ms, NLTK's `ViterbiParser`"
            f" {n['nltk']:.0f} s; {n['same']} best trees score the same.\n"
        )
    return text


def compared(
    parser: PhraseParser, trees: list[PhraseTree], others: list[str], nltk: int
) -> dict[str, Any]:
    """The model, other parsers' trees, and NLTK's parser if it is asked for."""
    words = sum(len(tree.words) for tree in trees)
    rows = {
        f"bbparse, {what}": row(
            *timed(lambda tree, use=use: parser.parse(tree.words, use=use), trees), trees
        )[0]
        for use, what in (("none", "the grammar alone"), ("both", "all three"))
    }
    for other in others:
        name, _, file = other.partition("=")
        path, _, seconds = file.rpartition(",")
        scores = compare_trees(list(zip(trees, read_treebank(path), strict=True)))
        rows[name] = {
            "f1": scores.f1, "exact": scores.exact / scores.sentences,
            "words_per_second": words / float(seconds),
        }  # fmt: skip
    keys = ("f1", "exact", "words_per_second")
    found: dict[str, Any] = {"rows": {name: {k: r[k] for k in keys} for name, r in rows.items()}}
    if nltk:
        found["nltk"] = against_nltk(parser, trees, nltk)
    return found


def main() -> None:
    """Measure and write."""
    given = arguments(__doc__, "model", "gold", every=1, longest=60, nltk=0, others=[])
    parser = load_phrases(given.model)
    trees = [t for t in read_treebank(given.gold) if len(t.words) <= given.longest]
    trees = trees[:: given.every]
    words = sum(len(tree.words) for tree in trees)
    facts = {"gold": Path(given.gold).name, "sentences": len(trees), "words": words}
    if given.nltk or given.others:
        result = facts | compared(parser, trees, given.others, given.nltk)
        packages = ["nltk"] if given.nltk else []
        write_result("phrases-others", result, shown_others(result), packages)
        return
    alone, seconds = timed(lambda tree: dependencies(parser, tree.words), trees)
    speed = {"dependency parser": words / seconds}
    speed["tagger"] = words / timed(lambda tree: parser.tagger.leaves(tree.words), trees)[1]
    of = {id(tree): found for tree, found in zip(trees, alone)}
    gold = [to_phrase(tree, default_rules()).heads() for tree in trees]
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
        "heads_alone": right / words, "speed": speed, "rows": rows,
        "megabytes": peak_memory_mb(),
    }  # fmt: skip
    write_result("phrases", result, shown(result))  # what comes now takes long
    result["limits"] = list(limits(parser, trees))
    write_result("phrases", result, shown(result))


if __name__ == "__main__":
    main()
