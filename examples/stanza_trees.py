"""Parse a treebank with the scores of a Stanza model: exact trees under validity rules.

    python examples/stanza_trees.py PARSER.pt IN.conllu OUT.conllu --valid ud

Takes a graph-based parser of Stanza 1.14 or 1.15 (``depparse``) that needs no pretrained vectors;
tags are those of IN. Stanza's own decoder finds the best arborescence over the arcs, then repairs
words with two subjects or objects greedily. Here the tree has the largest sum of arc and label
log-probabilities of all trees that keep the rules.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import torch
from stanza.models.common.utils import unsort
from stanza.models.depparse.data import DataLoader
from stanza.models.depparse.trainer import Trainer, unpack_batch
from stanza.utils.conll import CoNLL

from bbparse import Sentence, read_conllu
from bbparse.adapters import SentenceScores, decode
from bbparse.adapters import stanza as stanza_scores
from bbparse.treebank import write_conllu
from bbparse.treebank.writing import with_tree


def scores_of(model: str, treebank: str) -> list[SentenceScores]:
    """Return the scores of each sentence, in the order of the treebank."""
    trainer = Trainer.load(model, pretrain=None, device="cpu")
    trainer.model.eval()
    batches = DataLoader(
        CoNLL.conll2doc(treebank),
        1000,
        trainer.args,
        None,
        vocab=trainer.vocab,
        evaluation=True,
        sort_during_eval=True,
    )
    scores = []
    with torch.no_grad():
        for batch in batches:
            inputs, order, word_order, lengths, word_lengths, text = unpack_batch(batch, "cpu")
            _, preds = trainer.model(*inputs, word_order, lengths, word_lengths, text)
            scores += unsort(stanza_scores.scores(preds, lengths, trainer.vocab["deprel"]), order)
    return unsort(scores, batches.data_orig_idx)


def parse(model: str, treebank: str, valid: str | None) -> Iterator[Sentence]:
    """Yield the sentences of a treebank with the best trees."""
    for sentence, scores in zip(read_conllu(treebank), scores_of(model, treebank)):
        tree, *_ = decode(scores, sentence, valid=valid, projective=False)
        yield with_tree(sentence, tree.heads, tree.labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("treebank")
    parser.add_argument("output")
    parser.add_argument("--valid", help="ud, or a TOML file of rules; default: all trees")
    args = parser.parse_args()
    write_conllu(args.output, parse(args.model, args.treebank, args.valid))


if __name__ == "__main__":
    main()
