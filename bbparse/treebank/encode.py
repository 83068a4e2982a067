"""Words as rows of 64-bit hashes, one column for each attribute that a template may name.

A hash depends only on the name of the attribute and its value (BLAKE2b of "attribute=value"), so it
is the same in every process, on every platform and in every release. Equal values of two attributes
have different hashes. Rows are cached for each distinct (form, lemma, upos, xpos, feats).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from unicodedata import normalize

import numpy as np

from bbparse.runtime.arrays import Hashes, Longs
from bbparse.treebank.sentence import Sentence, Word

#: Rows of padding on either side of a sentence: templates may look this many words past its ends.
PAD = 3
#: Most words whose rows are cached: a stream of text must not fill the memory.
MOST_WORDS = 100_000

#: UPOS tags whose words are distinguished by their form rather than by their tag (`lexpos`).
#: CONJ is the name of CCONJ in UD version 1.
CLOSED_CLASSES = frozenset(("ADP", "AUX", "CCONJ", "CONJ", "SCONJ", "DET", "PART", "PRON", "PUNCT"))


#: Attributes that are some features of a word.
_SELECTED = {
    "verbform": ("VerbForm", "Mood", "Voice"),
    "agr": ("Person", "Number", "Gender"),
    "case": ("Case",),
    "prontype": ("PronType", "Poss"),
}


def features_of(feats: str) -> dict[str, str]:
    """Return the values of FEATS by name."""
    return {} if feats == "_" else dict(pair.partition("=")[::2] for pair in feats.split("|"))


@lru_cache(10_000)
def _selected(feats: str) -> dict[str, str]:
    """Return the attributes of `_SELECTED`, and ExtPos if the word has it."""
    features = features_of(feats)
    values = {
        title: "|".join([f"{name}={features[name]}" for name in names if name in features])
        for title, names in _SELECTED.items()
    }
    return values | ({"extpos": features["ExtPos"]} if "ExtPos" in features else {})


def shape(form: str, longest: int = 1) -> str:
    """Return the shape of a word: X, x and d for capitals, small letters and digits, shortened."""
    kinds = ""
    for character in form[:40]:
        kind = (
            "X"
            if character.isupper()
            else "d"
            if character.isdigit()
            else "x"
            if character.isalpha()
            else character
        )
        if not kinds.endswith(kind * longest):
            kinds += kind
    return kinds[:12]


def norm(text: str) -> str:
    """Normalise a text: digits become 0, URLs and e-mail addresses one placeholder each."""
    if "://" in text or text.startswith("www."):
        return "<url>"
    if "@" in text[1:-1]:
        return "<mail>"
    if text.isalpha():
        return text
    return "".join(["0" if character.isdigit() else character for character in text])


def network_values(form: str, lemma: str, upos: str, xpos: str, feats: str) -> dict[str, str]:
    """Return the values of the attributes that networks of parsers read, in NFC, by name."""
    form, lemma = normalize("NFC", form), normalize("NFC", lemma)
    lower = form.lower()
    upos = xpos if upos == "_" else upos
    xpos = upos if xpos == "_" else xpos
    return {
        "lower": lower,
        "lemma": lower if lemma == "_" else lemma,  # the word in lower case where there is none
        "suffix2": lower[-2:],
        "suffix3": lower[-3:],
        "prefix2": lower[:2],
        "prefix3": lower[:3],
        "shape": shape(form)[:8],  # pattern of capitals, letters and digits
        "upos": upos,  # UPOS; XPOS where there is none
        "xpos": xpos,  # XPOS; UPOS where there is none
        "feats": feats,
        "lexpos": f"{lower}|{upos}" if upos in CLOSED_CLASSES else xpos,
    }


def attribute_values(form: str, lemma: str, upos: str, xpos: str, feats: str) -> dict[str, str]:
    """Return the values of one word's attributes, in NFC, by the names in `ATTRIBUTES`."""
    known, form = network_values(form, lemma, upos, xpos, feats), normalize("NFC", form)
    lower, lemma, upos, xpos = (known[name] for name in ("lower", "lemma", "upos", "xpos"))
    selected = _selected(feats)
    return {
        **known,
        "form": form,
        "norm": norm(lemma.lower()),  # with digits made 0, addresses made one
        "tag": f"{upos}|{xpos}",
        "morph": f"{upos}|{feats}",
        **selected,
        "extpos": selected.get("extpos", upos),  # of a fixed expression
        "prefix1": lower[:1],
        "suffix1": lower[-1:],
        "length": str(min(len(form), 5)),  # five characters and more as one
    }


