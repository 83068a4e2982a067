"""Feature templates: the features of the linear model, declared as data.

A template is a line of *atoms* separated by spaces; the feature is their conjunction. Atoms are

* ``role.attribute``: an attribute (`bbparse.treebank.encode.ATTRIBUTES`) of a word of the part:
  ``h`` the head, ``m`` the modifier, ``s`` the next modifier between them ("none" if m is the
  first on its side), ``g`` the head of the head, ``b`` every word between h and m: one feature for
  each distinct value. ``h+1.upos`` and ``m-2.lemma`` look at neighbours, up to three words away.
* ``@name``: a property of the arcs themselves (`ARC_ATOMS`), such as ``@dirdist``.

Three abbreviations turn one line into many templates:

* ``+@name``: two templates, with and without the property;
* ``h.{upos,lemma} m.{upos,lemma}``: every combination of the alternatives in braces;
* ``for * in upos,lemma: h.* m.*``: one template for each word in place of the star.

Equal templates count once. The text of a template determines the weights of its features, so
reordering a table or adding lines to it leaves the other features unchanged.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from bbparse.runtime.errors import ConfigError
from bbparse.treebank.encode import ATTRIBUTES, PAD

#: Kinds of part, in the order of the kernels, with the roles of their words.
KINDS: dict[str, tuple[str, ...]] = {
    "arc": ("h", "m"),
    "sibling": ("h", "s", "m"),
    "grandchild": ("g", "h", "m"),
    "outermost_grandchild": ("g", "h", "m"),
    "grandsibling": ("g", "h", "s", "m"),
}


@dataclass(frozen=True)
class ArcAtom:
    """A property of the arcs of a part.

    `needs` are the roles that the part must have. `arc_only` atoms exist for single arcs only.
    """

    meaning: str
    needs: str = "hm"
    arc_only: bool = False


#: Properties of arcs, in the order of the kernels.
ARC_ATOMS: dict[str, ArcAtom] = {
    "dir": ArcAtom("direction of h→m"),
    "dist": ArcAtom("distance of h and m: 1, 2, 3, 4, 5, 6-10, 11 and more"),
    "dirdist": ArcAtom("direction and distance of h→m"),
    "sdist": ArcAtom("distance of s and m (of h and m where there is no s)", "hsm"),
    "sdirdist": ArcAtom("direction of h→m, and distance of s and m as in @sdist", "hsm"),
    "gdir": ArcAtom("directions of g→h and of h→m; whether g is between h and m", "ghm"),
    "gdist": ArcAtom("distance of g and h", "ghm"),
    "nverb": ArcAtom("direction, and number of VERBs between: 0, 1, 2, more", arc_only=True),
    "npunct": ArcAtom("direction, and number of PUNCTs between", arc_only=True),
    "nconj": ArcAtom("direction, and number of CCONJs between", arc_only=True),
    "betweenset": ArcAtom("the set of the UPOS between h and m", arc_only=True),
}

#: Bits of an index into the weights.
MIN_BITS, MAX_BITS, DEFAULT_BITS = 4, 28, 22

_WORD = re.compile(r"([a-z]\w*)([+-]\d+)?\.(\w+)")
_LOOP = re.compile(r"for\s+\*\s+in\s+([^:]*):(.*)")


@dataclass(frozen=True, order=True)
class WordAtom:
    """An attribute of a word: role, offset from the word in that role, attribute."""

    role: str
    offset: int
    attribute: str

    def __str__(self) -> str:
        offset = f"{self.offset:+d}" if self.offset else ""
        return f"{self.role}{offset}.{self.attribute}"


@dataclass(frozen=True)
class Template:
    """A feature template; the words and the names of arc atoms are sorted and unique."""

    words: tuple[WordAtom, ...]
    arcs: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Canonical text, which determines the features."""
        return " ".join([str(atom) for atom in self.words] + [f"@{name}" for name in self.arcs])

    def __str__(self) -> str:
        return self.text


def _alternatives(text: str) -> Iterator[str]:
    """Yield the text for each choice in the pairs of braces, with and without each ``+@name``."""
    pieces = re.split(r"\{([^{}]*)\}|\+(@\w+)", text)
    options = []
    for literal, braces, atom in zip(pieces[::3], [*pieces[1::3], None], [*pieces[2::3], None]):
        if "{" in literal or "}" in literal:
            raise ConfigError("braces do not match, or lie within each other")
        options.append([literal])
        if atom:
            options.append(["", atom])
        elif braces is not None:
            options.append([option.strip() for option in braces.split(",")])
    for choice in product(*options):
        yield "".join(choice)


