"""`Problem`: candidate arcs of one sentence, and everything that scores trees made of them.

The score of a tree y is

    φ(y) = Σ arc scores + Σ scores of the parts that fire + Σ scores of the factors ⊆ y
           + Σ count_score[count_score_ptr[c] + |c ∩ y|] over the count factors c

and a tree is feasible when every word has one candidate head that is not forbidden, all words hang
from the root 0, every required arc is in it, no factor of weight -inf fires, no count factor
scores -inf, and, as the flags say, it is projective and the root has exactly one modifier.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.errors import ProblemError
from bbparse.problem import arrays, constraints, edit
from bbparse.problem.check import MAX_WORDS, check_problem
from bbparse.problem.files import read_problem, write_problem
from bbparse.problem.summary import summary
from bbparse.problem.tree import arcs_of, broken_constraint, tree_score

_NO_WORDS = np.zeros(0, dtype=np.int32)
_NO_SCORES = np.zeros(0, dtype=np.float64)
_NO_FACTORS = np.zeros(1, dtype=np.int64)
_FREE = np.zeros(4096, dtype=np.int8)  # states of arcs that nothing is known of
for _array in (_NO_WORDS, _NO_SCORES, _NO_FACTORS, _FREE):
    _array.setflags(write=False)


@dataclass(frozen=True, eq=False, init=False)
class Problem:
    """Candidate arcs of one sentence, and everything that scores trees made of them.

    Words are numbered 1..n_words and 0 is the root. Arrays are given as anything numpy takes
    (integers for indices, real numbers for scores), copied, and read-only afterwards. Parts are
    named by words: with labelled arcs they fire whatever the labels, and a part over words that no
    candidate arc joins never fires.

    Parameters
    ----------
    n_words : int
        Number of words, at least 1.
    arc_head, arc_mod : int32[A]
        Candidate arcs: head in 0..n_words, modifier in 1..n_words, no arc twice.
    arc_score : float64[A]
        Their scores, finite: an arc that must not be used is left out, or forbidden. As all
        scores they are at most 1e100 in magnitude.
    arc_label : int32[A], optional
        Labels (>= 0). Several arcs may then join the same two words under different labels.
    arc_state : int8[A], optional
        1 for a required arc, -1 for a forbidden one, 0 otherwise (the default).
    sib_head, sib_inner, sib_outer : int32[S], optional
    sib_score : float64[S], optional
        Adjacent siblings: the part fires when inner and outer are modifiers of head on the same
        side with no other modifier of head between them. inner = -1: outer is the modifier
        nearest to head on its side.
    gc_grand, gc_head, gc_mod : int32[G], optional
    gc_score : float64[G], optional
        Grandchildren: fires when grand → head and head → mod are both in the tree.
    ogc_grand, ogc_head, ogc_mod : int32[O], optional
    ogc_score : float64[O], optional
        Outermost grandchildren (Carreras 2007): as before, and mod is the modifier of head
        farthest from head on its side.
    gsib_grand, gsib_head, gsib_inner, gsib_outer : int32[H], optional
    gsib_score : float64[H], optional
        Grand-siblings (Koo & Collins 2010): the adjacent sibling part fires and grand → head is in
        the tree; grand is -1 exactly where head is 0.
    factor_ptr : int64[F + 1], optional
    factor_arcs : int32[factor_ptr[F]], optional
    factor_score : float64[F], optional
        Factor f is the set of the arcs with indices factor_arcs[factor_ptr[f]:factor_ptr[f + 1]],
        two or more; it fires when all of them are in the tree. Weights have any sign; -inf says
        "never all together".
    count_ptr, count_score_ptr : int64[C + 1], optional
    count_arcs : int32[count_ptr[C]], optional
    count_score : float64[count_score_ptr[C]], optional
        Count factor c is the set of the r >= 1 arcs with indices
        count_arcs[count_ptr[c]:count_ptr[c + 1]] and r + 1 scores: with k of these arcs in the
        tree it scores count_score[count_score_ptr[c] + k], where -inf says "not k of them".
        count_score_ptr follows from count_ptr and may be left out.
    projective : bool
        Trees must have no crossing arcs, the root lying left of word 1.
    single_root : bool
        The root must have exactly one modifier.
    quantum : float
        All scores are integer multiples of it (QL13 §3 rounds bounds by it); 0 if not known.

    Raises
    ------
    ProblemError
        Naming the array and the index: "arc_mod[7] is 12, expected 1..9".
    """

    n_words: int
    arc_head: NDArray[np.int32]
    arc_mod: NDArray[np.int32]
    arc_score: NDArray[np.float64]
    arc_label: NDArray[np.int32] | None
    arc_state: NDArray[np.int8]
    sib_head: NDArray[np.int32]
    sib_inner: NDArray[np.int32]
    sib_outer: NDArray[np.int32]
    sib_score: NDArray[np.float64]
    gc_grand: NDArray[np.int32]
    gc_head: NDArray[np.int32]
    gc_mod: NDArray[np.int32]
    gc_score: NDArray[np.float64]
    ogc_grand: NDArray[np.int32]
    ogc_head: NDArray[np.int32]
    ogc_mod: NDArray[np.int32]
    ogc_score: NDArray[np.float64]
    gsib_grand: NDArray[np.int32]
    gsib_head: NDArray[np.int32]
    gsib_inner: NDArray[np.int32]
    gsib_outer: NDArray[np.int32]
    gsib_score: NDArray[np.float64]
    factor_ptr: NDArray[np.int64]
    factor_arcs: NDArray[np.int32]
    factor_score: NDArray[np.float64]
    count_ptr: NDArray[np.int64]
    count_arcs: NDArray[np.int32]
    count_score_ptr: NDArray[np.int64]
    count_score: NDArray[np.float64]
    projective: bool
    single_root: bool
    quantum: float

    def __init__(
        self,
        n_words: int,
        arc_head: ArrayLike,
        arc_mod: ArrayLike,
        arc_score: ArrayLike,
        arc_label: ArrayLike | None = None,
        arc_state: ArrayLike | None = None,
        *,
        sib_head: ArrayLike = (),
        sib_inner: ArrayLike = (),
        sib_outer: ArrayLike = (),
        sib_score: ArrayLike = (),
        gc_grand: ArrayLike = (),
        gc_head: ArrayLike = (),
        gc_mod: ArrayLike = (),
        gc_score: ArrayLike = (),
        ogc_grand: ArrayLike = (),
        ogc_head: ArrayLike = (),
        ogc_mod: ArrayLike = (),
        ogc_score: ArrayLike = (),
        gsib_grand: ArrayLike = (),
        gsib_head: ArrayLike = (),
        gsib_inner: ArrayLike = (),
        gsib_outer: ArrayLike = (),
        gsib_score: ArrayLike = (),
        factor_ptr: ArrayLike = (0,),
        factor_arcs: ArrayLike = (),
        factor_score: ArrayLike = (),
        count_ptr: ArrayLike = (0,),
        count_arcs: ArrayLike = (),
        count_score_ptr: ArrayLike | None = None,
        count_score: ArrayLike = (),
        projective: bool = True,
        single_root: bool = True,
        quantum: float = 0.0,
    ) -> None:
        given = dict(locals())
        del given["self"]
        values: dict[str, Any] = {}
        if count_score_ptr is None:
            pointers = arrays.as_ints("count_ptr", count_ptr, np.int64)
            given["count_score_ptr"] = pointers + np.arange(len(pointers))
        for name, value in given.items():
            if name.endswith("_score"):
                values[name] = arrays.as_floats(name, value)
            elif name.endswith("_ptr"):
                values[name] = arrays.as_ints(name, value, np.int64)
            elif name in _WORD_ARRAYS:
                values[name] = arrays.as_ints(name, value, np.int32)
        values["n_words"] = arrays.as_count("n_words", n_words, 1, MAX_WORDS)
        values["arc_label"] = (
            None if arc_label is None else arrays.as_ints("arc_label", arc_label, np.int32)
        )
        values["arc_state"] = (
            np.zeros(len(values["arc_head"]), dtype=np.int8)
            if arc_state is None
            else arrays.as_ints("arc_state", arc_state, np.int8)
        )
        values["projective"] = arrays.as_flag("projective", projective)
        values["single_root"] = arrays.as_flag("single_root", single_root)
        values["quantum"] = float(arrays.as_floats("quantum", quantum, ndim=0))
        self._fill(values)
        check_problem(self)

    def _fill(self, values: dict[str, Any]) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        # The instance dictionary is written directly, as the class is frozen.
        self.__dict__.update(values)

    @classmethod
    def _trusted(
        cls,
        n_words: int,
        arc_head: NDArray[np.int32],
        arc_mod: NDArray[np.int32],
        arc_score: NDArray[np.float64],
        **others: Any,
    ) -> Problem:
        """A problem whose arrays are known to be right: nothing is checked, copied or converted.

        The arrays must have the dtypes of the contract, be C-contiguous, and not be written to
        afterwards (they are made read-only). Fields that are not given are empty.
        """
        problem = object.__new__(cls)
        values = dict(_DEFAULTS)
        values.update(
            n_words=n_words, arc_head=arc_head, arc_mod=arc_mod, arc_score=arc_score, **others
        )
        if values["arc_state"] is None:
            values["arc_state"] = np.zeros(len(arc_head), dtype=np.int8)
        problem._fill(values)
        return problem

    @classmethod
    def _scored(
        cls,
        n_words: int,
        arc_head: NDArray[np.int32],
        arc_mod: NDArray[np.int32],
        fields: Iterable[str],
        parts: Iterable[NDArray[Any]],
        **others: Any,
    ) -> Problem:
        """As `_trusted`, with arrays of parts that are read-only already, and their names."""
        problem = object.__new__(cls)
        values = problem.__dict__
        values.update(_DEFAULTS)
        values.update(zip(fields, parts))
        n_arcs = len(arc_head)
        states = _FREE[:n_arcs] if n_arcs <= len(_FREE) else np.zeros(n_arcs, np.int8)
        others.update(arc_head=arc_head, arc_mod=arc_mod, arc_state=states)
        for value in others.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        values.update(others, n_words=n_words)
        return problem

    def _changed(self, **changes: Any) -> Problem:
        """This problem with some fields replaced by arrays known to be right."""
        problem = object.__new__(Problem)
        problem._fill({**{name: self.__dict__[name] for name in FIELDS}, **changes})
        return problem

    # ---- making problems -----------------------------------------------------------------------

    @classmethod
    def from_arc_scores(
        cls, scores: ArrayLike, *, projective: bool = True, single_root: bool = True
    ) -> Problem:
        """Problem of a full score matrix, as graph-based parsers give it.

        Parameters
        ----------
        scores : float[n + 1, n + 1]
            scores[h, m] of the arc from head h to modifier m, 0 being the root; -inf = no such
            arc. The diagonal and column 0 are not looked at.

        Returns
        -------
        Problem
            Its arcs are ordered by modifier, then by head.
        """
        matrix = arrays.as_floats("scores", scores, ndim=2)
        size = len(matrix)
        if matrix.shape[1] != size or size < 2:
            raise ProblemError(
                f"scores has shape {matrix.shape}, expected (n + 1, n + 1) for n >= 1 words"
            )
        arrays.as_count("n_words", size - 1, 1, MAX_WORDS)
        np.fill_diagonal(matrix, -np.inf)
        matrix[:, 0] = -np.inf
        bad = np.argwhere(~((np.abs(matrix) <= arrays.MAX_SCORE) | (matrix == -np.inf)))
        if len(bad):
            h, m = bad[0]
            raise ProblemError(
                f"scores[{h}, {m}] is {matrix[h, m]}, expected a number of magnitude <="
                f" {arrays.MAX_SCORE:g} or -inf"
            )
        mods, heads = np.nonzero(matrix.T > -np.inf)
        return cls._trusted(
            size - 1,
            heads.astype(np.int32),
            mods.astype(np.int32),
            matrix[heads, mods],
            projective=arrays.as_flag("projective", projective),
            single_root=arrays.as_flag("single_root", single_root),
        )

    with_factors = edit.with_factors
    with_heads = edit.with_heads
    without_arcs = edit.without_arcs
    with_count_scores = constraints.with_count_scores
    with_at_most = constraints.with_at_most
    with_at_least = constraints.with_at_least
    with_valency = constraints.with_valency
    with_subtree = constraints.with_subtree
    with_or = constraints.with_or
    with_valency_score = constraints.with_valency_score

    # ---- looking at problems -------------------------------------------------------------------

    def score(self, tree: ArrayLike) -> float:
        """φ of a tree, from the definition: the reference for every solver.

        Parameters
        ----------
        tree : int[n_words + 1] or int[n_words]
            A row of `Solution.heads` (heads, the first element standing for the root, -1 or 0), or
            a row of `Solution.arcs` (the arc index of each word).

        Returns
        -------
        float
            Correctly rounded, so that it does not depend on the order of parts and factors; -inf
            if a factor of weight -inf fires or a count factor scores -inf. Other constraints are
            not looked at: see `is_feasible`.

        Raises
        ------
        ProblemError
            If an arc is no candidate, or heads are given where labels leave several arcs.
        """
        return tree_score(self, arcs_of(self, tree))

    def is_feasible(self, tree: ArrayLike) -> bool:
        """Whether a tree (given as for `score`) keeps every constraint of the problem."""
        return not broken_constraint(self, arcs_of(self, tree))

    def __repr__(self) -> str:
        return summary(self)

    # ---- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz file; a file of that name is replaced only by a complete one.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        write_problem(path, {name: getattr(self, name) for name in FIELDS})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Problem:
        """Read what `save` wrote. Nothing is unpickled.

        Raises
        ------
        ProblemError
            Naming the file and, where there is one, the field.
        """
        values = read_problem(path, FIELDS)
        try:
            return cls(**values)
        except ProblemError as error:
            raise ProblemError(f"{os.fspath(path)}: {error}") from error


#: The names of all fields of a problem.
FIELDS = tuple(field.name for field in fields(Problem))

_WORD_ARRAYS = frozenset(
    name
    for name in FIELDS
    if name.endswith(("_head", "_mod", "_inner", "_outer", "_grand", "_arcs"))
)
_DEFAULTS: dict[str, Any] = {
    name: _NO_SCORES if name.endswith("_score") else _NO_WORDS
    for name in FIELDS
    if name.endswith("_score") or name in _WORD_ARRAYS
}
_DEFAULTS.update(
    arc_label=None, arc_state=None, factor_ptr=_NO_FACTORS,
    count_ptr=_NO_FACTORS, count_score_ptr=_NO_FACTORS,
    projective=True, single_root=True, quantum=0.0,
)  # fmt: skip
