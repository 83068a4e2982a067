"""What a problem is made of: what arrays become, and every fault by name and index."""

from __future__ import annotations

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse.core import FIELDS, Problem
from bbparse.runtime.errors import ProblemError
from tests.core.helpers import three_words, two_words


def test_arrays_are_converted_copied_and_read_only() -> None:
    head = np.array([0, 0, 1, 2], dtype=np.uint8)
    p = two_words(arc_head=head, arc_score=np.array([1, 2, 3, 4], dtype=np.float32))
    assert p.arc_head.dtype == np.int32
    assert p.arc_score.dtype == np.float64
    assert p.arc_state.dtype == np.int8
    assert p.factor_ptr.dtype == np.int64
    head[0] = 2
    assert p.arc_head[0] == 0
    for name in FIELDS:
        value = getattr(p, name)
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            assert not value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        p.arc_score[0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.n_words = 3  # type: ignore[misc]


GSIB = {"gsib_grand": [2], "gsib_head": [1], "gsib_inner": [-1], "gsib_outer": [3]}


def factors(ptr: list[int], arcs: list[int], scores: list[float]) -> dict[str, Any]:
    return {"factor_ptr": ptr, "factor_arcs": arcs, "factor_score": scores}


def counts(ptr: list[int], arcs: list[int], scores: list[float]) -> dict[str, Any]:
    return {"count_ptr": ptr, "count_arcs": arcs, "count_score": scores}


def siblings(*columns: list[int]) -> dict[str, Any]:
    return dict(zip(("sib_head", "sib_inner", "sib_outer", "sib_score"), columns))


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"n_words": 0}, "n_words is 0, expected 1..32000"),
    ({"n_words": True}, "n_words is True, expected an integer"),
    ({"arc_head": [0, 0, 1]}, "arc_mod has 4 elements, expected 3 as in arc_head"),
    ({"arc_head": [[0, 0, 1, 2]]}, r"arc_head has shape (1, 4), expected one dimension"),
    ({"arc_head": [0, [0], 1, 2]}, "arc_head is not an array"),
    ({"arc_head": [0, 0, 1, 2.0]}, "arc_head has dtype float64, expected integers"),
    ({"arc_head": [False, False, True, True]}, "arc_head has dtype bool, expected integers"),
    ({"arc_head": [0, 0, 1, 2**40]}, f"arc_head[3] is {2**40}, expected"),
    ({"arc_head": [0, 0, 1, 3]}, "arc_head[3] is 3, expected 0..2"),
    ({"arc_mod": [1, 2, 12, 1]}, "arc_mod[2] is 12, expected 1..2"),
    ({"arc_mod": [0, 2, 2, 1]}, "arc_mod[0] is 0, expected 1..2"),
    ({"arc_mod": [1, 2, 1, 1]}, "arc_mod[2] is 1, the same word as arc_head[2]"),
    ({"arc_head": [0, 0, 1, 0]}, "arc_mod[3] repeats the arc 0 -> 1 of arc_mod[0]"),
    ({"arc_label": [0, 0, 1]}, "arc_label has 3 elements, expected 4"),
    ({"arc_label": [0, -1, 1, 1]}, "arc_label[1] is -1, expected 0.."),
    ({"arc_head": [0, 0, 1, 0], "arc_label": [3, 0, 1, 3]},
     "arc_mod[3] repeats the arc 0 -> 1 with label 3 of arc_mod[0]"),
    ({"arc_score": [1, 2, math.nan, 3]}, "arc_score[2] is nan, expected a finite number"),
    ({"arc_score": [1, 2, 3, -math.inf]}, "arc_score[3] is -inf, expected a finite number (leave"),
    ({"arc_score": [1, 2, 3, -1.7e308]},
     "arc_score[3] is -1.7e+308, expected a finite number of magnitude <= 1e+100 (leave"),
    ({"arc_score": [1, 2, 3, 1j]}, "arc_score has dtype complex128, expected real numbers"),
    ({"arc_state": [0, 2, 0, 0]}, "arc_state[1] is 2, expected -1..1"),
    ({"arc_state": [0, 300, 0, 0]}, "arc_state[1] is 300, expected -128..127 (int8)"),
    ({"arc_state": [1, 0, 0, 1]}, "arc_state[3] requires a second head of word 1"),
    ({"projective": 1}, "projective is 1, expected True or False"),
    ({"quantum": -1.0}, "quantum is -1.0, expected a finite number >= 0"),
    ({"quantum": 2.0}, "arc_score[0] is 1.0, expected a multiple of quantum = 2.0"),
    ({"quantum": [1.0]}, "quantum has shape (1,), expected 0 dimensions"),
    ({"sib_head": [0], "sib_inner": [1], "sib_outer": [2]}, "sib_score has 0 elements, expected 1"),
    (siblings([0], [2], [1], [1]),
     "sib_inner[0] is 2, expected -1 or a word strictly between sib_head[0] = 0 and sib_outer"),
    (siblings([0, 0], [-1, -1], [2, 2], [1, 2]),
     "sib_score[1] scores the part (0, -1, 2) of sib_score[0] again"),
    (siblings([1], [-1], [1], [1]), "sib_outer[0] is 1, the same word as sib_head[0]"),
    ({"gc_grand": [0], "gc_head": [0], "gc_mod": [1], "gc_score": [1]},
     "gc_head[0] is 0, expected 1..2"),
    ({"gc_grand": [1], "gc_head": [2], "gc_mod": [1], "gc_score": [1]},
     "gc_mod[0] is 1, the same word as gc_grand[0]"),
    ({"ogc_grand": [0], "ogc_head": [2], "ogc_mod": [1], "ogc_score": [-math.inf]},
     "ogc_score[0] is -inf, expected a finite number (use a factor)"),
    ({"factor_ptr": []}, "factor_ptr is empty"),
    ({"factor_ptr": [0, 2]}, "factor_score has 0 elements, expected 1: one fewer than factor_ptr"),
    (factors([0, 1], [0], [1]), "factor_ptr[1] is 1: factor 0 has 1 arcs, expected at least 2"),
    (factors([0, 2, 1], [0, 2], [1, 1]),
     "factor_ptr[2] is 1, expected 4..2 after factor_ptr[1] = 2"),
    (factors([0, 9], [0, 2], [1]), "factor_ptr[1] is 9, expected 2..2"),
    (factors([0, 2], [0, 2, 1], [1]),
     "factor_ptr[1] is 2, expected 3: the number of elements of factor_arcs"),
    (factors([0, 2], [0, 4], [1]), "factor_arcs[1] is 4, expected 0..3"),
    (factors([0, 2, 4], [0, 2, 3, 3], [1, 1]),
     "factor_arcs[3] is 3, which repeats an arc of its factor"),
    (factors([0, 2], [0, 2], [math.inf]),
     "factor_score[0] is inf, expected a finite number or -inf"),
    ({"count_ptr": [0, 0], "count_score": [1]},
     "count_ptr[1] is 0: count factor 0 has 0 arcs, expected at least 1"),
    (counts([0, 2], [0, 1], [0, 0]), "count_score has 2 elements, expected 3 = count_score_ptr[1]"),
    ({**counts([0, 1], [0], [0, 0]), "count_score_ptr": [0]},
     "count_score_ptr has 1 elements, expected 2 as in count_ptr"),
    ({**counts([0, 1], [0], [0]), "count_score_ptr": [0, 1]},
     "count_score_ptr[1] is 1, expected 2: count factor 0 has 1 arcs"),
    ({"count_score": [0]}, "count_score has 1 elements, expected 0 = count_score_ptr[0]"),
    (counts([0, 1], [0], [-math.inf, 2e100]),
     "count_score[1] is 2e+100, expected a finite number or -inf of magnitude <= 1e+100"),
    ({"quantum": 1.0, "count_ptr": [0, 1], "count_arcs": [0], "count_score": [1, 0.5]},
     "count_score[1] is 0.5, expected a multiple of quantum = 1.0"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), FAULTS, ids=[m[:50] for _, m in FAULTS])
