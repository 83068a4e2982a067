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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from bbparse.models.hashing import ATOM, Term
from bbparse.runtime.errors import ConfigError
from bbparse.treebank.encode import ATTRIBUTES, PAD

#: Kinds of part, with the roles of their words.
KINDS: dict[str, tuple[str, ...]] = {
    "arc": ("h", "m", "b"),
    "sibling": ("h", "s", "m"),
    "grandchild": ("g", "h", "m"),
    "outermost_grandchild": ("g", "h", "m"),
    "grandsibling": ("g", "h", "s", "m"),
}

#: Properties of the arcs of a part: the roles that the part must have, and the meaning.
ARC_ATOMS: dict[str, tuple[str, str]] = {
    "dir": ("hm", "direction of h→m"),
    "dist": ("hm", "distance of h and m: 1, 2, 3, 4, 5, 6-10, 11 and more"),
    "dirdist": ("hm", "direction and distance of h→m"),
    "sdist": ("hsm", "distance of s and m (of h and m where there is no s)"),
    "sdirdist": ("hsm", "direction of h→m, and distance of s and m as in @sdist"),
    "gdir": ("ghm", "directions of g→h and of h→m; whether g is between h and m"),
    "gdist": ("ghm", "distance of g and h"),
    "nverb": ("hmb", "direction, and number of VERBs between: 0, 1, 2, more"),
    "npunct": ("hmb", "direction, and number of PUNCTs between"),
    "nconj": ("hmb", "direction, and number of CCONJs between"),
    "betweenset": ("hmb", "the set of the UPOS between h and m"),
}

#: Bits of an index into the weights.
MIN_BITS, MAX_BITS, DEFAULT_BITS = 4, 28, 22

_WORD = re.compile(r"([a-z]\w*)([+-]\d+)?\.(\w+)")
_CHOICE = re.compile(r"\{([^{}]*)\}|\+(@\w+)")
_LOOP = re.compile(r"for\s+\*\s+in\s+([^:]*):(.*)")


class WordAtom(NamedTuple):
    """An attribute of a word: role, offset from the word in that role, attribute."""

    role: str
    offset: int
    attribute: str

    def __str__(self) -> str:
        offset = f"{self.offset:+d}" if self.offset else ""
        return f"{self.role}{offset}.{self.attribute}"

    def filled(self, attribute: Callable[[int, str], str], word: int) -> str:
        """Return the atom with its value for a word in its role, for people; -1: there is none."""
        value = "<none>" if word < 0 else attribute(word + self.offset, self.attribute)
        return f"{self}={value}"

    @classmethod
    def parse(cls, text: str, roles: Sequence[str]) -> WordAtom:
        """Parse an attribute of a word; raises `ConfigError` if the text is malformed."""
        match = _WORD.fullmatch(text)
        if match is None:
            raise ConfigError(f"{text!r} is not an atom: expected role.attribute or @name")
        atom = cls(match[1], int(match[2] or 0), match[3])
        for what, name, known in (
            ("role", atom.role, roles),
            ("attribute", atom.attribute, ATTRIBUTES),
        ):
            if name not in known:
                raise ConfigError(
                    f"unknown {what} {name!r} in {text!r}; {what}s are {', '.join(known)}"
                )
        if abs(atom.offset) > PAD:
            raise ConfigError(f"offset of {text!r} is {atom.offset:+d}, expected -{PAD} to +{PAD}")
        return atom


class Template(NamedTuple):
    """A feature template: attributes of words and properties of the part, sorted, each once."""

    words: tuple[WordAtom, ...]
    atoms: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([*map(str, self.words), *(f"@{name}" for name in self.atoms)])

    @classmethod
    def parse(cls, text: str, roles: Sequence[str], atoms: Sequence[str]) -> Template:
        """Parse atoms separated by spaces; `ConfigError` lists the known ones."""
        items = {*text.split()}
        names = {item[1:] for item in items if item.startswith("@")}
        for name in sorted(names - {*atoms}):
            known = ", ".join(f"@{atom}" for atom in atoms)
            raise ConfigError(f"unknown atom @{name}, expected one of {known}")
        words = {WordAtom.parse(item, roles) for item in items if not item.startswith("@")}
        return cls(tuple(sorted(words)), tuple(sorted(names)))

    def terms(self, roles: Sequence[str], atoms: Sequence[str]) -> list[Term]:
        """Return the terms of the template, given the names of roles and atoms by number."""
        words = [
            (roles.index(role), offset, ATTRIBUTES.index(attribute))
            for role, offset, attribute in self.words
        ]
        return words + [(ATOM, 0, atoms.index(name)) for name in self.atoms]


def expand(line: str) -> list[str]:
    """Expand a line with its abbreviations into templates, as text."""
    loop = _LOOP.fullmatch(line.strip())
    values, body = (loop[1].split(","), loop[2]) if loop else ([""], line)
    if ("*" in body) != (loop is not None):
        raise ConfigError("a star needs 'for * in a,b: ' in front of the template, and that a star")
    return [text for value in values for text in _alternatives(body.replace("*", value.strip()))]


def _alternatives(text: str) -> Iterator[str]:
    """Yield the text for each choice in the pairs of braces, with and without each ``+@name``."""
    match = _CHOICE.search(text)
    if match is None:
        if "{" in text or "}" in text:
            raise ConfigError("braces do not match")
        yield text
        return
    for option in ["", match[2]] if match[2] else match[1].split(","):
        yield from _alternatives(text[: match.start()] + option.strip() + text[match.end() :])


def _templates(kind: str, lines: Any, where: str) -> tuple[Template, ...]:
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"{where}.{kind} is {lines!r:.60}, expected a list of strings")
    roles = KINDS[kind]
    atoms = [name for name, (needed, _) in ARC_ATOMS.items() if {*needed} <= {*roles}]
    unique: dict[Template, None] = {}
    for number, line in enumerate(lines, 1):
        try:
            for text in expand(line):
                template = Template.parse(text, roles, atoms)
                if all(atom.role == "b" for atom in template.words):
                    raise ConfigError(f"names no word of the part, expected {', '.join(roles)}")
                unique[template] = None
        except ConfigError as error:
            raise ConfigError(f"{where}.{kind}, line {number}, {line!r}: {error}") from None
    return tuple(unique)


@dataclass(frozen=True)
class TemplateSet:
    """All templates of a model, with 2**bits weights; `templates` are its `lines`, expanded."""

    lines: dict[str, tuple[str, ...]]
    bits: int
    templates: dict[str, tuple[Template, ...]]

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str = "templates") -> TemplateSet:
        """Read a ``[templates]`` table: lines for any of `KINDS`, and ``bits``."""
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
