"""Attachment scores and tag accuracies of predicted sentences against gold sentences.

Measures that the CoNLL 2018 shared task defines follow its definition (Zeman et al. 2018, §3): UAS,
LAS without subtypes of labels, CLAS, MLAS, BLEX and the accuracies of tags agree with the official
scorer on gold words.

Counts are kept per sentence (`COUNTS`), and every measure is a sum of some counts over a sum of
others (`MEASURES`), so that `bbparse.treebank.significance` can resample sentences.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, zip_longest
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from bbparse.runtime.errors import TreebankError, counted
from bbparse.treebank.graph import collapsed_graph, matches
from bbparse.treebank.sentence import Sentence
from bbparse.treebank.trees import crossing_words

if TYPE_CHECKING:  # the command line reads and evaluates files without waiting for numpy
    import numpy as np
    from numpy.typing import NDArray

# Labels of content words in Universal Dependencies 2, without subtypes. As in the official scorer,
# a label that is not listed, such as dobj of UD 1, marks no content word.
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

Measure = tuple[tuple[str, ...], tuple[str, ...]]
"""Counts whose sum is the numerator, counts whose sum is the denominator."""

MEASURES: dict[str, Measure] = {
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
    **{
        name: ((name,), ("words",))
        for name in ("upos", "xpos", "feats", "ufeats", "all_tags", "lemmas")
    },
    "mlas": (("content_morphology",) * 2, ("content_gold", "content_predicted")),
    "blex": (("content_lemmas",) * 2, ("content_gold", "content_predicted")),
    "crossing_precision": (("crossing_right",), ("crossing_predicted",)),
    "crossing_recall": (("crossing_right",), ("crossing_gold",)),
    "crossing_f1": (("crossing_right",) * 2, ("crossing_gold", "crossing_predicted")),
    "elas": (("edges_right",) * 2, ("edges_gold", "edges_predicted")),
    "eulas": (("edges_universal",) * 2, ("edges_gold", "edges_predicted")),
}

#: Counts of a sentence, in the order of the columns of :attr:`Tally.counts`.
COUNTS = tuple(dict.fromkeys(x for groups in MEASURES.values() for x in chain(*groups)))

# Measures that need tags, and the columns that they need.
_NEEDS = {
    "upos": ("upos",),
    "xpos": ("xpos",),
    "feats": ("feats",),
    "ufeats": ("feats",),
    "all_tags": ("upos", "xpos", "feats"),
    "lemmas": ("lemmas",),
    "mlas": ("upos", "feats"),
    "blex": ("lemmas",),
    "elas": ("graph",),
    "eulas": ("graph",),
    **dict.fromkeys(("crossing_precision", "crossing_recall", "crossing_f1"), ("crossing",)),
}
_COLUMNS = ("upos", "xpos", "feats", "lemmas")


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores as fractions from 0 to 1; 0 where nothing is counted."""

    sentences: int
    words: int
    words_no_punct: int  #: Words whose gold UPOS is not PUNCT; also in the names that end so.
    uas: float  #: Words with the right head.
    las: float  #: Words with the right head and the right full label.
    #: Words with the right head and the right label up to its colon: LAS of the official scorer.
    las_universal: float
    uas_no_punct: float
    las_no_punct: float
    las_universal_no_punct: float
    clas: float  #: F1 of the right head and universal label over content words.
    complete: float  #: Sentences in which every head is right.
    complete_labelled: float  #: Sentences in which every head and full label is right.
    root: float  #: Sentences in which exactly the right words have head 0.
    #: Words with the right UPOS; xpos, feats and lemmas likewise. None unless both treebanks
    #: have values in the column. Any lemma is right for a word without a gold lemma.
    upos: float | None = None
    xpos: float | None = None
    feats: float | None = None
    ufeats: float | None = None  #: Words with the right universal features (the official UFeats).
    all_tags: float | None = None  #: Words with the right UPOS, XPOS and universal features.
    lemmas: float | None = None
    #: F1 as clas, but mlas also requires the right UPOS, universal features and function words,
    #: and blex the right lemma.
    mlas: float | None = None
    blex: float | None = None
    #: Precision of the predicted arcs that cross another, recall of the gold arcs that do, and F1.
    #: None where no tree has crossing arcs.
    crossing_precision: float | None = None
    crossing_recall: float | None = None
    crossing_f1: float | None = None
    #: F1 of the edges of enhanced graphs, empty nodes collapsed: with full labels, and without
    #: subtypes. None unless both treebanks have DEPS.
    elas: float | None = None
    eulas: float | None = None

    def as_dict(self) -> dict[str, int | float]:
        """Return all fields by name, in order, except those that are None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


class Tally:
    """Counts of correct and wrong words, sentence by sentence.

    Graphs are compared without the enhancements ``left_out`` (digits of
    `bbparse.treebank.graph.ENHANCEMENTS`).
    """

    def __init__(self, left_out: str = "") -> None:
        self._rows = array("q")
        self._left_out = left_out
        # gold, predicted
        self._has = {column: [False, False] for column in (*_COLUMNS, "graph", "crossing")}

    def __len__(self) -> int:
        """Return the number of sentences so far."""
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
        """Count one sentence; without ``deprels`` or predicted ``tags``, none counts as right."""
        n = gold.n_words
        labels = [""] * n if deprels is None else deprels
        words = WordColumns.of(gold.heads, gold.deprels, gold)
        predicted = WordColumns.of(heads, labels, tags or gold)
        agreed = words.agreement(predicted)
        right, universal = agreed["heads"], agreed["universal"]
        not_punct = [tag != _PUNCTUATION for tag in gold.upos]
        labelled = _all(universal, map(eq, gold.deprels, labels))
        crossing, predicted_crossing = crossing_words(gold.heads), crossing_words(heads)
        row = {
            "sentences": 1,
            "words": n,
            "words_no_punct": sum(not_punct),
            "heads": sum(right),
            "heads_no_punct": sum(_all(right, not_punct)),
            "labels": sum(labelled),
            "labels_no_punct": sum(_all(labelled, not_punct)),
            "universal": sum(universal),
            "universal_no_punct": sum(_all(universal, not_punct)),
            "content_gold": words.n_content,
            "content_predicted": predicted.n_content,
            "content_right": sum(agreed["content_right"]),
            "complete": all(right),
            "complete_labelled": all(labelled),
            "roots": all((a == 0) == (b == 0) for a, b in zip(gold.heads, heads)),
            "crossing_gold": len(crossing),
            "crossing_predicted": len(predicted_crossing),
            "crossing_right": sum(right[m - 1] for m in crossing & predicted_crossing),
        }
        if crossing | predicted_crossing:
            self._has["crossing"] = [True, True]
        if tags is not None:
            graphs = [collapsed_graph(sentence, self._left_out) for sentence in (gold, tags)]
            for side, sentence in enumerate((gold, tags)):
                for column in _COLUMNS:
                    if not self._has[column][side]:
                        values = getattr(sentence, column)
                        self._has[column][side] = any(value != "_" for value in values)
                self._has["graph"][side] |= bool(graphs[side])
            row["edges_gold"], row["edges_predicted"] = map(len, graphs)
            row["edges_right"], row["edges_universal"] = matches(*graphs)
            row |= {name: sum(agreed[name]) for name in agreed.keys() - row.keys()}
            row["feats"] = sum(map(eq, gold.feats, tags.feats))
        self._rows.extend(row.get(name, 0) for name in COUNTS)

    @property
    def measures(self) -> list[str]:
        """Names of the measures that the sentences so far have data for."""
        columns = {column for column, has in self._has.items() if all(has)}
        return [name for name in MEASURES if columns.issuperset(_NEEDS.get(name, ()))]

    def scores(self) -> Scores:
        """Return the scores over all sentences so far."""
        total = {name: sum(self._rows[i :: len(COUNTS)]) for i, name in enumerate(COUNTS)}
        values: dict[str, Any] = fractions(total, {name: MEASURES[name] for name in self.measures})
        return Scores(total["sentences"], total["words"], total["words_no_punct"], **values)


def fractions(total: Mapping[str, int], measures: Mapping[str, Measure]) -> dict[str, float]:
    """Divide sums of counts, by name of the measure; 0 where the denominator is 0."""
    values = {}
    for name, groups in measures.items():
        part, whole = (sum(total[count] for count in group) for group in groups)
        values[name] = part / whole if whole else 0.0
    return values


def _all(*columns: Iterable[bool]) -> list[bool]:
    """Combine boolean columns by "and"."""
    return list(map(all, zip(*columns)))


def evaluate(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, left_out: str = ""
) -> Scores:
    """Compare two treebanks of the same sentences.

    Parameters
    ----------
    gold, predicted : iterable of Sentence
        With a head for every word; see ``read_conllu(…, require_heads=True)``.
    left_out : str
        Enhancements that ``elas`` and ``eulas`` ignore, by the digits of the official scorer.

    Raises
    ------
    TreebankError
        If DEPS are malformed, one has more sentences than the other, or the words differ; names
        sentence and word.
    """
    return tallied(gold, predicted, left_out).scores()


def tallied(gold: Iterable[Sentence], predicted: Iterable[Sentence], left_out: str = "") -> Tally:
    """Return the counts of two treebanks; parameters and errors are those of :func:`evaluate`."""
    tally = Tally(left_out)
    for gold_sentence, sentence in paired_sentences(gold, predicted):
        tally.add(gold_sentence, sentence.heads, sentence.deprels, sentence)
    return tally


def paired_sentences(
    gold: Iterable[Sentence], predicted: Iterable[Sentence]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Yield the sentences of two treebanks in pairs; errors are those of :func:`evaluate`."""
    sources = ["the gold treebank", "the predicted treebank"]
    for count, (gold_sentence, sentence) in enumerate(zip_longest(gold, predicted)):
        if gold_sentence is None or sentence is None:
            extra = gold_sentence or sentence
            raise TreebankError(
                f"{extra.place()} has no counterpart: {sources[sentence is None]} has only"
                f" {counted(count, 'sentence')}"
            )
        pair = (gold_sentence.source, sentence.source)
        sources = [name or known for name, known in zip(pair, sources)]
        check_same_words(gold_sentence, sentence)
        yield gold_sentence, sentence


