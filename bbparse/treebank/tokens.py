"""The tokens of a sentence: what is written together, of one word or more."""

from __future__ import annotations

from typing import NamedTuple

from bbparse.treebank.sentence import Sentence

__all__ = ["Piece", "pieces"]


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
