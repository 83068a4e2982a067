"""Valid trees: what a parser finds, solved again under the rules that it breaks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.parsing.parse import Parse
from bbparse.problem import Solution
from bbparse.scoring.labeller import NO_MARKS, Labeller
from bbparse.scoring.marks import sure_marks
from bbparse.scoring.problem_maker import Scored
from bbparse.validity.check import RuledSentence
from bbparse.validity.constraints import Arcs, LabelScores, constraint_of
from bbparse.validity.lazily import Solve, ValidTrees, solve_valid
from bbparse.validity.rules import Rules, speaks_of_ud
from bbparse.validity.screen import may_break

__all__ = ["keep_rules", "kept_parse", "label_scores_around", "rules_for"]

#: What a difference of 1 between log-probabilities of labels is worth in the score of a tree.
LABEL_WEIGHT = 1.0


def rules_for(valid: str | Rules | None, labeller: Labeller | None) -> Rules | None:
    """The rules that trees of a model should keep.

    Parameters
    ----------
    valid : Rules, name, file or None
        None: UD's, if the model's labels are relations of UD. "none": none. A file or a plug-in's
        name: its rules besides these.

    Raises
    ------
    ModelError
        If rules are asked for, and the model has no labels.
    ConfigError
        If they cannot be read.
    """
    if valid == "none" or (valid is None and labeller is None):
        return None
    if labeller is None:
        raise ModelError("the model has no labels, and rules of valid trees are about labels")
    if isinstance(valid, Rules):
        return valid.binding
    usual = valid == "ud" or speaks_of_ud(labeller.labels)
    rules = Rules.load("ud") if usual else Rules(())
    if valid not in (None, "ud"):
        rules += Rules.load(str(valid))
    return rules.binding if len(rules) else None


def label_scores_around(
    labeller: Labeller, scored: Scored, heads: NDArray[np.int32]
) -> LabelScores:
    """The labeller's scores of any arc: of an arc of a tree, in that tree; of another arc, in the
    tree that has it in place of its modifier's.

    Parameters
    ----------
    labeller : Labeller
    scored : Scored
        The sentence.
    heads : int32[n + 1]
        The tree; element 0 is not read.
    """
    marks = NO_MARKS
    if labeller.guided and scored.marks is not None:
        marks = sure_marks(scored.marks)
    own = heads.copy()
    own[0] = 0
    rows = labeller.scores(scored.values, own, marks)

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        if own[mod] == head:
            return rows[mod - 1]
        moved = own.copy()
        moved[mod] = head
        return labeller.scores(scored.values, moved, marks)[mod - 1]

    return scores


def keep_rules(
    labeller: Labeller,
    scored: Scored,
    solution: Solution,
    labels: list[list[str]],
    rules: Rules,
    solve: Solve,
    k_best: int,
    given: Mapping[int, str] | None = None,
) -> ValidTrees | None:
    """The k best valid trees; None where those found are valid.

    Parameters
    ----------
    labeller : Labeller
    scored : Scored
        The sentence and its problem.
    solution : Solution
        Of the problem, without rules.
    labels : list of list of str
        Of its trees.
    rules : Rules
    solve : function of (problem, k)
    k_best : int
    given : {word: label}, optional
        Labels that stay.
    """
    ruled = RuledSentence(rules, scored.sentence)
    found = []
    for heads, own in zip(solution.heads[:, 1:].tolist(), labels):
        if may_break(ruled, heads, own):
            found += [(fault, heads) for fault in ruled.faults(heads, own)]
    if not found:
        return None
    names = [*labeller.labels, *sorted({*(given or {}).values()} - {*labeller.labels})]
    arcs = Arcs(scored.problem, names)
    constraints = [
        constraint_of(ruled, fault, dict(enumerate(heads, start=1)), arcs) for fault, heads in found
    ]
    around = label_scores_around(labeller, scored, solution.heads[0])

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        found = around(head, mod)
        if len(names) > len(found):
            found = np.append(found, np.full(len(names) - len(found), -np.inf))
        if given and mod in given:
            found = np.where(np.arange(len(names)) == names.index(given[mod]), 0.0, -np.inf)
        return found

    return solve_valid(
        scored.problem, ruled, names, scores, solve,
        weight=LABEL_WEIGHT, k_best=k_best, constraints=constraints,
    )  # fmt: skip


def kept_parse(
    labeller: Labeller,
    scored: Scored,
    found: Parse,
    rules: Rules,
    solve: Solve,
    k_best: int,
    given: Mapping[int, str] | None = None,
) -> Parse:
    """As `keep_rules`, for a parse, which says what its trees break in spite of all."""
    kept = keep_rules(
        labeller, scored, found.solution, found.labels, rules, solve, k_best, given
    )
    if kept is None:
        return found
    if len(kept.solution) < len(found.solution) and kept.solution.status != "optimal":
        # a limit was reached before there were as many trees
        ruled = RuledSentence(rules, scored.sentence)
        rows = zip(found.solution.heads[:, 1:].tolist(), found.labels)
        return found._replace(faults=[ruled.faults(*row) for row in rows])
    kept.solution.stats["rounds"] = kept.rounds
    return Parse(scored.sentence, kept.solution, kept.labels, kept.faults)
