"""The tokens of a sentence: what is written together, of one word or more."""

from __future__ import annotations

import re
from typing import NamedTuple

from bbparse.treebank.sentence import Sentence

_RANGE = re.compile(r"TokenRange=(\d+):(\d+)")


class Piece(NamedTuple):
    """A token of a sentence."""

    form: str
    blank: bool  #: Whether a blank follows.
    words: tuple[str, ...]  #: One, or those of a multiword token.


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


def miscs(sentence: Sentence) -> list[str]:
    """The MISC column of each word."""
    return [sentence.lines[i].rstrip("\r").rpartition("\t")[2] for i in sentence.word_lines]


def offsets(sentence: Sentence) -> list[tuple[int, int]]:
    """Where each word stands in its text, by ``TokenRange`` in MISC; (-1, -1) if nothing says so.

    Words of a multiword token that are no pieces of it stand where it stands.
    """
    out: list[tuple[int, int]] = []
    token, last = (-1, -1), 0
    words = set(sentence.word_lines)
    for i, line in enumerate(sentence.lines):
        if line.startswith("#"):
            continue
        place = (-1, -1)
        found = _RANGE.search(line.rpartition("\t")[2]) if "TokenRange=" in line else None
        if found is not None:
            place = (int(found[1]), int(found[2]))
        if i in words:
            out.append(token if place[0] < 0 and len(out) < last else place)
        else:
            _, dash, end = line.partition("\t")[0].rpartition("_")[2].partition("-")
            if dash:
                token, last = place, int(end)
    return out
