"""The page: whole, well-formed, self-contained, and true."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from bbparse.apps.explain import Explanation, explain, page
from bbparse.apps.explain.charts import (
    count,
    number,
    ordinal,
    signed,
    spelled,
)
from bbparse.apps.explain.explanation import Explanation as Record
from bbparse.apps.explain.trace import trace_search
from bbparse.inference.solve import solve
from bbparse.runtime.errors import ProblemError
from bbparse.treebank import Sentence
from bbparse.treebank.drawing.text import draw_text
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
    assert f"Proved after {spelled(int(calls), 'dynamic-program call')} in" in words
    for k in (1, 2):
        less = float(solution.scores[0] - solution.scores[k])
        assert f"{ordinal(k + 1)} best, {number(less, 4)} less" in words
    for loss in explanation.losses:
        if loss.heads:
            head = explanation.sentence.forms[loss.head - 1] if loss.head else "root"
            assert f"← {head}" in words
            assert number(loss.loss) in words
    for title in (
        "The best tree", "The runners-up", "What each arc is worth", "What the score is made of",
        "How it was proved", "What was eliminated",
    ):
        assert title in words
    drawn = draw_text(
        explanation.sentence.forms, explanation.best.heads, explanation.best.labels,
        explanation.sentence.upos,
    )
    assert html.escape(drawn.rstrip("\n")) in text
    assert "toy.model" in words and "The small cat slept behind the stove." in words
    assert page(explanation, model="toy.model") == text, "the same page each time"


def test_arcs_without_an_alternative_are_folded(explanation: Explanation) -> None:
    first, second, *others = explanation.losses
    forced = [replace(loss, loss=math.inf, least=math.inf, heads=()) for loss in (first, second)]
    text = page(replace(explanation, losses=[*forced, *others]))
    head, _, folded = text.partition('<details class="fold">')
    assert "2 arcs without an alternative" in folded
    assert "no tree without it" not in head and folded.count("no tree without it") == 2
    assert "Scores are" in read(text).words and "never:" not in read(text).words


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


def test_arcs_that_differ_are_marked(explanation: Explanation) -> None:
    tags = read(page(explanation)).tags
    classes = [a.get("class") or "" for _, a in tags]
    differ = sum(len(explanation.changed(k)) for k in (1, 2))
    assert sum("bbp-arc" in c and " other" in c for c in classes) == differ
    assert sum("bbp-arc" in c and " gone" in c for c in classes) == differ
    kept = sum(c == "cell kept" for c in classes)
    assert kept == explanation.sentence.n_words
    cells = sum(c.startswith("cell ") for c in classes)
    assert cells == len(explanation.problem.arc_head)


def test_the_balance_is_the_difference(
    explanation: Explanation, by_network: Explanation
) -> None:
    for found in (explanation, by_network):
        for k in (1, 2):
            nets = found.feature_balance(k)
            difference = found.best.score - found.trees[k].score
            assert sum(net for _, net in nets) == pytest.approx(difference)
            assert all(net for _, net in nets)
    assert not explanation.by_network and not explanation.word_balance(1)


def test_a_network_says_which_words_it_looked_at(by_network: Explanation) -> None:
    assert by_network.by_network
    words = read(page(by_network)).words
    arc = next(t for t in by_network.terms[0] if t.words == (3, 1))
    first = arc.without[0]
    assert f"cat → The the network relied on {first.text} {signed(first.weight)}" in words
    assert f"The network selected {len(by_network.candidates)} candidates" in words
    assert "pruner" not in words and "h is the head" not in words
    nets = dict(by_network.feature_balance(1))
    (changed,) = by_network.changed(1)
    heads = by_network.best.heads[changed - 1], by_network.trees[1].heads[changed - 1]
    forms = ["root", *by_network.sentence.forms]
    gained, lost = (nets["arc", f"{forms[head]} → {forms[changed]}"] for head in heads)
    assert lost > -gained > 0  # logarithms of probabilities, the other one taken away
    for k in (1, 2):
        shown = by_network.word_balance(k)
        chips = " ".join(f"{word.text} {signed(word.weight)}" for word in shown[:8])
        assert f"Words the network relied on: {chips}" in words


def test_one_word() -> None:
    found = explain(toy.parser(), Sentence.from_words(["Thanks"], upos=["NOUN"]), k_best=3)
    words = read(page(found)).words
    assert "the only tree that these arcs allow" in words
    assert "no tree without it" in words
    assert "The runners-up" not in words
    assert "The first bound settled it" in words
    assert "All arcs were candidates" in words


def test_a_search_tree_and_a_search_cut_short() -> None:
    problem = hard_problem()
    trace = trace_search(problem)
    tree = _explanation_of(problem)
    words = read(page(tree)).words
    assert "The search tree" in words
    assert f"{len(trace.nodes)} nodes in all" in words
    assert "all trees" in words and "without w" in words and "with w" in words
    cut = _explanation_of(problem, node_limit=2)
    words = read(page(cut)).words
    assert "The search stopped at its node limit." in words
    assert f"no tree scores more than {number(cut.trace.upper, 4)}" in words
    assert "No tree scores more than" not in words
    assert "When the search stopped after" in words
    assert "not proved" in words


def _explanation_of(problem: Any, node_limit: int | None = None) -> Explanation:
    """An explanation of a problem that no parser made."""
    from bbparse.apps.explain.explanation import arc_losses
    from bbparse.apps.explain.terms import terms_of
    from bbparse.parser.parse import trees_of

    solution = solve(problem, k_best=2, node_limit=node_limit)
    score = float(solution.scores[0])
    return Record(
        sentence=Sentence.from_words([f"w{i}" for i in range(1, problem.n_words + 1)]),
        problem=problem,
        solution=solution,
        trees=trees_of(solution),
        terms=[terms_of(problem, arcs) for arcs in solution.arcs],
        losses=arc_losses(problem, solution.arcs[0], score, node_limit=node_limit),
        trace=trace_search(problem, node_limit=node_limit),
        backbone="first",
        families=[],
    )


def test_there_is_nothing_to_explain_without_a_tree() -> None:
    parser = toy.parser()
    sentence = Sentence.from_words(["a", "b"])
    with pytest.raises(ProblemError, match="prune is -1"):
        explain(parser, sentence, prune=-1)


def test_numbers() -> None:
    assert number(-1234.5) == "−1,234.50"
    assert number(0.0) == "0.00" and (number(0.001), number(-2e-7)) == ("0.001", "−2.0e−07")
    assert number(float("inf")) == "∞" and number(-float("inf")) == "−∞"
    assert signed(2.0) == "+2.00" and signed(-2.0) == "−2.00"
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th",
    ]
    assert count(1, "arc") == "1 arc" and count(2000, "arc") == "2,000 arcs"
    assert spelled(1, "arc") == "one arc" and spelled(12, "arc") == "12 arcs"


def test_words_from_right_to_left() -> None:
    sentence = Sentence.from_words(
        ["הילדה", "קראה", "את", "את", "."], upos=["NOUN", "VERB", "ADP", "NOUN", "PUNCT"]
    )
    text = page(explain(toy.parser(), sentence))
    assert '<h1 dir="auto">' in text
    assert text.count(' dir="rtl"') == len(re.findall('<svg[^>]*class="bbp"', text))
    assert "קראה\u200e (2)" in text and "את\u200e (3)" in text
    assert not re.search("[א-ת] (→|←|\\()", text)
    assert ' dir="rtl"' not in page(explain(toy.parser(), toy.dev_sentences()[1]))