def contrast(found: str, expected: str) -> str:
    """Show two texts for a message, letters by their numbers if they look alike at first."""
    first, second = (normalize("NFC", text) for text in (found, expected))
    if first == second or (first[:1] == second[:1] and found[:1] != expected[:1]):
        same = "the same letters in Unicode's normal form C"
        return f"{found!a:.200}, expected {expected!a:.200} ({same})"
    return f"{found!r:.60}, expected {expected!r:.60}"


def matched_by_id(first: Sequence[Sentence], other: Sequence[Sentence]) -> Sequence[Sentence]:
    """Return sentences in the order of the first ones, if they have the same ``sent_id``s."""
    ids, by_id = [sentence.name for sentence in first], {one.name: one for one in other}
    if ids == [*by_id] or len(by_id) != len(other) or sorted(ids) != sorted(by_id):
        return other
    return [by_id[name] for name in ids]


def check_same_words(first: Sentence, other: Sentence) -> None:
    """Raise `TreebankError` at the first word in which two sentences differ."""
    for i, (expected, form) in enumerate(zip(first.forms, other.forms)):
        if form != expected:
            raise TreebankError(
                f"{other.place(i)}: word {i + 1} is {contrast(form, expected)} as in"
                f" {first.place(i)}"
            )
    if other.n_words != first.n_words:
        raise TreebankError(
            f"{other.place()}: found {other.n_words} words, expected {first.n_words} as in"
            f" {first.place()}"
        )


