"""Public functions refuse values of the wrong type or out of range: one clear line, no crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse import (
    BBParseError,
    Parser,
    Problem,
    Sentence,
    Solution,
    best_tree,
    best_trees,
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
#: What none of the calls takes.
WRONG: tuple[Any, ...] = (-1.5, float("nan"), b"x", object(), 3 + 0j, [None])


def options(call: Callable[..., Any], names: str) -> list[Callable[[Any], Any]]:
    return [lambda value, name=name: call(**{name: value}) for name in names.split()]


@pytest.mark.parametrize(
    "calls",
    [
        options(
            lambda **o: toy.parser().parse(SENTENCE, **o),
            "k_best prune time_limit node_limit valid",
        ),
        options(
            lambda **o: toy.parser()([["a", "b"]], **o),
            "k_best prune threads confidence keep_heads",
        ),
        options(
            lambda **o: solve(PROBLEM, **o),
            "k_best time_limit node_limit work_limit gap method backbone settings observer",
        ),
        options(lambda **o: solve_batch([PROBLEM], **o), "k_best time_limit threads method"),
        options(
            lambda **o: explain_infeasible(PROBLEM.with_heads({1: 2}), **o), "time_limit node_limit"
        ),
        options(
            lambda **o: Problem(
                **{"n_words": 1, "arc_head": [0], "arc_mod": [1], "arc_score": [1.0], **o}
            ),
            "n_words arc_head arc_mod arc_label arc_state sib_head factor_ptr count_ptr quantum"
            " projective single_root",
        ),
        [
            load,
            lambda v: load("english", v),
            Parser.load,
            Rules.load,
            Problem.load,
            Solution.load,
            lambda v: list(read_conllu(v)),
            PROBLEM.save,
            lambda v: toy.parser().save(v),
            Parser,
        ],
        [
            lambda v: toy.parser().parse(v),
            lambda v: toy.parser().calibrate(v),
            solve,
            solve_batch,
            explain_infeasible,
            lambda v: verify(PROBLEM, v),
            lambda v: Rules([]).onto(v, SENTENCE),
        ],
        [
            Problem.from_arc_scores,
            best_tree,
            lambda v: best_trees(np.ones((1, 4, 4)), v),
            PROBLEM.score,
            PROBLEM.is_feasible,
        ],
        [
            PROBLEM.with_factors,
            PROBLEM.with_heads,
            PROBLEM.without_arcs,
            PROBLEM.with_at_most,
            PROBLEM.with_subtree,
            lambda v: PROBLEM.with_at_least([(0, 1)], v),
            lambda v: PROBLEM.with_valency(1, high=v),
            lambda v: PROBLEM.with_count_scores([(0, 1)], v),
        ],
    ],
    ids=[
        "parse",
        "pipeline",
        "solve",
        "batch",
        "conflict",
        "problem",
        "files",
        "objects",
        "arrays",
        "constraints",
    ],
)
def test_what_is_wrong_is_refused_in_a_line(
    calls: list[Callable[[Any], Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call in calls:
        for value in WRONG:
            with pytest.raises(BBParseError) as error:
                call(value)
            assert len(str(error.value).splitlines()) == 1, f"{value!r}: {error.value}"


def test_words_are_no_empty_texts() -> None:
    for words in ([""], ["a", ""], [("", "NOUN")], [" "]):
        with pytest.raises(BBParseError, match=r"word [12] is '"):
            toy.parser()([words])
