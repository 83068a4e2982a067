"""Training of a tagger: labels and lemma rules of a treebank, then one network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings import Embeddings
from bbparse.neural.embeddings.protocol import LearningText
from bbparse.neural.labelling import LabelSettings, train_labels
from bbparse.neural.targets import certain, interleaved
from bbparse.runtime.errors import TreebankError
from bbparse.text.columns import FormEncoder, style
from bbparse.text.lemmas import apply_rule, rule_of
from bbparse.text.silver import likely_in, shares_of
from bbparse.text.tagger import LOWER, SAME, Tagger, TagNetwork
from bbparse.treebank import Sentence
from bbparse.treebank.likely_tags import Likely

#: Number of occurrences from which on a form's capitals count as its habit.
_KNOWN = 3
#: Settings of taggers that read the states of a base: a small network learns enough in few passes.
ON_BASE = LabelSettings(layers="r", width=128, hidden=128, epochs=60, elements=600_000, members=1)
#: Settings of taggers that learn from raw text, too, which has more to learn.
ON_TEXT = LabelSettings(elements=20_000_000)


def train_tagger(
    sentences: Sequence[Sentence],
    settings: LabelSettings | None = None,
    seed: int = 1,
    *,
    embeddings: Embeddings | None = None,
    silver: Iterable[Sentence] = (),
) -> Tagger:
    """Train a tagger; `TreebankError` if a word has no UPOS. Other columns of ``_`` stay ``_``.

    ``silver`` are further sentences with the tags and trees of a teacher, iterated several times;
    tags, rules of lemmas and the use of capitals are those of ``sentences``.
    """
    _check_tags(sentences)
    tags = _numbers(tag for sentence in sentences for tag in _tags(sentence))
    upos = _numbers(tag for sentence in sentences for tag in sentence.upos)
    deprels = _numbers(label for sentence in sentences for label in sentence.deprels)
    feats = _numbers(value for sentence in sentences for value in sentence.feats)
    lemmas = _LemmaRules(sentences)

    def columns(sentence: Sentence) -> NDArray[np.int64]:
        """Return the numbers of the labels of a sentence, -1 for those of silver ones alone."""
        # further labels help to train the encoder
        names: tuple[tuple[Mapping[str, int], Sequence[str]], ...] = (
            (tags, _tags(sentence)),
            (feats, sentence.feats),
            (lemmas.numbers, _rules(sentence)),
            (upos, sentence.upos),
            (deprels, sentence.deprels),
        )
        return np.array([[of.get(name, -1) for name in row] for of, row in names], np.int64).T

    def targets(sentence: Sentence) -> Likely:
        """Return the targets of a sentence; a teacher may have been in doubt about tags, FEATS."""
        kinds, found = [certain(column) for column in columns(sentence).T], likely_in(sentence)
        for i, (kind, names) in enumerate((("tags", tags), ("feats", feats))):
            if kind in found:
                kinds[i] = shares_of(found[kind], partial(_number, names))
        return interleaved(kinds)

    gold = [columns(sentence) for sentence in sentences]
    pairs = {(tag, value) for rows in gold for tag, value in rows[:, :2].tolist()}
    truecasing = _truecasing(sentences)
    encode = FormEncoder(truecasing)
    vectors = None
    if embeddings is not None:
        source = embeddings
        text = LearningText(sentences, silver)
        vectors = source.width, lambda chosen: source(text(chosen))
    network = train_labels(
        TagNetwork,
        [encode(sentence.forms) for sentence in sentences],
        (list(tags), list(feats), list(lemmas.numbers), list(upos), list(deprels)),
        [certain(numbers.reshape(-1)) for numbers in gold],
        settings or LabelSettings(),
        seed,
        vectors,
        n_kinds=3,
        silver=lambda: ((encode(sentence.forms), targets(sentence)) for sentence in silver),
    )
    notes = {"sentences": len(sentences), "words": sum(s.n_words for s in sentences)}
    known = np.array(sorted(pairs), np.int32)
    return Tagger(network, known, lemmas.candidates, lemmas.lexicon, truecasing, notes, embeddings)


def _check_tags(sentences: Iterable[Sentence]) -> None:
    """Raise `TreebankError` if a word has no UPOS."""
    for sentence in sentences:
        if "_" in sentence.upos:
            word = sentence.upos.index("_")
            raise TreebankError(
                f"{sentence.place(word)}: word {word + 1} has no UPOS, which training needs"
            )


def _tags(sentence: Sentence) -> list[str]:
    return [f"{upos}\t{xpos}" for upos, xpos in zip(sentence.upos, sentence.xpos)]


def _rules(sentence: Sentence) -> list[str]:
    """Return the rule of each word's lemma, empty where it has none."""
    return [
        rule_of(form, lemma) if lemma != "_" or form == "_" else ""
        for form, lemma in zip(sentence.forms, sentence.lemmas)
    ]


def _number(numbers: Mapping[str, int], name: str) -> int:
    """Return the number of a name, -1 if it has none."""
    return numbers.get(name, -1)


def _numbers(values: Iterable[str]) -> dict[str, int]:
    return {value: i for i, value in enumerate(sorted(set(values)))}


def _truecasing(sentences: Sequence[Sentence]) -> dict[str, str]:
    """Return the capitals of common forms, by the form in lower case."""
    cases: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        # the first word of a sentence and titles have capitals for other reasons
        telling = style(sentence.forms) not in "AT"
        for i, form in enumerate(sentence.forms):
            if i and telling:
                case = "T" if form[:1].isupper() else "l"
                cases[form.lower()]["A" if form.isupper() and len(form) > 1 else case] += 1
    return {
        form: "".join(case for case in "ATl" if 10 * own[case] >= own.total())
        for form, own in cases.items()
        if own.total() >= _KNOWN
    }


class _LemmaRules:
    """Rules of the lemmas of a treebank.

    `numbers` has those that the network chooses among, `candidates` those of words with several
    lemmas (by form, tab, tag) and of new words (by tab, tag, tab, FEATS, or by the tag alone),
    `lexicon` the lemmas of words that have but one (by form, tab, tag).
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.numbers: dict[str, int] = {}
        self.candidates: dict[str, tuple[int, ...]] = {}
        self.lexicon: dict[str, str] = {}
        words: dict[tuple[str, str], set[str]] = defaultdict(set)
        forms_of: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for sentence in sentences:
            for form, tag, feats, rule in zip(
                sentence.forms, _tags(sentence), sentence.feats, _rules(sentence)
            ):
                if rule:
                    words[form, tag].add(rule)
                    if not rule.startswith("="):  # the lemma of one word
                        for key in (tag, f"\t{tag}\t{feats}"):
                            forms_of[key][rule].add(form.lower())
        if not words:
            return
        candidates = {"": {LOWER, SAME}}
        for (form, tag), rules in words.items():
            if len(rules) > 1:
                candidates[f"{form}\t{tag}"] = rules
            else:
                self.lexicon[f"{form}\t{tag}"] = apply_rule(next(iter(rules)), form) or form
        for tag, of_rule in forms_of.items():
            general = {rule for rule, forms in of_rule.items() if len(forms) >= 2}
            if general:
                candidates[tag] = general
        self.numbers = _numbers(rule for rules in candidates.values() for rule in rules)
        self.candidates = {
            key: tuple(sorted(self.numbers[rule] for rule in rules))
            for key, rules in candidates.items()
        }