def expand(line: str) -> list[str]:
    """Expand a line with its abbreviations into templates, as text."""
    loop = _LOOP.fullmatch(line.strip())
    if loop is None:
        if "*" in line:
            raise ConfigError("a star needs 'for * in a,b: ' in front of the template")
        return list(_alternatives(line))
    values = [value.strip() for value in loop[1].split(",")]
    if "*" not in loop[2]:
        raise ConfigError("there is a 'for * in …:' but no star in the template")
    return [text for value in values for text in _alternatives(loop[2].replace("*", value))]


def word_atom(
    text: str, roles: Sequence[str], expected: str = "role.attribute, @name or +@name"
) -> WordAtom:
    """Parse an attribute of a word; raises `ConfigError` if the text is malformed."""
    match = _WORD.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text!r} is not an atom: expected {expected}")
    role, offset, attribute = match[1], int(match[2] or 0), match[3]
    for what, name, known in (("role", role, roles), ("attribute", attribute, ATTRIBUTES)):
        if name not in known:
            raise ConfigError(
                f"unknown {what} {name!r} in {text!r}; {what}s are {', '.join(known)}"
            )
    if abs(offset) > PAD:
        raise ConfigError(f"offset of {text!r} is {offset:+d}, expected -{PAD} to +{PAD}")
    return WordAtom(role, offset, attribute)


def _arc_atom(name: str, kind: str) -> str:
    usable = [
        other
        for other, atom in ARC_ATOMS.items()
        if set(atom.needs) <= set(KINDS[kind]) and (kind == "arc" or not atom.arc_only)
    ]
    if name not in usable:
        problem = f"@{name} does not apply" if name in ARC_ATOMS else f"unknown atom @{name}"
        raise ConfigError(f"{problem}; {kind} parts have {', '.join('@' + u for u in usable)}")
    return name


def parse(text: str, kind: str) -> Template:
    """Parse one expanded template of a kind (`KINDS`): atoms separated by spaces.

    Raises `ConfigError` if a role, an attribute or an atom is unknown (it lists the known ones), or
    the template has no word.
    """
    words: set[WordAtom] = set()
    arcs: set[str] = set()
    for item in text.split():
        if item.startswith("@"):
            arcs.add(_arc_atom(item[1:], kind))
        else:
            words.add(word_atom(item, KINDS[kind] + (("b",) if kind == "arc" else ())))
    if not any(atom.role != "b" for atom in words):
        raise ConfigError(f"names no word in a role of its own; expected {', '.join(KINDS[kind])}")
    return Template(tuple(sorted(words)), tuple(sorted(arcs)))


def _templates(kind: str, lines: Any, where: str) -> tuple[Template, ...]:
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"{where}.{kind} is {lines!r:.60}, expected a list of strings")
    unique: dict[str, Template] = {}
    for number, line in enumerate(lines, 1):
        try:
            templates = [parse(text, kind) for text in expand(line)]
        except ConfigError as error:
            raise ConfigError(f"{where}.{kind}, line {number}, {line!r}: {error}") from None
        unique.update({template.text: template for template in templates})
    return tuple(unique.values())


@dataclass(frozen=True)
class TemplateSet:
    """All templates of a model, with 2**bits weights.

    `lines` are the written lines of each kind; `templates` are the same, expanded and without
    duplicates.
    """

    lines: dict[str, tuple[str, ...]]
    bits: int
    templates: dict[str, tuple[Template, ...]]

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str = "templates") -> TemplateSet:
        """Read a ``[templates]`` table: lines for any of `KINDS`, and ``bits``.

        Raises `ConfigError`, naming the table `where`, for an unknown key, an impossible value, or
        a malformed template.
        """
        keys = [*KINDS, "bits"]
        for key in table:
            if key not in keys:
                raise ConfigError(f"unknown key {key!r} in [{where}]; keys are {', '.join(keys)}")
        bits = table.get("bits", DEFAULT_BITS)
        if isinstance(bits, bool) or not isinstance(bits, int) or not MIN_BITS <= bits <= MAX_BITS:
            raise ConfigError(f"{where}.bits is {bits!r}, expected {MIN_BITS} to {MAX_BITS}")
        templates = {kind: _templates(kind, table.get(kind, ()), where) for kind in KINDS}
        lines = {kind: tuple(table[kind]) for kind in KINDS if table.get(kind)}
        return cls(lines, bits, templates)

    def to_table(self) -> dict[str, Any]:
        """Return the table that `from_table` reads, of lists, strings and numbers."""
        table: dict[str, Any] = {kind: list(lines) for kind, lines in self.lines.items() if lines}
        return {"bits": self.bits, **table}


@cache
def default_label_templates() -> TemplateSet:
    """Return the default templates of labels, from ``templates.toml``."""
    text = (files("bbparse.models") / "templates.toml").read_text("utf-8")
    return TemplateSet.from_table(tomllib.loads(text)["labels"], "labels.templates")
