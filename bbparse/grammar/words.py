"""The vocabulary of the grammar: frequent words, and signatures of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def signature(word: str, first: bool) -> str:
    """Return the shape and ending of an unknown word, such as ``<Aa-ing>``.

    The initial capital of the first word of a sentence is marked F, not A.
    """
    lower = word.lower()
    shape = ""
    if any(c.isdigit() for c in word):
        shape += "9"
    if word[0].isupper():
        shape += "A" if word.isupper() and len(word) > 1 else ("F" if first else "A")
        shape += "" if word.isupper() else "a"
    elif lower != word:
        shape += "aA"
    elif any(c.isalpha() for c in word):
        shape += "a"
    if "-" in word:
        shape += "-"
    if not any(c.isalnum() for c in word):
        shape += "."
    ending = lower[-3:] if len(word) > 4 and lower[-3:].isalpha() else ""
    if ending and ending[-1] == "s" and not ending.endswith(("ss", "us", "is")):
        ending = "s" if not lower.endswith("ness") else "ess"
    elif ending and not ending.endswith(("ing", "ion", "ity", "ist", "ble", "ous", "ful", "ive")):
        ending = ending[1:]
    return f"<{shape}-{ending}>" if ending else f"<{shape}>"


def _signatures(word: str, first: bool) -> tuple[str, str]:
    """Return the signature of a word, and a shorter one for back-off."""
    whole = signature(word, first)
    return whole, whole.split("-")[0] + ">"


class Vocabulary:
    """Numbers of lower-cased words and signatures; 0 is for unknown ones."""

    def __init__(self, entries: Sequence[str]) -> None:
        self.entries = list(entries)
        self._number = {entry: i for i, entry in enumerate(self.entries)}

    @classmethod
    def learn(cls, sentences: Sequence[Sequence[str]]) -> Vocabulary:
        """Collect words that occur twice, and the signatures of the others."""
        counts = Counter(word.lower() for words in sentences for word in words)
        frequent = sorted(word for word, count in counts.items() if count > 1)
        signatures = {
            word_signature
            for words in sentences
            for i, word in enumerate(words)
            if counts[word.lower()] == 1
            for word_signature in _signatures(word, i == 0)
        }
        return cls(["<>"] + frequent + sorted(signatures - set(frequent)))

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the number of each word of a sentence."""
        numbers = []
        for i, word in enumerate(words):
            number = self._number.get(word.lower())
            if number is None:
                whole, shape = _signatures(word, i == 0)
                number = self._number.get(whole) or self._number.get(shape, 0)
            numbers.append(number)
        return numbers
