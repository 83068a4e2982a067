"""Attachment scores and tag accuracies of predicted sentences against gold sentences.

Where a measure has a definition in the CoNLL 2018 shared task (Zeman et al. 2018, §3), it is that
one: UAS, LAS without subtypes of labels, CLAS, MLAS, BLEX and the accuracies of tags agree with the
official scorer on gold words.

Everything is counted for each sentence (`COUNTS`), and every measure is a sum of some counts over a
sum of others (`MEASURES`); so `bbparse.treebank.significance` can draw sentences anew.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import TYPE_CHECKING

from bbparse.errors import TreebankError
from bbparse.treebank.sentence import Sentence
from bbparse.treebank.structure import crossing_words

if TYPE_CHECKING:  # the command line reads and judges files without waiting for numpy
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CONTENT", "COUNTS", "MEASURES", "Scores", "Tally", "evaluate", "function_words",
    "paired_sentences", "universal_features",
]  # fmt: skip

# Content words are those with these labels of Universal Dependencies 2, whatever their subtype:
# so has the official scorer, and a label it does not know, as UD 1's dobj, is none.
CONTENT = frozenset(
    """acl advcl advmod amod appos ccomp compound conj csubj dep discourse dislocated expl fixed
    flat goeswith iobj list nmod nsubj nummod obj obl orphan parataxis reparandum root vocative
    xcomp""".split()
)
_FUNCTIONAL = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark"})
_UNIVERSAL_FEATURES = frozenset(
    """Abbr Animacy Aspect Case Definite Degree Evident Foreign Gender Mood NumType Number Person
    Polarity Polite Poss PronType Reflex Tense VerbForm Voice""".split()
)
_PUNCTUATION = "PUNCT"

#: What is counted in each sentence, in the order of the columns of :attr:`Tally.counts`.
COUNTS = (
    "sentences", "words", "words_no_punct", "heads", "labels", "universal", "heads_no_punct",
    "labels_no_punct", "universal_no_punct", "content_gold", "content_predicted", "content_right",
    "complete", "complete_labelled", "roots", "upos", "xpos", "feats", "ufeats", "all_tags",
    "lemmas", "content_morphology", "content_lemmas", "crossing_gold", "crossing_predicted",
    "crossing_right",
)  # fmt: skip

#: name → (counts whose sum is divided, counts whose sum divides)
MEASURES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "uas": (("heads",), ("words",)),
    "las": (("labels",), ("words",)),
    "las_universal": (("universal",), ("words",)),
    "uas_no_punct": (("heads_no_punct",), ("words_no_punct",)),
    "las_no_punct": (("labels_no_punct",), ("words_no_punct",)),
    "las_universal_no_punct": (("universal_no_punct",), ("words_no_punct",)),
    "clas": (("content_right",) * 2, ("content_gold", "content_predicted")),
    "complete": (("complete",), ("sentences",)),
    "complete_labelled": (("complete_labelled",), ("sentences",)),
    "root": (("roots",), ("sentences",)),
    "upos": (("upos",), ("words",)),
    "xpos": (("xpos",), ("words",)),
    "feats": (("feats",), ("words",)),
    "ufeats": (("ufeats",), ("words",)),
    "all_tags": (("all_tags",), ("words",)),
    "lemmas": (("lemmas",), ("words",)),
    "mlas": (("content_morphology",) * 2, ("content_gold", "content_predicted")),
    "blex": (("content_lemmas",) * 2, ("content_gold", "content_predicted")),
    "crossing_precision": (("crossing_right",), ("crossing_predicted",)),
    "crossing_recall": (("crossing_right",), ("crossing_gold",)),
    "crossing_f1": (("crossing_right",) * 2, ("crossing_gold", "crossing_predicted")),
}

# Measures that need tags, and the columns without which they say nothing.
_NEEDS = {
    "upos": ("upos",),
    "xpos": ("xpos",),
    "feats": ("feats",),
    "ufeats": ("feats",),
    "all_tags": ("upos", "xpos", "feats"),
    "lemmas": ("lemmas",),
    "mlas": ("upos", "feats"),
    "blex": ("lemmas",),
}
_COLUMNS = ("upos", "xpos", "feats", "lemmas")
_CROSSING = ("crossing_precision", "crossing_recall", "crossing_f1")


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
        Words with the right head and the right label up to its colon: the official scorer's LAS.
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
    upos, xpos, feats, lemmas : float or None
        Words with the right value in the column; None unless both treebanks have values there.
        A word without a gold lemma has any lemma right.
    ufeats : float or None
        Words with the right universal features (the official UFeats).
    all_tags : float or None
        Words with the right UPOS, XPOS and universal features.
    mlas, blex : float or None
        As clas, but also with the right UPOS, universal features and function words, or with the
        right lemma.
    crossing_precision, crossing_recall, crossing_f1 : float or None
        Of the arcs that cross another in the predicted tree those that do so in the gold tree, too;
        the reverse; and both in one. None where no tree has such arcs.
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
    upos: float | None = None
    xpos: float | None = None
    feats: float | None = None
    ufeats: float | None = None
    all_tags: float | None = None
    lemmas: float | None = None
    mlas: float | None = None
    blex: float | None = None
    crossing_precision: float | None = None
    crossing_recall: float | None = None
    crossing_f1: float | None = None

    def as_dict(self) -> dict[str, int | float]:
        """All fields by name, in order, but those that are None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


