"""Words as rows of 64-bit hashes for the tagger, which sees their forms alone.

As `bbparse.treebank.encode`; besides affixes and shapes, a row has the character n-grams of the
form (Bojanowski et al. 2017), so that new words have something in common with known ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.treebank.encode import attribute_hash, row_of, shape

#: Maximum number of n-grams of a form: a word of eight letters has as many.
N_GRAMS = 24
#: Lengths of n-grams; the ends of a word count as characters.
LENGTHS = (3, 4, 5)
#: Number of the first columns that are the whole word.
N_WHOLE = 2


def _kinds(form: str) -> str:
    """Return the kinds of character in a form, in any order."""
    return "".join(
        mark
        for mark, there in (
            ("A", form.isupper() and len(form) > 1),
            ("T", form[:1].isupper() and not form[1:].isupper()),
            ("X", any(c.isupper() for c in form[1:]) and not form.isupper()),
            ("d", any(c.isdigit() for c in form)),
            ("-", "-" in form),
            (".", "." in form),
            ("@", "@" in form[1:-1]),
            ("/", "/" in form),
            ("o", not any(c.isalnum() for c in form)),
            ("u", not form.isascii()),
        )
        if there
    )


def style(forms: Sequence[str]) -> str:
    """Return how a sentence uses capitals: in every letter, in most words, in few, nowhere."""
    words = [form for form in forms if form[:1].isalpha() and len(form) > 2]
    if len(words) < 2:
        return "?"
    if all(form.isupper() for form in words):
        return "A"
    capitals = sum(form[0].isupper() for form in words)
    if capitals == 0:
        return "l"
    return "T" if capitals >= 0.7 * len(words) else "x"


def grams(lower: str) -> list[str]:
    """Return the first `N_GRAMS` n-grams of a form in lower case, the short ones first."""
    marked = f"<{lower[:40]}>"
    some = [marked[i : i + n] for n in LENGTHS for i in range(len(marked) - n + 1)]
    return some[:N_GRAMS]


def _attributes(truecasing: Mapping[str, str], form: str) -> list[tuple[str, str]]:
    """Return the attributes of a form with their values; affixes of digits say nothing."""
    lower = form.lower()
    plain = "".join("0" if c.isdigit() else c for c in lower)
    kinds = _kinds(form)
    return [
        ("form", form),
        ("lower", lower),
        *((f"prefix{n}", plain[:n]) for n in range(1, 5)),
        *((f"suffix{n}", plain[-n:]) for n in range(1, 6)),
        ("shape", shape(form, 4)),
        ("kinds", f"{shape(form)}|{kinds}"),
        ("habit", f"{truecasing.get(lower, '')}|{kinds}"),
        *(("gram", gram) for gram in grams(plain)),
    ]


#: Attributes of a form, and the one of its sentence: the use of capitals.
COLUMNS = (*(name for name, _ in _attributes({}, "a" * N_GRAMS)), "style")


def _row(truecasing: Mapping[str, str], form: str) -> NDArray[np.uint64]:
    row = np.zeros(len(COLUMNS), np.uint64)
    hashes = row_of(_attributes(truecasing, form))
    row[: len(hashes)] = hashes
    return row


class FormEncoder:
    """Encodes forms; ``truecasing`` maps lower-cased words to how they are written in sentences."""

    def __init__(self, truecasing: Mapping[str, str]) -> None:
        self.truecasing = dict(truecasing)
        # Not a method of this object: a cycle would keep the rows after it.
        self._row = lru_cache(100_000)(partial(_row, self.truecasing))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickling; another process has its own cache."""
        return FormEncoder, (self.truecasing,)

    def __call__(self, forms: Sequence[str]) -> NDArray[np.uint64]:
        """Return the words of a sentence, uint64[n, len(COLUMNS)]."""
        rows = [*map(self._row, forms)] or [np.empty(0, np.uint64)]
        out = np.concatenate(rows).reshape(len(forms), len(COLUMNS))
        out[:, -1] = attribute_hash("style", style(forms))
        return out
