"""Words as rows of 64-bit hashes, one column for each attribute a template may name.

A hash depends on nothing but the attribute's name and its value (BLAKE2b of "attribute=value"), so
it is the same in every process, on every platform and next year; equal values of two attributes
hash differently. Rows are memoised for each distinct (form, lemma, upos, xpos, feats), so that
encoding a sentence is a dictionary look-up per word and one `numpy.take`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bbparse.treebank import Sentence

__all__ = ["ATTRIBUTES", "PAD", "WordEncoder", "attribute_hash", "attribute_values", "encode"]

#: Rows of padding on either side of a sentence: templates may look this many words past its ends.
PAD = 3

#: UPOS tags whose words are told apart by their form rather than by their tag (`lexpos`).
#: CONJ is what UD version 1 called CCONJ.
CLOSED_CLASSES = frozenset(
    ("ADP", "AUX", "CCONJ", "CONJ", "SCONJ", "DET", "PART", "PRON", "PUNCT")
)

Key = tuple[str, str, str, str, str]


def _feature_values(feats: str) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in feats.split("|")) if feats != "_" else {}


def _shape(form: str) -> str:
    """X for capitals, x for other letters, d for digits, the rest as it is; runs collapse."""
    shape = ""
    for character in form[:40]:
        kind = (
            "X" if character.isupper()
            else "d" if character.isdigit()
            else "x" if character.isalpha()
            else character
        )  # fmt: skip
        if not shape.endswith(kind):
            shape += kind
    return shape[:8]


def _normal(lemma: str) -> str:
    """The lemma with what makes a word unique taken out: digits, and the text of addresses."""
    if "://" in lemma or lemma.startswith("www."):
        return "<url>"
    if "@" in lemma[1:-1]:
        return "<mail>"
    return "".join("0" if character.isdigit() else character for character in lemma)


def _describe(key: Key) -> dict[str, str]:
    form, lemma, upos, xpos, feats = key
    lower = form.lower()
    lemma = lower if lemma == "_" else lemma
    upos = xpos if upos == "_" else upos
    xpos = upos if xpos == "_" else xpos
    have = _feature_values(feats)

    def some(*names: str) -> str:
        return "|".join(f"{name}={have[name]}" for name in names if name in have)

    return {
        "form": form,
        "lower": lower,
        "lemma": lemma,
        "norm": _normal(lemma.lower()),
        "upos": upos,
        "xpos": xpos,
        "tag": f"{upos}|{xpos}",
        "lexpos": f"{lower}|{upos}" if upos in CLOSED_CLASSES else xpos,
        "feats": feats,
        "morph": f"{upos}|{feats}",
        "verbform": some("VerbForm", "Mood", "Voice"),
        "agr": some("Person", "Number", "Gender"),
        "case": some("Case"),
        "prontype": some("PronType", "Poss"),
        "extpos": have.get("ExtPos", upos),
        "prefix1": lower[:1],
        "prefix2": lower[:2],
        "prefix3": lower[:3],
        "suffix1": lower[-1:],
        "suffix2": lower[-2:],
        "suffix3": lower[-3:],
        "shape": _shape(form),
        "length": str(min(len(form), 5)),
    }


#: What each attribute is; the order is that of the columns of `encode`.
_MEANINGS = {
    "form": "the word as written",
    "lower": "the word in lower case",
    "lemma": "the lemma; the lower-cased word where there is none",
    "norm": "the lower-cased lemma with digits made 0, addresses made one",
    "upos": "UPOS; XPOS where there is none",
    "xpos": "XPOS; UPOS where there is none",
    "tag": "UPOS and XPOS together",
    "lexpos": "lower-cased word and UPOS for closed classes, XPOS for the others",
    "feats": "the whole FEATS column",
    "morph": "UPOS and the whole FEATS column",
    "verbform": "VerbForm, Mood and Voice",
    "agr": "Person, Number and Gender",
    "case": "Case",
    "prontype": "PronType and Poss",
    "extpos": "ExtPos where a fixed expression has one, else UPOS",
    "prefix1": "first character, in lower case",
    "prefix2": "first two characters",
    "prefix3": "first three characters",
    "suffix1": "last character, in lower case",
    "suffix2": "last two characters",
    "suffix3": "last three characters",
    "shape": "pattern of capitals, letters and digits",
    "length": "number of characters, five and more as one",
}

#: Names of the attributes a template may use, in the order of the columns of `encode`.
ATTRIBUTES: tuple[str, ...] = tuple(_MEANINGS)


def attribute_values(form: str, lemma: str, upos: str, xpos: str, feats: str) -> dict[str, str]:
    """The attributes of one word, by name, as text.

    Parameters
    ----------
    form, lemma, upos, xpos, feats : str
        Columns of CoNLL-U; ``_`` for what is not given.

    Returns
    -------
    dict of str
        A value for each of `ATTRIBUTES`, in that order.
    """
    return _describe((form, lemma, upos, xpos, feats))


def attribute_hash(attribute: str, value: str) -> int:
    """64-bit hash of an attribute's value, the same in every process."""
    text = f"{attribute}={value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def _special_rows(values: list[str]) -> NDArray[np.uint64]:
    return np.array(
        [[attribute_hash(name, value) for name in ATTRIBUTES] for value in values], dtype=np.uint64
    )


