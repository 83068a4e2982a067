"""What a parser takes besides sentences: text, words and lists of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence

Token: TypeAlias = "str | Sequence[str]"
"""A word: its form, or (form, UPOS, XPOS, lemma, FEATS), where trailing items may be omitted."""

_COLUMNS = ("form", "UPOS", "XPOS", "lemma", "FEATS")


def items_of(text: Any) -> Iterable[Any]:
    """Return the input of `Parser.__call__` as a stream of sentences or texts."""
    if isinstance(text, str | Sentence):
        return [text]
    if isinstance(text, bytes | bytearray) or not isinstance(text, Iterable):
        raise TreebankError(
            f"found {text!r:.60}, expected text, a Sentence, a list of words or of sentences"
        )
    items = list(text)
    if not items or not all(isinstance(item, str) or _is_word(item) for item in items):
        for number, item in enumerate(items, start=1):
            if _is_word(item):
                raise TreebankError(
                    f"sentence {number} is {item!r:.60}, a word, expected a list of words"
                )
        return [
            item if isinstance(item, Sentence) else sentence_of(item, number)
            for number, item in enumerate(items, start=1)
        ]
    for i, item in enumerate(items, start=1):
        if isinstance(item, str) and " " in item:
            raise TreebankError(
                f"word {i} is {item!r:.60}, which contains blanks: use pipe for a list of"
                f" texts, or ({item!r:.60},) for a word with blanks"
            )
    return [sentence_of(items)]


def _is_word(item: Any) -> bool:
    """Return True for a tuple that describes a word, or too much of it; False for a sentence."""
    return isinstance(item, tuple) and len(item) > 0 and isinstance(item[0], str)


def sentence_of(words: Iterable[Token], number: int = 1) -> Sentence:
    """Build a sentence from forms, or tuples as in `Token`; ``number`` is for messages.

    Raises `TreebankError` if a word is neither, or there are no words.
    """
    rows: list[tuple[str, ...]] = []
    if isinstance(words, str | bytes | bytearray) or not isinstance(words, Iterable):
        raise TreebankError(f"sentence {number} is {words!r:.60}, expected a list of words")
    for i, word in enumerate(words, start=1):
        row = tuple(word) if isinstance(word, tuple | list) else (word,)
        if not 1 <= len(row) <= len(_COLUMNS) or not all(isinstance(v, str) for v in row):
            raise TreebankError(
                f"sentence {number}, word {i} is {word!r:.60}, expected text or a tuple of up to"
                f" {len(_COLUMNS)} texts: {', '.join(_COLUMNS)}"
            )
        if not row[0].strip():
            raise TreebankError(f"sentence {number}, word {i} is {row[0]!r}, expected text")
        rows.append(row + ("_",) * (len(_COLUMNS) - len(row)))
    if not rows:
        raise TreebankError(f"sentence {number} has no words")
    forms, upos, xpos, lemmas, feats = ([v or "_" for v in column] for column in zip(*rows))
    try:
        sentence = Sentence.from_words(forms, upos=upos, xpos=xpos, lemmas=lemmas, feats=feats)
    except ValueError as error:
        raise TreebankError(f"sentence {number}: {error}") from error
    sentence.number = number
    return sentence
