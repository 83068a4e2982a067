"""From feature templates to the arrays that the kernels read.

Every multiplier is a hash of text (the template, the role, the slot), never of a position in a
list: a template has the same feature indices in whatever table it stands, in every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import groupby, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import ARC_ATOMS, KINDS, Template, TemplateSet
from bbparse.treebank.encode import ATTRIBUTES, attribute_hash

#: Columns of the table of a kind, by role.
ROLE_ORDER = "ghsmb"
#: Tags that @nverb, @npunct and @nconj count.
COUNTED = ("VERB", "PUNCT", "CCONJ")
#: What most arc atoms are made of, with the number of values: direction of h→m, distance of h and
#: m, distance of s and m, direction of g→h, distance of g and h. One row of hashes for each
#: combination of their values takes the place of hashing them for every part.
AXES = (2, 7, 7, 2, 7)
#: Arc atoms as functions of the axes: the atom is the sum of axis times factor.
ATOM_AXES: dict[str, tuple[int, ...]] = {
    "dir": (1, 0, 0, 0, 0),
    "dist": (0, 1, 0, 0, 0),
    "dirdist": (7, 1, 0, 0, 0),
    "sdist": (0, 0, 1, 0, 0),
    "sdirdist": (7, 0, 1, 0, 0),
    "gdir": (1, 0, 0, 2, 0),
    "gdist": (0, 0, 0, 0, 1),
}
#: Sections of a kind: templates that do not look at g, those that look at everything, those that
#: do not look at s. Kinds other than grand-siblings have the middle one only.
SECTIONS = 3

_GOLDEN = 0x9E3779B97F4A7C15

Slot = tuple[tuple[int, str], ...]


class WordTemplates(NamedTuple):
    """What templates read of words, as arrays; see `bbparse.scoring.tables`.

    `shift` is 64 - bits. Slots s are the pairs slot_ptr[s]:slot_ptr[s+1] of (slot_offset,
    slot_attr, slot_mult). Column c of the word table hashes slot col_slot[c] with col_mult[c] (0
    if the template has no word in that role).
    """

    none_key: np.uint64
    shift: np.uint64
    upos_column: int
    counted: NDArray[np.uint64]
    slot_ptr: NDArray[np.int32]
    slot_attr: NDArray[np.int32]
    slot_offset: NDArray[np.int32]
    slot_mult: NDArray[np.uint64]
    col_slot: NDArray[np.int32]
    col_mult: NDArray[np.uint64]
    between_slot: NDArray[np.int32]


class PartTemplates(NamedTuple):
    """How templates make features of parts, as arrays; see `bbparse.scoring.kernels`.

    kind_cols[k, r] is where the columns of role r of kind k start.
    groups[group_ptr[3 k + i]:group_ptr[3 k + i + 1]] are the groups of templates of its section i
    (see `SECTIONS`). Template t of kind k, of which the first kind_single[k] have no
    role b, is number template_ptr[k] + t, and used[3 k + i, a] says whether one of its section i
    needs arc atom a. Row Σ axis · axis_step[k, axis] of `arc_rows`, which starts at row_ptr[k] and
    is kind_size[k] long, has the hashes of the arc atoms that are functions of the axes (`AXES`).
    The other templates with arc atoms are hashed part by part: the signature s = template_sig[i] of
    template number i is the set of arc atoms sig_atom[sig_ptr[s]:sig_ptr[s+1]], -1 if there is
    none, and template_mult[i] the multiplier of their hash. Those of section i of kind k are
    numbers kind_sig_ptr[3 k + i] to kind_sig_ptr[3 k + i + 1] - 1.
    """

    kind_cols: NDArray[np.int32]
    kind_size: NDArray[np.int32]
    kind_single: NDArray[np.int32]
    used: NDArray[np.bool_]
    group_ptr: NDArray[np.int32]
    groups: NDArray[np.int32]
    kind_sig_ptr: NDArray[np.int32]
    sig_ptr: NDArray[np.int32]
    sig_atom: NDArray[np.int32]
    template_ptr: NDArray[np.int32]
    template_sig: NDArray[np.int32]
    shift: np.uint64
    template_mult: NDArray[np.uint64]
    set_slot: int
    set_column: int
    axis_step: NDArray[np.int64]
    row_ptr: NDArray[np.int64]
    arc_rows: NDArray[np.uint32]


class CompiledTemplates(NamedTuple):
    """A template set as kernels read it."""

    words: WordTemplates
    parts: PartTemplates


def _multiplier(text: str) -> int:
    """An odd 64-bit number that looks random and depends on the text alone."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") | 1