class WordColumns(NamedTuple):
    """Columns that the official scorer compares, one item for each word."""

    heads: list[int]
    labels: list[str]  #: Universal labels.
    upos: list[str]
    xpos: list[str]
    feats: list[str]  #: Universal features, in sorted order.
    lemmas: list[str]
    #: Function words of each word: their numbers, and the values that MLAS compares.
    functional: list[list[tuple[Any, ...]]]

    @classmethod
    def of(cls, heads: Sequence[int], deprels: Sequence[str], tags: Sentence) -> WordColumns:
        """Return the columns of a tree over the words of a sentence."""
        labels = [label.partition(":")[0] for label in deprels]
        feats = [
            "|".join(sorted(f for f in x.split("|") if f.partition("=")[0] in _UNIVERSAL_FEATURES))
            for x in tags.feats
        ]
        functional: list[list[tuple[Any, ...]]] = [[] for _ in labels]
        for m, (head, *values) in enumerate(zip(heads, labels, tags.upos, feats), start=1):
            if values[0] in _FUNCTIONAL and head > 0:
                functional[head - 1].append((m, *values))
        return cls(list(heads), labels, tags.upos, tags.xpos, feats, tags.lemmas, functional)

    @property
    def n_content(self) -> int:
        """Number of content words."""
        return sum(label in CONTENT for label in self.labels)

    def agreement(self, predicted: WordColumns) -> dict[str, list[bool]]:
        """Compare predictions with these gold words; return a list for each count."""
        columns: Iterable[tuple[Any, Any]] = zip(self, predicted)
        equal = [list(map(eq, own, other)) for own, other in columns]
        heads, labels, upos, xpos, ufeats, _, functional = equal
        lemmas = [a in ("_", b) for a, b in zip(self.lemmas, predicted.lemmas)]
        universal = _all(heads, labels)
        content = _all(universal, (label in CONTENT for label in self.labels))
        return {
            "heads": heads,
            "universal": universal,
            "content_right": content,
            "upos": upos,
            "xpos": xpos,
            "ufeats": ufeats,
            "all_tags": _all(upos, xpos, ufeats),
            "lemmas": lemmas,
            "content_lemmas": _all(content, lemmas),
            "content_morphology": _all(content, upos, ufeats, functional),
        }
