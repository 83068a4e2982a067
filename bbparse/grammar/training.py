"""Train all parts of a `PhraseParser` on bracketed trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from bbparse.grammar.grammar import learn_grammar
from bbparse.grammar.parser import PhraseParser
from bbparse.grammar.phrases import (
    Phrase,
    PhraseTree,
    clean,
    joins,
    read_trees,
    sentence_of,
    split,
    to_phrase,
)
from bbparse.grammar.tagger import PhraseTagger
from bbparse.grammar.words import Vocabulary
from bbparse.neural.labelling import LabelSettings
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import TreebankError
from bbparse.text.tagger_training import train_tagger
from bbparse.text.tokenizer_training import train_tokenizer
from bbparse.treebank import Sentence

#: Minimum count of joins that are learned.
COMMON = 5


def read_treebank(path: str) -> list[PhraseTree]:
    """Read clean trees; `TreebankError` if there are none, or a tree has no words."""
    trees = []
    for line, tree in read_trees(path):
        cleaned = clean(tree)
        if cleaned is None:
            raise TreebankError(f"{path}:{line}: a tree without words")
        trees.append(cleaned)
    if not trees:
        raise TreebankError(f"{path}: no trees, expected some in brackets")
    return trees


def train_phrases(
    trees: Sequence[PhraseTree],
    dev: Sequence[PhraseTree] = (),
    config: str | None = "phrases",
    *,
    tagger_settings: LabelSettings | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> PhraseParser:
    """Train a grammar, a tagger and, unless `config` is None, a dependency parser on trees."""
    phrases = [to_phrase(tree) for tree in trees]
    words = [tree.words for tree in trees]
    report("learning the grammar")
    vocabulary = Vocabulary.learn(words)
    numbers = [vocabulary.numbers(forms) for forms in words]
    refined = [to_phrase(tree) for tree in trees]
    for phrase in refined:
        split(phrase)
    grammar = learn_grammar(refined, numbers)
    report("learning the tagger")
    sentences = [_sentence(tree, phrase) for tree, phrase in zip(trees, phrases)]
    tagger = PhraseTagger(
        train_tagger(_with_joins(sentences, phrases), tagger_settings), grammar, vocabulary
    )
    parser = None
    if config is not None:
        report("learning the dependency parser")
        parser = Parser.train(sentences, [_sentence(tree, to_phrase(tree)) for tree in dev], config)
    return PhraseParser(vocabulary, grammar, tagger, train_tokenizer(sentences), parser)


def _with_joins(sentences: Sequence[Sentence], phrases: Sequence[Phrase]) -> list[Sentence]:
    """Return the sentences with joins as FEATS; ``_`` for rare ones."""
    labels = [joins(phrase) for phrase in phrases]
    count = Counter(label for row in labels for label in row)
    return [
        replace(sentence, feats=[label if count[label] >= COMMON else "_" for label in row])
        for sentence, row in zip(sentences, labels)
    ]


def _sentence(tree: PhraseTree, phrase: Phrase) -> Sentence:
    return sentence_of(tree.words, tree.tags, phrase.heads())