def test_faults_name_the_array_and_the_index(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        two_words(**fields)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gsib_grand": [-1]}, "gsib_grand[0] is -1, expected 0..3 as gsib_head[0] is 1"),
        ({"gsib_head": [0]}, "gsib_grand[0] is 2, expected -1 as gsib_head[0] is 0"),
        ({"gsib_grand": [1]}, "gsib_grand[0] is 1, the same word as gsib_head[0]"),
        ({"gsib_grand": [3]}, "gsib_grand[0] is 3, the same word as gsib_outer[0]"),
        ({"gsib_inner": [2]}, "gsib_inner[0] is 2, the same word as gsib_grand[0]"),
        ({"gsib_inner": [3]}, "gsib_inner[0] is 3, expected -1 or a word strictly between"),
        ({name: value * 2 for name, value in GSIB.items()}, "the part (2, 1, -1, 3)"),
    ],
)
def test_faults_of_grand_siblings(fields: dict[str, Any], message: str) -> None:
    given_fields = {**GSIB, **fields}
    scores = np.zeros(len(given_fields["gsib_grand"]))
    with pytest.raises(ProblemError) as caught:
        three_words(**given_fields, gsib_score=scores)
    assert message in str(caught.value)


def test_repeats_are_found_among_many() -> None:
    rng = np.random.default_rng(0)
    pairs = [(h, m) for h, m in product(range(41), range(1, 41)) if h != m]
    order = [pairs[i] for i in rng.permutation(len(pairs))]
    head, mod = [h for h, _ in order], [m for _, m in order]
    assert len(Problem(40, head, mod, np.zeros(len(head))).arc_head) == 1600
    place = order.index((3, 7))
    with pytest.raises(ProblemError, match=rf"arc_mod\[1600\] repeats .* of arc_mod\[{place}\]"):
        Problem(40, [*head, 3], [*mod, 7], np.zeros(len(head) + 1))