#: Names of the attributes a template may use, in the order of the columns of `encode`: first those
#: that networks read.
NETWORK_ATTRIBUTES: tuple[str, ...] = tuple(network_values(*"_____"))
ATTRIBUTES: tuple[str, ...] = tuple(attribute_values(*"_____"))


def text_hash(text: str) -> int:
    """Return the 64-bit hash of a text, which is the same in every process."""
    return row_of([(text,)])[0]


def attribute_hash(attribute: str, value: str) -> int:
    """Return the 64-bit hash of an attribute's value."""
    return row_of([(attribute, value)])[0]


_hashes: dict[tuple[str, ...], int] = {}
_MOST_HASHES = 1 << 17


def row_of(values: Iterable[tuple[str, ...]]) -> list[int]:
    """Return the hashes of (attribute, value) pairs."""
    row = []
    for pair in values:
        known = _hashes.get(pair)
        if known is None:
            if len(_hashes) >= _MOST_HASHES:
                _hashes.clear()
            data = "=".join(pair).encode("utf-8", "surrogatepass")
            known = int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
            _hashes[pair] = known
        row.append(known)
    return row


#: Keys of the rows before and after the words of a sentence. Their values begin with a tab, so that
#: no word has them.
ROOT = "\troot"
_BEFORE = (*(f"\tbefore-{k}" for k in range(PAD, 0, -1)), ROOT)
_AFTER = tuple(f"\tafter+{k}" for k in range(1, PAD + 1))


def hashes_of(
    word: Word | str, values: Callable[..., dict[str, str]] = attribute_values
) -> list[int]:
    """Return the hashes of the ``values`` of a word, or of the key of a row that is none."""
    named = dict.fromkeys(values(*"_____"), word) if isinstance(word, str) else values(*word)
    return row_of(named.items())


@lru_cache(MOST_WORDS)
def _row(word: Word | str) -> Hashes:
    return np.array(hashes_of(word), np.uint64)


def encode(sentence: Sentence) -> Hashes:
    """Return a sentence as uint64[n_words + 1 + 2 * PAD, len(ATTRIBUTES)].

    The array is C-contiguous and writable. Row PAD is the root and row PAD + i word i. The rows
    around them are padding, with distinct values for each distance from the sentence.
    """
    return encode_all([sentence])[0]


def encode_all(sentences: Iterable[Sentence]) -> list[Hashes]:
    """Return each sentence of a batch as a part of one array; see `encode`."""
    rows: list[Hashes] = []
    ends = [0]
    for sentence in sentences:
        rows += map(_row, (*_BEFORE, *sentence.words, *_AFTER))
        ends.append(len(rows))
    encoded = np.concatenate(rows or [np.empty(0, np.uint64)]).reshape(-1, len(ATTRIBUTES))
    return [encoded[a:b] for a, b in pairwise(ends)]


class HashCounter:
    """Counts of hashes; memory is bounded by the number of distinct ones."""

    _MOST_WAITING = 1 << 21

    def __init__(self) -> None:
        self._keys, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._waiting: list[Hashes] = []
        self._n_waiting = 0

    def add(self, hashes: Hashes) -> None:
        """Count some hashes, uint64[n]."""
        self._waiting.append(hashes)
        self._n_waiting += len(hashes)
        if self._n_waiting >= self._MOST_WAITING:
            self.counts()

    def counts(self) -> tuple[Hashes, Longs]:
        """Return the distinct hashes so far, ascending, and the count of each."""
        weights = np.concatenate([self._counts, np.ones(self._n_waiting, np.int64)])
        hashes = np.concatenate([self._keys, *self._waiting])
        self._keys, which = np.unique(hashes, return_inverse=True)
        self._counts = np.bincount(which, weights, len(self._keys)).astype(np.int64)
        self._waiting, self._n_waiting = [], 0
        return self._keys, self._counts