# No word has these values: the columns of a word contain no tab.
_BEFORE = _special_rows([f"\tbefore-{k}" for k in range(PAD, 0, -1)] + ["\troot"])
_AFTER = _special_rows([f"\tafter+{k}" for k in range(1, PAD + 1)])


class _Memo:
    """Rows seen so far. Only ever added to, so that readers need no lock."""

    def __init__(self) -> None:
        self.index: dict[Key, int] = {}
        self.rows = np.empty((256, len(ATTRIBUTES)), dtype=np.uint64)
        self.hashes: dict[tuple[str, str], int] = {}


class WordEncoder:
    """Encodes sentences; safe to share between threads.

    Parameters
    ----------
    max_words : int
        Distinct words remembered. When there are more, the memory is emptied and filled anew, so
        that an endless stream of text does not fill the machine (a word takes some 0.5 kB).
    """

    def __init__(self, max_words: int = 100_000) -> None:
        self.max_words = max_words
        self._memo = _Memo()
        self._lock = threading.Lock()

    def __call__(self, sentence: Sentence) -> NDArray[np.uint64]:
        """Encode a sentence.

        Parameters
        ----------
        sentence : Sentence
            Its forms, lemmas, upos, xpos and feats are read.

        Returns
        -------
        uint64[n_words + 1 + 2 * PAD, len(ATTRIBUTES)]
            Row PAD + i is word i, row PAD the root; the rows around them are padding, with values
            of their own at each distance from the sentence. C-contiguous and writable.
        """
        keys = list(
            zip(sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats)
        )
        # One look at the memo: another thread may replace it, but not what it holds.
        memo = self._memo
        try:
            index = [memo.index[key] for key in keys]
        except KeyError:
            memo, index = self._learn(keys)
        n_words = len(keys)
        out = np.empty((n_words + 1 + 2 * PAD, len(ATTRIBUTES)), dtype=np.uint64)
        out[: PAD + 1] = _BEFORE
        out[PAD + 1 + n_words :] = _AFTER
        # Only "clip" writes into `out` without a buffer; no index is out of range.
        memo.rows.take(index, axis=0, out=out[PAD + 1 : PAD + 1 + n_words], mode="clip")
        return out

    def _learn(self, keys: list[Key]) -> tuple[_Memo, list[int]]:
        with self._lock:
            memo = self._memo
            if len(memo.index) + len(keys) > self.max_words and memo.index:
                memo = self._memo = _Memo()
            for key in keys:
                if key in memo.index:
                    continue
                position = len(memo.index)
                if position == len(memo.rows):
                    grown = np.empty((2 * position, len(ATTRIBUTES)), dtype=np.uint64)
                    grown[:position] = memo.rows
                    memo.rows = grown
                memo.rows[position] = self._row(memo, key)
                # Published last: who finds the index also finds the row.
                memo.index[key] = position
            return memo, [memo.index[key] for key in keys]

    @staticmethod
    def _row(memo: _Memo, key: Key) -> list[int]:
        row = []
        for pair in _describe(key).items():
            value = memo.hashes.get(pair)
            if value is None:
                value = memo.hashes[pair] = attribute_hash(*pair)
            row.append(value)
        return row


#: Encode a sentence with a memory shared by the whole process; see `WordEncoder.__call__`.
encode: Callable[[Sentence], NDArray[np.uint64]] = WordEncoder()
