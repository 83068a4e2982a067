"""`Cutter`: text → sentences of tokens and words, as a treebank has them.

Two layers of labels (`bbparse.tagging.layer`): whether a character is the last of a word or of a
token, and whether a token is the last of a sentence. Multiword tokens that are not simply cut are
looked up.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.storage.archive import TEXT, Rule
from bbparse.tagging.layer import Layer, flat, layer_rules, reading_header
from bbparse.text.characters import (
    BLANK,
    CHARACTER_COLUMNS,
    JOINED,
    REACH,
    TOKEN_COLUMNS,
    encode_characters,
    encode_tokens,
    kinds_of,
)  # fmt: skip

#: What a character may be: within a word, the last of one within a token, the last of a token.
CHARACTER_LABELS = ("in", "word", "token")
IN, WORD, TOKEN = range(3)
#: What a token may be: within a sentence, or its last.
TOKEN_LABELS = ("in", "end")

# What no treebank has enough of to learn, and is one token: names of languages (C++, C#, g++), but
# not the mark A++; names of files, but in no address; e.g. where a paragraph begins.
_WHOLE = re.compile(
    r"""(?<![\w+])(?:(?![Aa]\+)[A-Za-z]+\+\+|[A-Z]\#)(?![\w+#])
    |(?<![\w./:@?=&%#~-])\w[\w.-]*\.(?:cc|cfg|cpp|css|csv|docx?|exe|gif|gz|hpp|html?|ini|java|jpe?g
    |js|json|log|md|mp[34]|pdf|php|png|py|rb|rs|sh|sql|tar|toml|ts|txt|xlsx?|xml|ya?ml|zip)
    (?![\w/:@?=&%#~-]|\.\w)
    |\A\s*(?:[^\W\d_]\.){2,}(?!\w)""",
    re.VERBOSE,
)

#: Tokens after which a sentence ends in any case: no treebank has such, and charts are squares.
MOST = 2000

CUTTER_ARRAYS: dict[str, Rule] = {
    "cutter_header": (TEXT, 0, None), **layer_rules("characters"), **layer_rules("sentences"),
}  # fmt: skip


# Between letters and digits of scripts that are written with blanks.
_WITHIN = frozenset(f"{kind} {other}" for kind in range(1, 5) for other in range(1, 5))


class Token(NamedTuple):
    """What is written together."""

    start: int  #: Its place in the text.
    end: int
    words: tuple[str, ...]  #: One, or more where it is a multiword token.


def places(text: str) -> tuple[list[str], NDArray[np.int64]]:
    """What each character may be depends on this: its kind and that of the next, beyond a blank.

    Names of such places, each once, and which of them every character has.
    """
    kinds = np.append(kinds_of(text), (-1, -1))
    for i in np.flatnonzero(kinds == JOINED).tolist():
        if i and kinds[i - 1] != BLANK:
            kinds[i] = kinds[i - 1] | JOINED << 4  # as what it joins
    own, following, beyond = kinds[:-2], kinds[1:-1], kinds[2:]
    beyond = np.where(following == BLANK, beyond, BLANK)
    triples = (own & 15) + 16 * (following + 1) + 4096 * (beyond + 1)
    _, first, which = np.unique(triples, return_index=True, return_inverse=True)
    names = [
        "joined" if after >> 4 > 0
        else f"{kind & 15} {after}" if after != BLANK
        else f"{kind & 15} 0 {last}"
        for kind, after, last in kinds[first[:, np.newaxis] + np.arange(3)].tolist()
    ]  # fmt: skip
    return names, which


def has_letter(word: str) -> bool:
    """Whether a word says something of the language it is in."""
    return any(character.isalpha() for character in word)


class Likeness:
    """Warns, once, where a text is plainly of another language than the model.

    The commonest words of a treebank make up half of any text in its language, and next to nothing
    of others.
    """

    #: Words to look at, and what part of the usual share of common words is too little.
    WORDS, LEAST = 100, 0.3

    def __init__(self, cutter: Cutter) -> None:
        self._common = frozenset(cutter.notes.get("common", ()))
        self._least = self.LEAST * float(cutter.notes.get("share", 0.0))
        self._found = self._all = 0

    def look(self, tokens: Iterable[Token]) -> None:
        """Count some words of the text."""
        if self._all >= self.WORDS:
            return
        for token in tokens:
            for word in token.words:
                if has_letter(word):
                    self._all += 1
                    self._found += word.lower() in self._common
        if self._all >= self.WORDS and self._found < self._least * self._all:
            warnings.warn_explicit(
                f"of the first {self._all} words only {self._found} are common in the language of"
                " the model: is the text in another language?",
                UserWarning, "bbparse", 0,
            )  # fmt: skip


class Cutter:
    """Cuts text. Nothing changes while it does, so threads may share it.

    ``multiwords`` are the words of tokens (in lower case) that are not simply cut into them;
    ``notes``, what is worth knowing, are saved with the model.
    """

    def __init__(
        self,
        characters: Layer,
        sentences: Layer,
        multiwords: Mapping[str, Sequence[str]],
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        self.characters, self.sentences = characters, sentences
        self.multiwords = {form: tuple(words) for form, words in multiwords.items()}
        self.notes = dict(notes or {})

    def paragraph(self, text: str) -> Iterator[list[Token]]:
        """The sentences of a text in which no paragraph ends."""
        tokens = self.tokens(text)
        if not tokens:
            return
        spans = [(token.start, token.end) for token in tokens]
        lists = [(0, 1)] * (len(tokens) - 1) + [(1,)]
        labels = self.sentences.find(encode_tokens(text, spans), lists)
        start = 0
        for i, label in enumerate(labels, start=1):
            if label == "end" or i - start == MOST:
                yield tokens[start:i]
                start = i

    def tokens(self, text: str) -> list[Token]:
        if not text or text.isspace():
            return []
        allowed = self.characters.lists
        # what was never seen is cut at blanks, may be cut at marks, and is not within words
        new, apart = allowed[""], allowed[" "]
        names, which = places(text)
        lists = [
            allowed.get(name)
            or (apart if name.count(" ") == 2 else (IN,) if name in _WITHIN else new)
            for name in names
        ]
        lists += [(IN,), (TOKEN,)]
        for whole in _WHOLE.finditer(text):
            which[whole.start() : whole.end() - 1] = len(names)
            which[whole.end() - 1] = len(names) + 1
        labels = self.characters.numbers(encode_characters(text), *flat(lists, which))
        ends = np.flatnonzero(labels)
        out: list[Token] = []
        start, cuts = 0, []
        for i, label in zip([*ends.tolist(), len(text) - 1], [*labels[ends].tolist(), TOKEN]):
            while start <= i and text[start].isspace():
                start += 1
            if start > i:
                continue
            if label == WORD:
                cuts.append(i + 1)
            else:
                out.append(self._token(text, start, i + 1, cuts))
                start, cuts = i + 1, []
        return out

    def _token(self, text: str, start: int, end: int, cuts: list[int]) -> Token:
        form = text[start:end].rstrip()
        end = start + len(form)
        listed = self.multiwords.get(form) or self.multiwords.get(form.lower())
        if listed is not None:
            return Token(start, end, _written_as(form, listed))
        if not cuts:
            return Token(start, end, (form,))
        edges = [start, *(cut for cut in cuts if cut < end), end]
        return Token(start, end, tuple(text[a:b] for a, b in pairwise(edges)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads."""
        header = {
            "multiwords": self.multiwords,
            "notes": self.notes,
            "templates": [self.characters.templates, self.sentences.templates],
        }
        return {
            "cutter_header": np.array(json.dumps(header, sort_keys=True)),
            **self.characters.to_arrays("characters"),
            **self.sentences.to_arrays("sentences"),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str) -> Cutter:
        """A cutter from arrays that the rules of `CUTTER_ARRAYS` have been checked on.

        `ModelError` if some are missing or damaged. Names the file, `where`.
        """
        with reading_header("cutter", CUTTER_ARRAYS, arrays, where) as header:
            multiwords = {
                str(form): tuple(str(word) for word in words)
                for form, words in header["multiwords"].items()
            }
            notes = dict(header["notes"])
            float(notes.get("share", 0.0))
            lines = [[str(line) for line in some] for some in header["templates"]]
            of_characters, of_tokens = lines
        characters = Layer.from_arrays(
            "characters", of_characters, arrays, where, CHARACTER_COLUMNS, REACH
        )
        sentences = Layer.from_arrays("sentences", of_tokens, arrays, where, TOKEN_COLUMNS, REACH)
        for layer, labels in ((characters, CHARACTER_LABELS), (sentences, TOKEN_LABELS)):
            if tuple(layer.labels) != labels:
                raise ModelError(f"{where}: labels of the cutter are {layer.labels}")
        if not {"", " "} <= characters.lists.keys():
            raise ModelError(f"{where}: cutter: no candidates for new kinds of character")
        return cls(characters, sentences, multiwords, notes)


def _written_as(form: str, words: Sequence[str]) -> tuple[str, ...]:
    """Words of a multiword token, with its capitals."""
    if "".join(words).lower() == form.lower():
        out, start = [], 0
        for word in words:
            out.append(form[start : start + len(word)])
            start += len(word)
        return tuple(out)
    if form.isupper() and len(form) > 1:
        return tuple(word.upper() for word in words)
    if form[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return tuple(words)