class Tally:
    """Counts what is right and wrong, sentence by sentence.

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
        self._rows = array("q")
        self._has = {column: [False, False] for column in _COLUMNS}  # gold, predicted

    def __len__(self) -> int:
        """Number of sentences so far."""
        return len(self._rows) // len(COUNTS)

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64[sentences, len(COUNTS)]: the counts of each sentence, in the order added."""
        import numpy as np

        return np.array(self._rows, np.int64).reshape(-1, len(COUNTS))

    def add(
        self,
        gold: Sentence,
        heads: Sequence[int],
        deprels: Sequence[str] | None = None,
        tags: Sentence | None = None,
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
        tags : Sentence, optional
            Where the predicted tags and lemmas are; without it, none counts as right.

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
        if tags is not None and tags.n_words != n:
            raise ValueError(f"tags: expected {n} words, found {tags.n_words}")
        row = dict.fromkeys(COUNTS, 0)
        labels = [label.partition(":")[0] for label in deprels]
        gold_labels = [label.partition(":")[0] for label in gold.deprels]
        for i in range(n):
            counted = gold.upos[i] != _PUNCTUATION
            is_content = gold_labels[i] in CONTENT
            row["words_no_punct"] += counted
            row["content_gold"] += is_content
            row["content_predicted"] += labels[i] in CONTENT
            if gold.heads[i] != heads[i]:
                continue
            row["heads"] += 1
            row["heads_no_punct"] += counted
            if gold_labels[i] == labels[i]:
                row["universal"] += 1
                row["universal_no_punct"] += counted
                row["content_right"] += is_content
                if gold.deprels[i] == deprels[i]:
                    row["labels"] += 1
                    row["labels_no_punct"] += counted
        crossing, own = crossing_words(gold.heads), crossing_words(heads)
        row["crossing_gold"] = len(crossing)
        row["crossing_predicted"] = len(own)
        row["crossing_right"] = sum(gold.heads[m - 1] == heads[m - 1] for m in crossing & own)
        row["sentences"] = 1
        row["words"] = n
        row["complete"] = row["heads"] == n
        row["complete_labelled"] = row["labels"] == n
        row["roots"] = all((a == 0) == (b == 0) for a, b in zip(gold.heads, heads))
        if tags is not None:
            self._add_tags(row, gold, tags, heads, gold_labels, labels)
        self._rows.extend(row.values())

    def _add_tags(
        self,
        row: dict[str, int],
        gold: Sentence,
        tags: Sentence,
        heads: Sequence[int],
        gold_labels: list[str],
        labels: list[str],
    ) -> None:
        for column, has in self._has.items():
            for side, sentence in enumerate((gold, tags)):
                has[side] = has[side] or any(value != "_" for value in getattr(sentence, column))
        gold_feats = [universal_features(value) for value in gold.feats]
        feats = [universal_features(value) for value in tags.feats]
        gold_functional = function_words(gold.heads, gold_labels, gold.upos, gold_feats)
        functional = function_words(heads, labels, tags.upos, feats)
        for i in range(gold.n_words):
            upos = gold.upos[i] == tags.upos[i]
            xpos = gold.xpos[i] == tags.xpos[i]
            ufeats = gold_feats[i] == feats[i]
            lemma = gold.lemmas[i] == "_" or gold.lemmas[i] == tags.lemmas[i]
            row["upos"] += upos
            row["xpos"] += xpos
            row["feats"] += gold.feats[i] == tags.feats[i]
            row["ufeats"] += ufeats
            row["all_tags"] += upos and xpos and ufeats
            row["lemmas"] += lemma
            if (
                gold_labels[i] in CONTENT
                and gold_labels[i] == labels[i]
                and gold.heads[i] == heads[i]
            ):
                row["content_lemmas"] += lemma
                row["content_morphology"] += (
                    upos and ufeats and gold_functional.get(i + 1) == functional.get(i + 1)
                )

    @property
    def measures(self) -> list[str]:
        """The measures that what was added so far says something about."""
        both = {column for column, has in self._has.items() if all(has)}
        found = [name for name in MEASURES if both.issuperset(_NEEDS.get(name, ()))]
        if not self._total("crossing_gold") + self._total("crossing_predicted"):
            found = [name for name in found if name not in _CROSSING]
        return found

    def _total(self, count: str) -> int:
        return sum(self._rows[COUNTS.index(count) :: len(COUNTS)])

    def scores(self) -> Scores:
        """The shares over all sentences so far."""
        total = {name: self._total(name) for name in COUNTS}
        values = {}
        for name in self.measures:
            part, whole = (sum(total[count] for count in counts) for counts in MEASURES[name])
            values[name] = part / whole if whole else 0.0
        return Scores(
            sentences=total["sentences"], words=total["words"],
            words_no_punct=total["words_no_punct"], **values,
        )  # fmt: skip


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
    for gold_sentence, sentence in paired_sentences(gold, predicted):
        tally.add(gold_sentence, sentence.heads, sentence.deprels, sentence)
    return tally.scores()


def paired_sentences(
    gold: Iterable[Sentence], predicted: Iterable[Sentence]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Sentences of two treebanks side by side, checked to have the same words.

    Raises
    ------
    TreebankError
        As :func:`evaluate`.
    """
    for count, (gold_sentence, sentence) in enumerate(zip_longest(gold, predicted)):
        if gold_sentence is None or sentence is None:
            rest, shorter = gold_sentence, "predicted"
            if gold_sentence is None:
                rest, shorter = sentence, "gold"
            raise TreebankError(
                f"{_place(rest)} has no counterpart: the {shorter} treebank "
                f"has only {count} sentences"
            )
        _check_same_words(gold_sentence, sentence)
        yield gold_sentence, sentence


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


def universal_features(feats: str) -> str:
    """The features of the official scorer's list, in one order."""
    return "|".join(
        sorted(f for f in feats.split("|") if f.partition("=")[0] in _UNIVERSAL_FEATURES)
    )


def function_words(
    heads: Sequence[int], labels: list[str], upos: list[str], feats: list[str]
) -> dict[int, list[tuple[int, str, str, str]]]:
    """head → its function words, with what MLAS compares of them."""
    found: dict[int, list[tuple[int, str, str, str]]] = {}
    for i, (head, label) in enumerate(zip(heads, labels)):
        if label in _FUNCTIONAL:
            found.setdefault(head, []).append((i, label, upos[i], feats[i]))
    return found


def _place(sentence: Sentence) -> str:
    return f"{sentence.source or 'treebank'}, line {sentence.line_number}, {sentence.name}"
