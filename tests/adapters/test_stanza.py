"""Stanza's scores, from recorded arrays, and of a real model in the example."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest

from bbparse import best_tree
from bbparse.adapters import decode
from bbparse.adapters import stanza as adapter
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import ProblemError
from bbparse.treebank import read_conllu

DATA = Path(__file__).parents[1] / "data"
EXAMPLE = DATA.parents[1] / "examples" / "stanza_trees.py"
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


def test_the_example_gives_valid_trees_with_a_real_model(tmp_path: Path) -> None:
    pytest.importorskip("stanza")
    from stanza.models import parser

    small = "--hidden_dim 20 --num_layers 1 --deep_biaff_hidden_dim 20 --word_emb_dim 10"
    text = (
        f"--train_file {DATA}/small-train.conllu --eval_file {DATA}/small-dev.conllu --lang en"
        f" --shorthand en_toy --no_pretrain --no_char {small} --tag_emb_dim 10 --batch_size 300"
        " --max_steps 8 --eval_interval 8 --optim adam --lr 1e-2 --no_second_optim --cpu"
        f" --no_checkpoint --save_dir {tmp_path} --save_name toy.pt"
    )
    parser.train(parser.parse_args(text.split()))
    parse = run_path(str(EXAMPLE))["parse"]
    model, dev = str(tmp_path / "toy.pt"), f"{DATA}/small-dev.conllu"
    free, valid = [*parse(model, dev, None)], [*parse(model, dev, "ud")]
    rules = Rules.load("ud").binding
    assert len(free) == len(valid) == len([*read_conllu(dev)])
    assert any(map(rules.faults, free)) and not any(map(rules.faults, valid))
