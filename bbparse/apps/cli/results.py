"""Accuracy of a model on a treebank: on its words and tags, on its words alone, on its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bbparse.apps.cli.common import aligned
from bbparse.models.model import Model
from bbparse.parser.parser import Parser
from bbparse.text import sentences_of_text
from bbparse.text.raw import plain_text
from bbparse.treebank import Sentence
from bbparse.treebank.alignment import evaluate_text

_SHOWN = {
    "sentences": "sentences", "tokens": "tokens", "words": "words", "upos": "UPOS",
    "xpos": "XPOS", "ufeats": "FEATS", "lemmas": "lemmas", "uas": "UAS", "las": "LAS",
    "mlas": "MLAS",
}  # fmt: skip


#: Title of a row, by its key in a card: what of the treebank was given.
_TITLES = {
    "its words and tags": "gold tags", "its words": "gold words", "its text": "from text"
}  # fmt: skip

#: Rows of F1 in percent: input → measure → value.
Results = dict[str, dict[str, float]]


def results(model: Model, dev: Sequence[Sentence]) -> Results:
    """Measure F1 in percent on a treebank with trees, by the official scorer's measures."""
    parser = Parser(model)
    scores_of: Results = {}

    def add(title: str, sentences: Iterable[Sentence]) -> None:
        parsed = [
            replace(parse.sentence, heads=list(parse.trees[0].heads),
                    deprels=list(parse.trees[0].labels) or ["_"] * parse.sentence.n_words)
            for parse in parser.parse_all(sentences)
        ]  # fmt: skip
        scores = evaluate_text(dev, parsed)
        scores_of[title] = {name: round(100 * scores[name].f1, 2) for name in _SHOWN}

    whole, words, text = _TITLES
    add(whole, dev)
    if model.tagger is not None:
        add(words, model.tagger.tag(dev))
    if model.tokenizer is not None and model.takes_words:
        add(text, parser.tag(sentences_of_text(plain_text(dev), model.tokenizer)))
    return scores_of


def table(found: Results) -> str:
    """Format results as a table."""
    rows = [["dev, %", *_SHOWN.values()]]
    rows += [
        [title, *(f"{found[key][name]:.2f}" for name in _SHOWN)]
        for key, title in _TITLES.items()
        if key in found
    ]
    return aligned(rows, left=[0])
