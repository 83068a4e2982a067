"""Stanza's scores, from recorded arrays; and a pipeline of the real one, where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse import best_tree
from bbparse.adapters import decode
from bbparse.adapters import stanza as adapter
from bbparse.adapters.switch import sentence_of
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import BBParseError, ProblemError

DATA = Path(__file__).parents[1] / "data"
PREFIX = ["<PAD>", "<UNK>", "<EMPTY>", "<ROOT>"]


class Vocab:
    """A vocabulary as Stanza has it: four units that are no labels come first."""

    units = (*PREFIX, "root", "nsubj", "obj")

    def __len__(self) -> int:
        return len(self.units)

    def unmap(self, ids: Any) -> list[str]:
        return [self.units[i] for i in ids]


def recorded(seed: int = 0) -> tuple[list[Any], list[int]]:
    """Predictions of a batch of two sentences, of 4 and 2 words, in float32."""
    rng = np.random.default_rng(seed)
    arcs = rng.normal(size=(2, 5, 5)).astype(np.float32)
    arcs[:, range(5), range(5)] = -np.inf
    labels = rng.normal(size=(2, 5, 5, 3)).astype(np.float32)
    return [arcs, labels.argmax(-1) + 4, labels], [5, 3]


def test_predictions_are_taken_apart() -> None:
    preds, sentlens = recorded()
    long, short = adapter.scores(preds, sentlens, Vocab())
    assert (long.n_words, short.n_words) == (4, 2)
    assert tuple(long.names) == ("root", "nsubj", "obj")
    (tree,) = decode(short, projective=False, joint=False)
    assert list(tree.heads) == best_tree(preds[0][1, :3, :3], projective=False)[1:].tolist()
    numbers = [Vocab.units.index(label) for label in tree.labels]
    assert numbers == [preds[1][1, d, h] for d, h in enumerate(tree.heads, start=1)]


def test_bad_predictions_get_a_line() -> None:
    preds, sentlens = recorded()
    with pytest.raises(ProblemError, match=r"preds has 2 arrays, expected .*before 1.14\?"):
        adapter.scores(preds[:2], sentlens, Vocab())
    for scores, lengths, vocab, message in (
        (np.zeros((4, 5, 5, 3)), sentlens, Vocab(), r"labels has shape .*, and arcs \(2, 5, 5\)"),
        (np.zeros((2, 5, 5, 9)), sentlens, Vocab(), "3 of them labels, and .* of 9, expected"),
        (np.zeros((2, 5, 5, 2)), sentlens, Vocab(), "3 of them labels, and .* of 2, expected"),
        (None, sentlens, Vocab(), r"preds\[2\] has shape \(\)"),
        (preds[2], sentlens, None, "a label of vocab is of type NoneType, expected str"),
        (preds[2], 5, Vocab(), r"sentlens has shape \(\)"),
        (preds[2], ["5", "3"], Vocab(), "sentlens has shape .* expected real numbers"),
    ):
        with pytest.raises(ProblemError, match=message):
            adapter.scores([preds[0], preds[1], scores], lengths, vocab)
    with pytest.raises(ProblemError, match="preds is of type NoneType, expected a list"):
        adapter.scores(None, sentlens, Vocab())  # type: ignore[arg-type]


# ---- the real Stanza -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nlp(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A pipeline with a parser that was trained for a few steps."""
    stanza = pytest.importorskip("stanza")
    from stanza.models import parser

    folder = tmp_path_factory.mktemp("stanza")
    small = "--hidden_dim 20 --num_layers 1 --deep_biaff_hidden_dim 20 --word_emb_dim 10"
    text = (
        f"--train_file {DATA}/small-train.conllu --eval_file {DATA}/small-dev.conllu --lang en"
        f" --shorthand en_toy --no_pretrain --no_char {small} --tag_emb_dim 10 --batch_size 300"
        " --max_steps 8 --eval_interval 8 --optim adam --lr 1e-2 --no_second_optim --cpu"
        f" --no_checkpoint --save_dir {folder} --save_name toy.pt"
    )
    parser.train(parser.parse_args(text.split()))
    (folder / "resources.json").write_text('{"en": {"lang_name": "English", "packages": {}}}')
    return stanza.Pipeline(
        "en", processors="depparse", depparse_pretagged=True, dir=str(folder), download_method=None,
        depparse_model_path=str(folder / "toy.pt"), use_gpu=False, verbose=False,
    )  # fmt: skip


def parsed(nlp: Any) -> Any:
    conll = pytest.importorskip("stanza.utils.conll")
    document = conll.CoNLL.conll2doc(f"{DATA}/small-dev.conllu")
    for word in document.iter_words():
        word.head = word.deprel = None
    return nlp(document)


def trees_of(document: Any) -> list[Any]:
    return [[(word.head, word.deprel) for word in s.words] for s in document.sentences]


def test_it_decodes_in_the_pipeline_and_back(nlp: Any) -> None:
    before = trees_of(parsed(nlp))
    switch = adapter.install(nlp, valid=None, joint=False)
    plain = parsed(nlp)
    # Stanza's own tree is the best one under the arcs: only ties may differ
    for own, sentence in zip(before, plain.sentences):
        (tree,) = sentence.bbparse_trees
        assert tree.proved and [*zip(tree.heads, tree.labels)] == trees_of(plain)[sentence.index]
        assert len(own) == len(tree.heads)
    assert sum(own == new for own, new in zip(before, trees_of(plain))) > 0.8 * len(before)
    with pytest.raises(ProblemError, match="decodes with bbparse already"):
        adapter.install(nlp)
    switch.uninstall()
    adapter.uninstall(nlp)
    assert trees_of(parsed(nlp)) == before
    assert not hasattr(parsed(nlp).sentences[0], "bbparse_trees")


def test_trees_in_the_pipeline_are_valid(nlp: Any) -> None:
    rules = Rules.load("ud").binding
    assert any(rules.faults(sentence_of(f"{s:C}\n\n")) for s in parsed(nlp).sentences)
    with adapter.install(nlp, valid="ud", k_best=2):
        document = parsed(nlp)
    for sentence in document.sentences:
        found = rules.faults(sentence_of(f"{sentence:C}\n\n"))
        first, *_ = sentence.bbparse_trees
        assert bool(found) == bool(first.broken)   # the rules are kept, or no tree keeps them
        assert len(sentence.bbparse_trees) == 2 or len(sentence.words) == 1 or first.broken


def test_what_is_no_pipeline_gets_a_line(nlp: Any) -> None:
    with pytest.raises(ProblemError, match="depparse of the pipeline is NoneType, expected Graph"):
        adapter.install(object())
    with pytest.raises(BBParseError, match="no rules 'nothing'"):
        adapter.install(nlp, valid="nothing")
    adapter.install(nlp).uninstall()   # nothing is left of the failures
