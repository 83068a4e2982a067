"""`Sentence`: one sentence of a treebank, with its words for the parser and its lines in the file.

Also its tokens, of one or more words, and checks of its tree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bbparse.runtime.errors import TreebankError
from bbparse.treebank.likely_tags import LikelyTags
from bbparse.treebank.trees import find_cycle

NO_HEAD = -1
"""The head of a word whose HEAD column is ``_``."""

MAX_WORDS = 2000
"""Maximum length of a sentence to parse: scores of all pairs of words take time and memory."""

Word = tuple[str, str, str, str, str]
"""Form, lemma, UPOS, XPOS and FEATS."""

_BREAK = re.compile(r"[\t\n\r]")


def checked_column(title: str, values: Sequence[str], n: int) -> list[str]:
    """Return the n values of a column if they can be written: no blank text, tab or line break."""
    if len(values) != n:
        raise ValueError(f"{title}: expected {n} values, found {len(values)}")
    try:
        if all(map(str.strip, values)) and not _BREAK.search("".join(values)):
            return list(values)
    except TypeError:
        pass
    i, value = next(
        (i, value)
        for i, value in enumerate(values)
        if not isinstance(value, str) or not value.strip() or _BREAK.search(value)
    )
    raise ValueError(
        f"{title}[{i}]: expected text that is not blank, without tabs and line breaks,"
        f" found {value!r:.60}"
    )


@dataclass(slots=True)
class Sentence:
    """A sentence and the lines that it was read from.

    Words are numbered 1..n; item i of each list is word i + 1. The parser reads the lists; `lines`,
    `before` and `after` serve to write the file again byte for byte.
    """

    #: Every line of the block in order (comments, multiword tokens, empty nodes, words), without
    #: its line feed. The carriage return of a CRLF file stays at the end of its line.
    lines: list[str]
    word_lines: list[int]  #: length n: index into `lines` of each syntactic word.
    forms: list[str]  #: length n, like all columns; ``_`` for an empty column.
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    #: length n: head of each word: 0 for the root, `NO_HEAD` (-1) for none.
    heads: list[int]
    deprels: list[str]  #: length n: label of the arc from the head to each word.
    source: str = ""  #: Name of the file, for messages.
    line_number: int = 1  #: Number of its first line in the file, from 1.
    number: int = 1  #: Number of the sentence in the file, from 1.
    #: Text before the first sentence of a file: a byte order mark, blank lines.
    before: str = ""
    #: Text after the last line: a line feed and, usually, one blank line.
    after: str = "\n\n"
    #: Probabilities of the tagger; None for tags from other sources. Not stored in files.
    likely_tags: LikelyTags | None = field(default=None, repr=False, compare=False)

    @property
    def n_words(self) -> int:
        """Number of syntactic words."""
        return len(self.forms)

    @property
    def words(self) -> list[Word]:
        """Form, lemma and tags of each word: all columns except the tree.

        `TreebankError` if their lengths differ because lists were changed.
        """
        columns = (self.forms, self.lemmas, self.upos, self.xpos, self.feats)
        lengths = [len(column) for column in (*columns, self.word_lines)]
        if len({*lengths}) > 1:
            raise _error(self, -1, f"its columns have {lengths} values, expected one length")
        return list(zip(*columns))

    @property
    def name(self) -> str:
        """Value of the comment ``sent_id``, or else ``sentence #k``."""
        for line in self.lines:
            if not line.startswith("#"):
                break
            key, separator, value = line[1:].partition("=")
            if separator and key.strip() == "sent_id" and value.strip():
                return value.strip()
        return f"sentence #{self.number}"

    def place(self, index: int = -1) -> str:
        """Return the file, line and name of the sentence or of one of its words, for messages."""
        if not self.source:  # made from words
            return f"{self.name:.100}"
        return f"{self.source}, line {self.line_of(index + 1)}, {self.name:.100}"

    def line_of(self, word: int) -> int:
        """Return the line in the file of a word, or the first line of the sentence (0)."""
        return self.line_number + (self.word_lines[word - 1] if word else 0)

    @property
    def text(self) -> str:
        """Forms of all words, with spaces between them."""
        return " ".join(self.forms)

    @property
    def written(self) -> str:
        """Text of the comment ``# text``, or else the forms with spaces between them."""
        for line in self.lines:
            if line.startswith("# text = "):
                return line.removeprefix("# text = ").rstrip("\r")
        return self.text

    @property
    def has_tags(self) -> bool:
        """True if any word has UPOS or XPOS."""
        return any(tag != "_" for column in (self.upos, self.xpos) for tag in column)

    @property
    def has_heads(self) -> bool:
        """True if every word has a head."""
        return NO_HEAD not in self.heads

    @classmethod
    def from_words(
        cls,
        forms: Sequence[str],
        *,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        heads: Sequence[int] | None = None,
        deprels: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Sentence:
        """Make a sentence from words; omitted columns become ``_``.

        Parameters
        ----------
        forms : sequence of str, length n >= 1
        upos, xpos, lemmas, feats, deprels : sequence of str, length n, optional
        heads : sequence of int, length n, optional
            0 for the root, -1 for no head.
        name : str, optional
            Value of the comment ``sent_id``.

        Raises
        ------
        ValueError
            If there are no words, lengths differ, a head is not an integer in range, or a value is
            blank or contains a tab or a line break.
        """
        n = len(forms)
        if n == 0:
            raise ValueError("forms: a sentence has at least one word, found none")

        inputs = {
            "forms": forms,
            "lemmas": lemmas,
            "upos": upos,
            "xpos": xpos,
            "feats": feats,
            "deprels": deprels,
        }
        columns: dict[str, Any] = {
            title: ["_"] * n if values is None else checked_column(title, values, n)
            for title, values in inputs.items()
        }
        values: list[Any] = [NO_HEAD] * n if heads is None else list(heads)
        if len(values) != n:
            raise ValueError(f"heads: expected {n} values, found {len(values)}")
        for i, head in enumerate(values):
            if not hasattr(head, "__index__") or not NO_HEAD <= head.__index__() <= n:
                raise ValueError(f"heads[{i}]: expected -1 to {n}, found {head!r:.60}")
        numbers = [head.__index__() for head in values]

        lines = [] if name is None else [f"# sent_id = {checked_column('name', [name], 1)[0]}"]
        first = len(lines)
        texts = ["_" if head == NO_HEAD else str(head) for head in numbers]
        *words, labels = columns.values()
        rows = zip(map(str, range(1, n + 1)), *words, texts, labels)
        lines += ["\t".join((*row, "_", "_")) for row in rows]
        return cls(lines=lines, word_lines=list(range(first, first + n)), heads=numbers, **columns)


AnyTree = tuple[Sentence, Sequence[int], Sequence[str]]
"""A sentence, its heads and its labels."""


@dataclass(frozen=True, slots=True)
class ScoredTree:
    """A tree with its score, labels and confidences."""

    heads: tuple[int, ...]  #: length n: head of each word, 0 for the root.
    score: float  #: φ of the tree.
    upper_bound: float  #: No tree of this rank scores more.
    proved: bool  #: True if the tree is proved to have this rank.
    #: length n: label of the arc to each word; empty if the parser has no labels.
    labels: tuple[str, ...] = ()
    #: Validity rules that it breaks, in words: no tree satisfies all, or a limit was reached.
    broken: tuple[str, ...] = ()
    #: length n: probability that each arc is right, with its label; empty if not requested.
    confidences: tuple[float, ...] = ()
    #: Probability that the whole tree is right; nan if not requested. Comparisons ignore it, since
    #: nan does not equal itself.
    confidence: float = field(default=math.nan, compare=False)
    #: length n: second-best head of each word, -1 for none; empty if not requested.
    runner_up_heads: tuple[int, ...] = ()
    #: length n: probability that the head or the runner-up is right; empty if not requested.
    top2_probabilities: tuple[float, ...] = ()
    #: length n: (head, label) pairs of each word in the enhanced graph; empty if there is none.
    enhanced: tuple[tuple[tuple[int, str], ...], ...] = ()


_RANGE = re.compile(r"TokenRange=(\d+):(\d+)")
_NO_RANGE = (-1, -1)


class SurfaceToken(NamedTuple):
    """A token of a sentence."""

    form: str
    blank: bool  #: True if a space follows.
    words: tuple[str, ...]  #: Forms of its words: several for a multiword token.


def surface_tokens(sentence: Sentence) -> list[SurfaceToken]:
    """Return the tokens of a sentence, with the spaces that its MISC column encodes."""
    several = {first: (last, cells) for first, last, cells in multiword_tokens(sentence)}
    rows = zip(sentence.forms, miscs(sentence))
    tokens, end = [], 0
    for m, (form, misc) in enumerate(rows, start=1):
        if m <= end:
            continue  # a part of the token before
        end = m
        if m in several:
            end, (_, form, *_, misc) = several[m]
        blank = "SpaceAfter=No" not in misc.split("|")
        tokens.append(SurfaceToken(form, blank, tuple(sentence.forms[m - 1 : end])))
    return tokens


def miscs(sentence: Sentence) -> list[str]:
    """Return the MISC column of each word."""
    return [sentence.lines[i].rstrip("\r").rpartition("\t")[2] for i in sentence.word_lines]


def misc_values(sentence: Sentence, key: str) -> list[list[str]]:
    """Return the values of ``KEY=VALUE`` in the MISC column of each word."""
    start = f"{key}="
    return [
        [item.removeprefix(start) for item in misc.split("|") if item.startswith(start)]
        for misc in miscs(sentence)
    ]


def check_key(found: bool, key: str, source: str) -> None:
    """Raise `TreebankError` if no word of a source was found to have a key in MISC."""
    if not found:
        raise TreebankError(f"{source}: no word has {key}= in MISC")


def multiword_tokens(sentence: Sentence) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the first and last word of each multiword token, and the columns of its line."""
    for line in sentence.lines:
        cells = line.rstrip("\r").split("\t")
        first, dash, last = cells[0].partition("-")
        if dash and not line.startswith("#"):
            yield int(first), int(last), cells


def offsets(sentence: Sentence) -> list[tuple[int, int]]:
    """Return the span (start, end) of each word in its text, by ``TokenRange`` in MISC.

    A word without one has (-1, -1). Words of a multiword token that have no span of their own have
    the span of the token.
    """
    spans = [*map(_range, miscs(sentence))]
    for first, last, cells in multiword_tokens(sentence):
        for m in range(first, last + 1):
            if spans[m - 1] == _NO_RANGE:
                spans[m - 1] = _range(cells[-1])
    return spans


def _range(misc: str) -> tuple[int, int]:
    match = _RANGE.search(misc)
    return (int(match[1]), int(match[2])) if match is not None else _NO_RANGE


def given_heads(sentence: Sentence) -> dict[int, int]:
    """Return the heads of the words that have one, by modifier; refuse heads out of range."""
    n = sentence.n_words
    if len(sentence.heads) != n:
        raise _error(sentence, -1, f"there are {len(sentence.heads)} heads, expected {n}")
    head_of = {m: head for m, head in enumerate(sentence.heads, start=1) if head != NO_HEAD}
    for m, head in head_of.items():
        if head == m:
            raise _error(sentence, m - 1, f"word {m} is its own head, expected another word")
        if not 0 <= head <= n:
            raise _error(sentence, m - 1, f"head of word {m} is {head}, expected 0 to {n} or _")
    return head_of


def check_tree(sentence: Sentence, *, single_root: bool = True) -> None:
    """Check that the heads of a sentence form a tree, with exactly one root or at least one."""
    heads = sentence.heads
    n = len(heads)
    for i, head in enumerate(heads):
        if head == NO_HEAD:
            raise _error(sentence, i, f"word {i + 1} has no head, expected 0 to {n}")
        if not 0 <= head <= n:
            raise _error(sentence, i, f"head of word {i + 1} is {head}, expected 0 to {n}")
    roots = [i for i, head in enumerate(heads) if head == 0]
    if not roots:
        expected = "exactly" if single_root else "at least"
        raise _error(sentence, 0, f"no word has head 0, expected {expected} one root")
    cycle = find_cycle(heads)
    if cycle:
        chain = " → ".join(str(word) for word in [*cycle, cycle[0]])
        raise _error(sentence, min(cycle) - 1, f"the heads {chain} form a cycle, expected a tree")
    if single_root and len(roots) > 1:
        words = ", ".join(str(i + 1) for i in roots)
        raise _error(sentence, roots[1], f"words {words} have head 0, expected exactly one root")


def _error(sentence: Sentence, index: int, message: str) -> TreebankError:
    return TreebankError(f"{sentence.place(index)}: {message}")
