"""Dense families: the arcs of their factors, and feature templates as a table.

A family of many factors (all pairs of siblings) names the arcs of a factor and their words, and
lists its features as templates over the words' attributes. One kernel finds the candidates of all
such families, and another scores them.

Hashing is simple tabulation (Pătraşcu & Thorup 2012): every (template, word of the factor, word of
the sentence) has a 64-bit hash of the attributes the template reads from that word, made once per
sentence, and the key of a factor is the sum over its words modulo 2⁶⁴. A template then costs as
many additions as there are words. The *gate* is the coarsest template; each other template implies
its attributes, so that a gate no known feature came with rules all of them out at the price of one
look at a bit.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from bbparse.core.parts import Factors
from bbparse.models.factors.batch import FactorBatch, pointers
from bbparse.models.factors.family import FactorFamily, is_foreign, told_of
from bbparse.models.factors.table import ALL_PASS, FactorTable, mix_all, salt, shift_of
from bbparse.models.factors.template_kernels import Family, Shape, Terms, find_sets, score_sets
from bbparse.models.factors.view import MOST_LABELS, FactorView
from bbparse.models.templates import word_atom
from bbparse.runtime.arrays import Hashes, Ints, Longs
from bbparse.runtime.errors import ConfigError, FactorError
from bbparse.runtime.jit import plain
from bbparse.treebank.encode import ATTRIBUTES

#: Column of the label of the arc to a word, where others are columns of `encode`.
LABEL = -1


class _Template(NamedTuple):
    """The attributes that a template reads: word of the factor, offset from it, column."""

    terms: list[tuple[int, int, int]]
    uses_distance: bool


class TemplateFamily(FactorFamily):
    """A family whose features are templates over the words of its factors.

    A template is text such as ``"h.lemma m1.lexpos m2-1.upos distance"``: terms are word, offset
    from it in words (optional, at most three), attribute (`ATTRIBUTES` of
    `bbparse.treebank.encode` lists them); ``distance`` stands for the distance class, ``@m1`` for
    the label that the network would give the arc to m1. The attributes of
    the gate and the order class are part of every template without being named; ``""`` is the gate
    alone. To change the features of a family, derive a class from it, with another name.

    Attributes
    ----------
    arcs : tuple of str
        The arcs of a factor, head and modifier: ``("h m", "m c")`` is a chain. Each head but the
        first is a word of an arc before. All such sets of arcs are proposed that some projective
        tree may hold; modifiers of one word that have none themselves in their order alone.
    gate : str
        The coarsest template, without ``distance``.
    templates : tuple of str
        The features.
    order : dict
        The order class: ``{"h m": 2, "m c": 1}`` adds 2 if h is left of m, and 1 if m is left of c;
        ``{"m = c": 1}`` adds 1 if both are the same word in lower case.
    alike : str
        The word, if any, whose arc must have the network's label of the arc to the last word.
    distance : dict
        The distance class: ``{"h m": (2, 5)}`` tells lengths of 1 from 2 to 4 and more.

    Raises
    ------
    FactorError
        When the family is made, if a template has an unknown word or attribute or is given twice,
        arcs are not connected, or the class has no arcs or templates.
    """

    arcs: ClassVar[tuple[str, ...]] = ()
    gate: ClassVar[str] = ""
    templates: ClassVar[tuple[str, ...]] = ()
    order: ClassVar[dict[str, int]] = {}
    distance: ClassVar[dict[str, tuple[int, ...]]] = {}
    alike: ClassVar[str] = ""

    def __init__(self) -> None:
        for attribute in ("arcs", "templates"):
            if not getattr(type(self), attribute):
                raise FactorError(f"factor family {self.name!r}: the class has no {attribute}")
        #: The words of a factor by name: the first head, then all modifiers.
        self.words = [self.arcs[0].split()[0], *(arc.split()[-1] for arc in self.arcs)]
        shape = self._shaped()
        gate = self._parse(self.gate)
        if gate.uses_distance or any(column == LABEL for _, _, column in gate.terms):
            raise FactorError(
                f"factor family {self.name!r}: its gate may not use the distance or labels"
            )
        parsed = [self._parse(template) for template in self.templates]
        # Salts come from what a template says, not from its place: the table may be reordered.
        gate_text = self._text(gate)
        texts = [f"{gate_text} / {self._text(template)}" for template in parsed]
        for i, text in enumerate(texts):
            if text in texts[:i]:
                raise FactorError(
                    f"factor family {self.name!r}: template {self.templates[i]!r} is given twice"
                )
        orders = range(1 + sum(self.order.values()))
        self._n_distances = int(np.prod(shape.n_classes))
        codes = self._salts(
            [
                (text, "order", o, d if template.uses_distance else -1)
                for o in orders
                for d in range(self._n_distances)
                for text, template in zip(texts, parsed)
            ]
        ).reshape(-1, len(texts))
        self._family = Family(
            shape,
            self._terms([gate], [gate_text]),
            self._terms(parsed, texts),
            self._salts([(gate_text, "order", o) for o in orders]),
            codes,
            self._labels(parsed, texts),
        )
        self._plain = plain(self._family)

    def propose(self, view: FactorView, table: FactorTable | None = None) -> FactorBatch:
        """As `FactorFamily.propose`; with a table, what it does not know is left out."""
        arcs, keys, gates = self._keyed(view, ALL_PASS if table is None else table.gate_bits)
        ptr = np.arange(len(arcs) + 1) * len(self.arcs)
        return FactorBatch.from_keys(ptr, arcs.ravel(), keys, table, gates=gates)

    def _keyed(self, view: FactorView, gate_bits: Hashes) -> tuple[Ints, Hashes, Hashes]:
        """Arcs int32[F, S], keys uint64[F, T] and gates uint64[F] of the candidates."""
        own, first = self._family, self._first_arcs(view)
        rows, gate_words, parts = find_sets(
            view.values, view.arcs, first, self._plain, gate_bits, shift_of(gate_bits)
        )
        *members, codes = rows.T
        keys, gates = own.codes[codes], own.orders[codes // self._n_distances]
        words = [view.arc_head[members[0]], *(view.arc_mod[arc] for arc in members)]
        for r, chosen in enumerate(words):
            gates += gate_words[r, chosen]
            keys += parts[r, chosen]
        for labels, arc in zip(own.labels, members):
            keys += labels[view.arc_labels[arc]]
        return rows[:, :-1], keys, gates

    def score(self, view: FactorView, table: FactorTable) -> Factors:
        """As `FactorFamily.score`, in one pass over the candidates."""
        if type(self).propose is not TemplateFamily.propose:
            return super().score(view, table)
        first = self._first_arcs(view)
        return Factors(*score_sets(view.values, view.arcs, first, self._plain, table.index))

    def _first_arcs(self, view: FactorView) -> Longs:
        first = self.first_arcs(view)
        if is_foreign(self.first_arcs):
            with told_of(f"factor family {self.name!r}", view.sentence):
                first = np.ascontiguousarray(first)
                if first.ndim != 1 or (first.size and first.dtype.kind not in "iu"):
                    raise FactorError(f"first_arcs gave {first!r:.60}, expected indices of arcs")
                if first.size and not 0 <= first.min() <= first.max() < view.n_arcs:
                    raise FactorError(
                        f"first_arcs gave {first.min()} to {first.max()}, expected 0 to"
                        f" {view.n_arcs - 1}"
                    )
                first = first.astype(np.int64)
        return first

    def first_arcs(self, view: FactorView) -> Longs:
        """Return indices of arcs that may be the first ones of a factor: all by default."""
        return np.arange(view.n_arcs)

    def name_features(self, view: FactorView) -> dict[int, str]:
        """As `FactorFamily.name_features`: each template with the values of its words."""
        arcs, keys, _ = self._keyed(view, ALL_PASS)
        parsed = [self._parse(f"{self.gate} {template}") for template in self.templates]
        names: dict[int, str] = {}
        for own, members in zip(keys.tolist(), arcs):
            words = [int(view.arc_head[members[0]]), *view.arc_mod[members].tolist()]
            for key, (terms, uses_distance) in zip(own, parsed):
                text = [self._told(view, members, words, *term) for term in terms]
                names[key] = " ".join(text) + " distance" * uses_distance
        return names

    def _told(
        self, view: FactorView, arcs: Ints, words: list[int], r: int, offset: int,
        column: int,
    ) -> str:  # fmt: skip
        """Give a term its value for a factor."""
        if column == LABEL:
            head = int(view.arc_head[arcs[r - 1]])
            return f"@{self.words[r]}={view.label_name(head, words[r])}"
        attribute, shift = ATTRIBUTES[column], f"{offset:+d}" if offset else ""
        return f"{self.words[r]}{shift}.{attribute}={view.attribute(words[r] + offset, attribute)}"

    # --- what the class says, as arrays ---------------------------------------------------------

    def _shaped(self) -> Shape:
        place = {word: i for i, word in enumerate(self.words)}
        try:
            head = [place[arc.split()[0]] for arc in self.arcs]
            order = [
                [*(place[w] for w in pair.split() if w != "="), int("=" in pair), n]
                for pair, n in self.order.items()
            ]
            distance = [[place[word] for word in pair.split()] for pair in self.distance]
        except KeyError as error:
            raise FactorError(f"factor family {self.name!r}: no word {error}") from None
        if len(place) < len(self.words) or any(h > i for i, h in enumerate(head)):
            raise FactorError(f"factor family {self.name!r}: arcs that are not connected")
        leaves = [i for i in range(len(head)) if i + 1 not in head]
        after = [
            max((j for j in leaves if j < i and head[j] == h and i in leaves), default=-1)
            for i, h in enumerate(head)
        ]
        order.sort(key=lambda entry: len(head) in entry[:2])
        longest = max(map(len, self.distance.values()), default=0)
        starts = np.zeros((len(distance), longest), np.int32)
        for own, given in zip(starts, self.distance.values()):
            own[: len(given)] = given
        return Shape(
            np.array(head, np.int32),
            np.array(after, np.int32),
            np.array(order, np.int32).reshape(-1, 4),
            sum(len(head) not in entry[:2] for entry in order),
            np.array(distance, np.int32).reshape(-1, 2),
            starts,
            np.array([len(given) + 1 for given in self.distance.values()], np.int32),
            place[self.alike] - 1 if self.alike else -1,
        )

    def _parse(self, template: str) -> _Template:
        """Terms of a template in a fixed order, and whether it uses the distance."""
        words = template.split()
        terms = {self._term(template, word) for word in words if word != "distance"}
        return _Template(sorted(terms), "distance" in words)

    def _term(self, template: str, text: str) -> tuple[int, int, int]:
        where = f"factor family {self.name!r}, template {template!r}"
        if text.startswith("@"):
            if text[1:] not in self.words[1:]:
                raise FactorError(f"{where}: no arc of the factor leads to {text[1:]!r}")
            return self.words.index(text[1:]), 0, LABEL
        try:
            atom = word_atom(text, self.words, expected="role.attribute, @role or distance")
        except ConfigError as error:
            raise FactorError(f"{where}: {error}") from None
        return self.words.index(atom.role), atom.offset, ATTRIBUTES.index(atom.attribute)

    def _text(self, template: _Template) -> str:
        words = [
            f"@{self.words[r]}"
            if column == LABEL
            else f"{self.words[r]}{offset:+d}.{ATTRIBUTES[column]}"
            for r, offset, column in template.terms
        ]
        return " ".join(sorted(words) + ["distance"] * template.uses_distance)

    def _terms(self, templates: list[_Template], texts: list[str]) -> Terms:
        chosen = [
            [entry[1:] for entry in template.terms if entry[0] == r and entry[2] != LABEL]
            for template in templates
            for r in range(len(self.words))
        ]
        ends = pointers([len(own) for own in chosen]).astype(np.int32)
        pairs = np.array([pair for own in chosen for pair in own], np.int32).reshape(-1, 2)
        salts = self._salts([(text, "role", word) for text in texts for word in self.words])
        shape = len(templates), len(self.words)
        ptr = np.column_stack([ends[:-1].reshape(shape), ends[len(self.words) :: len(self.words)]])
        return Terms(ptr, pairs[:, 0].copy(), pairs[:, 1].copy(), salts.reshape(shape))

    def _labels(self, templates: list[_Template], texts: list[str]) -> Hashes:
        """Compute what each label of the arc at place s adds to templates' keys: [S, *, T].

        No place at all, if no template has labels.
        """
        used = np.array(
            [
                [(s + 1, 0, LABEL) in template.terms for template in templates]
                for s in range(len(self.arcs))
            ]
        )[:, np.newaxis]
        if not used.any():
            return np.zeros((0, 1, len(texts)), np.uint64)
        salts = self._salts([(text, "label", s) for s in range(len(self.arcs)) for text in texts])
        numbers = np.arange(MOST_LABELS + 1, dtype=np.uint64)[:, np.newaxis]
        hashes = mix_all(salts.reshape(used.shape) ^ numbers)
        return np.where(used, hashes, np.uint64(0))

    def _salts(self, features: list[tuple[str | int, ...]]) -> Hashes:
        return np.array([salt(self.name, feature) for feature in features], np.uint64)
