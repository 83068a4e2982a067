"""`Tagger`: forms → UPOS, XPOS, FEATS and lemmas, in three layers, each seeing what came before.

Tags (UPOS and XPOS together) are found first, with what a network thinks of them
(`bbparse.tagging.network`); then FEATS among those that go with the tag, then the rule that makes
the lemma (`bbparse.tagging.lemmas`). Words that the training text showed often have the labels they
had there to choose from; others all that new words may have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse import __version__
from bbparse.embeddings import Embeddings
from bbparse.errors import ModelError
from bbparse.storage.archive import TEXT, Rule
from bbparse.tagging.encode import FormEncoder, fill_tags
from bbparse.tagging.layer import Layer, layer_rules, reading_header
from bbparse.tagging.lemmas import apply_rule
from bbparse.tagging.network import TAG_NETWORK_ARRAYS, TagNetwork
from bbparse.treebank import Sentence
from bbparse.treebank.writing import with_columns

#: Rules that apply to every form: the form in lower case, and as it is.
LOWER, SAME = "l\t\t\t\t", "k\t\t\t\t"
_MEMORY = 200_000  # forms with what may become of them

_LAYERS = ("tags", "feats", "lemmas")
_NEEDED: dict[str, Rule] = {"tagger_header": (TEXT, 0, None), **layer_rules("tags")}

#: Arrays of a tagger, with the rules that `bbparse.storage.archive.read_archive` checks them by.
TAGGER_ARRAYS: dict[str, Rule] = {
    **_NEEDED,
    **layer_rules("feats"),
    **layer_rules("lemmas"),
    **TAG_NETWORK_ARRAYS,
    "tagger_lexicon": (TEXT, 0, None),
}


@dataclass(frozen=True, slots=True)
class TagColumns:
    """The columns of a tagger, one element for each word; ``_`` where it has nothing to say."""

    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]

    def of(self, sentence: Sentence) -> Sentence:
        """Return a copy of a sentence with these columns, also in its lines."""
        return with_columns(
            sentence, lemmas=self.lemmas, upos=self.upos, xpos=self.xpos, feats=self.feats
        )


class Tagger:
    """A trained tagger. Threads may share it.

    Parameters
    ----------
    known : mapping
        Tags of common words, by the form in lower case; for the features.
    habits : mapping
        How common words are capitalised within a sentence.
    tags : Layer
        Its labels are UPOS and XPOS with a tab between them. The key of a word's candidates is its
        form, the empty key is that of all others.
    feats : Layer, optional
        Keys: form in lower case, tab, tag; or the tag alone. Without it FEATS is ``_``.
    lemmas : Layer, optional
        Keys: form, tab, tag; or the tag alone. Labels are rules. Without it LEMMA is ``_``.
    lexicon : mapping
        Lemmas of words that have but one, by form, tab, tag.
    notes : dict
        What is worth knowing about the training; saved with the model.
    network : TagNetwork, optional
        Its scores are added to those of the tags and FEATS.
    outside : Embeddings, optional
        Vectors that the network takes besides.
    """

    def __init__(  # noqa: PLR0913 – public keywords
        self,
        known: Mapping[str, str],
        habits: Mapping[str, str],
        tags: Layer,
        feats: Layer | None = None,
        lemmas: Layer | None = None,
        lexicon: Mapping[str, str] | None = None,
        notes: Mapping[str, Any] | None = None,
        network: TagNetwork | None = None,
        outside: Embeddings | None = None,
    ) -> None:
        self.encode = FormEncoder(known, habits)
        self.tags, self.feats, self.lemmas = tags, feats, lemmas
        self.lexicon = dict(lexicon or {})
        self.notes = dict(notes or {})
        self.network, self.outside = network, outside
        self._of_lemma: dict[tuple[str, str], str | tuple[int, ...]] = {}

    def columns(self, forms: Sequence[str]) -> TagColumns:
        """Tags, features and lemmas of the words of a sentence."""
        if not len(forms):
            return TagColumns([], [], [], [])
        values = self.encode(forms)
        of_tags = of_feats = None
        if self.network is not None:
            given = None
            if self.outside is not None:
                given = self.outside([Sentence.from_words(forms)])[0]
            of_tags, of_feats = self.network.scores(values, given)
        candidates = self.tags.lists
        rest = candidates[""]
        tags = self.tags.find(values, [candidates.get(form, rest) for form in forms], of_tags)
        n = len(forms)
        upos, _, xpos = zip(*(tag.partition("\t") for tag in tags))
        feats, lemmas = ["_"] * n, ["_"] * n
        if self.feats is not None or self.lemmas is not None:
            fill_tags(values, forms, tags)
        if self.feats is not None:
            feats = self.feats.find(
                values, [self._feats_of(form, tag, self.feats) for form, tag in zip(forms, tags)],
                of_feats,
            )  # fmt: skip
            fill_tags(values, forms, feats=feats)
        if self.lemmas is not None:
            lemmas = self._lemmas(values, forms, tags, self.lemmas)
        return TagColumns(lemmas, list(upos), list(xpos), feats)

    def __call__(self, sentence: Sentence) -> Sentence:
        """Return a copy of a sentence with LEMMA, UPOS, XPOS and FEATS, in its lines, too."""
        return self.columns(sentence.forms).of(sentence)

    def _feats_of(self, form: str, tag: str, layer: Layer) -> tuple[int, ...]:
        """Return the labels that FEATS may have for a form with a tag."""
        lists = layer.lists
        found = lists.get(f"{form.lower()}\t{tag}") or lists.get(tag)
        return found or tuple(range(len(layer.labels)))

    def _rules_of(self, form: str, tag: str, layer: Layer) -> str | tuple[int, ...]:
        """Return the lemma of a form with a tag, or the labels of the rules it may be made by."""
        found = self._of_lemma.get((form, tag))
        if found is None:
            for key in (f"{form}\t{tag}", f"{form.lower()}\t{tag}"):
                found = self.lexicon.get(key) or layer.lists.get(key)
                if found is not None:
                    break
            else:
                found = applicable(layer, form, tag)
            if len(self._of_lemma) > _MEMORY:
                self._of_lemma.clear()
            self._of_lemma[form, tag] = found
        return found

    def _lemmas(
        self, values: Any, forms: Sequence[str], tags: Sequence[str], layer: Layer
    ) -> list[str]:
        lemmas: list[str] = []
        lists: list[tuple[int, ...]] = []
        for form, tag in zip(forms, tags):
            found = self._rules_of(form, tag, layer)
            if isinstance(found, str):
                lemmas.append(found)
                lists.append((0,))
            else:
                lemmas.append("")
                lists.append(found)
        if "" in lemmas:
            for i, rule in enumerate(layer.find(values, lists)):
                if not lemmas[i]:
                    lemmas[i] = apply_rule(rule, forms[i]) or forms[i]
        return lemmas


def applicable(layer: Layer, form: str, tag: str) -> tuple[int, ...]:
    """Return the rules for new words with a tag that can be applied to a form."""
    some = layer.lists.get(tag) or layer.lists[""]
    kept = tuple(i for i in some if apply_rule(layer.labels[i], form) is not None)
    return kept or layer.lists[""]


def accuracy(tagger: Tagger, sentences: Iterable[Sentence]) -> dict[str, float]:
    """Share of words whose UPOS, XPOS, FEATS and lemma a tagger finds, and all four of them."""
    right = dict.fromkeys(("UPOS", "XPOS", "FEATS", "lemma", "all"), 0)
    words = 0
    for sentence in sentences:
        found = tagger.columns(sentence.forms)
        pairs = (
            (sentence.upos, found.upos), (sentence.xpos, found.xpos),
            (sentence.feats, found.feats), (sentence.lemmas, found.lemmas),
        )  # fmt: skip
        same = [[a == b for a, b in zip(gold, own)] for gold, own in pairs]
        for name, column in zip(right, same):
            right[name] += sum(column)
        right["all"] += sum(map(all, zip(*same)))
        words += sentence.n_words
    return {name: count / max(1, words) for name, count in right.items()}


def tagger_arrays(tagger: Tagger) -> dict[str, NDArray[Any]]:
    """Return the arrays that `tagger_from` reads."""
    layers = {"tags": tagger.tags, "feats": tagger.feats, "lemmas": tagger.lemmas}
    header = {
        "bbparse": __version__,
        "known": tagger.encode.known,
        "habits": tagger.encode.habits,
        "notes": tagger.notes,
        "templates": {
            name: layer.templates for name, layer in layers.items() if layer is not None
        },
    }
    arrays = {"tagger_header": np.array(json.dumps(header, sort_keys=True))}
    for name, layer in layers.items():
        if layer is not None:
            arrays.update(layer.to_arrays(name))
    if tagger.lexicon:
        lines = (f"{key}\t{lemma}" for key, lemma in tagger.lexicon.items())
        arrays["tagger_lexicon"] = np.array("\n".join(lines))
    if tagger.network is not None:
        arrays.update(tagger.network.to_arrays())
    return arrays


def tagger_from(
    arrays: Mapping[str, NDArray[Any]], where: str, outside: Embeddings | None = None
) -> Tagger:
    """Make a tagger from arrays that the rules of `TAGGER_ARRAYS` have been checked on.

    It takes the vectors from outside if it was trained with such. A `ModelError` with the name of
    the file, ``where``, if some are missing or damaged.
    """
    with reading_header("tagger", _NEEDED, arrays, where) as header:
        templates = {name: list(map(str, lines)) for name, lines in header["templates"].items()}
        known, habits = (
            {str(form): str(value) for form, value in header[name].items()}
            for name in ("known", "habits")
        )
        notes = dict(header["notes"])
        layers: dict[str, Layer] = {}
        for name in _LAYERS:
            if name not in templates:
                continue
            gone = sorted(set(layer_rules(name)) - set(arrays))
            if gone:
                raise ModelError(f"{where}: field {gone[0]} of the tagger is missing")
            layers[name] = Layer.from_arrays(name, templates[name], arrays, where)
        tags = layers["tags"]
        for name in ("tags", "lemmas"):
            if name in layers and "" not in layers[name].lists:
                raise ModelError(f"{where}: tagger, {name}: no candidates for new words")
    lexicon: dict[str, str] = {}
    if "tagger_lexicon" in arrays:
        for line in str(arrays["tagger_lexicon"].item()).split("\n"):
            key, tab, lemma = line.rpartition("\t")
            if not tab or not lemma:
                raise ModelError(f"{where}: tagger_lexicon is damaged at {line!r:.60}")
            lexicon[key] = lemma
    network = taken = None
    if TAG_NETWORK_ARRAYS.keys() & arrays.keys():
        known_feats = layers["feats"].labels if "feats" in layers else ["_"]
        network = TagNetwork.of_labels(tags.labels, known_feats, arrays, where)
        taken = network.taken(outside, f"{where}: its tagger")
    feats, lemmas = layers.get("feats"), layers.get("lemmas")
    return Tagger(known, habits, tags, feats, lemmas, lexicon, notes, network, taken)
