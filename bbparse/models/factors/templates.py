"""`TemplateFamily`: families with many factors, whose features are templates.

Such a family (all pairs of siblings) names the arcs of a factor and their words, and lists its
features as templates over the words' attributes. All sets of arcs of that shape are enumerated arc
by arc, and a kernel hashes the values of each template (`models.hashing`).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from bbparse.models.factors.batch import FactorBatch
from bbparse.models.factors.family import FactorFamily, is_foreign, naming_errors
from bbparse.models.factors.table import feature_key
from bbparse.models.factors.view import FactorView
from bbparse.models.hashing import ATOM, TermTable
from bbparse.models.templates import Template
from bbparse.runtime.arrays import Hashes, Ints, Longs
from bbparse.runtime.errors import ConfigError, FactorError
from bbparse.treebank.encode import ATTRIBUTES, PAD

#: Numbers of the atoms of a set of arcs: order class, distance class, and from `LABEL` on the label
#: of each arc.
ORDER, DISTANCE, LABEL = range(3)
_LOWER = ATTRIBUTES.index("lower")


class _Shape(NamedTuple):
    """The arcs of a factor, and the classes that distinguish factors of the same family."""

    #: Word at which each arc begins; word 0 is the first head, word i + 1 the modifier of arc i.
    head: list[int]
    #: The arc whose modifier must come before an arc's own, -1 for none.
    after: list[int]
    #: Two words, whether their forms are compared or their places, and what the order class gains.
    order: list[tuple[int, int, bool, int]]
    #: Two words, and the distances at which their classes begin, but for the first one.
    distance: list[tuple[int, int, tuple[int, ...]]]
    #: The arc that the last one must have the label of, -1 for none.
    alike: int


class TemplateFamily(FactorFamily):
    """A family whose features are templates over the words of its factors.

    A template is text such as ``"h.lemma m1.lexpos m2-1.upos distance"``. A term has a word, an
    optional offset of at most three words, and an attribute (one of `ATTRIBUTES` of
    `bbparse.treebank.encode`); ``distance`` is the distance class, ``@m1`` the label that the
    network would give the arc to m1. Every template also includes the terms of `common` and the
    order class; ``""`` has only these. To change the features of a family, derive a class with
    another name from it.

    Attributes
    ----------
    arcs : tuple of str
        The arcs of a factor, head and modifier: ``("h m", "m c")`` is a chain. Each head except the
        first is a word of an earlier arc. The family proposes all such sets of arcs that a
        projective tree can contain; modifiers of the same word that have no modifiers in the factor
        come in the order of the sentence only.
    common : str
        Terms that all templates share.
    templates : tuple of str
        The features.
    order : dict
        The order class: ``{"h m": 2, "m c": 1}`` adds 2 if h is left of m, and 1 if m is left of c;
        ``{"m = c": 1}`` adds 1 if both have the same form in lower case.
    alike : str
        A word (or none) whose arc must have the same network label as the arc to the last word.
    distance : dict
        The distance class: ``{"h m": (2, 5)}`` distinguishes lengths of 1, 2 to 4, and 5 or more.

    Raises
    ------
    FactorError
        On creation, if a template has an unknown word or attribute or occurs twice, if arcs are not
        connected, or if the class has no arcs or templates.
    """

    arcs: ClassVar[tuple[str, ...]] = ()
    common: ClassVar[str] = ""
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
        self._shape = self._shaped()
        self._templates: dict[Template, None] = {}
        for text in self.templates:
            template = self._parse(f"{self.common} {text}")
            if template in self._templates:
                raise FactorError(f"factor family {self.name!r}: template {text!r} is given twice")
            self._templates[template] = None
        atoms = ["order", "distance", *self.words[1:]]
        terms = [template.terms(self.words, atoms) for template in self._templates]
        order = [(ATOM, 0, ORDER)] * bool(self.order)
        # Salts come from the text of a template, not from its place: the table may be reordered.
        salts = [feature_key(self.name, str(template)) for template in self._templates]
        self._table = TermTable.of([own + order for own in terms], salts)

    def propose(self, view: FactorView) -> FactorBatch:
        arcs, keys = self._keyed(view)
        ptr = np.arange(len(arcs) + 1) * len(self.arcs)
        return FactorBatch.from_keys(ptr, arcs.ravel(), keys)

    def _keyed(self, view: FactorView) -> tuple[Ints, Hashes]:
        """Return the arcs int32[F, S] and the keys uint64[F, T] of the candidates."""
        arcs, words = self._sets(view)
        keys = self._table.keys(view.values, words, self._atoms(view, arcs, words))
        return arcs.astype(np.int32), keys

    def _sets(self, view: FactorView) -> tuple[Longs, Longs]:
        """Return the sets of arcs of all projective trees, int64[F, S]; words, int64[F, S + 1]."""
        shape = self._shape
        first = self.first_arcs(view)
        if is_foreign(self.first_arcs):
            with naming_errors(f"factor family {self.name!r}", view.sentence):
                first = np.asarray(first)
                if first.ndim != 1 or not np.isin(first, np.arange(view.n_arcs)).all():
                    raise FactorError(
                        f"first_arcs gave {first!r:.60}, expected indices of arcs, 0 to"
                        f" {view.n_arcs - 1}"
                    )
        arcs = first.astype(np.int64)[:, np.newaxis]
        words = np.column_stack([view.arc_head[arcs], view.arc_mod[arcs]]).astype(np.int64)
        for head, after in zip(shape.head[1:], shape.after[1:]):
            x = words[:, head]
            begin = arcs[:, after] + 1 if after >= 0 else view.head_ptr[x].astype(np.int64)
            sizes = view.head_ptr[x + 1] - begin
            rows = np.repeat(np.arange(len(x)), sizes)
            arc = np.arange(len(rows)) + np.repeat(begin - np.cumsum(sizes) + sizes, sizes)
            mod = view.arc_mod[arc].astype(np.int64)
            words, x = words[rows], x[rows]
            keep = (words != mod[:, np.newaxis]).all(axis=1)
            if after < 0 and head > 0:
                between = (words < x[:, np.newaxis]) != (words < mod[:, np.newaxis])
                keep &= ~(between & (words != x[:, np.newaxis])).any(axis=1)
            arcs = np.column_stack([arcs[rows[keep]], arc[keep]])
            words = np.column_stack([words[keep], mod[keep]])
        if shape.alike >= 0:
            labels = view.arc_labels[arcs]
            same = labels[:, shape.alike] == labels[:, -1]
            arcs, words = arcs[same], words[same]
        return arcs, words

    def _atoms(self, view: FactorView, arcs: Longs, words: Longs) -> Longs:
        """Return order class, distance class and labels of sets of arcs, int64[F, 2 + S]."""
        atoms = np.zeros((len(arcs), LABEL + arcs.shape[1]), np.int64)
        atoms[:, LABEL:] = view.arc_labels[arcs]
        for a, b, by_form, number in self._shape.order:
            first, second = words[:, a], words[:, b]
            if by_form:
                lower = view.values[:, _LOWER]
                holds = lower[PAD + first] == lower[PAD + second]
            else:
                holds = first < second
            atoms[:, ORDER] += number * holds
        for a, b, starts in self._shape.distance:
            digit = np.searchsorted(starts, np.abs(words[:, a] - words[:, b]), side="right")
            atoms[:, DISTANCE] = atoms[:, DISTANCE] * (len(starts) + 1) + digit
        return atoms

    def first_arcs(self, view: FactorView) -> Longs:
        """Return indices of arcs that may be the first ones of a factor: all by default."""
        return np.arange(view.n_arcs)

    def name_features(self, view: FactorView) -> dict[int, str]:
        """As `FactorFamily.name_features`: each template with the values of its words."""
        names: dict[int, str] = {}
        arcs, keys = self._keyed(view)
        for members, own in zip(arcs, keys.tolist()):
            words = [int(view.arc_head[members[0]]), *view.arc_mod[members].tolist()]
            place = dict(zip(self.words, words))
            atoms = {"distance": "distance"}
            for name, arc in zip(self.words[1:], members.tolist()):
                head, mod = int(view.arc_head[arc]), int(view.arc_mod[arc])
                atoms[name] = f"@{name}={view.label_name(head, mod)}"
            for template, key in zip(self._templates, own):
                texts = [atom.filled(view.attribute, place[atom.role]) for atom in template.words]
                names[key] = " ".join([*texts, *map(atoms.__getitem__, template.atoms)])
        return names

    def _shaped(self) -> _Shape:
        """Read the class's arcs, order and distance."""
        place = {word: i for i, word in enumerate(self.words)}
        try:
            head = [place[arc.split()[0]] for arc in self.arcs]
            order = [
                (place[pair.split()[0]], place[pair.split()[-1]], "=" in pair, number)
                for pair, number in self.order.items()
            ]
            distance = [
                (place[pair.split()[0]], place[pair.split()[-1]], starts)
                for pair, starts in self.distance.items()
            ]
        except KeyError as error:
            raise FactorError(f"factor family {self.name!r}: no word {error}") from None
        if len(place) < len(self.words) or any(h > i for i, h in enumerate(head)):
            raise FactorError(f"factor family {self.name!r}: arcs that are not connected")
        leaves = [i for i in range(len(head)) if i + 1 not in head]
        after = [
            max((j for j in leaves if j < i and head[j] == h and i in leaves), default=-1)
            for i, h in enumerate(head)
        ]
        return _Shape(head, after, order, distance, place[self.alike] - 1 if self.alike else -1)

    def _parse(self, text: str) -> Template:
        """Return a template with the common terms."""
        items = ["@distance" if item == "distance" else item for item in text.split()]
        try:
            return Template.parse(" ".join(items), self.words, ["distance", *self.words[1:]])
        except ConfigError as error:
            raise FactorError(f"factor family {self.name!r}, template {text!r}: {error}") from None
