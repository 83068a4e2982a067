"""Dense families: an enumeration kernel, and feature templates as a table.

A family of many factors (all pairs of siblings) names the words of a factor, its *roles*, and
lists its features as templates over their attributes; a jitted kernel enumerates the candidates.
Both are the family's; this module makes features of them.

Hashing is simple tabulation (Pătraşcu & Thorup 2012): every (template, role, word) has a 64-bit
hash of the attributes the template reads from that word, made once per sentence, and the key of a
factor is the sum over its roles modulo 2⁶⁴. A template then costs as many additions as there are
roles. The *gate* is the coarsest template; each other template implies its attributes, so that a
gate no known feature came with rules all of them out at the price of one look at a bit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import FactorError
from bbparse.factors.batch import FactorBatch, FactorBuffer
from bbparse.factors.family import FactorFamily
from bbparse.factors.keys import salt
from bbparse.factors.table import ALL_PASS, FactorTable
from bbparse.factors.template_kernels import hash_labels, hash_words, make_keys, score_rows
from bbparse.factors.view import FactorView
from bbparse.treebank.encode import ATTRIBUTES, PAD

__all__ = ["TemplateFamily"]

_TERM = re.compile(r"(?P<role>[a-z]\w*)(?P<offset>[+-]\d)?\.(?P<attribute>\w+)")

Term = tuple[int, int, int]
"""Role, offset from its word, column of `encode`; `LABEL` for the label of the arc to the word."""

LABEL = -1


class TemplateFamily(FactorFamily):
    """A family whose features are templates over the words of its factors.

    A template is text such as ``"h.lemma m1.lexpos m2-1.upos distance"``: terms are role, offset
    from its word in words (optional, at most three), attribute (`ATTRIBUTES` of
    `bbparse.treebank.encode` lists them); ``distance`` stands for the distance class the kernel
    found, ``@m1`` for the label that the guide (`bbparse.scoring.network`) would give the arc to
    m1. The attributes of the gate and the order class are part of every template without being
    named; ``""`` is the gate alone. To change the features of a family, derive a class from it,
    with another name.

    Attributes
    ----------
    roles : tuple of (str, int, str)
        The words of a factor: name, position of an arc in the factor, its end ("head" or "mod").
    gate : str
        The coarsest template, without ``distance``.
    templates : tuple of str
        The features.
    n_orders, n_distances : int
        How many order and distance classes the kernel tells apart.
    kernel : staticmethod
        ``kernel(arc_head, arc_mod, head_ptr, gate_words, gate_orders, gate_bits, gate_shift)``, a
        jitted function that enumerates the candidate factors. For each it sums ``gate_words[r, w]``
        (uint64[R, n + 1]) over roles r at words w and ``gate_orders[order]`` (uint64[n_orders]),
        and leaves the factor out unless the bit ``sum >> gate_shift`` of ``gate_bits`` (64 bits a
        word, lowest first) is set. It returns int32[F, r + 1]: the r arc indices of each factor
        and ``order * n_distances + distance``.

    Raises
    ------
    FactorError
        When the family is made, if a template has an unknown role or attribute or is there twice,
        or the class has no roles, templates or kernel.
    """

    roles: ClassVar[tuple[tuple[str, int, str], ...]] = ()
    gate: ClassVar[str] = ""
    templates: ClassVar[tuple[str, ...]] = ()
    n_orders: ClassVar[int] = 1
    n_distances: ClassVar[int] = 1
    kernel: ClassVar[Callable[..., NDArray[np.int32]]]

    def __init__(self) -> None:
        for attribute in ("roles", "templates", "kernel"):
            if not getattr(type(self), attribute, None):
                raise FactorError(f"factor family {self.name!r}: the class has no {attribute}")
        self._role_names = [role for role, _, _ in self.roles]
        gate_terms, uses_distance = self._parse(self.gate)
        if uses_distance:
            raise FactorError(f"factor family {self.name!r}: its gate may not use the distance")
        gate_text = self._text(gate_terms, False)
        parsed = [self._parse(template) for template in self.templates]
        texts = [f"{gate_text} / {self._text(*entry)}" for entry in parsed]
        for i, text in enumerate(texts):
            if text in texts[:i]:
                raise FactorError(
                    f"factor family {self.name!r}: template {self.templates[i]!r} is there twice"
                )
        if any(column == LABEL for _, _, column in gate_terms):
            raise FactorError(f"factor family {self.name!r}: its gate may not use labels")
        self._gate_spec = self._spec([gate_terms])
        self._spec_arrays = self._spec([terms for terms, _ in parsed])
        # Salts come from what a template says, not from its place: the table may be reordered.
        self._gate_salts = self._salts([gate_text])
        self._template_salts = self._salts(texts)
        self._gate_orders = np.array(
            [salt(self.name, (gate_text, "order", o)) for o in range(self.n_orders)],
            dtype=np.uint64,
        )
        self._codes = np.array(
            [
                [
                    salt(self.name, (text, "order", o, d if with_distance else -1))
                    for text, (_, with_distance) in zip(texts, parsed)
                ]
                for o in range(self.n_orders)
                for d in range(self.n_distances)
            ],
            dtype=np.uint64,
        )
        self._label_spec = self._labels([terms for terms, _ in parsed], texts)
        self._role_arc = np.array([arc for _, arc, _ in self.roles], dtype=np.int32)
        self._role_is_mod = np.array([end == "mod" for _, _, end in self.roles])

    def propose(self, view: FactorView, table: FactorTable | None = None) -> FactorBatch:
        """As `FactorFamily.propose`; with a table, what it does not know is left out."""
        gate_bits, key_bits = (
            (ALL_PASS, ALL_PASS) if table is None else (table.gate_bits, table.key_bits)
        )
        rows, gate_words, parts, label_parts = self._candidates(view, gate_bits)
        ptr, arcs, feat_ptr, feat_keys, gates = make_keys(
            rows, view.arc_head, view.arc_mod, self._role_arc, self._role_is_mod,
            gate_words, self._gate_orders, parts, label_parts, self._codes, key_bits,
            _shift(key_bits),
        )  # fmt: skip
        return FactorBatch(ptr, arcs, feat_ptr, feat_keys, gates)

    def score(self, view: FactorView, table: FactorTable, found: FactorBuffer) -> None:
        """As `FactorFamily.score`, in one pass over the candidates."""
        if type(self).propose is not TemplateFamily.propose:
            super().score(view, table, found)
            return
        rows, _, parts, label_parts = self._candidates(view, table.gate_bits)
        if not len(rows):
            return
        found.reserve(len(rows), rows.size)
        found.n_factors = score_rows(
            rows, view.arc_head, view.arc_mod, self._role_arc, self._role_is_mod, parts,
            label_parts, self._codes, table.index, found.n_factors, found.arrays,
        )  # fmt: skip

    def _candidates(
        self, view: FactorView, gate_bits: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """What the kernel enumerates; hashes of the words as gates, of words and labels in keys."""
        n_rows = view.n_words + 1
        n_roles, n_templates = self._template_salts.shape
        gate_words = np.empty((n_roles, n_rows), dtype=np.uint64)
        parts = np.empty((n_roles, n_rows, n_templates), dtype=np.uint64)
        hash_words(
            view.values, *self._gate_spec, self._gate_salts, *self._spec_arrays,
            self._template_salts, gate_words, parts,
        )  # fmt: skip
        rows = self.enumerated(view, gate_words, gate_bits, _shift(gate_bits))
        used, salts = self._label_spec
        label_parts = np.empty((len(used), view.n_arcs if len(used) else 0, n_templates), np.uint64)
        if len(used):
            hash_labels(view.arc_labels, used, salts, label_parts)
        return rows, gate_words, parts, label_parts

    def enumerated(
        self,
        view: FactorView,
        gate_words: NDArray[np.uint64],
        gate_bits: NDArray[np.uint64],
        gate_shift: np.uint64,
    ) -> NDArray[np.int32]:
        """What the kernel returns; for families whose kernel asks for more than words and arcs."""
        rows: NDArray[np.int32] = type(self).kernel(
            view.arc_head, view.arc_mod, view.head_ptr,
            gate_words, self._gate_orders, gate_bits, gate_shift,
        )  # fmt: skip
        return rows

    def name_features(self, view: FactorView) -> dict[int, str]:
        """As `FactorFamily.name_features`: each template with the values of its words."""
        cls = type(self)
        names: dict[int, str] = {}
        for template in self.templates:
            # Keys depend on the template's text alone, not on the others of the family.
            single = type(cls.__name__, (cls,), {"templates": (template,)})()
            batch = single.propose(view)
            terms, uses_distance = self._parse(f"{self.gate} {template}")
            for f in range(len(batch)):
                factor = batch.arcs[batch.ptr[f] : batch.ptr[f + 1]]
                arcs = [(int(view.arc_head[a]), int(view.arc_mod[a])) for a in factor]
                words = [arcs[arc][end == "mod"] for _, arc, end in self.roles]
                text = " ".join(
                    f"@{self._role_names[r]}={view.label_name(*arcs[self.roles[r][1]])}"
                    if column == LABEL
                    else f"{self._role_names[r]}{f'{offset:+d}' if offset else ''}."
                    f"{ATTRIBUTES[column]}={view.attribute(words[r] + offset, ATTRIBUTES[column])}"
                    for r, offset, column in terms
                )
                text += " distance" * uses_distance
                for key in batch.feat_keys[batch.feat_ptr[f] : batch.feat_ptr[f + 1]].tolist():
                    names[key] = text
        return names

    # --- templates to arrays --------------------------------------------------------------------

    def _parse(self, template: str) -> tuple[list[Term], bool]:
        """Terms of a template in a fixed order, and whether it uses the distance."""
        roles = self._role_names
        terms: set[Term] = set()
        uses_distance = False
        for word in template.split():
            if word == "distance":
                uses_distance = True
                continue
            where = f"factor family {self.name!r}, template {template!r}"
            if word.startswith("@"):
                ends = {role: end for role, _, end in self.roles}
                if ends.get(word[1:]) != "mod":
                    raise FactorError(f"{where}: no arc of the factor leads to {word[1:]!r}")
                terms.add((roles.index(word[1:]), 0, LABEL))
                continue
            match = _TERM.fullmatch(word)
            if match is None:
                raise FactorError(f"{where}: expected role.attribute or distance, found {word!r}")
            role, offset = match["role"], int(match["offset"] or 0)
            if role not in roles:
                raise FactorError(f"{where}: no role {role!r}; there are: {', '.join(roles)}")
            if match["attribute"] not in ATTRIBUTES:
                raise FactorError(
                    f"{where}: no attribute {match['attribute']!r}; there are: "
                    f"{', '.join(ATTRIBUTES)}"
                )
            if abs(offset) > PAD:
                raise FactorError(f"{where}: expected an offset of at most {PAD}, found {offset}")
            terms.add((roles.index(role), offset, ATTRIBUTES.index(match["attribute"])))
        return sorted(terms), uses_distance

    def _text(self, terms: list[Term], uses_distance: bool) -> str:
        words = [
            f"@{self._role_names[r]}"
            if column == LABEL
            else f"{self._role_names[r]}{offset:+d}.{ATTRIBUTES[column]}"
            for r, offset, column in terms
        ]
        return " ".join(sorted(words) + ["distance"] * uses_distance)

    def _spec(self, templates: list[list[Term]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Terms as arrays: pointers int32[T * R + 1], offsets and columns int32[number of terms].

        The terms of template t at role r are those from ptr[t * R + r] to ptr[t * R + r + 1] - 1.
        """
        ptr, offsets, columns = [0], [], []
        for terms in templates:
            for role in range(len(self.roles)):
                chosen = [
                    (offset, column) for r, offset, column in terms if r == role and column != LABEL
                ]
                offsets += [offset for offset, _ in chosen]
                columns += [column for _, column in chosen]
                ptr.append(len(offsets))
        return (
            np.array(ptr, dtype=np.int32),
            np.array(offsets, dtype=np.int32),
            np.array(columns, dtype=np.int32),
        )

    def _labels(
        self, templates: list[list[Term]], texts: list[str]
    ) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Whether the label of the arc at place s is in template t, and its salt: [S, T] both.

        No place at all, if no template has labels.
        """
        size = 1 + max(arc for _, arc, _ in self.roles)
        used = np.zeros((size, len(texts)), np.bool_)
        for t, terms in enumerate(templates):
            for r, _, column in terms:
                if column == LABEL:
                    used[self.roles[r][1], t] = True
        if not used.any():
            size, used = 0, used[:0]
        salts = [salt(self.name, (text, "label", s)) for s in range(size) for text in texts]
        return used, np.array(salts, np.uint64).reshape(used.shape)

    def _salts(self, texts: list[str]) -> NDArray[np.uint64]:
        """uint64[R, T]"""
        return np.array(
            [
                [salt(self.name, (text, "role", r)) for text in texts]
                for r in self._role_names
            ],
            dtype=np.uint64,
        )


def _shift(bits: NDArray[np.uint64]) -> np.uint64:
    """By how much a hash is shifted to give the number of its bit: 64 - log2(64 len(bits))."""
    return np.uint64(64 - (64 * len(bits)).bit_length() + 1)
