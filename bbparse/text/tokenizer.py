"""`Tokenizer`: splits text into sentences of tokens and words, as a treebank does.

A network over characters (`bbparse.neural.labelling`) decides whether a character is the last of
a word or token, and whether it is the last of a sentence. A multiword token whose words are no
substrings of it is looked up in a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings import Embeddings, EncoderStates
from bbparse.neural.labelling import LabelNetwork
from bbparse.neural.ragged import grouped
from bbparse.neural.sequence import Shared
from bbparse.runtime.archive import Fields, Rule, reading_part
from bbparse.runtime.arrays import Float32s, Hashes
from bbparse.runtime.errors import ModelError
from bbparse.text.characters import BLANK, JOINED, encode_characters, kinds_of, with_pieces

#: Labels of characters: inside a word, last of a word inside a token, last of a token.
CHARACTER_LABELS = ("in", "word", "token")
IN, WORD, TOKEN = range(3)
#: Labels of the last characters of tokens: inside a sentence, end of a sentence.
SENTENCE_LABELS = ("within", "end")

# Single tokens that are too rare in treebanks to be learned: names of programming languages (C++,
# C#, g++), but not the grade A++; file names outside addresses; "e.g." at the start of a paragraph.
_WHOLE = re.compile(
    r"""(?<![\w+])(?:(?![Aa]\+)[A-Za-z]+\+\+|[A-Z]\#)(?![\w+#])
    |(?<![\w./:@?=&%#~-])\w[\w.-]*\.(?:cc|cfg|cpp|css|csv|docx?|exe|gif|gz|hpp|html?|ini|java|jpe?g
    |js|json|log|md|mp[34]|pdf|php|png|py|rb|rs|sh|sql|tar|toml|ts|txt|xlsx?|xml|ya?ml|zip)
    (?![\w/:@?=&%#~-]|\.\w)
    |\A\s*(?:[^\W\d_]\.){2,}(?!\w)""",
    re.VERBOSE,
)

#: Maximum length of a sentence in tokens: none is longer in treebanks, and charts are quadratic.
MAX_TOKENS = 1000

# Number of characters that the network scores at once, and number of context characters on each
# side of a part of a long text.
_WINDOW, _AROUND = 4096, 256


class CharacterNetwork(LabelNetwork):
    """Scores of the labels of characters: ends of words and tokens, and ends of sentences.

    They may also depend on the pieces that an encoder reads, and on their states.
    """

    NAME = "characters"
    N_LEXICAL: ClassVar[int] = 1


#: Fields of a tokenizer in model files, with the rules that they are checked by.
TOKENIZER_FIELDS: dict[str, Rule] = {"tokenizer": dict, **CharacterNetwork.rules()}

# Positions between letters and digits of scripts that are written with spaces.
_WITHIN = frozenset(f"{kind} {following}" for kind in range(1, 5) for following in range(1, 5))


class Token(NamedTuple):
    """A token of a text."""

    start: int  #: Offset of its first character in the text.
    end: int  #: Offset after its last character.
    words: tuple[str, ...]  #: Forms of its words: several for a multiword token.


def contexts(kinds_of_text: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct contexts of characters by name, and the context index of each character.

    The context of a character is its kind and that of the next character, beyond a space. The
    labels that a character may have depend on it.
    """
    kinds = np.append(kinds_of_text, (-1, -1))
    for i in np.flatnonzero(kinds == JOINED).tolist():
        if i and kinds[i - 1] != BLANK:
            kinds[i] = kinds[i - 1] | JOINED << 4  # kind of the character that it joins
    current, following, beyond = kinds[:-2], kinds[1:-1], kinds[2:]
    beyond = np.where(following == BLANK, beyond, BLANK)
    triples = (current & 15) + 16 * (following + 1) + 4096 * (beyond + 1)
    _, first, indices = np.unique(triples, return_index=True, return_inverse=True)
    names = [
        "joined"
        if after >> 4 > 0
        else f"{kind & 15} {after}"
        if after != BLANK
        else f"{kind & 15} 0 {last}"
        for kind, after, last in kinds[first[:, np.newaxis] + np.arange(3)].tolist()
    ]
    return names, indices


class Tokenizer:
    """Tokenizer of a model. It does not change while it is used, so threads may share it.

    `allowed` has the labels that a character may have in a context (see `contexts`); the empty text
    has those of new contexts, a single space those of new contexts before spaces. `multiwords` maps
    lower-cased multiword tokens whose words are no substrings of them to these words. `embeddings`
    are for networks that need them. `ModelError` if the parts do not fit each other.
    """

    def __init__(
        self,
        network: CharacterNetwork,
        allowed: Mapping[str, Sequence[int]],
        multiwords: Mapping[str, Sequence[str]],
        embeddings: Embeddings | None = None,
    ) -> None:
        self.network = network
        used = network.used_embeddings(embeddings, "its tokenizer")
        if not isinstance(used, EncoderStates | None):
            raise ModelError("its tokenizer needs the states of an encoder")
        self.embeddings = used
        self.allowed = {context: tuple(labels) for context, labels in allowed.items()}
        self.multiwords = {form: tuple(words) for form, words in multiwords.items()}
        if network.counts != (3, 2) or network.labels != CHARACTER_LABELS + SENTENCE_LABELS:
            raise ModelError(f"labels of the tokenizer are {network.labels}")
        if not {"", " "} <= self.allowed.keys():
            raise ModelError("the tokenizer has no labels for new kinds of character")
        for context, labels in self.allowed.items():
            if not labels or not set(labels) <= {IN, WORD, TOKEN}:
                raise ModelError(f"the tokenizer allows the labels {labels} for {context!r}")

    def of_text(self, text: str) -> tuple[Tokenizer, str]:
        """Return the tokenizer of a text and a comment for its sentences: this one, and none."""
        return self, ""

    def paragraphs(self, texts: Iterable[str]) -> Iterator[list[list[Token]]]:
        """Yield the sentences of each text without paragraph breaks, as lists of tokens.

        Short texts are scored together, which is faster; they are read that far ahead.
        """
        for text, kinds, (labels, ends) in self._scored(texts):
            tokens = self._tokens(text, kinds, labels)
            last = [token.end - 1 for token in tokens]
            is_end = (ends[last, 1] > ends[last, 0]).tolist()
            sentences, start = [], 0
            for i, ends_here in enumerate(is_end, start=1):
                if ends_here or i - start == MAX_TOKENS or i == len(tokens):
                    sentences.append(tokens[start:i])
                    start = i
            yield sentences

    def lines(self, texts: Iterable[str]) -> Iterator[list[Token]]:
        """Yield the tokens of each text without paragraph breaks."""
        for text, kinds, (labels, _) in self._scored(texts):
            yield self._tokens(text, kinds, labels)

    def _scored(
        self, texts: Iterable[str]
    ) -> Iterator[tuple[str, NDArray[np.int64], list[Float32s]]]:
        """Yield texts with their characters' kinds and scores, float32[n, 3] and [n, 2].

        Long texts are scored in overlapping windows, so that memory stays bounded.
        """
        for batch in grouped((text.rstrip() or " " for text in texts), len, _WINDOW):
            joined = " ".join(batch)  # no attribute reaches beyond a space
            values, all_kinds = encode_characters(joined), kinds_of(joined)
            windows, parts, kinds, start = [], [], [], 0
            for text in batch:
                for begin in range(0, len(text), _WINDOW):
                    first = max(0, begin - _AROUND)
                    last = min(len(text), begin + _WINDOW + _AROUND)
                    windows.append(values[start + first : start + last])
                    parts.append(text[first:last])
                kinds.append(all_kinds[start : start + len(text)])
                start += len(text) + 1
            if len(batch) > 1:
                yield from zip(batch, kinds, self._scores(windows, parts))
                continue
            found = []
            for begin, (window, part) in enumerate(zip(windows, parts)):
                skipped = _AROUND if begin else 0
                (scores,) = self._scores([window], [part])
                found.append([own[skipped : skipped + _WINDOW] for own in scores])
            yield batch[0], kinds[0], [np.concatenate(own) for own in zip(*found)]

    def _scores(self, values: Sequence[Hashes], texts: Sequence[str]) -> list[list[Float32s]]:
        """Return the scores of the labels of encoded texts."""
        if self.embeddings is None:
            return self.network.scores(values)
        found = self.embeddings.of_characters(texts)
        return self.network.scores(
            [with_pieces(encoded, places) for encoded, (_, places) in zip(values, found)],
            [Shared(states, places[:, 0]) for states, places in found],
        )

    def _tokens(self, text: str, kinds: NDArray[np.int64], scores: Float32s) -> list[Token]:
        """Return the tokens of a text, whose characters have these kinds and scores of labels."""
        # unseen contexts: tokens end before spaces, may end at punctuation, not inside words
        unseen, before_space = self.allowed[""], self.allowed[" "]
        names, context_of = contexts(kinds)
        lists = [
            self.allowed.get(name)
            or (before_space if name.count(" ") == 2 else (IN,) if name in _WITHIN else unseen)
            for name in names
        ]
        lists += [(IN,), (TOKEN,)]
        for match in _WHOLE.finditer(text):
            context_of[match.start() : match.end() - 1] = len(names)
            context_of[match.end() - 1] = len(names) + 1
        penalty = np.full((len(lists), len(CHARACTER_LABELS)), -np.inf, np.float32)
        for row, labels_of_context in zip(penalty, lists):
            row[list(labels_of_context)] = 0.0
        labels = (scores + penalty[context_of]).argmax(axis=1)
        ends = np.flatnonzero(labels)
        tokens: list[Token] = []
        start, cuts = 0, []
        for i, label in zip([*ends.tolist(), len(text) - 1], [*labels[ends].tolist(), TOKEN]):
            while start <= i and text[start].isspace():
                start += 1
            if start > i:
                continue
            if label == WORD:
                cuts.append(i + 1)
            else:
                tokens.append(self._token(text, start, i + 1, cuts))
                start, cuts = i + 1, []
        return tokens

    def _token(self, text: str, start: int, end: int, cuts: list[int]) -> Token:
        form = text[start:end].rstrip()
        end = start + len(form)
        words = self.multiwords.get(form) or self.multiwords.get(form.lower())
        if words is not None:
            return Token(start, end, _written_as(form, words))
        if not cuts:
            return Token(start, end, (form,))
        edges = [start, *(cut for cut in cuts if cut < end), end]
        return Token(start, end, tuple(text[a:b] for a, b in pairwise(edges)))

    def to_fields(self) -> Fields:
        """Return the fields that `from_fields` reads."""
        card = {"allowed": self.allowed, "multiwords": self.multiwords}
        return {"tokenizer": card, **self.network.to_fields()}

    @classmethod
    def from_fields(
        cls, fields: Mapping[str, Any], where: str, embeddings: Embeddings | None = None
    ) -> Tokenizer:
        """Make a tokenizer; `ModelError` names the file, `where`, if fields are damaged."""
        network = CharacterNetwork.from_fields(fields, where)
        expected = {"allowed": dict[str, list[int]], "multiwords": dict[str, list[str]]}
        with reading_part("tokenizer", fields, where, expected) as given:
            card = given["tokenizer"]
            multiwords = {form: tuple(words) for form, words in card["multiwords"].items()}
            return cls(network, card["allowed"], multiwords, embeddings)


def _written_as(form: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a multiword token with the capitals of the token."""
    if "".join(words).lower() == form.lower():
        parts, start = [], 0
        for word in words:
            parts.append(form[start : start + len(word)])
            start += len(word)
        return tuple(parts)
    if form.isupper() and len(form) > 1:
        return tuple(word.upper() for word in words)
    if form[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return tuple(words)
