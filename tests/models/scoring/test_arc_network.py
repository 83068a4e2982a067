"""The network of a parser against plain numpy: scores, candidates, problems, labels."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbparse.core.parts import PART_NAMES
from bbparse.core.proof import digest
from bbparse.models.scoring.arc_network import ArcNetwork, NetworkScores
from bbparse.models.scoring.candidates import LONG, REACH
from bbparse.models.scoring.labels import best_labels
from bbparse.models.scoring.linear import QUANTUM
from bbparse.models.scoring.problem_maker import ProblemMaker
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from tests import toy
from tests.models.scoring.networks import LABELS, Plain, random_network, random_sentence
from tests.models.scoring.reference import candidate_parts
from tests.strategies import random_tree

Arrays = dict[str, np.ndarray]
CASES = st.tuples(st.integers(0, 10**6), st.sampled_from(["", "c", "rc", "rcr"]))


def random_vectors(
    rng: np.random.Generator, sentences: Sequence[Sentence], width: int
) -> list[np.ndarray] | None:
    if not width:
        return None
    return [rng.normal(size=(s.n_words, width)).astype(np.float32) for s in sentences]


def scores_of(
    network: ArcNetwork, sentences: Sequence[Sentence], outside: Sequence[np.ndarray] | None = None
) -> list[NetworkScores]:
    return network(sentences, outside).sentences()


def all_arcs(n: int) -> tuple[np.ndarray, np.ndarray]:
    head, mod = np.nonzero(~np.eye(n + 1, dtype=bool) & (np.arange(n + 1) > 0))
    return head.astype(np.int32), mod.astype(np.int32)


def everything(scores: NetworkScores) -> Arrays:
    """All that the network says of a sentence."""
    arcs = all_arcs(len(scores.scores) - 1)
    fields = scores.fields(*arcs, True, True)
    table = dict(zip(("words", "part_score", "kind_ptr"), fields.pop("part_table")))
    return {
        **fields,
        **table,
        "scores": scores.scores,
        "labels": scores.label_scores(*arcs),
        "odds": scores.log_probabilities(*arcs),
    }


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(a, other[k]) for k, a in one.items())


def test_tables_of_parts_are_those_that_problems_make() -> None:
    rng = np.random.default_rng(4)
    sentences = [random_sentence(rng, n) for n in (1, 2, 7, 11)]
    for scored in maker_of(random_network(rng, sentences))(sentences):
        given = scored.problem.part_table
        own = scored.problem.changed().part_table
        assert own is not given
        for one, other in zip(given, own, strict=True):
            assert np.array_equal(one, other) and one.dtype == other.dtype
            assert one.flags.c_contiguous


def test_a_sentence_has_the_same_problem_in_any_batch() -> None:
    rng = np.random.default_rng(6)
    sentences = [random_sentence(rng, n) for n in (3, 1, 6)]
    maker = maker_of(random_network(rng, sentences))
    for sentence, scored in zip(sentences, maker(sentences)):
        (alone,) = maker([sentence])
        assert digest(alone.problem) == digest(scored.problem)


def close(found: np.ndarray, expected: Any) -> bool:
    return np.allclose(found, expected, rtol=1e-3, atol=2e-3)


def maker_of(network: ArcNetwork, **pruner: Any) -> ProblemMaker:
    config = toy.network_configuration()
    return ProblemMaker(config.with_("pruner", **pruner) if pruner else config, network)


@settings(max_examples=30)
@given(CASES, st.sampled_from([0, 12]))
def test_all_scores_are_as_defined(case: tuple[int, str], width: int) -> None:
    rng = np.random.default_rng(case[0])
    sizes = rng.integers(1, 9, 3) if rng.random() < 0.9 else [40, 3]
    sentences = [random_sentence(rng, n) for n in sizes]
    network = random_network(rng, sentences, case[1], embeddings=width)
    outside = random_vectors(rng, sentences, width)
    for i, found in enumerate(scores_of(network, sentences, outside)):
        n = sentences[i].n_words
        plain = Plain(network, sentences[i], None if outside is None else outside[i])
        expected = plain.arcs()
        assert close(found.scores, expected) and found.scores.shape == (n + 1, n + 1)
        arcs = all_arcs(n)
        totals = np.logaddexp.reduce(expected[:, 1:], axis=0)
        assert close(found.log_probabilities(*arcs), expected[arcs] - totals[arcs[1] - 1])
        labels = [plain.labels(h, m) for h, m in zip(*arcs)]
        assert close(found.label_scores(*arcs), labels)
        some = rng.random(len(arcs[0])) < (0.7 if n < 10 else 0.05)
        head, mod = arcs[0][some], arcs[1][some]
        projective = bool(rng.integers(2))
        fields = found.fields(head, mod, projective, True)
        assert fields.keys() == {"arc_score", "part_table", *PART_NAMES["sib"], *PART_NAMES["gc"]}
        assert close(fields["arc_score"], expected[head, mod] - totals[mod - 1])
        parts = candidate_parts(n, set(zip(head.tolist(), mod.tolist())), projective, True)
        for kind, name, third in (("sib", "sibling", "s"), ("gc", "grandchild", "g")):
            *words, scores = (fields[field] for field in PART_NAMES[kind])
            order = ("h", "s", "m") if kind == "sib" else ("g", "h", "m")
            assert list(zip(*(column.tolist() for column in words))) == [
                tuple(part[role] for role in order) for part in parts[name]
            ]
            assert close(scores, [plain.part(kind, p["h"], p[third], p["m"]) for p in parts[name]])
            assert np.array_equal(np.rint(scores / QUANTUM) * QUANTUM, scores)


@pytest.mark.parametrize("width", [0, 12])
def test_what_is_in_a_batch_changes_no_bit(width: int) -> None:
    rng = np.random.default_rng(5)
    sentences = [random_sentence(rng, n) for n in (3, 1, 12, 70, 2, 9, 33)]
    network = random_network(rng, sentences, "rcr", embeddings=width)
    outside = random_vectors(rng, sentences, width)
    alone = [
        everything(*scores_of(network, [s], None if outside is None else [outside[i]]))
        for i, s in enumerate(sentences)
    ]
    for _ in range(4):
        order = rng.permutation(len(sentences))[: rng.integers(2, 8)].tolist()
        own = None if outside is None else [outside[i] for i in order]
        found = scores_of(network, [sentences[i] for i in order], own)
        assert all(same(everything(one), alone[i]) for one, i in zip(found, order))
    with ThreadPoolExecutor(4) as pool:
        many = pool.map(lambda _: scores_of(network, sentences, outside), range(8))
        for found in many:
            assert all(same(everything(one), other) for one, other in zip(found, alone))


def network_of_members(
    rng: np.random.Generator, sentences: Sequence[Sentence], count: int, **options: Any
) -> ArcNetwork:
    """Networks with the keys of the first, whose weights and vectors are random."""
    first = random_network(rng, sentences, **options)
    others = []
    for _ in range(count - 1):
        other = random_network(rng, sentences, **options)
        vectors = rng.integers(-60, 60, first.vectors.shape).astype(np.int8)
        others.append(
            ArcNetwork(
                first.labels,
                first.kinds,
                first.sizes,
                first.keys,
                vectors,
                other.weights.values,
                first.root,
            )
        )
    return first.with_others(others)


@pytest.mark.parametrize(("count", "n", "width"), [(2, 9, 0), (3, 5, 12), (2, LONG + 40, 0)])
def test_scores_are_means_of_those_of_all_members(count: int, n: int, width: int) -> None:
    rng = np.random.default_rng(n)
    sentence = random_sentence(rng, n)
    network = network_of_members(rng, [sentence], count, embeddings=width)
    assert len(network.members) == count
    given = random_vectors(rng, [sentence], width)
    together = scores_of(network, [sentence], given)[0]
    alone = [
        scores_of(member if i else member.with_others(()), [sentence], given)[0]
        for i, member in enumerate(network.members)
    ]
    mod = np.arange(1, n + 1, dtype=np.int32)
    head = np.where(mod > 1, mod - 1, 0).astype(np.int32)
    head[-1] = 1 if n > 2 else 0  # a long arc
    order = np.lexsort((mod, head))
    arcs = head[order], mod[order]
    fields = [one.fields(*arcs, True, True) for one in (together, *alone)]
    for one, own in zip((together, *alone), fields):
        own["arc_score"] = own["arc_score"] + one.totals[arcs[1]]
    for name in fields[0].keys() - {"part_table"}:
        mean = np.mean([own[name] for own in fields[1:]], axis=0)
        assert np.allclose(fields[0][name], mean, rtol=1e-6, atol=2 * QUANTUM), name
    assert np.isfinite(fields[0]["arc_score"]).all()
    labels = np.mean([one.label_scores(*arcs) for one in alone], axis=0)
    assert np.allclose(together.label_scores(*arcs), labels, rtol=1e-5, atol=1e-5)
    (scored,) = maker_of(network)([sentence]) if not width else (None,)
    if scored is not None:
        heads = np.append(np.int32(-1), head)
        found = together.label_scores(head, mod).argmax(axis=1)
        assert np.array_equal(network.tree_scores(scored, heads).argmax(axis=1), found)


@pytest.mark.parametrize("n", [LONG, LONG + 1])
def test_long_sentences_have_fewer_candidates_and_a_tree(n: int) -> None:
    rng = np.random.default_rng(n)
    sentences = [random_sentence(rng, n)]
    network = random_network(rng, sentences)
    maker = maker_of(network, k=20, margin=1000.0)
    (scored,) = maker(sentences)
    p = scored.problem
    heads = np.bincount(p.arc_mod, minlength=n + 1)[1:]
    assert heads.min() >= 1
    assert heads.max() <= (20 if n <= LONG else 3000 // n) + 1
    for kind in ("arc", "sib", "gc"):
        assert np.isfinite(getattr(p, f"{kind}_score")).all()
    if n > LONG:
        likely = np.abs(p.arc_head - p.arc_mod)[p.arc_head > 0]
        assert (likely > REACH).sum() < n / 50  # those of the tree only
    # arcs that are asked for are there, however long
    far = {n: 1, 1: n - 1}
    (scored,) = maker(sentences, given=[far])
    p, plain = scored.problem, Plain(network, sentences[0])
    for m, h in far.items():
        (place,) = np.flatnonzero((p.arc_head == h) & (p.arc_mod == m))
        assert scored.scores is not None
        assert close(p.arc_score[place] + scored.scores.totals[m], plain.arc(h, m))


@pytest.mark.parametrize("root", [-1, 0, 3])
def test_labels_of_trees_follow_the_rule_about_the_root(root: int) -> None:
    rng = np.random.default_rng(9)
    sentences = [random_sentence(rng, n) for n in (1, 2, 6, 9, 12)]
    network = random_network(rng, sentences, root=root)
    for sentence, scored in zip(sentences, maker_of(network)(sentences)):
        plain = Plain(network, sentence)
        for _ in range(4):
            heads = np.array([-1, *random_tree(rng, sentence.n_words, projective=True)[1:]])
            heads = heads.astype(np.int32)  # arcs that are no candidates among them
            expected = np.array([plain.labels(int(h), m) for m, h in enumerate(heads) if m])
            if root >= 0:
                expected[np.equal.outer(heads[1:] == 0, np.arange(4) != root)] = -np.inf
            found = network.tree_scores(scored, heads)
            assert found.dtype == np.float64 and close(found, expected)
            names = best_labels(network.labels, found)
            assert names == [LABELS[i] for i in found.argmax(axis=1)]
            if root >= 0:
                assert [name == LABELS[root] for name in names] == (heads[1:] == 0).tolist()
            candidates = scored.problem.arc_head, scored.problem.arc_mod
            alone = replace(maker_of(network)).over_arcs(sentence, encode(sentence), *candidates)
            assert np.array_equal(network.tree_scores(alone, heads), found)


def test_families_see_the_best_label_of_each_arc() -> None:
    rng = np.random.default_rng(10)
    sentence = random_sentence(rng, 8)
    arcs = all_arcs(8)
    for labels in (LABELS, ()):
        network = random_network(rng, [sentence], labels=labels)
        maker = maker_of(network)
        view = maker.view_of(maker.over_arcs(sentence, encode(sentence), *arcs))
        assert view.label_names == labels
        expected = np.zeros(len(arcs[0]), int)
        if labels:
            (scores,) = scores_of(network, [sentence])
            expected = 1 + scores.label_scores(*arcs).argmax(axis=1)
        assert view.arc_labels.tolist() == expected.tolist()
        (scored,) = maker_of(network)([sentence])  # problems are made without labels, too
        assert len(scored.problem.arc_head) >= 8
