"""`best_tree` and `best_trees`: rows are dependents, and the trees are the best of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bbparse import Problem, best_tree, best_trees, solve
from bbparse.inference.matrix_kernels import best_heads
from bbparse.runtime.errors import ProblemError


@pytest.mark.parametrize("projective", [True, False])
def test_one_call_finds_the_tree_of_the_solver(projective: bool) -> None:
    rng = np.random.default_rng(8)
    looked = 0
    for case in range(120):
        n, single_root = int(rng.integers(1, 9)), bool(rng.integers(2))
        arcs = rng.normal(size=(n + 1, n + 1)) * 10.0 ** rng.integers(-12, 13)
        if case % 3 == 1:  # ties
            arcs = rng.integers(-2, 3, size=arcs.shape).astype(float)
        elif case % 3 == 2:  # some terms hide others
            arcs[rng.random(arcs.shape) < 0.2] *= 10.0 ** rng.integers(0, 18)
        flags = {"projective": projective, "single_root": single_root}
        expected = solve(Problem.from_arc_scores(arcs, **flags)).heads[0]
        heads = np.full(n + 1, -1, np.int32)
        looked += not best_heads(arcs, projective, single_root, heads)
        assert best_tree(arcs, **flags).tolist() == expected.tolist()
    assert 0 < looked < 60  # both ways were taken


def test_rows_are_dependents_everywhere() -> None:
    rows = np.array([[0, 0, 0, 0], [0, 0, 6, 1], [7, 2, 0, 1], [1, 0, 6, 0]], float)
    problem = Problem.from_arc_scores(rows)
    assert problem.score([-1, 2, 0, 2]) == 6.0 + 7.0 + 6.0
    for heads in (best_tree(rows), solve(problem).heads[0], best_trees(rows, 1).heads[0]):
        assert heads.tolist() == [-1, 2, 0, 2] == [-1, *rows.argmax(-1)[1:].tolist()]
    assert solve(Problem.from_arc_scores(rows.T)).heads[0].tolist() != [-1, 2, 0, 2]


def test_a_batch_is_cut_to_its_lengths() -> None:
    rng = np.random.default_rng(3)
    batch = rng.normal(size=(3, 6, 6))
    batch[0, 4:], batch[0, :, 4:] = np.nan, np.nan  # padding may be anything
    lengths = [3, 5, 1]
    heads = best_tree(batch, lengths=lengths)
    assert heads.dtype == np.int32 and heads.shape == (3, 6)
    for row, arcs, n in zip(heads, batch, lengths):
        assert row[: n + 1].tolist() == best_tree(arcs[: n + 1, : n + 1]).tolist()
        assert (row[n + 1 :] == -1).all()
    ragged = [arcs[: n + 1, : n + 1] for arcs, n in zip(batch, lengths)]
    assert [row.tolist() for row in best_tree(ragged)] == [
        row[: n + 1].tolist() for row, n in zip(heads, lengths)
    ]
    assert [len(found) for found in best_trees(ragged, 2)] == [2, 2, 1]
    assert [len(found) for found in best_trees(batch, 2, lengths=lengths)] == [2, 2, 1]
    assert best_tree([]) == [] and best_trees([], 2) == []
    for shape in ((0, 6, 6), (0, 0, 0)):
        assert best_tree(np.zeros(shape)).shape == shape[:2] and not best_trees(np.zeros(shape), 2)
    whole = best_tree(Tensor(np.nan_to_num(batch)), lengths=Tensor(np.array(lengths)))
    assert whole.tolist() == heads.tolist()


class Tensor:
    """What torch's tensors have; numbers of words are integers in them, too."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def detach(self) -> Tensor:
        return self

    def is_floating_point(self) -> bool:
        return bool(self.values.dtype.kind == "f")

    def double(self) -> Tensor:
        return Tensor(self.values.astype(np.float64))

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.values


def scores_with(where: Any, value: float) -> Any:
    """Scores of three words that are 0 but at one place."""
    arcs = np.zeros((4, 4))
    arcs[where] = value
    return arcs


class Remote:
    """An array on a device that numpy cannot read."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion\nis not allowed")


@pytest.mark.parametrize(
    ("scores", "lengths", "message"),
    [
        (np.zeros(4), None, r"shape \(4,\) and dtype float64, expected .*\(n \+ 1, n \+ 1\)"),
        (np.zeros((4, 4, 2)), None, r"scores\[0\] has shape \(4, 2\), expected \(n \+ 1, n \+ 1\)"),
        (np.zeros((1, 1)), None, r"shape \(1, 1\), expected .* for n >= 1 words"),
        (
            scores_with(np.s_[:, 0], -np.inf),
            None,
            r"shape \(4, 4\) and column 0 is -inf.* transpose the matrix",
        ),
        ([[[0, 0], [0, 0]], [[0]]], None, r"numpy cannot read .* expected one array on the"),
        (np.zeros((1, 4, 4)), [10**5], r"lengths\[0\] is 100000, expected 1..32000"),
        (np.zeros((1, 4, 4)), [3.0], r"lengths\[0\] is 3.0, expected an integer"),
        (
            scores_with((2, 1), np.nan),
            None,
            r"scores\[2, 1\] is nan, expected a number of magnitude <= 1e\+100 or -inf in shape",
        ),
        (np.full((3, 3), np.inf), None, r"scores\[1, 0\] is inf"),
        (np.full((3, 3), 1e200), None, r"scores\[1, 0\] is 1e\+200, expected .* <= 1e\+100"),
        (Remote(), None, r"Remote that numpy cannot read \(Implicit conversion is not allowed\)"),
        (np.full((3, 3), -(2**53) - 1), None, r"scores\[0, 0\] is -9007199254740993, .* 2\*\*53"),
        (np.zeros((3, 3), complex), None, r"dtype complex128, expected real numbers"),
        (np.zeros((2, 4, 4)), [3], r"1 lengths, expected 2"),
        (np.zeros((2, 4, 4)), [3, 4], r"lengths\[1\] is 4, expected 1..3"),
        (np.zeros((2, 5, 4)), [4, 4], r"sentence 0 has shape \(5, 4\), expected \(5, 5\) or more"),
        (
            scores_with(3, -np.inf),
            None,
            r"sentence 0 allow no tree: no candidate arcs .* to word 3",
        ),
    ],
)
def test_bad_scores_get_a_line(scores: Any, lengths: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message) as error:
        best_tree(scores, lengths=lengths)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", [int, float])
def test_masked_arcs_do_not_exist(dtype: type) -> None:
    values = np.array([[9, 9, 9], [1, 9, 5], [8, 4, 9]], dtype)
    scores = np.ma.masked_greater(values, 7)
    assert best_tree(values).tolist() == [-1, 2, 0]
    assert best_tree(scores).tolist() == [-1, 0, 1]
    assert best_tree(scores[None]).tolist() == [[-1, 0, 1]]
    (best, *_) = best_trees(scores, 2).heads.tolist()
    assert best == [-1, 0, 1]
    p = Problem.from_arc_scores(scores)
    assert len(p.arc_head) == 3
    with pytest.raises(ProblemError, match="arc_score is an array with masked elements"):
        Problem(1, [0], [1], np.ma.masked_all(1))


def test_tensors_are_taken() -> None:
    torch = pytest.importorskip("torch")
    scores = torch.randn(2, 5, 5, requires_grad=True)
    expected = [best_tree(arcs).tolist() for arcs in scores.detach().numpy()]
    assert best_tree(scores).tolist() == expected
    assert best_tree(scores.bfloat16()).shape == (2, 5)
