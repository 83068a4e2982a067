"""Attachment scores of predicted trees against gold trees.

Where a measure has a definition in the CoNLL 2018 shared task (Zeman et al. 2018, §3), it is that
one: UAS, LAS without subtypes of labels, and CLAS agree with the official scorer on gold words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest

from bbparse.errors import TreebankError
from bbparse.treebank.sentence import Sentence

__all__ = ["Scores", "Tally", "evaluate"]

# Labels of words that CLAS leaves out: function words and punctuation.
_NOT_CONTENT = frozenset({"aux", "cop", "mark", "det", "clf", "case", "cc", "punct"})
_PUNCTUATION = "PUNCT"


@dataclass(frozen=True, slots=True)
class Scores:
    """Shares from 0 to 1; a share of nothing is 0.

    Attributes
    ----------
    sentences, words, words_no_punct : int
        What was compared; the last leaves out words whose gold UPOS is PUNCT.
    uas : float
        Words with the right head.
    las : float
        Words with the right head and the right full label.
    las_universal : float
        Words with the right head and the right label up to its colon.
    uas_no_punct, las_no_punct, las_universal_no_punct : float
        The same among words that are not punctuation.
    clas : float
        F1 of the right head and universal label over content words.
    complete : float
        Sentences in which every head is right.
    complete_labelled : float
        Sentences in which every head and full label is right.
    root : float
        Sentences in which exactly the right words have head 0.
    """

    sentences: int
    words: int
    words_no_punct: int
    uas: float
    las: float
    las_universal: float
    uas_no_punct: float
    las_no_punct: float
    las_universal_no_punct: float
    clas: float
    complete: float
    complete_labelled: float
    root: float

    def as_dict(self) -> dict[str, int | float]:
        """All fields by name, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Tally:
    """Counts right and wrong arcs, sentence by sentence.

    Example
    -------
    >>> from bbparse.treebank import Sentence, Tally
    >>> gold = Sentence.from_words(["Birds", "sing"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> tally = Tally()
    >>> tally.add(gold, [0, 1])
    >>> tally.add(gold, [2, 0])
    >>> tally.scores().uas
    0.5
    """

    def __init__(self) -> None:
        self._sentences = 0
        self._words = 0
        self._words_no_punct = 0
        self._heads = 0
        self._labels = 0
        self._universal = 0
        self._heads_no_punct = 0
        self._labels_no_punct = 0
        self._universal_no_punct = 0
        self._content_gold = 0
        self._content_predicted = 0
        self._content_right = 0
        self._complete = 0
        self._complete_labelled = 0
        self._roots = 0

    def add(
        self, gold: Sentence, heads: Sequence[int], deprels: Sequence[str] | None = None
    ) -> None:
        """Count one sentence.

        Parameters
        ----------
        gold : Sentence
            With a head for every word.
        heads : sequence of int, length n
            Predicted head of each word; 0 for the root.
        deprels : sequence of str, length n, optional
            Predicted labels; without them, no label counts as right.

        Raises
        ------
        ValueError
            If a length is not the number of words.
        """
        n = gold.n_words
        if len(heads) != n:
            raise ValueError(f"heads: expected {n} values, found {len(heads)}")
        if deprels is None:
            deprels = [""] * n
        elif len(deprels) != n:
            raise ValueError(f"deprels: expected {n} values, found {len(deprels)}")
        right_heads = right_labels = 0
        right_roots = True
        for gold_head, head, gold_label, label, tag in zip(
            gold.heads, heads, gold.deprels, deprels, gold.upos
        ):
            gold_universal = gold_label.partition(":")[0]
            universal = label.partition(":")[0]
            counted = tag != _PUNCTUATION
            self._words_no_punct += counted
            is_content = gold_universal not in _NOT_CONTENT
            self._content_gold += is_content
            self._content_predicted += universal not in _NOT_CONTENT
            if (gold_head == 0) != (head == 0):
                right_roots = False
            if gold_head != head:
                continue
            right_heads += 1
            self._heads_no_punct += counted
            if gold_universal == universal:
                self._universal += 1
                self._universal_no_punct += counted
                self._content_right += is_content
                if gold_label == label:
                    right_labels += 1
                    self._labels_no_punct += counted
        self._sentences += 1
        self._words += n
        self._heads += right_heads
        self._labels += right_labels
        self._complete += right_heads == n
        self._complete_labelled += right_labels == n
        self._roots += right_roots

    def scores(self) -> Scores:
        """The shares over all sentences so far."""
        words, kept, sentences = self._words, self._words_no_punct, self._sentences
        return Scores(
            sentences=sentences,
            words=words,
            words_no_punct=kept,
            uas=_share(self._heads, words),
            las=_share(self._labels, words),
            las_universal=_share(self._universal, words),
            uas_no_punct=_share(self._heads_no_punct, kept),
            las_no_punct=_share(self._labels_no_punct, kept),
            las_universal_no_punct=_share(self._universal_no_punct, kept),
            clas=_share(2 * self._content_right, self._content_gold + self._content_predicted),
            complete=_share(self._complete, sentences),
            complete_labelled=_share(self._complete_labelled, sentences),
            root=_share(self._roots, sentences),
        )


def evaluate(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Scores:
    """Compare two treebanks of the same sentences.

    Parameters
    ----------
    gold, predicted : iterable of Sentence
        With a head for every word; see ``read_conllu(…, require_heads=True)``.

    Raises
    ------
    TreebankError
        If one has more sentences than the other, or the words differ; names sentence and word.
    """
    tally = Tally()
    for gold_sentence, predicted_sentence in zip_longest(gold, predicted):
        if gold_sentence is None or predicted_sentence is None:
            rest, shorter = gold_sentence, "predicted"
            if gold_sentence is None:
                rest, shorter = predicted_sentence, "gold"
            raise TreebankError(
                f"{_place(rest)} has no counterpart: the {shorter} treebank "
                f"has only {tally.scores().sentences} sentences"
            )
        _check_same_words(gold_sentence, predicted_sentence)
        tally.add(gold_sentence, predicted_sentence.heads, predicted_sentence.deprels)
    return tally.scores()


def _check_same_words(gold: Sentence, predicted: Sentence) -> None:
    if gold.forms == predicted.forms:
        return
    for i, (expected, found) in enumerate(zip(gold.forms, predicted.forms)):
        if expected != found:
            raise TreebankError(
                f"{_place(predicted)}: word {i + 1} is {found!r}, "
                f"expected {expected!r} as in {_place(gold)}"
            )
    raise TreebankError(
        f"{_place(predicted)}: found {predicted.n_words} words, "
        f"expected {gold.n_words} as in {_place(gold)}"
    )


def _place(sentence: Sentence) -> str:
    return f"{sentence.source or 'treebank'}, line {sentence.line_number}, {sentence.name}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
