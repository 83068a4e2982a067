"""Best trees of whole batches without a search: those of `bbparse.solve`, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from bbparse import Problem, solve
from bbparse.inference.search.linear import KindOfParts, best_trees
from bbparse.models.scoring.arc_network import BatchArcs, fields_of
from bbparse.models.scoring.batch_kernels import QUANTUM, part_words
from bbparse.parser import batch
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.parser.search import Search
from bbparse.treebank import Sentence
from tests import toy

WORDS = [("small", "ADJ"), ("cat", "NOUN"), ("slept", "VERB"), ("and", "CCONJ"), (".", "PUNCT")]


def sentence(n: int) -> Sentence:
    """Return a sentence of n words."""
    words = [WORDS[i * i % len(WORDS)] for i in range(n)]
    return Sentence.from_words([form for form, _ in words], upos=[tag for _, tag in words])


SENTENCES = [*toy.dev_sentences(), *(sentence(n) for n in (1, 2, 60, 320)), *toy.sentences()[:40]]


def content(parse: Parse) -> list[Any]:
    """Return everything that a parse says, but for the time it took."""
    stats = {name: value for name, value in parse.stats.items() if name != "seconds"}
    trees = [str(asdict(tree)) for tree in parse.trees]  # nan does not equal itself
    return [parse.sentence, parse.status, stats, trees]


def by_search(parser: Parser, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Any]:
    """Parse with a search for each sentence."""
    with monkeypatch.context() as patch:
        patch.setattr(batch, "needs_no_search", lambda *_: False)
        return [content(parse) for parse in parser.parse_all(SENTENCES, **options)]


def searched(parser: Parser, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, ...]:
    """Return the parses of the sentences, and for which of them a search was needed."""
    done, search = [], Search.parse
    with monkeypatch.context() as patch:
        patch.setattr(Search, "parse", lambda one, s: done.append(one.sentence) or search(one, s))
        found = list(parser.parse_all(SENTENCES, **options))
    return found, [any(one is sentence for one in done) for sentence in SENTENCES]


def plain() -> Parser:
    """Return a parser without factors, calibrated."""
    parser = Parser.train(toy.sentences()[:60], [], toy.network_configuration(), factors=())
    parser.calibrate(toy.sentences()[60:])
    return parser


PARSERS: dict[str, Callable[[], Parser]] = {"plain": plain, "factors": toy.network_parser}


@pytest.fixture(scope="module", params=PARSERS)
def parser(request: pytest.FixtureRequest) -> Parser:
    return PARSERS[request.param]()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"valid": "none"},
        {"valid": "ud"},
        {"prune": 1},
        {"prune": 3, "node_limit": 1},
        {"confidence": True},
        {"time_limit": 1000.0},
        {"k_best": 2, "node_limit": 1},
        {"threads": 2},
    ],
    ids=str,
)
def test_the_trees_of_a_batch_are_those_of_searches(
    parser: Parser, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if options.get("confidence") and parser.model.maker.families:
        options = {}  # not calibrated
    found, is_searched = searched(parser, monkeypatch, **options)
    can = not parser.model.maker.families and options.get("k_best", 1) == 1
    assert all(is_searched) != can
    assert [content(parse) for parse in found] == by_search(parser, monkeypatch, **options)


def test_trees_that_break_rules_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = plain()
    free, of_free = searched(parser, monkeypatch, valid="none")
    bound, of_bound = searched(parser, monkeypatch, valid="ud")
    is_same = [parse.trees[0] == one.trees[0] for parse, one in zip(bound, free)]
    kinds = {*zip(of_bound, is_same)}
    assert (False, False) not in kinds and (False, True) in kinds
    assert not any(of_free)


@pytest.mark.parametrize("seed", range(40))
def test_random_batches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_words = rng.integers(1, 8, 6)
    pairs = []
    for n in n_words:
        arcs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
        arcs = [arc for arc in arcs if rng.random() < rng.choice((0.4, 0.8, 1.0))]
        pairs.append(
            (np.array([h for h, _ in arcs], np.int32), np.array([m for _, m in arcs], np.int32))
        )
    arcs, single_root = BatchArcs.of(pairs), bool(rng.integers(2))
    # small integers make ties; large scores hide small ones
    size = rng.choice((1.0, 3.0, 1e4, 1e14))

    def scores(count: int) -> Any:
        some = np.rint(size * rng.standard_normal(count)) * QUANTUM
        return np.where(rng.random(count) < 0.3, QUANTUM, some)

    first = np.cumsum(n_words + 1) - n_words - 1
    kinds = part_words(*arcs, n_words + 1, first, True, single_root)
    parts = [KindOfParts(ptr, words, scores(words.shape[1])) for ptr, words in kinds]
    of_arcs = scores(len(arcs.head))
    found = best_trees(n_words, (*arcs, of_arcs), parts, single_root, QUANTUM)
    at = 0
    for i, n in enumerate(n_words.tolist()):
        own = of_arcs[slice(*arcs.ptr[i : i + 2])]
        fields = {**fields_of(own, parts, i), "single_root": single_root, "quantum": QUANTUM}
        problem = Problem.trusted(n, *arcs.of_sentence(i), **fields)
        expected = solve(problem, backbone="grandsib", explain=False)
        if found.settled[i]:
            assert expected.status == "optimal"
            assert expected.heads[0, 1:].tolist() == found.heads[at : at + n].tolist()
            assert expected.arcs[0].tolist() == found.arcs[at : at + n].tolist()
            assert expected.scores[0] == expected.upper_bounds[0] == found.scores[i]
        else:
            assert not len(expected) or size > 1e10
        at += n
