"""From feature templates to the arrays that the kernels read.

Every multiplier is a hash of text (the template, the role, the slot), never of a position in a
list: a template has the same feature indices in whatever table it stands, in every process.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from bbparse.scoring.encode import ATTRIBUTES, attribute_hash
from bbparse.scoring.templates import ARC_ATOMS, KINDS, Template, TemplateSet

__all__ = ["CompiledTemplates", "compile_templates"]

#: Columns of the table of a kind, by role.
ROLE_ORDER = "ghsmb"
#: Tags that @nverb, @npunct and @nconj count.
COUNTED = ("VERB", "PUNCT", "CCONJ")

Slot = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class CompiledTemplates:
    """Arrays of a template set; see `bbparse.scoring.kernels` for how they are read.

    `shift` is 64 - bits. Slots s are the pairs slot_ptr[s]:slot_ptr[s+1] of (slot_offset,
    slot_attr, slot_mult). Column c of the word table hashes slot col_slot[c] with col_mult[c] (0
    if the template has no word in that role). kind_cols[k, r] is where the columns of role r of
    kind k start, groups[group_ptr[k]:group_ptr[k+1]] the groups of its templates, template t of
    kind k is number template_ptr[k] + t, and used[k, a] says whether it needs arc atom a.
    """

    shift: np.uint64
    none_key: np.uint64
    upos_column: int
    counted: NDArray[np.uint64]
    slot_ptr: NDArray[np.int32]
    slot_attr: NDArray[np.int32]
    slot_offset: NDArray[np.int32]
    slot_mult: NDArray[np.uint64]
    col_slot: NDArray[np.int32]
    col_mult: NDArray[np.uint64]
    between_slot: NDArray[np.int32]
    kind_cols: NDArray[np.int32]
    kind_size: NDArray[np.int32]
    used: NDArray[np.bool_]
    group_ptr: NDArray[np.int32]
    groups: NDArray[np.int32]
    sig_ptr: NDArray[np.int32]
    sig_atom: NDArray[np.int32]
    sig_mult: NDArray[np.uint64]
    template_ptr: NDArray[np.int32]
    set_slot: int
    set_column: int

    @property
    def for_tables(self) -> tuple[object, ...]:
        """Arguments of `kernels.sentence_tables` after `values` and `pad`."""
        return (
            self.none_key, self.shift, self.upos_column, self.counted,
            self.slot_ptr, self.slot_attr, self.slot_offset, self.slot_mult,
            self.col_slot, self.col_mult, self.between_slot,
        )  # fmt: skip

    @property
    def for_parts(self) -> tuple[object, ...]:
        """The last arguments of the kernels that walk parts."""
        return (
            self.kind_cols, self.kind_size, self.used, self.group_ptr, self.groups,
            self.sig_ptr, self.sig_atom, self.sig_mult, self.template_ptr,
            self.set_slot, self.set_column, self.shift,
        )  # fmt: skip


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


def _in_groups(templates: tuple[Template, ...]) -> list[list[Template]]:
    """Templates with equal arc atoms and equal slot of role b together, the latter ones last."""
    groups: dict[tuple[object, ...], list[Template]] = {}
    for template in templates:
        key = (template.slot("b"), template.arcs, template.also or "")
        groups.setdefault(key, []).append(template)
    return [groups[key] for key in sorted(groups)]


def compile_templates(templates: TemplateSet) -> CompiledTemplates:
    """The arrays of a template set."""
    slots = _Slots()
    slots.add(())  # what a template without a word in some role reads there
    atom_number = {name: number for number, name in enumerate(ARC_ATOMS)}
    between: dict[Slot, int] = {}
    signatures: dict[tuple[str, ...], int] = {}
    col_slot: list[int] = []
    col_mult: list[int] = []
    groups: list[list[int]] = []
    group_ptr, template_ptr, sig_mult = [0], [0], []
    kind_cols = np.full((len(KINDS), len(ROLE_ORDER)), -1, dtype=np.int32)
    used = np.zeros((len(KINDS), len(ARC_ATOMS)), dtype=np.bool_)
    set_slot = set_column = -1

    for k, (kind, roles) in enumerate(KINDS.items()):
        in_order: list[Template] = []
        for group in _in_groups(templates.templates[kind]):
            first, start = group[0], len(in_order)
            in_order += group
            signature = signatures.setdefault(first.arcs, len(signatures)) if first.arcs else -1
            also = atom_number[first.also] if first.also else -1
            here = between.setdefault(first.slot("b"), len(between)) if first.slot("b") else -1
            groups.append([start, len(in_order), signature, also, here])
            for name in (*first.arcs, *((first.also,) if first.also else ())):
                used[k, atom_number[name]] = True
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
        sig_mult += [_multiplier(f"{kind} {template.text}: arcs") for template in in_order]
        group_ptr.append(len(groups))
        template_ptr.append(len(sig_mult))

    if used[:, atom_number["betweenset"]].any():
        upos: Slot = ((0, "upos"),)
        set_slot = between.setdefault(upos, len(between))
        set_column = len(col_slot)
        col_slot.append(slots.add(upos))
        col_mult.append(_multiplier("betweenset"))
    between_slot = [slots.add(slot) for slot in between]
    pointer, attribute, offset, multiplier = slots.arrays()
    sig_ptr, sig_atom = [0], []
    for names in signatures:
        sig_atom += [atom_number[name] for name in names]
        sig_ptr.append(len(sig_atom))

    def ints(values: list[int]) -> NDArray[np.int32]:
        return np.array(values, dtype=np.int32)

    def hashes(values: list[int]) -> NDArray[np.uint64]:
        return np.array(values, dtype=np.uint64)

    return CompiledTemplates(
        shift=np.uint64(64 - templates.bits),
        none_key=np.uint64(_multiplier("none")),
        upos_column=ATTRIBUTES.index("upos"),
        counted=hashes([attribute_hash("upos", tag) for tag in COUNTED]),
        slot_ptr=ints(pointer),
        slot_attr=ints(attribute),
        slot_offset=ints(offset),
        slot_mult=hashes(multiplier),
        col_slot=ints(col_slot),
        col_mult=hashes(col_mult),
        between_slot=ints(between_slot),
        kind_cols=kind_cols,
        kind_size=np.diff(ints(template_ptr)).astype(np.int32),
        used=used,
        group_ptr=ints(group_ptr),
        groups=np.array(groups, dtype=np.int32).reshape(-1, 5),
        sig_ptr=ints(sig_ptr),
        sig_atom=ints(sig_atom),
        sig_mult=hashes(sig_mult),
        template_ptr=ints(template_ptr),
        set_slot=set_slot,
        set_column=set_column,
    )