def _slot_text(slot: Slot) -> str:
    return " ".join(f"{offset:+d}.{attribute}" for offset, attribute in slot)


class _Slots:
    """Distinct slots, numbered as they are first seen."""

    def __init__(self) -> None:
        self.number: dict[Slot, int] = {}

    def add(self, slot: Slot) -> int:
        return self.number.setdefault(slot, len(self.number))

    def arrays(self) -> tuple[list[int], list[int], list[int], list[int]]:
        pointer, attribute, offset, multiplier = [0], [], [], []
        for slot in self.number:
            for where, name in slot:
                attribute.append(ATTRIBUTES.index(name))
                offset.append(where)
                multiplier.append(_multiplier(f"slot {_slot_text(slot)}: {where:+d}.{name}"))
            pointer.append(len(attribute))
        return pointer, attribute, offset, multiplier


def template_section(kind: str, template: Template) -> int:
    """Which of the `SECTIONS` a template is in."""
    if kind != "grandsibling":
        return 1
    roles = {atom.role for atom in template.words}
    for name in (*template.arcs, *((template.also,) if template.also else ())):
        roles.update(ARC_ATOMS[name].needs)
    return 0 if "g" not in roles else 2 if "s" not in roles else 1


def _hashed(template: Template) -> bool:
    """Whether a template has arc atoms that `arc_rows` does not cover."""
    return not ATOM_AXES.keys() >= set(template.arcs)


def _in_groups(kind: str, templates: tuple[Template, ...]) -> list[list[Template]]:
    """Templates with equal section, ``+@`` and slot of role b together, sorted.

    Those without role b come first and, within a group, those whose arc atoms are in `arc_rows`.
    """

    def group(template: Template) -> tuple[int, Slot, str]:
        return template_section(kind, template), template.slot("b"), template.also or ""

    in_order = sorted(templates, key=lambda t: (*group(t), _hashed(t), t.arcs, t.text))
    return [list(members) for _, members in groupby(in_order, group)]


def _arc_rows(
    templates: Sequence[Template], multipliers: Sequence[int], shift: int
) -> tuple[list[int], NDArray[np.uint32]]:
    """Step of each axis and, for every combination of their values, a row of hashes.

    Axes on which no template depends have step 0 and do not multiply the rows.
    """
    tabled = [(t, template.arcs) for t, template in enumerate(templates) if not _hashed(template)]
    names = {name for _, arcs in tabled for name in arcs}
    needed = [any(ATOM_AXES[name][axis] for name in names) for axis in range(len(AXES))]
    steps, n_rows = [0] * len(AXES), 1
    for axis, size in enumerate(AXES):
        if needed[axis]:
            steps[axis] = n_rows
            n_rows *= size
    rows = np.zeros((n_rows, len(templates)), dtype=np.uint32)
    factor = np.array(multipliers, dtype=np.uint64)
    for arcs in {arcs for _, arcs in tabled if arcs}:
        members = [t for t, other in tabled if other == arcs]
        for values in product(*(range(size if on else 1) for size, on in zip(AXES, needed))):
            key = 0
            for name in arcs:
                atom = sum(value * times for value, times in zip(values, ATOM_AXES[name]))
                key = (key * _GOLDEN + atom + 1) % (1 << 64)
            row = sum(value * step for value, step in zip(values, steps))
            rows[row, members] = (np.uint64(key) * factor[members]) >> np.uint64(shift)
    return steps, rows.reshape(-1)


