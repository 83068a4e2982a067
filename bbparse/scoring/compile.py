"""From feature templates to the arrays that the kernels read.

Every multiplier is a hash of text (the template, the role, the slot), never of a position in a
list: a template has the same feature indices in whatever table it stands, in every process.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import ARC_ATOMS, KINDS, Template, TemplateSet
from bbparse.treebank.encode import ATTRIBUTES, text_hash

#: What templates are walked through together: those of a kind that look at some of its roles. Most
#: of a grand-sibling look at three of its four words, of which there are fewer triples than parts.
WALKS = (
    ("arc", "hm"), ("sibling", "hsm"), ("grandchild", "ghm"), ("outermost_grandchild", "ghm"),
    ("grandsibling", "hsm"), ("grandsibling", "ghsm"), ("grandsibling", "ghm"),
)  # fmt: skip
#: Their numbers.
SIBLING, GRANDCHILD, OUTERMOST, WITHOUT_GRAND, GRANDSIBLING, WITHOUT_INNER = range(1, 7)
#: Columns of the table of a walk, by role.
ROLE_ORDER = "ghsmb"

Slot = tuple[tuple[int, str], ...]


class WordTemplates(NamedTuple):
    """What templates read of words, as arrays; see `bbparse.scoring.parts`.

    `shift` is 64 - bits. Slots s are the pairs slot_ptr[s]:slot_ptr[s+1] of (slot_offset,
    slot_attr, slot_mult). Column c of the word table hashes slot col_slot[c] with col_mult[c] (0
    if the template has no word in that role).
    """

    shift: np.uint64
    slot_ptr: NDArray[np.int32]
    slot_attr: NDArray[np.int32]
    slot_offset: NDArray[np.int32]
    slot_mult: NDArray[np.uint64]
    col_slot: NDArray[np.int32]
    col_mult: NDArray[np.uint64]
    between_slot: NDArray[np.int32]


#: Columns of `PartTemplates.walks` after those of `ROLE_ORDER`.
SIZE, FIRST, GROUP, NEEDS = range(5, 9)


class PartTemplates(NamedTuple):
    """How templates make features of parts, as arrays; see `bbparse.scoring.kernels`.

    A row of `walks`, int64[7 + 1, 9], has the column where those of each role start; how many
    templates there are, and the number of the first; its first group; and as bits the arc atoms
    that it needs. The last row but says where the others end. Template t of a walk has the
    multiplier `mult[FIRST + t]` for the key of its arc atoms.

    A group, int32[6], is a run of templates: start, end, atom of ``+@`` or -1, slot of role b or
    -1; and from where to where in `atoms` their arc atoms are.
    """

    walks: NDArray[np.int64]
    groups: NDArray[np.int32]
    atoms: NDArray[np.int32]
    mult: NDArray[np.uint64]
    shift: np.uint64
    set_slot: int
    set_column: int


class CompiledTemplates(NamedTuple):
    """A template set as kernels read it."""

    words: WordTemplates
    parts: PartTemplates


def _multiplier(text: str) -> int:
    """An odd 64-bit number that looks random and depends on the text alone."""
    return text_hash(text) | 1


def key_of(atoms: Iterable[int]) -> int:
    """The key of arc atoms with these values, as kernels make it."""
    key = 0
    for atom in atoms:
        key = (key * 0x9E3779B97F4A7C15 + atom + 1) % (1 << 64)
    return key


class _Columns:
    """Columns of the table of words, and the slots they hash, numbered as they are first seen."""

    def __init__(self) -> None:
        self.number: dict[Slot, int] = {(): 0}  # read where a template has no word in some role
        self.slot: list[int] = []
        self.mult: list[int] = []

    def slot_number(self, slot: Slot) -> int:
        return self.number.setdefault(slot, len(self.number))

    def add(self, slot: Slot, text: str) -> None:
        self.slot.append(self.slot_number(slot))
        self.mult.append(_multiplier(text) if slot else 0)

    def templates(self, shift: int, between: Iterable[Slot]) -> WordTemplates:
        between_slot = [self.slot_number(slot) for slot in between]
        pointer, attribute, offset, multiplier = [0], [], [], []
        for slot in self.number:
            text = " ".join(f"{where:+d}.{name}" for where, name in slot)
            for where, name in slot:
                attribute.append(ATTRIBUTES.index(name))
                offset.append(where)
                multiplier.append(_multiplier(f"slot {text}: {where:+d}.{name}"))
            pointer.append(len(attribute))
        return WordTemplates(
            shift=np.uint64(shift),
            slot_ptr=np.array(pointer, np.int32),
            slot_attr=np.array(attribute, np.int32),
            slot_offset=np.array(offset, np.int32),
            slot_mult=np.array(multiplier, np.uint64),
            col_slot=np.array(self.slot, np.int32),
            col_mult=np.array(self.mult, np.uint64),
            between_slot=np.array(between_slot, np.int32),
        )


def roles_of(kind: str, template: Template) -> str:
    """The roles of its walk."""
    roles = {atom.role for atom in template.words}
    for name in (*template.arcs, *((template.also,) if template.also else ())):
        roles.update(ARC_ATOMS[name].needs)
    all_roles = "".join(KINDS[kind])
    if kind != "grandsibling" or {"g", "s"} <= roles:
        return all_roles
    return all_roles.replace("s" if "g" in roles else "g", "")


def _group(template: Template) -> tuple[Slot, str, tuple[str, ...]]:
    """What the templates of a group have in common; those without role b come first."""
    return template.slot("b"), template.also or "", template.arcs


def compile_templates(templates: TemplateSet) -> CompiledTemplates:
    columns = _Columns()
    atom_number = {name: number for number, name in enumerate(ARC_ATOMS)}
    between: dict[Slot, int] = {}
    walks: list[list[int]] = []
    groups: list[list[int]] = []
    atoms: list[int] = []
    multipliers: list[int] = []
    shift, needs = 64 - templates.bits, 0

    for kind, roles in WALKS:
        found = (t for t in templates.templates[kind] if roles_of(kind, t) == roles)
        in_order = sorted(found, key=lambda t: (*_group(t), t.text))
        first, first_group, needs = len(multipliers), len(groups), 0
        multipliers += [_multiplier(f"{kind} {template.text}: arcs") for template in in_order]
        starts = dict.fromkeys(ROLE_ORDER, -1)
        with_b = [template for template in in_order if template.slot("b")]
        for role in (*roles, *("b" if with_b else "")):
            members = with_b if role == "b" else in_order
            starts[role] = len(columns.slot) - (len(in_order) - len(members))
            for template in members:
                columns.add(template.slot(role), f"{kind} {template.text}: {role}")
        end = 0
        for (slot, also, arcs), run in groupby(in_order, _group):
            start, end = end, end + len(list(run))
            groups.append([
                start, end, atom_number[also] if also else -1,
                between.setdefault(slot, len(between)) if slot else -1,
                len(atoms), len(atoms) + len(arcs),
            ])  # fmt: skip
            atoms += [atom_number[name] for name in arcs]
            for name in {*arcs, also} - {""}:
                needs |= 1 << atom_number[name]
        walks.append([*starts.values(), len(in_order), first, first_group, needs])

    walks.append([0] * FIRST + [len(multipliers), len(groups), 0])
    set_slot = set_column = -1
    if any(walk[NEEDS] >> atom_number["betweenset"] & 1 for walk in walks):
        upos: Slot = ((0, "upos"),)
        set_slot = between.setdefault(upos, len(between))
        set_column = len(columns.slot)
        columns.add(upos, "betweenset")
    parts = PartTemplates(
        np.array(walks, np.int64), np.array(groups, np.int32).reshape(-1, 6),
        np.array(atoms, np.int32), np.array(multipliers, np.uint64), np.uint64(shift), set_slot,
        set_column,
    )  # fmt: skip
    return CompiledTemplates(columns.templates(shift, between), parts)
