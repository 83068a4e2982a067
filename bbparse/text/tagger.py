"""`Tagger`: forms → UPOS, XPOS, FEATS and lemmas, by one network over the sentence.

The network (`bbparse.neural.labelling`) scores tags (UPOS and XPOS together), FEATS and rules that
make lemmas (`bbparse.text.lemmas`). A word gets the best pair of tag and FEATS that the training
text has, then the best rule of those for new words with its tag; words that had one lemma only keep
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings import Embeddings
from bbparse.neural.labelling import LabelNetwork
from bbparse.neural.ragged import batches
from bbparse.runtime.archive import INTS, Fields, Rule, reading_part
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.errors import ModelError
from bbparse.runtime.jit import kernel
from bbparse.text.columns import N_WHOLE, FormEncoder
from bbparse.text.lemmas import apply_rule
from bbparse.text.tag_probabilities import likely
from bbparse.treebank import Sentence
from bbparse.treebank.likely_tags import LikelyTags
from bbparse.treebank.writing import with_columns

#: Rules that apply to every form: the form in lower case, and as it is.
LOWER, SAME = "l\t\t\t\t", "k\t\t\t\t"
#: Kinds of label.
TAGS, FEATS, LEMMAS = range(3)
_CACHED = 200_000  # forms with their lemmas or the rules they may be made by


class TagNetwork(LabelNetwork):
    """Scores of the tags (UPOS, tab, XPOS), the FEATS and the rules of lemmas of words."""

    NAME = "tags"
    N_LEXICAL: ClassVar[int] = N_WHOLE


#: Fields of a tagger, with the rules that `bbparse.runtime.archive.read_archive` checks them by.
TAGGER_FIELDS: dict[str, Rule] = {
    "tagger": dict,
    "tagger_pairs": (INTS, 2, None),
    **TagNetwork.rules(),
}


@dataclass(frozen=True, slots=True)
class TagColumns:
    """Columns predicted by a tagger, one element for each word; ``_`` for none."""

    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    #: Probabilities of alternative tags.
    likely: LikelyTags | None = field(default=None, repr=False, compare=False)

    def of(self, sentence: Sentence, *, keep_tags: bool = False) -> Sentence:
        """Return a copy of a sentence with these columns, also in its lines.

        With ``keep_tags``, a sentence with tags only gets them for words without UPOS and XPOS.
        """
        names = ("lemmas", "upos", "xpos", "feats")
        columns = {name: getattr(self, name) for name in names}
        is_partial = keep_tags and sentence.has_tags
        if is_partial:
            columns = {
                name: [
                    new if old == u == x == "_" else old
                    for new, old, u, x in zip(
                        column, getattr(sentence, name), sentence.upos, sentence.xpos
                    )
                ]
                for name, column in columns.items()
            }
        tagged = with_columns(sentence, **columns)
        tagged.likely_tags = None if is_partial else self.likely
        return tagged


@kernel
def _best_pairs(tags: Float32s, feats: Float32s, pairs: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the pair of a tag and FEATS that each word scores most, the first of equal ones."""
    best = np.empty((tags.shape[0], 2), np.int32)
    for i in range(tags.shape[0]):
        top = np.float32(-np.inf)
        for p in range(pairs.shape[0]):
            score = tags[i, pairs[p, 0]] + feats[i, pairs[p, 1]]
            if p == 0 or score > top:
                top = score
                best[i, 0], best[i, 1] = pairs[p, 0], pairs[p, 1]
    return best


