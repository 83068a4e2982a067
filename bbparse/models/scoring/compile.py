"""Compile feature templates to the arrays that the kernels read.

Every multiplier is a hash of text (the template, the role, the slot), never of a position in a
list. So a template has the same feature indices in every table and every process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.models.templates import ARC_ATOMS, KINDS, Template, TemplateSet
from bbparse.treebank.encode import ATTRIBUTES, text_hash

#: Template groups: the templates of a kind that look at the same roles are evaluated together. Most
#: of grand-siblings look at three of the four words, and such triples are fewer than the parts.
WALKS = (
    ("arc", "hm"), ("sibling", "hsm"), ("grandchild", "ghm"), ("outermost_grandchild", "ghm"),
    ("grandsibling", "hsm"), ("grandsibling", "ghsm"), ("grandsibling", "ghm"),
)  # fmt: skip
#: Indices into `WALKS`.
SIBLING, GRANDCHILD, OUTERMOST, WITHOUT_GRAND, GRANDSIBLING, WITHOUT_INNER = range(1, 7)
#: Columns of a row of `PartTemplates.walks`, by role.
ROLE_ORDER = "ghsmb"
#: Properties that most arc atoms combine, with their numbers of values: direction of h→m, distance
#: of h and m, distance of s and m, direction of g→h (2 if g is between h and m, in non-projective
#: trees only), distance of g and h. One row of hashes for each combination of their values saves
#: hashing them for every part.
AXES = (2, 7, 7, 3, 7)
#: Arc atoms as functions of the axes: an atom is the sum of axis times factor.
ATOM_AXES: dict[str, tuple[int, ...]] = {
    "dir": (1, 0, 0, 0, 0),
    "dist": (0, 1, 0, 0, 0),
    "dirdist": (7, 1, 0, 0, 0),
    "sdist": (0, 0, 1, 0, 0),
    "sdirdist": (7, 0, 1, 0, 0),
    "gdir": (1, 0, 0, 2, 0),
    "gdist": (0, 0, 0, 0, 1),
}
_GOLDEN = 0x9E3779B97F4A7C15

Slot = tuple[tuple[int, str], ...]


class WordTemplates(NamedTuple):
    """Word attributes that templates read, as arrays; see `bbparse.models.scoring.parts`.

    `shift` is 64 - bits. Slot s consists of the pairs slot_ptr[s]:slot_ptr[s+1] of (slot_offset,
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


#: Columns of `PartTemplates.walks` after those of `ROLE_ORDER` and the steps of `AXES`.
SIZE, FIRST, ROW, GROUP, NEEDS = range(10, 15)


class PartTemplates(NamedTuple):
    """Templates as the arrays that turn parts into features; see `bbparse.models.scoring.kernels`.

    `walks` is int64[7 + 1, 15], with a row for each template group. A row has the first column of
    each role; the step of each axis; the number of templates, and the index of the first; the first
    of its rows in `arc_rows`; its first run; and the arc atoms it needs, as bits. The last row has
    the ends only. Template t of a template group has the multiplier `mult[FIRST + t]` for the key
    of its arc atoms, if these are hashed part by part. Row Σ axis · step of `arc_rows` has the hash
    of the arc atoms that are functions of the axes (`AXES`).

    A row of `groups`, int32[6], is a run of templates: start, end, atom of ``+@`` or -1, slot of
    role b or -1, and start and end in `atoms` of the arc atoms that are hashed part by part.
    """

    walks: NDArray[np.int64]
    groups: NDArray[np.int32]
    atoms: NDArray[np.int32]
    mult: NDArray[np.uint64]
    arc_rows: NDArray[np.uint32]
    shift: np.uint64
    set_slot: int
    set_column: int


class CompiledTemplates(NamedTuple):
    """A template set as the kernels read it."""

    words: WordTemplates
    parts: PartTemplates


def _multiplier(text: str) -> int:
    """Return an odd pseudo-random 64-bit number that depends only on the text."""
    return text_hash(text) | 1


class _Columns:
    """Columns of the table of words, and the slots they hash, numbered on first use."""

    def __init__(self) -> None:
        self.number: dict[Slot, int] = {(): 0}  # for templates without a word in some role
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
    """Return the roles of a template's group in `WALKS`."""
    roles = {atom.role for atom in template.words}
    for name in (*template.arcs, *((template.also,) if template.also else ())):
        roles.update(ARC_ATOMS[name].needs)
    all_roles = "".join(KINDS[kind])
    if kind != "grandsibling" or {"g", "s"} <= roles:
        return all_roles
    return all_roles.replace("s" if "g" in roles else "g", "")


def _hashed(template: Template) -> tuple[str, ...]:
    """Return the arc atoms of a template, or none if `arc_rows` covers them all."""
    return () if ATOM_AXES.keys() >= set(template.arcs) else template.arcs


def _group(template: Template) -> tuple[Slot, str, tuple[str, ...]]:
    """Return the key that the templates of a run share; those without role b come first."""
    return template.slot("b"), template.also or "", _hashed(template)


def _arc_rows(
    templates: Sequence[Template], multipliers: Sequence[int], shift: int
) -> tuple[list[int], NDArray[np.uint32]]:
    """Return the step of each axis, and a row of hashes for each combination of values.

    Axes on which no template depends have step 0 and do not multiply the rows.
    """
    tabled = [(t, template.arcs) for t, template in enumerate(templates) if not _hashed(template)]
    names = {name for _, arcs in tabled for name in arcs}
    steps, n_rows = [0] * len(AXES), 1
    for axis, size in enumerate(AXES):
        if any(ATOM_AXES[name][axis] for name in names):
            steps[axis] = n_rows
            n_rows *= size
    rows = np.zeros((n_rows, len(templates)), dtype=np.uint32)
    factor = np.array(multipliers, dtype=np.uint64)
    for arcs in {arcs for _, arcs in tabled if arcs}:
        members = [t for t, other in tabled if other == arcs]
        for values in product(*(range(size if step else 1) for size, step in zip(AXES, steps))):
            key = 0
            for name in arcs:
                atom = sum(value * times for value, times in zip(values, ATOM_AXES[name]))
                key = (key * _GOLDEN + atom + 1) % (1 << 64)
            row = sum(value * step for value, step in zip(values, steps))
            rows[row, members] = (np.uint64(key) * factor[members]) >> np.uint64(shift)
    return steps, rows.reshape(-1)


def compile_templates(templates: TemplateSet) -> CompiledTemplates:
    columns = _Columns()
    atom_number = {name: number for number, name in enumerate(ARC_ATOMS)}
    between: dict[Slot, int] = {}
    walks: list[list[int]] = []
    groups: list[list[int]] = []
    atoms: list[int] = []
    multipliers: list[int] = []
    arc_rows = [np.zeros(0, np.uint32)]
    shift, n_rows, needs = 64 - templates.bits, 0, 0

    for kind, roles in WALKS:
        members_of = (t for t in templates.templates[kind] if roles_of(kind, t) == roles)
        in_order = sorted(members_of, key=lambda t: (*_group(t), t.arcs, t.text))
        first, first_group, needs = len(multipliers), len(groups), 0
        multipliers += [_multiplier(f"{kind} {template.text}: arcs") for template in in_order]
        starts = dict.fromkeys(ROLE_ORDER, -1)
        with_b = [template for template in in_order if template.slot("b")]
        for role in (*roles, *("b" if with_b else "")):
            members = with_b if role == "b" else in_order
            starts[role] = len(columns.slot) - (len(in_order) - len(members))
            for template in members:
                columns.add(template.slot(role), f"{kind} {template.text}: {role}")
        steps, rows = _arc_rows(in_order, multipliers[first:], shift)
        end = 0
        for (slot, also, hashed), run in groupby(in_order, _group):
            members = list(run)
            start, end = end, end + len(members)
            groups.append([
                start, end, atom_number[also] if also else -1,
                between.setdefault(slot, len(between)) if slot else -1,
                len(atoms), len(atoms) + len(hashed),
            ])  # fmt: skip
            atoms += [atom_number[name] for name in hashed]
            for name in {also} - {""} | {name for template in members for name in template.arcs}:
                needs |= 1 << atom_number[name]
        walks.append(
            [*starts.values(), *steps, len(in_order), first, n_rows, first_group, needs]
        )
        arc_rows.append(rows)
        n_rows += len(rows)

    walks.append([0] * FIRST + [len(multipliers), n_rows, len(groups), 0])
    set_slot = set_column = -1
    if any(walk[NEEDS] >> atom_number["betweenset"] & 1 for walk in walks):
        upos: Slot = ((0, "upos"),)
        set_slot = between.setdefault(upos, len(between))
        set_column = len(columns.slot)
        columns.add(upos, "betweenset")
    parts = PartTemplates(
        np.array(walks, np.int64), np.array(groups, np.int32).reshape(-1, 6),
        np.array(atoms, np.int32), np.array(multipliers, np.uint64), np.concatenate(arc_rows),
        np.uint64(shift), set_slot, set_column,
    )  # fmt: skip
    return CompiledTemplates(columns.templates(shift, between), parts)
