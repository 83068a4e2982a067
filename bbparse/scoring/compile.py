"""From feature templates to the arrays that the kernels read.

Every multiplier is a hash of text (the template, the role, the slot), never of a position in a
list: a template has the same feature indices in whatever table it stands, in every process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
#: m, distance of s and m, direction of g→h (2 where g is between h and m: in crossing trees only),
#: distance of g and h. One row of hashes for each combination of their values takes the place of
#: hashing them for every part.
AXES = (2, 7, 7, 3, 7)
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
    """What templates read of words, as arrays; see `bbparse.scoring.parts`.

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
            none_key=np.uint64(_multiplier("none")),
            shift=np.uint64(shift),
            upos_column=ATTRIBUTES.index("upos"),
            counted=np.array([attribute_hash("upos", tag) for tag in COUNTED], np.uint64),
            slot_ptr=np.array(pointer, np.int32),
            slot_attr=np.array(attribute, np.int32),
            slot_offset=np.array(offset, np.int32),
            slot_mult=np.array(multiplier, np.uint64),
            col_slot=np.array(self.slot, np.int32),
            col_mult=np.array(self.mult, np.uint64),
            between_slot=np.array(between_slot, np.int32),
        )


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
    columns = _Columns()
    atom_number = {name: number for number, name in enumerate(ARC_ATOMS)}
    between: dict[Slot, int] = {}
    groups: list[list[int]] = []
    group_sizes, signature_sizes = [0], [0]  # of each section of each kind
    signatures: dict[tuple[int, int, tuple[str, ...]], int] = {}
    template_ptr, row_ptr = [0], [0]
    template_sig: list[int] = []
    template_mult: list[int] = []
    kind_single: list[int] = []
    kind_cols = np.full((len(KINDS), len(ROLE_ORDER)), -1, dtype=np.int32)
    used = np.zeros((len(KINDS) * SECTIONS, len(ARC_ATOMS)), dtype=np.bool_)
    set_slot = set_column = -1
    shift = 64 - templates.bits
    axis_step = np.zeros((len(KINDS), len(AXES)), dtype=np.int64)
    arc_rows: list[NDArray[np.uint32]] = []

    for k, (kind, roles) in enumerate(KINDS.items()):
        in_order: list[Template] = []
        sizes = np.zeros((2, SECTIONS), np.int64)
        for group in _in_groups(kind, templates.templates[kind]):
            slot, also = group[0].slot("b"), group[0].also
            section = template_section(kind, group[0])
            before, tabled = len(signatures), sum(not _hashed(template) for template in group)
            for template in group:
                signature = k, section, template.arcs
                if _hashed(template):
                    signatures.setdefault(signature, len(signatures))
                template_sig.append(signatures.get(signature, -1))
                template_mult.append(_multiplier(f"{kind} {template.text}: arcs"))
                for name in (*template.arcs, *((also,) if also else ())):
                    used[SECTIONS * k + section, atom_number[name]] = True
            sizes[:, section] += 1, len(signatures) - before
            groups.append([
                len(in_order), len(in_order) + len(group), len(in_order) + tabled,
                atom_number[also] if also else -1,
                between.setdefault(slot, len(between)) if slot else -1,
            ])  # fmt: skip
            in_order += group
        group_sizes += sizes[0].tolist()
        signature_sizes += sizes[1].tolist()
        kind_single.append(sum(not template.slot("b") for template in in_order))
        # Templates over the words between come last, so only they need columns for role b.
        single = kind_single[k]
        for role in (*roles, *("b" if single < len(in_order) else "")):
            first = single if role == "b" else 0
            kind_cols[k, ROLE_ORDER.index(role)] = len(columns.slot) - first
            for template in in_order[first:]:
                columns.add(template.slot(role), f"{kind} {template.text}: {role}")
        axis_step[k], rows = _arc_rows(in_order, template_mult[template_ptr[-1] :], shift)
        arc_rows.append(rows)
        row_ptr.append(row_ptr[-1] + len(rows))
        template_ptr.append(len(template_sig))

    if used[:, atom_number["betweenset"]].any():
        upos: Slot = ((0, "upos"),)
        set_slot = between.setdefault(upos, len(between))
        set_column = len(columns.slot)
        columns.add(upos, "betweenset")
    atoms = [[atom_number[name] for name in arcs] for _, _, arcs in signatures]
    parts = PartTemplates(
        kind_cols=kind_cols,
        kind_size=np.diff(template_ptr).astype(np.int32),
        kind_single=np.array(kind_single, np.int32),
        used=used,
        group_ptr=np.cumsum(group_sizes).astype(np.int32),
        groups=np.array(groups, dtype=np.int32).reshape(-1, 5),
        kind_sig_ptr=np.cumsum(signature_sizes).astype(np.int32),
        sig_ptr=np.cumsum([0, *map(len, atoms)]).astype(np.int32),
        sig_atom=np.array([atom for own in atoms for atom in own], np.int32),
        template_ptr=np.array(template_ptr, np.int32),
        template_sig=np.array(template_sig, np.int32),
        shift=np.uint64(shift),
        template_mult=np.array(template_mult, np.uint64),
        set_slot=set_slot,
        set_column=set_column,
        axis_step=axis_step,
        row_ptr=np.array(row_ptr, dtype=np.int64),
        arc_rows=np.concatenate(arc_rows),
    )
    return CompiledTemplates(columns.templates(shift, between), parts)
