"""The text that a treebank was made from, as far as it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bbparse.text.characters import kinds_of
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import Piece, pieces

_LEFT = frozenset(",.;:!?…)]}»”’%，。；：！？、）】」』")
_RIGHT = frozenset("([{«“‘（【「『")
_UNSPACED = 13


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


def readings(sentences: Sequence[Sentence]) -> list[list[list[list[Piece]]]]:
    """The tokens of each sentence of each paragraph, as the text may be written.

    Once, if the treebank says where blanks are; otherwise with a blank between any two tokens, and
    with blanks where they are usual.
    """
    groups = [[pieces(one) for one in group] for group in paragraphs(sentences)]
    if is_spaced(one for group in groups for one in group):
        return [groups]
    return [groups, [[with_guessed_blanks(one) for one in group] for group in groups]]


def plain_text(sentences: Sequence[Sentence]) -> str:
    """The text of a treebank, a blank line between its paragraphs."""
    return "\n\n".join(
        "".join(piece.form + " " * piece.blank for one in group for piece in one).rstrip()
        for group in readings(sentences)[-1]
    )
