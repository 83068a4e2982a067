"""Words as rows of 64-bit hashes for the tagger: affixes, shapes, and what is known of the form.

As `bbparse.treebank.encode`, but a row depends on the form alone (the rest is what the tagger is to
find), affixes are longer, and there is room for the tags that earlier layers have found.

A template, a conjunction of attributes of a word and its neighbours, is a line of atoms separated
by spaces: ``w.form`` is an attribute of the word itself, ``w-1.lower`` and ``w+2.suffix3`` of its
neighbours up to three words away. The abbreviations of the parser's templates hold
(`bbparse.configuration.templates`): ``w.{form,lower}``, ``for * in …: …``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import expand, word_atom
from bbparse.errors import ConfigError
from bbparse.treebank.encode import (
    PAD,
    RowMemory,
    attribute_hash,
    norm,
    padding,
    row_of,
    shape,
    text_hash,
)

#: Attributes of the form, by which a template names them.
FORM_COLUMNS: tuple[str, ...] = (
    "form", "lower", "norm", "known",
    "prefix1", "prefix2", "prefix3", "prefix4",
    "suffix1", "suffix2", "suffix3", "suffix4", "suffix5",
    "shape", "kinds", "habit",
)  # fmt: skip
#: What depends on the sentence: its use of capitals, and what earlier layers found: the tag (UPOS
#: and XPOS), UPOS, FEATS, the words of the closest nominals on either side, with which verbs agree,
#: and the tag of the one before.
TAG_COLUMNS: tuple[str, ...] = ("style", "tag", "upos", "feats", "subject", "object", "subjecttag")
COLUMNS: tuple[str, ...] = FORM_COLUMNS + TAG_COLUMNS

_N_FORM = len(FORM_COLUMNS)
_NOMINALS = frozenset(("NOUN", "PRON", "PROPN"))
_REACH = 8  # words a nominal may be away


def _kinds(form: str) -> str:
    """Which kinds of character there are, whatever their order."""
    return "".join(
        mark
        for mark, there in (
            ("A", form.isupper() and len(form) > 1),
            ("T", form[:1].isupper() and not form[1:].isupper()),
            ("X", any(c.isupper() for c in form[1:]) and not form.isupper()),
            ("d", any(c.isdigit() for c in form)),
            ("-", "-" in form),
            (".", "." in form),
            ("@", "@" in form[1:-1]),
            ("/", "/" in form),
            ("o", not any(c.isalnum() for c in form)),
            ("u", not form.isascii()),
        )
        if there
    )


def style(forms: Sequence[str]) -> str:
    """Return how a sentence uses capitals: in every letter, in most words, in few, nowhere."""
    words = [form for form in forms if form[:1].isalpha() and len(form) > 2]
    if len(words) < 2:
        return "?"
    if all(form.isupper() for form in words):
        return "A"
    capitals = sum(form[0].isupper() for form in words)
    if capitals == 0:
        return "l"
    return "T" if capitals >= 0.7 * len(words) else "x"


_BEFORE, _AFTER = padding(COLUMNS)


class FormEncoder:
    """Encodes forms; safe to share between threads.

    ``known`` says which tags a form (in lower case) has been seen with, ``habits`` with which
    capitals within sentences; ``max_forms`` are remembered (`bbparse.treebank.encode.RowMemory`).
    """

    def __init__(
        self, known: Mapping[str, str], habits: Mapping[str, str], max_forms: int = 200_000
    ) -> None:
        self.known = dict(known)
        self.habits = dict(habits)
        self.memory = RowMemory(lambda: self._row, _N_FORM, np.uint64, max_forms)
        self._max_forms = max_forms

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickling needs: another process remembers forms of its own."""
        return FormEncoder, (self.known, self.habits, self._max_forms)

    def _row(self, form: str) -> list[int]:
        lower = form.lower()
        known, habit = self.known.get(lower), self.habits.get(lower, "")
        plain, short, kinds = norm(lower), shape(form), _kinds(form)
        # affixes of digits say nothing
        values = (
            form, lower, plain, known or f"?{short}|{plain[-3:]}",
            plain[:1], plain[:2], plain[:3], plain[:4],
            plain[-1:], plain[-2:], plain[-3:], plain[-4:], plain[-5:],
            shape(form, 4), f"{short}|{kinds}", f"{habit}|{kinds}",
        )  # fmt: skip
        return row_of(zip(FORM_COLUMNS, values))

    def __call__(self, forms: Sequence[str]) -> NDArray[np.uint64]:
        """Return the words of a sentence, uint64[n + 2 * PAD, len(COLUMNS)].

        Row PAD + i is word i (from 0), the rows around them are padding; of the `TAG_COLUMNS` only
        the style is known.
        """
        places, rows, _ = self.memory(forms)
        n = len(places)
        out = np.zeros((n + 2 * PAD, len(COLUMNS)), np.uint64)
        out[:PAD] = _BEFORE
        out[PAD + n :] = _AFTER
        out[PAD : PAD + n, :_N_FORM] = rows[places]
        out[PAD : PAD + n, _N_FORM] = attribute_hash("style", style(forms))
        return out


def fill_tags(
    values: NDArray[np.uint64],
    forms: Sequence[str],
    tags: Sequence[str] | None = None,
    feats: Sequence[str] | None = None,
) -> None:
    """Write tags (UPOS, tab, XPOS) and FEATS into the `TAG_COLUMNS` of encoded words."""
    n = len(forms)
    if tags is not None:
        upos = [tag.partition("\t")[0] for tag in tags]
        before = -1
        left, left_tag, right = [""] * n, [""] * n, [""] * n
        for i, tag in enumerate(upos):
            if 0 <= before and i - before <= _REACH:
                left[i], left_tag[i] = forms[before].lower(), tags[before]
            if tag in _NOMINALS:
                lower = forms[i].lower()
                for j in range(max(before, i - _REACH, 0), i):
                    right[j] = lower
                before = i
        columns = (("tag", tags), ("upos", upos), ("subject", left), ("object", right),
                   ("subjecttag", left_tag))  # fmt: skip
        for name, column in columns:
            _fill(values, name, column)
    if feats is not None:
        _fill(values, "feats", feats)


def _fill(values: NDArray[np.uint64], name: str, column: Sequence[str]) -> None:
    place = COLUMNS.index(name)
    values[PAD : PAD + len(column), place] = [attribute_hash(name, value) for value in column]



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
            try:
                word = word_atom(atom, "w", columns, reach, "w.form, w-1.lower or the like")
            except ConfigError as error:
                raise ConfigError(f"template {text!r}: {error}") from None
            offsets.append(word.offset)
            places.append(columns.index(word.attribute))
            # of the text, never of a place in a list: features stay what they are in other tables
            multipliers.append(text_hash(f"{text}#{position}") | 1)
        ptr.append(len(offsets))
    return TagTemplates(
        np.array(ptr, np.int32), np.array(offsets, np.int32),
        np.array(places, np.int32), np.array(multipliers, np.uint64),
    )  # fmt: skip
