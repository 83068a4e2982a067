"""The text that a treebank was made from, as far as it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bbparse.text.characters import kinds_of
from bbparse.treebank import Sentence

__all__ = ["Piece", "is_spaced", "paragraphs", "pieces", "with_guessed_blanks"]

_LEFT = frozenset(",.;:!?…)]}»”’%，。；：！？、）】」』")
_RIGHT = frozenset("([{«“‘（【「『")
_UNSPACED = 13


class Piece(NamedTuple):
    """A token of a sentence.

    Attributes
    ----------
    form : str
    blank : bool
        Whether a blank follows.
    words : tuple of str
        One, or those of a multiword token.
    """

    form: str
    blank: bool
    words: tuple[str, ...]


def pieces(sentence: Sentence) -> list[Piece]:
    """The tokens of a sentence, with the blanks that its MISC column says."""
    out: list[Piece] = []
    rest = 0
    for line in sentence.lines:
        if line.startswith("#"):
            continue
        fields = line.rstrip("\r").split("\t")
        if "." in fields[0]:
            continue
        misc = fields[9].split("|") if len(fields) > 9 else []
        first, dash, last = fields[0].rpartition("_")[2].partition("-")
        if dash:
            rest = int(last) - int(first) + 1
            out.append(Piece(fields[1], "SpaceAfter=No" not in misc, ()))
        elif rest:
            rest -= 1
            out[-1] = out[-1]._replace(words=(*out[-1].words, fields[1]))
        else:
            out.append(Piece(fields[1], "SpaceAfter=No" not in misc, (fields[1],)))
    return out


def is_spaced(sentences: Iterable[Sequence[Piece]]) -> bool:
    """Whether a treebank says where there are no blanks."""
    return any(not piece.blank for sentence in sentences for piece in sentence)


def with_guessed_blanks(sentence: Sequence[Piece]) -> list[Piece]:
    """A sentence with blanks as they are usual: none before a comma, none in Chinese."""
    out = []
    quoted = False
    for piece, following in zip(sentence, [*sentence[1:], None]):
        blank = True
        last = piece.form[-1]
        opens = last in _RIGHT
        if piece.form in ('"', "'"):
            quoted = not quoted
            opens = quoted
        if following is not None:
            first = following.form[0]
            closes = first in _LEFT or (following.form in ('"', "'") and quoted)
            dense = _UNSPACED in (kinds_of(last)[0], kinds_of(first)[0])
            blank = not (opens or closes or dense)
        elif kinds_of(sentence[0].form[0])[0] == _UNSPACED:
            blank = False
        out.append(piece._replace(blank=blank))
    return out


def paragraphs(sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Sentences by the paragraphs of their text; all in one where it does not say."""
    group: list[Sentence] = []
    for sentence in sentences:
        begins = any(
            line.startswith(("# newpar", "# newdoc")) for line in sentence.lines if line[0] == "#"
        )
        if begins and group:
            yield group
            group = []
        group.append(sentence)
    if group:
        yield group
