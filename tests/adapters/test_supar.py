"""SuPar's scores, from recorded arrays; and parsers of the real SuPar, where it is installed."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bbparse.adapters import decode, diaparser, hanlp
from bbparse.adapters import supar as adapter
from bbparse.runtime.errors import ProblemError
from tests.oracles.enumerate import is_projective, is_tree

DATA = Path(__file__).parents[1] / "data"
LABELS = ["<bos>", "root", "nsubj", "obj"]


class Vocab:
    itos = LABELS


def recorded(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Scores of a batch of two sentences, of 4 and 2 words: arcs, labels, mask, siblings."""
    rng = np.random.default_rng(seed)
    mask = np.array([[False, True, True, True, True], [False, True, True, False, False]])
    arcs = rng.normal(size=(2, 5, 5)).astype(np.float32)
    arcs[1, :, 3:] = -1e32
    labels = rng.normal(size=(2, 5, 5, 4)).astype(np.float32)
    return arcs, labels, mask, rng.normal(size=(2, 5, 5, 5)).astype(np.float32)


def tree_score(arcs: Any, siblings: Any, heads: Any) -> float:
    """Score of a tree as SuPar's `Dependency2oCRF.score` defines it; heads of words 1 to n."""
    total = 0.0
    for d, h in enumerate(heads, start=1):
        total += arcs[d, h]
        between = [s for s, x in enumerate(heads, start=1) if x == h and min(d, h) < s < max(d, h)]
        if between:
            total += siblings[d, h, max(between) if h < d else min(between)]
    return float(total)


def best_of(arcs: Any, siblings: Any) -> float:
    """Score of the best projective tree with one root."""
    n = len(arcs) - 1
    trees = (h for h in product(range(n + 1), repeat=n) if h.count(0) == 1)
    return max(
        tree_score(arcs, siblings, heads)
        for heads in trees if is_tree([-1, *heads]) and is_projective([-1, *heads])
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_siblings_are_those_of_the_second_order_model(seed: int) -> None:
    arcs, labels, mask, siblings = recorded(seed)
    long, short = adapter.scores(arcs, labels, mask, Vocab, siblings)
    for one, arc, sib, n in ((long, arcs[0], siblings[0], 4), (short, arcs[1], siblings[1], 2)):
        (tree,) = decode(one, joint=False)
        expected = best_of(arc[: n + 1, : n + 1], sib)
        assert tree.proved and tree.score == pytest.approx(expected)
        assert tree_score(arc, sib, tree.heads) == pytest.approx(expected)
        assert "<bos>" not in tree.labels and "" not in tree.labels


def test_other_parsers_have_the_same_shapes() -> None:
    arcs, labels, mask, _ = recorded()
    masked = arcs.copy()
    masked[1, :, 3:] = -np.inf           # DiaParser masks padding and loops so
    masked[:, range(5), range(5)] = -np.inf
    expected = [decode(one)[0].heads for one in adapter.scores(arcs, labels, mask, LABELS)]
    found = diaparser.scores(masked, labels, mask, Vocab)
    assert [decode(one)[0].heads for one in found] == expected

    class TokenVocab:
        idx_to_token = LABELS

    found = hanlp.scores(arcs, labels, mask, TokenVocab())
    assert [decode(one)[0].heads for one in found] == expected


def test_bad_masks_get_a_line() -> None:
    arcs, labels, mask, _ = recorded()
    for wrong, message in (
        (mask[0], r"mask has shape \(5,\) and dtype bool, expected bool \(2, 5\)"),
        (mask[:, :4], r"mask has shape \(2, 4\), expected bool \(2, 5\)"),
        (mask[:1], r"mask has shape \(1, 5\), expected bool \(2, 5\)"),
        ([[False, True], [False]], r"mask is a builtins.list that numpy cannot read"),
        (~mask, "False for the root in column 0"),
        (mask.astype(int), "dtype int64"),
        (mask[:, ::-1], "False for the root in column 0"),
        (np.array([[False, True, False, True, True]] * 2), r"mask \(2, 5\) has gaps"),
    ):
        with pytest.raises(ProblemError, match=message):
            adapter.scores(arcs, labels, wrong, Vocab)
    with pytest.raises(ProblemError, match=r"shape \(5, 5, 4\), expected \(5, 5, 2\)"):
        adapter.scores(arcs, labels, mask, LABELS[:2])
    for vocab in (None, [1, 2, 3, 4], TypeError("no vocabulary")):
        with pytest.raises(ProblemError, match=r"a label of vocab is of type \w+, expected str"):
            adapter.scores(arcs, labels, mask, vocab)


# ---- a parser in the shape of SuPar's ------------------------------------------------------------


class Tensor(np.ndarray):
    """What the adapter asks of a tensor."""

    def new_zeros(self, shape: Any) -> Any:
        return np.zeros(shape, self.dtype).view(Tensor)

    def new_tensor(self, values: Any) -> Any:
        return np.asarray(values).view(Tensor)

    def long(self) -> Any:
        return self.astype(np.int64)

    def clone(self) -> Any:
        return self.copy()


class BiaffineDependencyModel:
    """A model whose hooks see what it gives."""

    training = False

    def __init__(self) -> None:
        self.hooks: dict[int, Any] = {}

    def register_forward_hook(self, hook: Any) -> Any:
        self.hooks[0] = hook
        return SimpleNamespace(remove=self.hooks.clear)

    def __call__(self, output: Any) -> Any:
        for hook in self.hooks.values():
            hook(self, (), output)
        return output

    def decode(self, s_arc: Any, s_rel: Any, mask: Any, tree: bool, proj: bool) -> Any:
        return s_arc.argmax(-1), None


class AnyParser:
    def __init__(self) -> None:
        self.model, self.REL = BiaffineDependencyModel(), SimpleNamespace(vocab=Vocab)

    def decoded(self, batch: Any) -> Any:
        s_arc, s_rel = self.model(batch.output)
        batch.arcs, batch.rels = self.model.decode(s_arc, s_rel, batch.mask, False, True)
        return batch


class ParserOfBatches(AnyParser):
    """As on the main branch of SuPar."""

    pred_step = eval_step = AnyParser.decoded


class ParserOfLoaders(AnyParser):
    """As in SuPar 1.1.4."""

    def _predict(self, loader: Any) -> Any:
        return [self.decoded(batch) for batch in loader][-1]

    _evaluate = _predict


@pytest.mark.parametrize("kind", [ParserOfBatches, ParserOfLoaders])
@pytest.mark.parametrize("is_for_prediction", [True, False])
def test_parsers_that_take_batches_or_loaders_are_switched_over(
    kind: Any, is_for_prediction: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "check_version", lambda *_: "")
    arcs, labels, mask, _ = recorded()
    batch = SimpleNamespace(
        output=(arcs, labels), mask=mask.view(Tensor),
        sentences=[SimpleNamespace(), SimpleNamespace()],
    )  # fmt: skip
    parser = kind()

    def run() -> Any:
        if kind is ParserOfBatches:
            return (parser.pred_step if is_for_prediction else parser.eval_step)(batch)
        return (parser._predict if is_for_prediction else parser._evaluate)([batch])

    own = run().arcs
    with adapter.install(parser, k_best=2):
        found = run()
        for i, sentence in enumerate(batch.sentences):
            first, second = sentence.bbparse_trees
            expected = decode(adapter.scores(arcs, labels, mask, LABELS)[i], joint=False)[0]
            assert (first.heads, first.labels) == (expected.heads, expected.labels)
            assert first.score > second.score
            assert found.arcs[i][mask[i]].tolist() == [*first.heads]
            assert [LABELS[r] for r in found.rels[i][mask[i]]] == [*first.labels]
    assert (run().arcs == own).all() and not parser.model.hooks


def test_what_is_another_supar_gets_a_line_and_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapter, "check_version", lambda *_: "")
    parser = SimpleNamespace(model=BiaffineDependencyModel())
    with pytest.raises(ProblemError, match="SimpleNamespace has no methods _predict and _evaluate"):
        adapter.install(parser)
    assert not parser.model.hooks and [*vars(parser)] == ["model"]


