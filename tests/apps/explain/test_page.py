"""The page: whole, well-formed, self-contained, and true."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from bbparse.apps.explain import explain, page
from bbparse.apps.explain.charts import number, ordinal, signed
from bbparse.apps.explain.explanation import Explanation, arc_gaps
from bbparse.apps.explain.terms import part_terms
from bbparse.apps.explain.trace import trace_search
from bbparse.inference.solve import solve
from bbparse.parser.parse import trees_of
from bbparse.parser.validity.lazily import ValidTrees
from bbparse.runtime.errors import counted
from bbparse.treebank import Sentence
from tests import toy
from tests.apps.explain.test_trace import hard_problem

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Reader(HTMLParser):
    """Checks that tags nest, and collects what there is."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.stack or self.stack[-1] not in ("style", "script"):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.stack
    return reader


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    return explain(toy.parser(), toy.dev_sentences()[2], k_best=3)


@pytest.fixture(scope="module")
def by_network() -> Explanation:
    return explain(toy.network_parser(), toy.dev_sentences()[2], k_best=3)


def test_what_the_page_says(explanation: Explanation) -> None:
    text = page(explanation, model="toy.model")
    words = read(text).words
    solution = solve(explanation.problem, k_best=3, backbone="grandsib")
    assert f"No tree scores more than {number(float(solution.scores[0]), 4)}." in words
    calls = solve(explanation.problem, backbone="grandsib").stats["dp_calls"]
    assert f"Proved after {counted(int(calls), 'dynamic-program call')} in" in words
    for k in (1, 2):
        less = float(solution.scores[0] - solution.scores[k])
        assert f"{ordinal(k + 1)} best, {number(less, 4)} less" in words
    assert "toy.model" in words and "The small cat slept behind the stove." in words
    assert page(explanation, model="toy.model") == text, "the same page each time"


def test_nothing_comes_from_elsewhere(explanation: Explanation) -> None:
    text = page(explanation)
    tags = read(text).tags
    names = {tag for tag, _ in tags}
    assert not names & {"link", "img", "iframe", "object", "embed", "base"}
    for _, attributes in tags:
        assert not {"src", "href", "srcset", "action"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML", text)
    assert set(re.findall(r"https?://[^\"'<\s]+", text)) == {"http://www.w3.org/2000/svg"}
    assert sum(tag == "script" for tag, _ in tags) == 1
    assert len(text.encode()) < 2_000_000


def test_words_are_text_and_nothing_else() -> None:
    bad = "<script>alert('x')</script>"
    forms = [bad, '"><img src=x onerror=alert(1)>', "&amp;", "</style></svg>", "'", "\x00"]
    sentence = Sentence.from_words(
        forms, upos=["NOUN", "<b>", "VERB", "ADP", "PUNCT", "X"], name="<i>id</i>"
    )
    text = page(explain(toy.parser(), sentence, k_best=4), model="<u>model</u>")
    reader = read(text)
    names = [tag for tag, _ in reader.tags]
    assert names.count("script") == 1
    assert not set(names) & {"img", "b1", "u"}
    assert bad in reader.words and '"><img src=x' in reader.words
    assert "<i>id</i>" in reader.words and "<u>model</u>" in reader.words
    tips = [tip for _, attributes in reader.tags if (tip := attributes.get("data-tip"))]
    assert any(bad in tip for tip in tips)
    assert html.escape(bad, quote=True) in text


def test_arcs_can_be_reached_by_keyboard_and_say_what_they_are(explanation: Explanation) -> None:
    tags = read(page(explanation)).tags
    arcs = [a for _, a in tags if "bbp-arc" in (a.get("class") or "") and a.get("tabindex") == "0"]
    assert len(arcs) >= explanation.sentence.n_words
    for arc in arcs:
        assert arc["aria-label"] == arc["data-tip"]
        assert arc["role"] == "img"
    boxes = [a for _, a in tags if a.get("class") == "box"]
    assert boxes and all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)


def test_a_network_says_which_words_it_looked_at(by_network: Explanation) -> None:
    assert by_network.by_network
    arc = next(t for t in by_network.terms[0] if t.words == (3, 1))
    first, words = arc.without[0], read(page(by_network)).words
    assert f"cat → The the network relied on {first.text} {signed(first.weight)}" in words
    nets = dict(by_network.feature_balance(1))
    (changed,) = by_network.changed(1)
    heads = by_network.best.heads[changed - 1], by_network.trees[1].heads[changed - 1]
    forms = ["root", *by_network.sentence.forms]
    gained, lost = (nets["arc", f"{forms[head]} → {forms[changed]}"] for head in heads)
    assert lost > -gained > 0  # logarithms of probabilities, the other one taken away
    shown = by_network.word_balance(1)
    chips = " ".join(f"{word.text} {signed(word.weight)}" for word in shown[:8])
    assert f"Words the network relied on: {chips}" in words


def test_a_search_of_several_nodes_and_one_cut_short() -> None:
    problem = hard_problem()
    whole = _explanation_of(problem)
    assert f"{whole.trace.nodes} search nodes in all" in read(page(whole)).words
    cut = _explanation_of(problem, node_limit=2)
    words = read(page(cut)).words
    assert "The search stopped at its node limit." in words
    assert f"no tree scores more than {number(cut.trace.upper, 4)}" in words
    assert "No tree scores more than" not in words


def _explanation_of(problem: Any, node_limit: int | None = None) -> Explanation:
    """An explanation of a problem that no parser made."""
    solution = solve(problem, k_best=2, node_limit=node_limit)
    score = float(solution.scores[0])
    sentence = Sentence.from_words([f"w{i}" for i in range(1, problem.n_words + 1)])
    return Explanation(
        sentence,
        problem,
        solution,
        trees_of(sentence, ValidTrees(solution, [], [])),
        [part_terms(problem, arcs) for arcs in solution.arcs],
        arc_gaps(problem, solution.arcs[0], score, node_limit=node_limit),
        trace_search(problem, node_limit=node_limit),
        backbone="first",
        families=[],
    )
