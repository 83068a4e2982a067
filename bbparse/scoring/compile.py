"""From feature templates to the arrays that the kernels read.

Every multiplier is a hash of text (the template, the role, the slot), never of a position in a
list: a template has the same feature indices in whatever table it stands, in every process.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby

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
    kind k, of which the first kind_single[k] have no role b, is number template_ptr[k] + t, and
    used[k, a] says whether it needs arc atom a. Signature kind_sig_ptr[k] + template_sig[i] of
    template number i is the set of arc atoms sig_atom[sig_ptr[s]:sig_ptr[s+1]], -1 if there is
    none, and template_mult[i] the multiplier of their hash.
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
    kind_single: NDArray[np.int32]
    used: NDArray[np.bool_]
    group_ptr: NDArray[np.int32]
    groups: NDArray[np.int32]
    kind_sig_ptr: NDArray[np.int32]
    sig_ptr: NDArray[np.int32]
    sig_atom: NDArray[np.int32]
    template_ptr: NDArray[np.int32]
    template_sig: NDArray[np.int32]
    template_mult: NDArray[np.uint64]
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
            self.kind_cols, self.kind_size, self.kind_single, self.used, self.group_ptr,
            self.groups, self.kind_sig_ptr, self.sig_ptr, self.sig_atom, self.template_ptr,
            self.template_sig, self.shift, self.template_mult, self.set_slot, self.set_column,
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
    """Templates with equal ``+@`` and equal slot of role b together, sorted.

    Those without role b come first and, within a group, those without arc atoms.
    """

    def group(template: Template) -> tuple[Slot, str]:
        return template.slot("b"), template.also or ""

    in_order = sorted(templates, key=lambda t: (*group(t), t.arcs, t.text))
    return [list(members) for _, members in groupby(in_order, group)]


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
    used = np.zeros((len(KINDS), len(ARC_ATOMS)), dtype=np.bool_)
    set_slot = set_column = -1

    for k, (kind, roles) in enumerate(KINDS.items()):
        in_order: list[Template] = []
        signatures: dict[tuple[str, ...], int] = {}
        for group in _in_groups(templates.templates[kind]):
            slot, also = group[0].slot("b"), group[0].also
            start, plain = len(in_order), sum(not template.arcs for template in group)
            in_order += group
            groups.append([
                start, len(in_order), start + plain, atom_number[also] if also else -1,
                between.setdefault(slot, len(between)) if slot else -1,
            ])  # fmt: skip
            for template in group:
                for name in (*template.arcs, *((also,) if also else ())):
                    used[k, atom_number[name]] = True
        for template in in_order:
            if template.arcs and template.arcs not in signatures:
                signatures[template.arcs] = len(signatures)
                sig_atom += [atom_number[name] for name in template.arcs]
                sig_ptr.append(len(sig_atom))
            template_sig.append(signatures.get(template.arcs, -1))
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
        group_ptr.append(len(groups))
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
        kind_single=ints(kind_single),
        used=used,
        group_ptr=ints(group_ptr),
        groups=np.array(groups, dtype=np.int32).reshape(-1, 5),
        kind_sig_ptr=ints(kind_sig_ptr),
        sig_ptr=ints(sig_ptr),
        sig_atom=ints(sig_atom),
        template_ptr=ints(template_ptr),
        template_sig=ints(template_sig),
        template_mult=hashes(template_mult),
        set_slot=set_slot,
        set_column=set_column,
    )