# ---- the real SuPar ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["Biaffine", "CRF", "CRF2o"])
def parser(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A parser with random weights: its scores are what they are."""
    torch = pytest.importorskip("torch")
    dep = pytest.importorskip("supar.parsers.dep")
    torch.manual_seed(1)
    path = tmp_path_factory.mktemp("supar") / "model"
    sizes = {"n_embed": 8, "n_pretrained": 8, "n_feat_embed": 8, "n_lstm_hidden": 8,
             "n_lstm_layers": 1, "n_arc_mlp": 8, "n_sib_mlp": 8, "n_rel_mlp": 8}  # fmt: skip
    built = getattr(dep, f"{request.param}DependencyParser").build(
        str(path), min_freq=1, train=f"{DATA}/small-train.conllu", encoder="lstm", feat=["tag"],
        embed=None, unk="unk", build=True, mbr=False, **sizes,
    )  # fmt: skip
    for weights in built.model.parameters():
        weights.data.normal_(0, 0.6)
    return built


def parsed(parser: Any, proj: bool = True) -> Any:
    options = {"mbr": False} if parser.NAME != "biaffine-dependency" else {}
    return parser.predict(f"{DATA}/small-dev.conllu", proj=proj, verbose=False, **options)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("proj", [True, False])
def test_it_decodes_in_the_parser_and_back(parser: Any, proj: bool) -> None:
    before = parsed(parser, proj)
    own = [list(sentence.arcs) for sentence in before.sentences]
    outputs: list[Any] = []
    handle = parser.model.register_forward_hook(lambda *step: outputs.append(step[-1]))
    with adapter.install(parser, k_best=2):
        after = parsed(parser, proj)
    handle.remove()
    better = 0
    if proj and len(outputs) == 1:      # the order of the batch is that of its sentences
        arcs = outputs[0][0].double().numpy()
        siblings = outputs[0][1].double().numpy() if len(outputs[0]) == 3 else np.zeros((1,) * 4)
        siblings = np.broadcast_to(siblings, (len(arcs), *arcs.shape[1:], arcs.shape[-1]))
    for i, (sentence, heads) in enumerate(zip(after.sentences, own)):
        first, *_ = sentence.bbparse_trees
        assert first.proved and list(first.heads) == list(sentence.arcs)
        assert list(first.labels) == list(sentence.rels)
        if proj and len(outputs) == 1:
            theirs = tree_score(arcs[i], siblings[i], heads)
            assert first.score >= theirs - 1e-3
            better += first.score > theirs + 1e-3
    # Eisner's algorithm is exact; the argmax of arcs is not, where siblings have scores
    assert not better or parser.NAME == "crf2o-dependency"
    assert [list(sentence.arcs) for sentence in parsed(parser, proj).sentences] == own


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_rules_are_kept_in_the_parser(parser: Any) -> None:
    with adapter.install(parser, valid="ud"):
        document = parsed(parser)
    assert all(s.bbparse_trees[0].proved for s in document.sentences)
    assert sum(not s.bbparse_trees[0].broken for s in document.sentences) > 0
    with pytest.raises(ProblemError, match="model is a NoneType, expected Biaffine"):
        adapter.install(object())
