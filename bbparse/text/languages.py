"""`Languages`: which language a text is in, by naive Bayes over its character n-grams.

N-grams of one to four characters, in lower case and with all digits alike, are hashed into a table
of log probabilities (Cavnar & Trenkle 1994 rank such n-grams; hashing needs no dictionary).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.archive import Fields, Rule, reading_part
from bbparse.runtime.errors import ModelError

LANGUAGES_FIELDS: dict[str, Rule] = {"languages": dict, "languages_table": ("i", 2, None)}

_BITS = 16  # of a hash
_LONGEST = 4  # n-gram
#: The first characters of a text decide, and steps of the table in a unit of log probability.
_CHARACTERS, _STEPS = 2000, 8
_SMOOTHING = 0.02
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], np.uint32)
_DIGITS = {ord(digit): "0" for digit in "123456789"}


def _hashes(text: str) -> NDArray[np.intp]:
    """Return the buckets of the n-grams of a text."""
    plain = f" {' '.join(text[:_CHARACTERS].lower().translate(_DIGITS).split())} "
    codes = np.frombuffer(plain.encode("utf-32-le", "replace"), np.uint32)
    found, hashed = [], np.zeros(len(codes) + 1, np.uint32)
    for n in range(1, min(_LONGEST, len(codes)) + 1):
        hashed = (hashed[:-1] ^ codes[n - 1 :]) * _FACTORS[n - 1]
        hashed ^= hashed >> np.uint32(15)
        found.append(hashed >> np.uint32(32 - _BITS))
    return np.concatenate(found).astype(np.intp)


class Languages:
    """Codes of languages, the names of their models, and the table, int8[2**16, languages].

    The table has logarithms of probabilities less the mean of their row, in steps of 1/8.
    `ModelError` if they do not fit each other.
    """

    def __init__(self, models: Mapping[str, str], table: NDArray[np.int8]) -> None:
        self.models = {str(code): str(name) for code, name in models.items()}
        self.codes = tuple(self.models)
        if self.codes != tuple(sorted(self.codes)):  # the order that files keep
            raise ModelError("codes of languages are not sorted")
        if table.dtype != np.int8 or table.shape != (1 << _BITS, len(self.codes)) or not models:
            raise ModelError(
                f"the table of languages has shape {table.shape} and dtype {table.dtype}, expected"
                f" {(1 << _BITS, len(self.codes))} and int8"
            )
        self.table = table

    @classmethod
    def learned(cls, texts: Mapping[str, str], models: Mapping[str, str]) -> Languages:
        """Learn to tell languages, given a text and the name of a model for each code."""
        rows, models = [], dict(sorted(models.items()))
        for code in models:
            size, counts = len(texts[code]), np.zeros(1 << _BITS)
            for start in range(0, size, _CHARACTERS):
                hashes = _hashes(texts[code][start : start + _CHARACTERS])
                counts += np.bincount(hashes, minlength=1 << _BITS)
            smooth = counts + _SMOOTHING
            rows.append(np.log(smooth / smooth.sum()))
        table = np.stack(rows, axis=1)
        steps = np.rint(_STEPS * (table - table.mean(axis=1, keepdims=True)))
        return cls(models, np.clip(steps, -127, 127).astype(np.int8))

    def identify(self, text: str) -> str:
        """Return the code of the most probable language of a text, the first of equal ones."""
        sums = self.table[_hashes(text)].sum(axis=0, dtype=np.int64)
        return self.codes[int(sums.argmax())]

    def code_of(self, name: str) -> str:
        """Return the code of a language, given its code or the name of its model."""
        for code, model in self.models.items():
            if name in (code, model):
                return code
        known = ", ".join(f"{code} ({model})" for code, model in self.models.items())
        raise ModelError(f"language {name!r} is unknown, expected one of {known}")

    def to_fields(self) -> Fields:
        """Return the fields that `from_fields` reads."""
        return {"languages": {"models": self.models}, "languages_table": self.table}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], where: str) -> Languages:
        """Make it from fields of a model file; `ModelError` names the file if they are damaged."""
        with reading_part("languages", fields, where, {"models": dict}) as given:
            return cls(given["languages"]["models"], given["languages_table"])