class Tagger:
    """A trained tagger; threads may share it. `ModelError` if its parts do not fit each other.

    `pairs`, int32[P, 2], are the indices of tags and FEATS that occur together. `rules` has
    possible lemma rules: keys are form, tab, tag for words with several lemmas; tab, tag, tab,
    FEATS or only the tag for new words; the empty string for new tags. `lexicon` has the lemmas of
    words that have only one, by form, tab, tag; `truecasing` the capitals of common words within a
    sentence, by the form in lower case.
    """

    def __init__(
        self,
        network: TagNetwork,
        pairs: NDArray[np.int32],
        rules: Mapping[str, Sequence[int]],
        lexicon: Mapping[str, str],
        truecasing: Mapping[str, str],
        notes: Mapping[str, Any] | None = None,
        embeddings: Embeddings | None = None,
    ) -> None:
        self.network, self.pairs, self.embeddings = network, pairs, embeddings
        self.encode = FormEncoder(truecasing)
        self.rules = {tag: tuple(numbers) for tag, numbers in rules.items()}
        self.lexicon = dict(lexicon)
        self.notes = dict(notes or {})
        if len(network.counts) != 3:
            raise ModelError(f"the tagger has {len(network.counts)} kinds of label, expected 3")
        self.tags, self.feats, self.lemma_rules = map(network.labels_of, range(3))
        self._names = self.tags, self.feats
        limits = len(self.tags), len(self.feats)
        if pairs.shape != (len(pairs), 2) or not len(pairs):
            raise ModelError(f"tagger_pairs has shape {pairs.shape}, expected at least one pair")
        if pairs.min() < 0 or (pairs.max(axis=0) >= limits).any():
            raise ModelError(f"tagger_pairs goes up to {pairs.max(axis=0)}, expected < {limits}")
        for tag, numbers in self.rules.items():
            if not all(0 <= number < len(self.lemma_rules) for number in numbers):
                raise ModelError(f"the rules of {tag!r} are {numbers}, expected numbers of rules")
        self._cache: dict[tuple[str, str, str], str | tuple[int, ...]] = {}

    def columns(self, sentences: Sequence[Sequence[str]]) -> list[TagColumns]:
        """Return tags, features and lemmas of the words of a batch of sentences, read as NFC."""
        read = [[normalize("NFC", form) for form in forms] for forms in sentences]
        return [self._columns(forms, *scores) for forms, scores in zip(read, self.scores(read))]

    def scores(self, sentences: Sequence[Sequence[str]]) -> list[list[Float32s]]:
        """Return the scores of the labels of each kind, float32[n, labels], for each sentence."""
        vectors = None
        if self.embeddings is not None:
            vectors = self.embeddings([Sentence.from_words(forms) for forms in sentences])
        return self.network.scores([self.encode(forms) for forms in sentences], vectors)

    def __call__(self, sentence: Sentence) -> Sentence:
        """Return a copy of a sentence with LEMMA, UPOS, XPOS and FEATS, in its lines, too."""
        return self.columns([sentence.forms])[0].of(sentence)

    def tag(self, sentences: Iterable[Sentence], *, keep_tags: bool = False) -> Iterator[Sentence]:
        """Yield copies of sentences with tags, a batch at a time, which is faster.

        With ``keep_tags``, words that have UPOS or XPOS stay as they are.
        """
        for batch in batches(sentences):
            yield from self.tag_batch(batch, keep_tags=keep_tags)

    def tag_batch(self, batch: Sequence[Sentence], *, keep_tags: bool = False) -> list[Sentence]:
        """Return sentences that are tagged together, see `tag`."""
        tagged = list(batch)
        places = [
            i
            for i, s in enumerate(batch)
            if not keep_tags
            or ("_" in s.upos and "_" in s.xpos and ("_", "_") in zip(s.upos, s.xpos))
        ]
        for i, columns in zip(places, self.columns([batch[i].forms for i in places])):
            tagged[i] = columns.of(batch[i], keep_tags=keep_tags)
        return tagged

    def _columns(
        self,
        forms: Sequence[str],
        tag_scores: Float32s,
        feats_scores: Float32s,
        rule_scores: Float32s,
    ) -> TagColumns:
        """Return the columns of a sentence with these scores of its words."""
        tag_scores, feats_scores = map(np.ascontiguousarray, (tag_scores, feats_scores))
        best = _best_pairs(tag_scores, feats_scores, self.pairs)
        tags = [self.tags[number] for number in best[:, 0].tolist()]
        feats = [self.feats[number] for number in best[:, 1].tolist()]
        lemmas = ["_"] * len(forms)
        if self.lemma_rules:
            for i, word in enumerate(zip(forms, tags, feats)):
                known = self._lemma(*word)
                if not isinstance(known, str):
                    rule = known[int(rule_scores[i, known].argmax())]
                    known = apply_rule(self.lemma_rules[rule], forms[i]) or forms[i]
                lemmas[i] = known
        parts = [tag.partition("\t") for tag in tags]
        upos, xpos = [first for first, _, _ in parts], [second for _, _, second in parts]
        chosen = upos, xpos, feats
        others = LikelyTags(self._names, likely(tag_scores), likely(feats_scores), chosen)
        return TagColumns(lemmas, *chosen, others)

    def _lemma(self, form: str, tag: str, feats: str) -> str | tuple[int, ...]:
        """Return the lemma of a form with a tag and FEATS, or the rules that may make it."""
        known = self._cache.get((form, tag, feats))
        if known is None:
            for key in (f"{form}\t{tag}", f"{form.lower()}\t{tag}"):
                known = self.lexicon.get(key) or self.rules.get(key)
                if known is not None:
                    break
            else:
                known = self._fitting(form, f"\t{tag}\t{feats}") or self._fitting(form, tag)
                known = known or self.rules[""]
            if len(self._cache) > _CACHED:
                self._cache.clear()
            self._cache[form, tag, feats] = known
        return known

    def _fitting(self, form: str, key: str) -> tuple[int, ...]:
        """Return the rules with this key that can be applied to a form."""
        rules = self.rules.get(key, ())
        return tuple(i for i in rules if apply_rule(self.lemma_rules[i], form) is not None)


def tagger_fields(tagger: Tagger) -> Fields:
    """Return the fields that `tagger_from` reads."""
    entry = {
        "habits": tagger.encode.truecasing,
        "lexicon": tagger.lexicon,
        "notes": tagger.notes,
        "rules": tagger.rules,
    }
    return {"tagger": entry, "tagger_pairs": tagger.pairs, **tagger.network.to_fields()}


def tagger_from(
    fields: Mapping[str, Any], where: str, embeddings: Embeddings | None = None
) -> Tagger:
    """Make a tagger from fields; `ModelError` names the file, `where`, if they are damaged."""
    network = TagNetwork.from_fields(fields, where)
    texts, rules = dict[str, str], dict[str, list[int]]
    expected = {"habits": texts, "lexicon": texts, "rules": rules, "notes": dict}
    with reading_part("tagger", fields, where, expected) as given:
        entry, used = given["tagger"], network.used_embeddings(embeddings, "its tagger")
        pairs = given["tagger_pairs"].astype(np.int32)
        lexicon, cases = entry["lexicon"], entry["habits"]
        tagger = Tagger(network, pairs, entry["rules"], lexicon, cases, dict(entry["notes"]), used)
        if tagger.lemma_rules and not tagger.rules.get(""):
            raise ModelError("the tagger has no rules for words with new tags")
    return tagger
