"""`Guide`: a quick opinion on every candidate arc, for the templates of the model to build on.

The guide is a log-linear classifier that chooses head and label of each word together, among its
candidate heads and all labels, without regard to other words:

    p(h, l | m) ∝ exp(w_l · f(h, m))

What it says of an arc is a *mark*: the best label that the arc could have, and how likely the arc
is, in 12 steps. Templates of the model have both as atoms: ``@label`` and ``@odds`` of the arc
itself, ``@slabel`` and ``@glabel`` of the arcs to its sibling and to its head. So the model learns
which labels go together (a verb takes one subject, an object's modifiers are other ones than a
verb's) although its trees have no labels, and how far a classifier that saw the arc alone is to be
trusted.

This is stacking (Nivre & McDonald 2008; Martins, Das, Smith & Xing 2008) with another kind of
classifier below. It only works if the marks of training sentences are as good as those of new ones:
they come from a guide that was trained on other sentences (`bbparse.learning.guide`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ConfigError, ModelError
from bbparse.scoring.compile import compile_templates
from bbparse.scoring.encode import PAD
from bbparse.scoring.guide_kernels import (
    arc_features,
    arc_label_scores,
    log_shares,
    log_sums,
    marks_of,
)
from bbparse.scoring.kernels import LABEL_BITS
from bbparse.scoring.label_rows import (
    LABEL_QUANTUM,
    aligned_rows,
    array_rules,
    checked_labels,
    rows_from_arrays,
    rows_to_arrays,
)
from bbparse.scoring.templates import TemplateSet
from bbparse.storage.archive import Rule

__all__ = [
    "GUIDE_ARRAYS", "GUIDE_TEMPLATES", "Guide", "check_guide_templates", "default_guide_templates",
    "steps_of",
]  # fmt: skip

Ints = NDArray[np.int32]

#: Arrays of a model file, with the rules that `read_archive` checks them by.
GUIDE_ARRAYS: dict[str, Rule] = array_rules("guide")

#: The templates of a guide where a configuration names none.
GUIDE_TEMPLATES: dict[str, list[str] | int] = {
    "bits": 19,
    "arc": [
        "h.{lexpos,lemma,xpos} @dirdist",
        "m.{lexpos,lemma,morph,lower,suffix3,xpos} @dirdist",
        "h.{upos,xpos,lexpos,lemma} m.{upos,xpos,lexpos,lemma} @dirdist",
        "h.morph m.morph @dir",
        "h.upos m.suffix3 @dir",
        "h.{upos,lexpos} m.{upos,lexpos} {m-1,m+1,h+1,h-1}.lexpos @dir",
        "h.upos h+1.upos m-1.upos m.upos @dir",
        "h-1.upos h.upos m-1.upos m.upos @dir",
        "h.upos h+1.upos m.upos m+1.upos @dir",
        "h-1.upos h.upos m.upos m+1.upos @dir",
        "m-1.lexpos m.lexpos m+1.lexpos @dirdist",
        "m.lexpos m+1.lexpos m+2.lexpos @dirdist",
        "m-2.lexpos m-1.lexpos m.lexpos @dirdist",
        "h.upos m-1.lexpos m.lexpos m+1.lexpos @dir",
        "h.{upos,lexpos} m.{upos,lexpos} {@nverb,@npunct,@nconj,@betweenset}",
    ],
}


def default_guide_templates() -> TemplateSet:
    """`GUIDE_TEMPLATES`, parsed."""
    return TemplateSet.from_table(GUIDE_TEMPLATES, "guide.templates")


def steps_of(marks: NDArray[np.uint16]) -> Ints:
    """Steps of the odds of arcs with these marks, 0 to 11."""
    return (marks >> np.uint16(LABEL_BITS)).astype(np.int32) - 1


def check_guide_templates(templates: TemplateSet) -> TemplateSet:
    """The templates, if a guide can use them.

    Raises
    ------
    ConfigError
        If there are none over single arcs, or some that look at more than an arc and its
        surroundings, at the words between, or at a guide.
    """
    for kind, found in templates.templates.items():
        if kind == "arc" and not found:
            raise ConfigError("guide.templates has no arc template, expected at least one")
        if kind != "arc" and found:
            raise ConfigError(f"guide.templates has {kind} templates, expected arc templates only")
        for template in found:
            if template.slot("b"):
                raise ConfigError(
                    f"guide.templates: {str(template)!r} looks at the words between ('b.'),"
                    " which a guide cannot"
                )
    if atoms := sorted(templates.guide_atoms()):
        raise ConfigError(f"guide.templates has @{atoms[0]}, which only a guide can answer")
    return templates


class Guide:
    """Marks of arcs. Nothing changes while they are given, so threads may share a guide.

    Parameters
    ----------
    templates : TemplateSet
        Arc templates; none over the words between (``b.``).
    labels : tuple of str
        Sorted; each once.
    weights : int16[2**templates.bits, L], optional
        A column for each label, in quanta of `LABEL_QUANTUM`; copied. Zeros by default.

    Attributes
    ----------
    weights : int16[2**templates.bits, width]
        Padded to whole lines of memory; the columns from L on are zeros.

    Raises
    ------
    ModelError
        If there are no labels or too many, they are not sorted, or the weights do not fit them.
    ConfigError
        If the templates cannot be used.
    """

    def __init__(
        self,
        templates: TemplateSet,
        labels: tuple[str, ...],
        weights: NDArray[np.int16] | None = None,
    ) -> None:
        self.templates = check_guide_templates(templates)
        self.labels = checked_labels(tuple(labels))
        shape = (1 << templates.bits, len(self.labels))
        self.weights = aligned_rows(*shape)
        if weights is not None:
            if weights.shape != shape or weights.dtype != np.int16:
                raise ModelError(
                    f"weights have shape {weights.shape} and dtype {weights.dtype},"
                    f" expected {shape} and int16"
                )
            self.weights[:, : len(self.labels)] = weights
        compiled = compile_templates(templates)
        self._features = (compiled.for_tables, compiled.for_parts)

    def _scores(self, values: NDArray[np.uint64], arc_head: Ints, arc_mod: Ints) -> Ints:
        features = arc_features(values, PAD, arc_head, arc_mod, *self._features)
        return arc_label_scores(features, len(arc_head), self.weights)

    def marks(
        self, values: NDArray[np.uint64], arc_head: Ints, arc_mod: Ints
    ) -> NDArray[np.uint16]:
        """What the templates of a model see of the guide's opinion.

        Parameters
        ----------
        values : uint64[n_words + 1 + 2 * PAD, len(ATTRIBUTES)]
            The sentence, as `encode` gives it.
        arc_head, arc_mod : int32[A]
            Its candidate arcs.

        Returns
        -------
        uint16[n_words + 1, n_words + 1]
            marks[h, m]; see `bbparse.scoring.guide_kernels.marks_of`.
        """
        scores = self._scores(values, arc_head, arc_mod)
        n = len(values) - 2 * PAD - 1
        sums = log_sums(scores, len(self.labels), LABEL_QUANTUM)
        return marks_of(n, arc_head, arc_mod, sums, scores, len(self.labels))

    def log_probabilities(
        self, values: NDArray[np.uint64], arc_head: Ints, arc_mod: Ints
    ) -> NDArray[np.float64]:
        """Logarithm of p(h, l | m), float64[A, L], for candidate arcs and all labels."""
        scores = self._scores(values, arc_head, arc_mod)
        n = len(values) - 2 * PAD - 1
        sums = log_sums(scores, len(self.labels), LABEL_QUANTUM)
        shares = log_shares(arc_mod, sums, n)
        return scores[:, : len(self.labels)] * LABEL_QUANTUM + (shares - sums)[:, np.newaxis]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads: the arrays of `GUIDE_ARRAYS`, zeros left out."""
        return rows_to_arrays("guide", self.labels, self.weights)

    @classmethod
    def from_arrays(
        cls, templates: TemplateSet, arrays: Mapping[str, NDArray[Any]], where: str = "guide"
    ) -> Guide:
        """A guide from the arrays of `to_arrays`.

        Raises
        ------
        ModelError
            If an array is missing or does not fit the others; ``where`` names the file.
        """
        size = 1 << templates.bits
        names, weights, _ = rows_from_arrays("guide", arrays, size, where)
        guide = cls(templates, names)
        guide.weights = weights  # aligned and padded already; a copy takes longer than reading
        return guide
