"""`FactorView`: the input of factor families, a sentence and candidate arcs over its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from bbparse.core.parts import pair_keys
from bbparse.runtime.arrays import Hashes, Ints
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence
from bbparse.treebank.encode import attribute_values, encode

#: Largest number that a label may have.
MAX_LABEL = 1023

ROOT = "<root>"
"""The value of the root, word 0, in the lists of a view."""


def _listed(column: Callable[[Sentence], Iterable[str]], text: str) -> cached_property[list[str]]:
    def values(view: FactorView) -> list[str]:
        return [ROOT, *column(view.sentence)]

    values.__doc__ = text
    return cached_property(values)


class FactorView:
    """A sentence with its candidate arcs, or with the arcs of one tree.

    The parser shows a family the candidate arcs; training also shows it the arcs of one tree, to
    find the factors that fire in it. Words are numbered 1..n and 0 is the root, so
    ``view.upos[head]`` needs no offset. Building a view takes one pass over the arcs; lists are
    made on first use. Views are immutable.

    Parameters
    ----------
    sentence : Sentence
    arc_head, arc_mod : int32[A]
        Candidate arcs, each pair of words once, sorted by head, then by modifier; copied. Raises
        `FactorError` with the index of an arc that is out of range or out of order.
    values : uint64[n + 1 + 2 * PAD, len(ATTRIBUTES)], optional
        Hashes of attributes as `bbparse.treebank.encode.encode` returns them; row PAD + i is word
        i. By default they are computed here.
    arc_labels : int32[A], optional
        Number of the label that the network would give each arc, from 1; 0 for none.
    label_names : sequence of str, optional
        The network's labels, in order.

    Attributes
    ----------
    n_words : int
    head_ptr : int32[n + 2]
        The arcs from head h are those with indices ``head_ptr[h]`` to ``head_ptr[h + 1] - 1``.
    arc_labels : int32[A]
        Labels of the arcs, which do not depend on the other candidates.
    """

    def __init__(
        self,
        sentence: Sentence,
        arc_head: ArrayLike,
        arc_mod: ArrayLike,
        values: Hashes | None = None,
        arc_labels: Ints | None = None,
        label_names: Sequence[str] = (),
    ) -> None:
        self.label_names = label_names
        self.sentence = sentence
        self.n_words = sentence.n_words
        # Copies: kernels are compiled for writable arrays only, and those of a Problem are not.
        self.arc_head = np.array(arc_head, dtype=np.int32)
        self.arc_mod = np.array(arc_mod, dtype=np.int32)
        self.values = encode(sentence) if values is None else values
        if self.arc_head.ndim != 1 or self.arc_head.shape != self.arc_mod.shape:
            raise FactorError(
                f"arc_head and arc_mod: expected two arrays of one length, found shapes "
                f"{self.arc_head.shape} and {self.arc_mod.shape}"
            )
        self.head_ptr = np.searchsorted(self.arc_head, np.arange(self.n_words + 2)).astype(np.int32)
        self.arc_labels = np.zeros(self.n_arcs, np.int32)
        if arc_labels is not None:
            self.arc_labels[:] = arc_labels
        head, mod, n = self.arc_head, self.arc_mod, self.n_words
        is_wrong = (head < 0) | (head > n) | (mod < 1) | (mod > n) | (head == mod)
        is_wrong[1:] |= np.diff(pair_keys(n, head, mod)) <= 0
        if is_wrong.any():
            wrong = is_wrong.argmax()
            raise FactorError(
                f"arc {wrong} is {self.arc_head[wrong]} → {self.arc_mod[wrong]}: expected heads in "
                f"0..{self.n_words}, modifiers in 1..{self.n_words}, no arc twice, "
                "sorted by head, then by modifier"
            )

    @classmethod
    def of_tree(
        cls,
        sentence: Sentence,
        heads: ArrayLike,
        values: Hashes | None = None,
        labels: Ints | None = None,
        label_names: Sequence[str] = (),
    ) -> FactorView:
        """Make the view over the arcs of one tree.

        ``heads[m]`` (int[n + 1]) is the head of word m, negative for none; ``heads[0]`` is not
        read. A row of `Solution.heads` will do. ``labels`` (int32[n]) are those of the arcs to each
        word; other arguments are those of `FactorView`. Raises `FactorError` if there are not n + 1
        heads, or one is out of range.
        """
        head_of = np.asarray(heads, dtype=np.int32)
        if head_of.shape != (sentence.n_words + 1,):
            raise FactorError(
                f"heads: expected {sentence.n_words + 1} (one for the root, which is not read), "
                f"found shape {head_of.shape}"
            )
        mods = np.flatnonzero(head_of[1:] >= 0) + 1
        order = np.argsort(head_of[mods], kind="stable")
        mods = mods[order]
        arc_labels = None if labels is None else labels[mods - 1]
        return cls(sentence, head_of[mods], mods, values, arc_labels, label_names)

    # --- words, with index 0 for the root -------------------------------------------------------

    forms = _listed(lambda s: s.forms, "Words as written; index 0 is `ROOT` in all these lists.")
    lower = _listed(lambda s: (form.lower() for form in s.forms), "Words in lower case.")
    lemmas = _listed(lambda s: s.lemmas, "Lemmas.")
    upos = _listed(lambda s: s.upos, "Universal part-of-speech tags.")
    xpos = _listed(lambda s: s.xpos, "Treebank-specific part-of-speech tags.")
    feats = _listed(lambda s: s.feats, "Features, such as ``Case=Nom|Number=Sing``.")

    def attribute(self, word: int, name: str) -> str:
        """Return an attribute (`bbparse.treebank.encode.ATTRIBUTES`) of a word, as text.

        `ROOT` for the root, ``<none>`` beyond the sentence.
        """
        if word == 0:
            return ROOT
        if not 1 <= word <= self.n_words:
            return "<none>"
        return self._attributes[word - 1][name]

    @cached_property
    def _attributes(self) -> list[dict[str, str]]:
        return [attribute_values(*word) for word in self.sentence.words]

    # --- arcs -----------------------------------------------------------------------------------

    @property
    def n_arcs(self) -> int:
        """Number of candidate arcs."""
        return len(self.arc_head)

    def label_name(self, head: int, mod: int) -> str:
        """Return the name of the network's label of an arc, or its number if names are unknown."""
        index = self.arc_index(head, mod)
        number = int(self.arc_labels[index]) if index >= 0 else 0
        if 0 < number <= len(self.label_names):
            return self.label_names[number - 1]
        return str(number) if number else "<none>"

    def arc_index(self, head: int, mod: int) -> int:
        """Return the index of the arc from `head` to `mod`, -1 if it is not a candidate."""
        return self.arc_places.get((head, mod), -1)

    @cached_property
    def arc_places(self) -> dict[tuple[int, int], int]:
        """Index of each candidate arc (head, modifier)."""
        pairs = zip(self.arc_head.tolist(), self.arc_mod.tolist())
        return {pair: i for i, pair in enumerate(pairs)}

    def has_arc(self, head: int, mod: int) -> bool:
        """Return True if the arc from `head` to `mod` is a candidate."""
        return (head, mod) in self.arc_places

    def modifiers_of(self, head: int) -> list[int]:
        """Return the candidate modifiers of a word (or of the root, 0), ascending."""
        return self._modifiers[head]

    def heads_of(self, mod: int) -> list[int]:
        """Return the candidate heads of a word, ascending; 0 is the root."""
        return self._heads[mod]

    @cached_property
    def _modifiers(self) -> list[list[int]]:
        mods = self.arc_mod.tolist()
        return [mods[start:end] for start, end in pairwise(self.head_ptr.tolist())]

    @cached_property
    def _heads(self) -> list[list[int]]:
        heads: list[list[int]] = [[] for _ in range(self.n_words + 1)]
        for head, mod in zip(self.arc_head.tolist(), self.arc_mod.tolist()):
            heads[mod].append(head)
        return heads
