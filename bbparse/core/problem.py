"""`Problem`: the candidate arcs of one sentence, with everything that scores its trees.

The score of a tree y is

    φ(y) = Σ arc scores + Σ scores of the parts that fire + Σ scores of the factors ⊆ y
           + Σ count_score[count_score_ptr[c] + |c ∩ y|] over the count factors c

A tree is feasible if every word has one head, by a candidate arc that is not forbidden, all words
descend from the root 0, every required arc is in it, no factor of weight -inf fires, no count
factor scores -inf, and, depending on the flags, no arcs cross and the root has one modifier.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bbparse.core import check, constraints, edit
from bbparse.core.files import read_problem, write_problem
from bbparse.core.parts import DEFAULTS, DTYPES, FIELDS, KINDS, ProblemArrays, set_rows
from bbparse.core.tree import arcs_of


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Problem(ProblemArrays):
    """The candidate arcs of one sentence, with everything that scores its trees.

    Words are numbered 1..n_words and 0 is the root. Arguments are anything that numpy converts
    (integers for indices, real numbers for scores); they are copied, and the copies are read-only.
    Parts refer to words: they fire whatever the labels of the arcs, and a part without candidate
    arcs between its words never fires.

    Parameters
    ----------
    n_words : int
        Number of words, at least 1.
    arc_head, arc_mod : int32[A]
        Candidate arcs: head in 0..n_words, modifier in 1..n_words, no arc twice.
    arc_score : float64[A]
        Their scores, finite: leave out or forbid an arc that must not be used. Like all scores,
        they are at most 1e100 in magnitude.
    arc_label : int32[A], optional
        Labels (>= 0). Several arcs with different labels may then join the same two words.
    arc_state : int8[A], optional
        1 for a required arc, -1 for a forbidden one, 0 otherwise (the default).
    sib_head, sib_inner, sib_outer : int32[S], optional
    sib_score : float64[S], optional
        Adjacent siblings: the part fires when inner and outer are modifiers of head on the same
        side with no other modifier of head between them. inner = -1: outer is the modifier nearest
        to head on its side.
    gc_grand, gc_head, gc_mod : int32[G], optional
    gc_score : float64[G], optional
        Grandchildren: fires when grand → head and head → mod are both in the tree.
    ogc_grand, ogc_head, ogc_mod : int32[O], optional
    ogc_score : float64[O], optional
        Outermost grandchildren (Carreras 2007): like grandchildren, but mod is also the modifier of
        head that is farthest from it on its side.
    gsib_grand, gsib_head, gsib_inner, gsib_outer : int32[H], optional
    gsib_score : float64[H], optional
        Grand-siblings (Koo & Collins 2010): fires when the part of adjacent siblings fires and
        grand → head is in the tree; grand is -1 if and only if head is 0.
    factor_ptr : int64[F + 1], optional
    factor_arcs : int32[factor_ptr[F]], optional
    factor_score : float64[F], optional
        Factor f is the set of two or more arcs with indices
        factor_arcs[factor_ptr[f]:factor_ptr[f + 1]]; it fires when all of them are in the tree.
        Weights may have any sign; -inf means "never all together".
    count_ptr, count_score_ptr : int64[C + 1], optional
    count_arcs : int32[count_ptr[C]], optional
    count_score : float64[count_score_ptr[C]], optional
        Count factor c is the set of the r >= 1 arcs with indices
        count_arcs[count_ptr[c]:count_ptr[c + 1]] and r + 1 scores: with k of these arcs in the tree
        it scores count_score[count_score_ptr[c] + k], where -inf means "not k of them".
        count_score_ptr follows from count_ptr and may be omitted.
    projective : bool
        Trees must have no crossing arcs; the root is left of word 1.
    single_root : bool
        The root must have exactly one modifier.
    quantum : float
        All scores are integer multiples of it, each as near as float64 has it (QL13 §3 rounds
        bounds by it); 0 if unknown. Trees whose scores differ by the rounding of these multiples
        only count as equal. A method that adds a score which is no multiple sets it to 0.

    Raises
    ------
    ProblemError
        If a value is invalid; names the array and the index: "arc_mod[7] is 12, expected 1..9".
    """

    def __init__(  # noqa: PLR0913 – public keywords
        self,
        n_words: int,
        arc_head: ArrayLike,
        arc_mod: ArrayLike,
        arc_score: ArrayLike,
        arc_label: ArrayLike | None = None,
        arc_state: ArrayLike | None = None,
        *,
        projective: bool = True,
        single_root: bool = True,
        quantum: float = 0.0,
        **others: ArrayLike | None,
    ) -> None:
        unknown = others.keys() - DTYPES.keys()
        if unknown:
            raise TypeError(
                f"Problem.__init__() got an unexpected keyword argument {min(unknown)!r}"
            )
        optional = {"arc_label": arc_label, "arc_state": arc_state, **others}
        given = {name: value for name, value in optional.items() if value is not None}
        given |= {"arc_head": arc_head, "arc_mod": arc_mod, "arc_score": arc_score}
        values = dict(DEFAULTS)
        for name, value in given.items():
            values[name] = check.as_numbers(name, value, DTYPES.get(name, np.int32))
        if arc_state is None:
            values["arc_state"] = np.zeros(len(values["arc_head"]), np.int8)
        if "count_score_ptr" not in given:
            values["count_score_ptr"] = values["count_ptr"] + np.arange(len(values["count_ptr"]))
        values |= {
            "n_words": check.as_count("n_words", n_words, 1, check.MAX_WORDS),
            "projective": check.as_flag("projective", projective),
            "single_root": check.as_flag("single_root", single_root),
            "quantum": float(check.as_floats("quantum", quantum, ndim=0)),
        }
        self._fill(values)
        check.check_problem(self)

    # ---- making problems -----------------------------------------------------------------------

    @classmethod
    def from_arc_scores(
        cls, scores: ArrayLike, *, projective: bool = True, single_root: bool = True
    ) -> Problem:
        """Make a problem from a full score matrix, as graph-based parsers compute it.

        Parameters
        ----------
        scores : float[n + 1, n + 1]
            scores[d, h] is the score of the arc from head h to dependent d, as in
            `bbparse.best_tree`: rows are dependents, columns are heads, 0 is the root. An arc with
            -inf or a masked score does not exist. Row 0 and the diagonal are ignored.

        Returns
        -------
        Problem
            Its arcs are ordered by dependent, then by head.
        """
        matrix = check.as_floats("scores", check.unmasked(scores), ndim=2)
        check.check_matrix("scores", matrix)
        check.as_count("n_words", len(matrix) - 1, 1, check.MAX_WORDS)
        np.fill_diagonal(matrix, -np.inf)
        matrix[0] = -np.inf
        mods, heads = np.nonzero(matrix > -np.inf)
        return cls.trusted(
            len(matrix) - 1,
            heads.astype(np.int32),
            mods.astype(np.int32),
            matrix[mods, heads],
            projective=check.as_flag("projective", projective),
            single_root=check.as_flag("single_root", single_root),
        )

    with_factors = edit.with_factors
    with_heads = edit.with_heads
    without_arcs = edit.without_arcs
    with_count_scores = constraints.with_count_scores
    with_at_most = constraints.with_at_most
    with_at_least = constraints.with_at_least
    with_any = constraints.with_any
    with_valency = constraints.with_valency
    with_subtree = constraints.with_subtree

    # ---- looking at problems -------------------------------------------------------------------

    def score(self, tree: ArrayLike) -> float:
        """Compute the score φ of a tree from the definition, the reference for every solver.

        Parameters
        ----------
        tree : int[n_words + 1] or int[n_words]
            A row of `Solution.heads` (heads, after -1 or 0 for the root), or a row of
            `Solution.arcs` (the arc index of each word).

        Returns
        -------
        float
            Correctly rounded, so that it does not depend on the order of parts and factors; -inf if
            a factor of weight -inf fires or a count factor scores -inf. Other constraints are
            ignored: see `is_feasible`.

        Raises
        ------
        ProblemError
            If an arc is not a candidate, or if heads are ambiguous because of labels.
        """
        # numba is imported here: the checker of proofs does without it
        from bbparse.core.score import tree_score

        return tree_score(self, arcs_of(self, tree))

    def is_feasible(self, tree: ArrayLike) -> bool:
        """Return True if a tree (given as for `score`) satisfies all constraints of the problem."""
        from bbparse.core.score import broken_constraint

        return not broken_constraint(self, arcs_of(self, tree))

    def __repr__(self) -> str:
        p = self
        counts = [f"n_words={p.n_words}", f"arcs={len(p.arc_head)}"]
        states = ((1, "required"), (-1, "forbidden"))
        details = [f"{k} {name}" for s, name in states if (k := int((p.arc_state == s).sum()))]
        if p.arc_label is not None:
            details.append(f"{len(np.unique(p.arc_label))} labels")
        if details:
            counts[-1] += f" ({', '.join(details)})"
        counts += [f"{kind}={len(part[-1])}" for kind, part in zip(KINDS, p.parts) if len(part[-1])]
        for kind in ("factor", "count"):
            rows = set_rows(p, kind)
            hard = sum(-np.inf in scores for _, scores in rows)
            if rows:
                counts.append(f"{kind}s={len(rows)}" + (f" ({hard} hard)" if hard else ""))
        if p.quantum:
            counts.append(f"quantum={p.quantum:g}")
        counts.append("projective" if p.projective else "non-projective")
        counts.append("single-root" if p.single_root else "multi-root")
        return f"Problem({', '.join(counts)})"

    # ---- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz file atomically.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        write_problem(path, {name: getattr(self, name) for name in FIELDS})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Problem:
        """Read a file written by `save`. Nothing is unpickled.

        Raises
        ------
        ProblemError
            If the file is damaged; the message names the file and, if possible, the field.
        """
        values = read_problem(path)
        with check.error_context(os.fspath(path)):
            return cls(**values)
