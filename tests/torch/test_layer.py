"""Trees, sums and losses of a layer against enumeration, and its gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.runtime.errors import ProblemError
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import all_parts, random_tree

torch = pytest.importorskip("torch")

from bbparse.torch import TreeBatch, TreeLayer, TreeMarginals  # noqa: E402

LENGTHS = [4, 3, 1]
LOSSES: dict[str, Callable[[TreeBatch, Any], Any]] = {
    "hinge": lambda trees, gold: trees.hinge_loss(gold, 0.7),
    "sparse_map": TreeBatch.sparse_map_loss,
    "k_best": lambda trees, gold: trees.k_best(2)[1][:2],
    "sparse_map_marginals": lambda trees, gold: torch.cat([x.ravel() for x in trees.sparse_map()]),
}
SUMS: dict[str, Callable[[TreeBatch, Any], Any]] = {
    "likelihood": TreeBatch.likelihood_loss,
    "log_partition": lambda trees, gold: trees.log_partition(),
    "marginals": lambda trees, gold: torch.cat([x.ravel() for x in trees.marginals()]),
}


class Batch(NamedTuple):
    """Scores of three sentences, as a layer takes them."""

    layer: Any
    arcs: Any
    indices: list[Any]
    scores: list[Any]

    def trees(self, arcs: Any = None, scores: Any = None) -> TreeBatch:
        scores = self.scores if scores is None else scores
        names = ("siblings", "grandchildren", "factors")
        parts = dict(zip(names, zip(self.indices, scores)))
        return self.layer(self.arcs if arcs is None else arcs, LENGTHS, **parts)

    def problem(self, i: int, values: TreeMarginals | None = None) -> Problem:
        """A sentence as a problem, made without the layer; under other scores if given."""
        arcs, *scores = values or (self.arcs, *self.scores)
        n, matrix = LENGTHS[i], arcs[i].detach().numpy().copy()
        # pruned arcs are those of the batch, whatever the scores
        matrix[self.arcs[i].detach().numpy() == -np.inf] = -np.inf
        problem = Problem.from_arc_scores(matrix[: n + 1, : n + 1], **self.layer.flags)
        numbers = [x.detach().numpy() for x in scores]
        number = {(h, m): a for a, (h, m) in enumerate(zip(problem.arc_head, problem.arc_mod))}
        own = [np.flatnonzero(np.asarray(x)[:, 0] == i) for x in self.indices[:2]]
        sib, gc = (np.asarray(x)[rows] for x, rows in zip(self.indices, own))
        factors = [
            ([number[h, m] for h, m in arcs], float(score))
            for (s, arcs), score in zip(self.indices[2], numbers[2])
            if s == i and all(arc in number for arc in arcs)
        ]
        return Problem(
            n,
            problem.arc_head,
            problem.arc_mod,
            problem.arc_score,
            **self.layer.flags,
            sib_head=sib[:, 1],
            sib_inner=sib[:, 2],
            sib_outer=sib[:, 3],
            sib_score=numbers[0][own[0]],
            gc_grand=gc[:, 1],
            gc_head=gc[:, 2],
            gc_mod=gc[:, 3],
            gc_score=numbers[1][own[1]],
            factor_ptr=np.cumsum([0, *(len(arcs) for arcs, _ in factors)]),
            factor_arcs=np.array([a for arcs, _ in factors for a in arcs], int),
            factor_score=np.array([score for _, score in factors]),
        )


def draw(seed: int, projective: bool, parts: str = "", single_root: bool = True) -> Batch:
    """Random scores, with the kinds of part that are named by their first letters: s, g, f."""
    rng = np.random.default_rng(seed)
    arcs = rng.normal(size=(3, 5, 5)) * 2.0
    arcs[0, 1, 2] = -np.inf
    indices: list[Any] = []
    for letter, kind in (("s", "sib"), ("g", "gc")):
        rows = [
            (i, *words)
            for i, n in enumerate(LENGTHS)
            for words in all_parts(kind, n)
            if letter in parts and rng.random() < 0.4
        ]
        indices.append(np.array(rows, int).reshape(-1, 4))
    factors = []
    for i, n in [(0, 4), (1, 3)] * 8:  # two or three arcs of a tree, pruned ones among them
        heads = random_tree(rng, n, projective)
        words = rng.permutation(np.arange(1, n + 1))[: rng.integers(2, 4)].tolist()
        factors.append((i, [(heads[m], m) for m in words]))
    indices.append(factors if "f" in parts else [])
    values = [torch.tensor(rng.normal(size=len(x)), requires_grad=True) for x in indices]
    values[2].data += 1.0
    if "f" in parts:
        values[2].data[1] = -np.inf
    layer = TreeLayer(projective, single_root, threads=2)
    return Batch(layer, torch.tensor(arcs, requires_grad=True), indices, values)


def feasible(batch: Batch) -> Any:
    """A tree of each sentence that is not its best, where there is another."""
    heads = torch.full((3, 5), -1)
    for i, n in enumerate(LENGTHS):
        problem = batch.problem(i)
        _, arcs = enumerate_trees(problem)[1 if n > 1 else 0]
        heads[i, 1 : n + 1] = torch.tensor(problem.arc_head[list(arcs)])
    return heads


@pytest.mark.parametrize("parts", ["", "s", "sg", "sgf"])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_trees_are_those_of_enumeration(projective: bool, parts: str, single_root: bool) -> None:
    batch = draw(1, projective, parts, single_root)
    heads, scores = batch.trees().k_best(3)
    gold = feasible(batch)
    hinge = batch.trees().hinge_loss(gold, 0.7).detach()
    for i, n in enumerate(LENGTHS):
        problem = batch.problem(i)
        listed = enumerate_trees(problem)
        for k, (score, arcs) in enumerate(listed[:3]):
            assert float(scores[i, k].detach()) == pytest.approx(score)
            assert heads[i, k].tolist() == [-1, *problem.arc_head[list(arcs)], *[-1] * (4 - n)]
        assert (scores[i, len(listed) :] == -np.inf).all()
        right = gold[i, 1 : n + 1].numpy()
        costly = [
            score + 0.7 * (problem.arc_head[list(arcs)] != right).sum() for score, arcs in listed
        ]
        assert float(hinge[i]) == pytest.approx(max(costly) - problem.score(gold[i, : n + 1]))
    assert batch.trees().best().tolist() == heads[:, 0].tolist()


@pytest.mark.parametrize(
    ("projective", "parts"), [(True, ""), (True, "s"), (True, "g"), (True, "sg"), (False, "")]
)
@pytest.mark.parametrize("single_root", [True, False])
def test_sums_are_those_of_enumeration(projective: bool, parts: str, single_root: bool) -> None:
    batch = draw(2, projective, parts, single_root)
    total = batch.trees().log_partition()
    marginals = batch.trees().marginals()
    slopes = torch.autograd.grad(total.sum(), [batch.arcs, *batch.scores[:2]])
    for slope, part in zip(slopes, marginals):
        assert slope.numpy() == pytest.approx(part.detach().numpy(), abs=1e-9)
    for i in range(3):
        problem = batch.problem(i)
        listed = enumerate_trees(problem)
        expected = np.logaddexp.reduce([score for score, _ in listed])
        assert float(total[i].detach()) == pytest.approx(expected)
        chances = np.zeros((5, 5))
        for score, arcs in listed:
            chosen = list(arcs)
            chances[problem.arc_head[chosen], problem.arc_mod[chosen]] += np.exp(score - expected)
        assert marginals.arcs[i].detach().numpy() == pytest.approx(chances.T, abs=1e-9)


@pytest.mark.parametrize("name", [*LOSSES, *SUMS])
@pytest.mark.parametrize("projective", [True, False])
def test_gradients_are_those_of_differences(name: str, projective: bool) -> None:
    parts = "sgf" if name in LOSSES else "sg" if projective else ""
    reached = [False] * 4
    for seed in range(4):
        batch = draw(seed, projective, parts)
        gold, candidates = feasible(batch), batch.arcs > -np.inf
        finite = batch.scores[2] > -np.inf

        def loss(
            arcs: Any,
            sib: Any,
            gc: Any,
            factor: Any,
            batch: Any = batch,
            gold: Any = gold,
            hard: tuple[Any, Any] = (~candidates, ~finite),
        ) -> Any:
            arcs = arcs.masked_fill(hard[0], -torch.inf)
            factor = factor.masked_fill(hard[1], -torch.inf)
            return {**LOSSES, **SUMS}[name](batch.trees(arcs, [sib, gc, factor]), gold)

        values = [
            x.detach().nan_to_num(neginf=0.0).requires_grad_() for x in (batch.arcs, *batch.scores)
        ]
        assert torch.autograd.gradcheck(loss, values, fast_mode=True)
        value = loss(*values)
        weights = torch.randn(value.shape, generator=torch.Generator().manual_seed(9)).double()
        slopes = torch.autograd.grad((value * weights).sum(), values)
        reached = [before or bool((x != 0.0).any()) for before, x in zip(reached, slopes)]
    assert reached == [True, "s" in parts, "g" in parts, "f" in parts]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("projective", [True, False])
def test_sparse_map_is_optimal(seed: int, projective: bool) -> None:
    batch = draw(seed, projective, "sgf")
    mean = batch.trees().sparse_map()
    assert mean.arcs.sum((1, 2)).tolist() == pytest.approx(LENGTHS)
    rng = np.random.default_rng(seed)
    own = TreeMarginals(batch.arcs.detach().nan_to_num(neginf=0.0) - mean.arcs, *batch.scores)
    soft = batch.scores[2].isfinite()
    directions = [own] + [
        TreeMarginals(
            *[torch.tensor(rng.normal(size=x.shape)) for x in own[:3]],
            torch.tensor(rng.normal(size=len(soft))).where(soft, -torch.inf),
        )
        for _ in range(20)
    ]
    for number, slope in enumerate(directions):
        most = sum(enumerate_trees(batch.problem(i, slope))[0][0] for i in range(3))
        value = sum(float((x.nan_to_num(neginf=0.0) * own).sum()) for x, own in zip(slope, mean))
        assert value <= most + 1e-8  # it is a convex combination of trees
        if number == 0:  # no tree is better under the gradient, so it is the best of them
            assert value == pytest.approx(most, abs=1e-8)


def test_torch_struct_has_the_same_values() -> None:
    struct = pytest.importorskip("torch_struct")
    scores = torch.randn((4, 7, 7), dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    theirs = scores[:, 1:, 1:].mT.clone()
    theirs[:, range(6), range(6)] = scores[:, 1:, 0]
    lengths = torch.tensor([6, 4, 5, 6])
    for projective, kind in ((True, "DependencyCRF"), (False, "NonProjectiveDependencyCRF")):
        if not projective:  # the other one takes no lengths
            lengths = torch.full((4,), 6)
        # it writes into its scores, and wants to differentiate them
        arguments = (theirs.clone().requires_grad_() * 1.0,), ((lengths,) if projective else ())
        other = getattr(struct, kind)(*arguments[0], *arguments[1], multiroot=False)
        trees = TreeLayer(projective)(scores, lengths)
        partition = other.partition.reshape(4).tolist()
        assert trees.log_partition().tolist() == pytest.approx(partition, rel=1e-5)
        marginals = trees.marginals().arcs.detach()
        marginals[:, 1:, 1:][:, range(6), range(6)] = marginals[:, 1:, 0]
        found = other.marginals.detach()
        assert marginals[:, 1:, 1:].mT.numpy() == pytest.approx(found.numpy(), abs=1e-5)


SQUARE = [[[0.0] * 3] * 3]
NAN = [[[0.0] * 3, [0.0, 0.0, float("nan")], [0.0] * 3]]


@pytest.mark.parametrize(
    ("scores", "others", "message"),
    [
        ([[0.0]], {}, r"scores is of shape \(1, 1\).*expected a tensor of 3 dimensions"),
        ([[[0, 0], [0, 0]]], {}, "torch.int64, expected .* float32 or float64"),
        ([[[0.0] * 3] * 2], {}, r"scores has shape \(1, 2, 3\), expected \[b, n \+ 1, n \+ 1\]"),
        (NAN, {}, r"scores\[0, 1, 2\] is nan, expected finite or -inf"),
        (SQUARE, {"lengths": [3]}, r"lengths\[0\] is 3, expected 1\.\.2"),
        (SQUARE, {"lengths": [1, 1]}, r"lengths has shape \(2,\).*expected 1 integers"),
        (SQUARE, {"siblings": 1}, r"siblings is int, expected \(indices, scores\)"),
        (SQUARE, {"siblings": ([[0, 1]], [1.0])}, r"siblings have shape \(1, 2\)"),
        (SQUARE, {"siblings": ([[0, 1, -1, 2]], [1.0, 2.0])}, "siblings: 1 indices, 2 scores"),
        (SQUARE, {"siblings": ([[0, 1, -1, 3]], [1.0])}, r"sentence 0 .*sib_outer\[0\] is 3"),
        (SQUARE, {"siblings": ([[1, 1, -1, 2]], [1.0])}, r"siblings\[0\]: sentence 1, expected"),
        (SQUARE, {"factors": ([(0, [(0, 1), (1, 3)])], [1.0])}, r"factors\[0\]: .*up to 2"),
    ],
)
def test_bad_input_gets_one_line(scores: Any, others: dict[str, Any], message: str) -> None:
    for name, value in others.items():
        if name != "lengths" and isinstance(value, tuple):
            others = {**others, name: (value[0], torch.tensor(value[1]))}
    with pytest.raises(ProblemError, match=message) as caught:
        TreeLayer()(torch.tensor(scores), **others)
    assert "\n" not in str(caught.value)


def test_bad_trees_and_sums_get_one_line() -> None:
    trees = TreeLayer()(torch.zeros((1, 4, 4)))
    for heads, message in [
        ([[-1, 0, 1]], r"heads has shape \(1, 3\).*expected integers \(1, 4\)"),
        ([[-1, 0, 4, 1]], r"sentence 0 of the batch: tree\[2\] is 4: no candidate arc 4 -> 2"),
        ([[-1, 0, 0, 1]], "the root has 2 modifiers"),
    ]:
        with pytest.raises(ProblemError, match=message):
            trees.hinge_loss(torch.tensor(heads))
    scores = torch.full((1, 3, 3), -torch.inf)
    for call in (TreeBatch.best, TreeBatch.log_partition):
        with pytest.raises(ProblemError, match="sentence 0 of the batch: there is no tree"):
            call(TreeLayer()(scores))
    parts = torch.tensor([[0, 1, -1, 2]]), torch.ones(1)
    with pytest.raises(ProblemError, match="cannot be computed exactly"):
        TreeLayer(projective=False)(torch.zeros((1, 3, 3)), siblings=parts).marginals()