def compile_templates(templates: TemplateSet) -> CompiledTemplates:
    """The arrays of a template set."""
    slots = _Slots()
    slots.add(())  # what a template without a word in some role reads there
    atom_number = {name: number for number, name in enumerate(ARC_ATOMS)}
    between: dict[Slot, int] = {}
    col_slot: list[int] = []
    col_mult: list[int] = []
    groups: list[list[int]] = []
    group_ptr, template_ptr, kind_sig_ptr, sig_ptr = [0], [0], [0], [0]
    sig_atom: list[int] = []
    template_sig: list[int] = []
    template_mult: list[int] = []
    kind_single: list[int] = []
    kind_cols = np.full((len(KINDS), len(ROLE_ORDER)), -1, dtype=np.int32)
    used = np.zeros((len(KINDS) * SECTIONS, len(ARC_ATOMS)), dtype=np.bool_)
    set_slot = set_column = -1
    shift = 64 - templates.bits
    axis_step = np.zeros((len(KINDS), len(AXES)), dtype=np.int64)
    arc_rows: list[NDArray[np.uint32]] = []
    row_ptr = [0]

    for k, (kind, roles) in enumerate(KINDS.items()):
        in_order: list[Template] = []
        signatures: dict[tuple[int, tuple[str, ...]], int] = {}
        sections = [0] * SECTIONS
        for group in _in_groups(kind, templates.templates[kind]):
            slot, also = group[0].slot("b"), group[0].also
            start, tabled = len(in_order), sum(not _hashed(template) for template in group)
            in_order += group
            groups.append([
                start, len(in_order), start + tabled, atom_number[also] if also else -1,
                between.setdefault(slot, len(between)) if slot else -1,
            ])  # fmt: skip
            sections[template_section(kind, group[0])] += 1
            for template in group:
                for name in (*template.arcs, *((also,) if also else ())):
                    used[SECTIONS * k + template_section(kind, template), atom_number[name]] = True
        for section in range(SECTIONS):
            for template in in_order:
                if template_section(kind, template) != section:
                    continue
                signature = section, template.arcs
                if _hashed(template) and signature not in signatures:
                    signatures[signature] = len(sig_ptr) - 1
                    sig_atom += [atom_number[name] for name in template.arcs]
                    sig_ptr.append(len(sig_atom))
                template_sig.append(signatures.get(signature, -1))
                template_mult.append(_multiplier(f"{kind} {template.text}: arcs"))
            kind_sig_ptr.append(len(sig_ptr) - 1)
        kind_single.append(sum(not template.slot("b") for template in in_order))
        for role in roles:
            kind_cols[k, ROLE_ORDER.index(role)] = len(col_slot)
            for template in in_order:
                slot = template.slot(role)
                col_slot.append(slots.add(slot))
                col_mult.append(_multiplier(f"{kind} {template.text}: {role}") if slot else 0)
        # Templates over the words between come last, so only they need columns for role b.
        sets = [t for t, template in enumerate(in_order) if template.slot("b")]
        if sets:
            kind_cols[k, ROLE_ORDER.index("b")] = len(col_slot) - sets[0]
            for t in sets:
                col_slot.append(slots.add(in_order[t].slot("b")))
                col_mult.append(_multiplier(f"{kind} {in_order[t].text}: b"))
        for size in sections:
            group_ptr.append(group_ptr[-1] + size)
        axis_step[k], rows = _arc_rows(in_order, template_mult[template_ptr[-1] :], shift)
        arc_rows.append(rows)
        row_ptr.append(row_ptr[-1] + len(rows))
        template_ptr.append(len(template_sig))

    if used[:, atom_number["betweenset"]].any():
        upos: Slot = ((0, "upos"),)
        set_slot = between.setdefault(upos, len(between))
        set_column = len(col_slot)
        col_slot.append(slots.add(upos))
        col_mult.append(_multiplier("betweenset"))
    between_slot = [slots.add(slot) for slot in between]
    pointer, attribute, offset, multiplier = slots.arrays()

    def ints(values: list[int]) -> NDArray[np.int32]:
        return np.array(values, dtype=np.int32)

    def hashes(values: list[int]) -> NDArray[np.uint64]:
        return np.array(values, dtype=np.uint64)

    words = WordTemplates(
        none_key=np.uint64(_multiplier("none")),
        shift=np.uint64(shift),
        upos_column=ATTRIBUTES.index("upos"),
        counted=hashes([attribute_hash("upos", tag) for tag in COUNTED]),
        slot_ptr=ints(pointer),
        slot_attr=ints(attribute),
        slot_offset=ints(offset),
        slot_mult=hashes(multiplier),
        col_slot=ints(col_slot),
        col_mult=hashes(col_mult),
        between_slot=ints(between_slot),
    )
    parts = PartTemplates(
        kind_cols=kind_cols,
        kind_size=np.diff(ints(template_ptr)).astype(np.int32),
        kind_single=ints(kind_single),
        used=used,
        group_ptr=ints(group_ptr),
        groups=np.array(groups, dtype=np.int32).reshape(-1, 5),
        kind_sig_ptr=ints(kind_sig_ptr),
        sig_ptr=ints(sig_ptr),
        sig_atom=ints(sig_atom),
        template_ptr=ints(template_ptr),
        template_sig=ints(template_sig),
        shift=np.uint64(shift),
        template_mult=hashes(template_mult),
        set_slot=set_slot,
        set_column=set_column,
        axis_step=axis_step,
        row_ptr=np.array(row_ptr, dtype=np.int64),
        arc_rows=np.concatenate(arc_rows),
    )
    return CompiledTemplates(words, parts)
