"""Public functions refuse values of the wrong type or out of range: one clear line, no crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbparse
from bbparse import (
    BBParseError,
    Parser,
    Pipeline,
    Problem,
    Sentence,
    Solution,
    agree,
    best_tree,
    best_trees,
    expand_count_factors,
    explain_infeasible,
    load,
    read_conllu,
    solve,
    solve_batch,
    verify,
)
from bbparse.parser.validity.rules import Rules
from tests import toy

PROBLEM = Problem.from_arc_scores(np.ones((4, 4)))
SENTENCE = Sentence.from_words(["a", "b"], upos=["NOUN", "VERB"])

#: Whatever one may come by.
ANYTHING: tuple[Any, ...] = (
    None, "2", 1.5, -1, 0, 2, float("nan"), float("inf"), True, [], [1], {}, 10**30, b"x", object,
    3 + 0j,
)  # fmt: skip

WHOLE, LIMIT, PRUNE = {2, 10**30}, {None, 2, 10**30}, {None, 0, 2}
SECONDS = {None, 0, 1.5, 2, float("inf"), 10**30}
NEVER: set[Any] = set()


@pytest.fixture(scope="module")
def nlp() -> Pipeline:
    return Pipeline(toy.parser())


def options_of(call: Callable[..., Any], **ranges: set[Any]) -> list[Any]:
    """A call with each of some options, and what each of them may be."""

    def one(name: str, right: set[Any]) -> Any:
        return argument(
            f"{call.__name__} {name}", lambda nlp, value: call(nlp, **{name: value}), right
        )

    return [one(name, right) for name, right in ranges.items()]


def parse(nlp: Pipeline, **options: Any) -> Any:
    return nlp.parser.parse(SENTENCE, **options)


def parse_all(nlp: Pipeline, **options: Any) -> Any:
    return nlp([["a", "b"]], **options)


def solve_it(nlp: Pipeline, **options: Any) -> Any:
    return solve(PROBLEM, **options)


def solve_all(nlp: Pipeline, **options: Any) -> Any:
    return solve_batch([PROBLEM], **options)


def explain(nlp: Pipeline, **options: Any) -> Any:
    return explain_infeasible(PROBLEM.with_heads({1: 2}).with_at_most([(2, 1)], 0), **options)


def made(nlp: Pipeline, **fields: Any) -> Any:
    return Problem(**{"n_words": 1, "arc_head": [0], "arc_mod": [1], "arc_score": [1.0], **fields})


def argument(name: str, call: Callable[[Pipeline, Any], Any], right: set[Any] = NEVER) -> Any:
    return pytest.param(call, right, id=name)


CALLS = [
    *options_of(parse, k_best=WHOLE, prune=PRUNE, time_limit=SECONDS, node_limit=LIMIT,
                valid={None}),
    *options_of(parse_all, k_best=WHOLE, prune=PRUNE, time_limit=SECONDS, node_limit=LIMIT,
                threads={2}, valid={None}),
    *options_of(solve_it, k_best=WHOLE, time_limit=SECONDS, node_limit=LIMIT, work_limit=SECONDS,
                gap=SECONDS - {None}, method=NEVER, backbone={None}, settings=NEVER,
                observer={None}),
    *options_of(solve_all, k_best=WHOLE, time_limit=SECONDS, node_limit=LIMIT, threads={2},
                method=NEVER, backbone={None}),
    *options_of(explain, time_limit=SECONDS, node_limit=WHOLE | {0}),
    *options_of(made, n_words={2}, arc_head=NEVER, arc_mod={"[1]"}, arc_score={"[1]"},
                arc_label={None, "[1]"}, arc_state={None, "[1]"}, sib_head={"[]"},
                factor_ptr=NEVER, count_ptr=NEVER, quantum={0}, projective={True},
                single_root={True}),
    argument("load", lambda nlp, v: load(v)),
    argument("load factors", lambda nlp, v: load("english", v), {"[]", "{}"}),
    argument("Parser.load", lambda nlp, v: Parser.load(v)),
    argument("Parser.save", lambda nlp, v: nlp.parser.save(v) if v != "2" else load(v)),
    argument("Parser.parse", lambda nlp, v: nlp.parser.parse(v)),
    argument("Parser.calibrate", lambda nlp, v: nlp.parser.calibrate(v)),
    argument("Pipeline", lambda nlp, v: Pipeline(v)),
    argument("Pipeline.pipe", lambda nlp, v: list(nlp.pipe(v)), {"[]", "{}"}),
    argument("Rules.load", lambda nlp, v: Rules.load(v)),
    argument("read_conllu", lambda nlp, v: list(read_conllu(v))),
    argument("solve", lambda nlp, v: solve(v)),
    argument("solve_batch", lambda nlp, v: solve_batch(v), {"[]", "{}"}),
    argument("explain_infeasible", lambda nlp, v: explain_infeasible(v)),
    argument("expand_count_factors", lambda nlp, v: expand_count_factors(v)),
    argument("verify", lambda nlp, v: verify(PROBLEM, v)),
    argument("Problem.load", lambda nlp, v: Problem.load(v)),
    argument("Problem.save", lambda nlp, v: PROBLEM.save(v) if v != "2" else load(v)),
    argument("Solution.load", lambda nlp, v: Solution.load(v)),
    argument("from_arc_scores", lambda nlp, v: Problem.from_arc_scores(v)),
    argument("from_batch", lambda nlp, v: Problem.from_batch(v), {"[]", "{}"}),
    argument("from_batch lengths", lambda nlp, v: Problem.from_batch(np.ones((1, 4, 4)), v),
             {None, "[1]"}),
    argument("best_tree", lambda nlp, v: best_tree(v), {"[]"}),
    argument("best_tree lengths", lambda nlp, v: best_tree(np.ones((1, 4, 4)), lengths=v),
             {None, "[1]"}),
    argument("best_trees", lambda nlp, v: best_trees(np.ones((1, 4, 4)), v), WHOLE),
    argument("score", lambda nlp, v: PROBLEM.score(v)),
    argument("is_feasible", lambda nlp, v: PROBLEM.is_feasible(v)),
    argument("with_factors", lambda nlp, v: PROBLEM.with_factors(v), {"[]", "{}"}),
    argument("with_factors arcs", lambda nlp, v: PROBLEM.with_factors([(v, 1.0)])),
    argument("with_factors weight", lambda nlp, v: PROBLEM.with_factors([([(0, 1), (1, 2)], v)]),
             {1.5, -1, 0, 2}),
    argument("with_heads", lambda nlp, v: PROBLEM.with_heads(v), {"{}"}),
    argument("with_heads head", lambda nlp, v: PROBLEM.with_heads({1: v}), {0, 2}),
    argument("without_arcs", lambda nlp, v: PROBLEM.without_arcs(v), {"[]", "{}"}),
    argument("without_arcs arc", lambda nlp, v: PROBLEM.without_arcs([v])),
    argument("with_at_most", lambda nlp, v: PROBLEM.with_at_most(v)),
    argument("with_at_most k", lambda nlp, v: PROBLEM.with_at_most([(0, 1), (0, 2)], v), {0, 2}),
    argument("with_at_least k", lambda nlp, v: PROBLEM.with_at_least([(0, 1), (0, 2)], v), {0, 2}),
    argument("with_valency", lambda nlp, v: PROBLEM.with_valency(v, high=1),
             {0, 2, "[]", "[1]", "{}"}),
    argument("with_valency high", lambda nlp, v: PROBLEM.with_valency(1, high=v), {None, 0, 2}),
    argument("with_subtree", lambda nlp, v: PROBLEM.with_subtree(v), {"[1]"}),
    argument("with_or", lambda nlp, v: PROBLEM.with_or(v, 1.0)),
    argument("with_or weight", lambda nlp, v: PROBLEM.with_or([(0, 1)], v), {1.5, -1, 0, 2}),
    argument("with_count_scores", lambda nlp, v: PROBLEM.with_count_scores([(0, 1)], v)),
    argument("Rules.onto", lambda nlp, v: Rules([]).onto(v, SENTENCE)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "right"), CALLS)
def test_what_is_wrong_is_refused_in_a_line(
    call: Callable[[Pipeline, Any], Any], right: set[Any], nlp: Pipeline, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for value in ANYTHING:
        known = str(value) if isinstance(value, list | dict) else value
        if any(known is one or (known == one and type(known) is type(one)) for one in right):
            call(nlp, value)
            continue
        with pytest.raises(BBParseError) as error:
            call(nlp, value)
        text = str(error.value)
        assert text and len(text.splitlines()) == 1, f"{value!r}: {text}"


def test_words_are_no_empty_texts(nlp: Pipeline) -> None:
    for words in ([""], ["a", ""], [("", "NOUN")], [" "]):
        with pytest.raises(BBParseError, match=r"word [12] is '"):
            nlp([words])


@pytest.mark.parametrize("name", ["confidence", "keep_heads"])
@pytest.mark.parametrize("value", ["no", 0, 1, None])
def test_choices_are_true_or_false(nlp: Pipeline, name: str, value: Any) -> None:
    text = f"{name} is of type {type(value).__name__}, expected True or False"
    with pytest.raises(BBParseError, match=text):
        nlp(["a"], **{name: value})


def test_agree_and_load_say_what_they_expect() -> None:
    with pytest.raises(BBParseError, match="model is None, expected a path or one of english"):
        load(None)  # type: ignore[arg-type]
    with pytest.raises(BBParseError, match="k_best is '2', expected a whole number"):
        solve(PROBLEM, k_best="2")  # type: ignore[arg-type]
    assert bbparse.agree is agree
