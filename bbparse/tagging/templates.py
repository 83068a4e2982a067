"""Templates of the tagger: conjunctions of attributes of a word and its neighbours.

A template is a line of atoms separated by spaces: ``w.form`` is an attribute of the word itself,
``w-1.lower`` and ``w+2.suffix3`` of its neighbours up to three words away. The abbreviations of the
parser's templates hold (`bbparse.configuration.templates`): ``w.{form,lower}``, ``for * in …: …``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import expand
from bbparse.errors import ConfigError
from bbparse.tagging.encode import COLUMNS, PAD

_ATOM = re.compile(r"w([+-][1-9])?\.([a-z0-9]+)")


class TagTemplates(NamedTuple):
    """Templates as the kernels read them.

    Template t is the pairs ``ptr[t]:ptr[t+1]`` of (`offset`, `column`, `multiplier`).
    """

    ptr: NDArray[np.int32]
    offset: NDArray[np.int32]
    column: NDArray[np.int32]
    multiplier: NDArray[np.uint64]


def compile_tag_templates(
    lines: Iterable[str], columns: Sequence[str] = COLUMNS, reach: int = PAD
) -> TagTemplates:
    """Arrays of templates over attributes with these names; a `ConfigError` if one cannot be read.

    Each template counts once; neighbours may be as far away as ``reach`` says.
    """
    texts = list(dict.fromkeys(text for line in lines for text in expand(line)))
    ptr, offsets, places, multipliers = [0], [], [], []
    for text in texts:
        for position, atom in enumerate(text.split()):
            match = _ATOM.fullmatch(atom)
            if match is None or abs(int(match.group(1) or 0)) > reach:
                raise ConfigError(
                    f"template {text!r}: {atom!r} is no attribute of a word up to {reach} away,"
                    " such as w.form or w-1.lower"
                )
            if match.group(2) not in columns:
                raise ConfigError(
                    f"template {text!r}: unknown attribute {match.group(2)!r};"
                    f" there are {', '.join(columns)}"
                )
            offsets.append(int(match.group(1) or 0))
            places.append(columns.index(match.group(2)))
            # of the text, never of a place in a list: features stay what they are in other tables
            digest = blake2b(f"{text}#{position}".encode(), digest_size=8).digest()
            multipliers.append(int.from_bytes(digest, "little") | 1)
        ptr.append(len(offsets))
    return TagTemplates(
        np.array(ptr, np.int32), np.array(offsets, np.int32),
        np.array(places, np.int32), np.array(multipliers, np.uint64),
    )  # fmt: skip
