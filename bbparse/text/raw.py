"""Reconstruct the raw text of a treebank, as far as the treebank encodes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from bbparse.text.characters import UNSPACED, kinds_of
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import SurfaceToken, surface_tokens

_LEFT = frozenset(",.;:!?…)]}»”’%，。；：！？、）】」』")
_RIGHT = frozenset("([{«“‘（【「『")


def is_spaced(sentences: Iterable[Sequence[SurfaceToken]]) -> bool:
    """Return True if a treebank marks tokens that no space follows."""
    return any(not piece.blank for sentence in sentences for piece in sentence)


def with_guessed_blanks(sentence: Sequence[SurfaceToken]) -> list[SurfaceToken]:
    """Set the spaces of a sentence by convention: none before a comma, none in Chinese."""
    spaced = []
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
            dense = UNSPACED in (kinds_of(last)[0], kinds_of(first)[0])
            blank = not (opens or closes or dense)
        elif kinds_of(sentence[0].form[0])[0] == UNSPACED:
            blank = False
        spaced.append(piece._replace(blank=blank))
    return spaced


def paragraphs(sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Yield the sentences of each paragraph; all in one if the treebank has no paragraphs."""
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


def treebanks(sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Yield the sentences of each file: one may mark spaces, and the next may not."""
    for _, group in groupby(sentences, lambda sentence: sentence.source):
        yield list(group)


def readings(sentences: Sequence[Sentence]) -> list[list[list[list[SurfaceToken]]]]:
    """Return the tokens of each sentence of each paragraph, for every way the text may be spaced.

    The sentences are those of one treebank. There is one way if it marks spaces. Otherwise there
    are two: with a space between any two tokens, and with the usual spaces.
    """
    groups = [[surface_tokens(sentence) for sentence in group] for group in paragraphs(sentences)]
    if is_spaced(sentence for group in groups for sentence in group):
        return [groups]
    guessed = [[with_guessed_blanks(sentence) for sentence in group] for group in groups]
    return [groups, guessed]


def plain_text(sentences: Sequence[Sentence]) -> str:
    """Return the text of a treebank, with a blank line between paragraphs."""
    return "\n\n".join(
        "".join(piece.form + " " * piece.blank for sentence in group for piece in sentence).rstrip()
        for treebank in treebanks(sentences)
        for group in readings(treebank)[-1]
    )
