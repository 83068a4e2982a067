"""Parse a treebank with the scores of a SuPar model: exact trees, siblings included.

    python examples/supar_trees.py MODEL IN.conllu OUT.conllu --valid ud

Takes a biaffine, crf or crf2o dependency parser of SuPar 1.1.4; tags are those of IN. SuPar's own
decoder accepts the argmax of each word if that is a tree, even if the scores of siblings prefer
another one. Here the tree is the best under all scores of the model.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

torch.load = partial(torch.load, weights_only=False)  # SuPar's files hold more than tensors

import supar  # noqa: E402
from supar.utils import Dataset  # noqa: E402

from bbparse import Sentence, read_conllu  # noqa: E402
from bbparse.adapters import SentenceScores, decode  # noqa: E402
from bbparse.adapters import supar as supar_scores  # noqa: E402
from bbparse.treebank import write_conllu  # noqa: E402
from bbparse.treebank.writing import with_tree  # noqa: E402


def scores_of(parser: Any, treebank: str) -> list[SentenceScores]:
    """Return the scores of each sentence, in the order of the treebank."""
    parser.transform.eval()
    parser.model.eval()
    dataset = Dataset(parser.transform, treebank)
    dataset.build(1000, 8)
    scores: dict[int, SentenceScores] = {}
    with torch.no_grad():
        for batch in dataset.loader:
            words, _, *features = batch
            mask = words.ne(parser.args.pad_index)
            mask[:, 0] = False
            s_arc, *s_sib, s_rel = parser.model(words, features)
            found = supar_scores.scores(s_arc, s_rel, mask, parser.REL.vocab, *s_sib)
            scores.update(zip(map(id, batch.sentences), found))
    return [scores[id(sentence)] for sentence in dataset.sentences]


def parse(parser: Any, treebank: str, valid: str | None = None) -> Iterator[Sentence]:
    """Yield the sentences of a treebank with the best projective trees."""
    for sentence, scores in zip(read_conllu(treebank), scores_of(parser, treebank)):
        tree, *_ = decode(scores, sentence, valid=valid)
        yield with_tree(sentence, tree.heads, tree.labels)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("model")
    arguments.add_argument("treebank")
    arguments.add_argument("output")
    arguments.add_argument("--valid", help="ud, or a TOML file of rules; default: all trees")
    args = arguments.parse_args()
    parser = supar.Parser.load(args.model)
    write_conllu(args.output, parse(parser, args.treebank, args.valid))


if __name__ == "__main__":
    main()
