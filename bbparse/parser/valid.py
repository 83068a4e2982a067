"""Trees under constraints: around heads that an annotator has fixed, and under validity rules.

Sentences whose trees break rules are solved again under these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem, Solution
from bbparse.inference.trees import work_of
from bbparse.models.scoring.labeller import Labelling, Labels
from bbparse.models.scoring.problem_maker import ProblemMaker, Scored
from bbparse.parser.parse import Parse
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.constraints import ArcLabelScores
from bbparse.parser.validity.lazily import solve_valid
from bbparse.parser.validity.rules import Rules, speaks_of_ud
from bbparse.parser.validity.screen import screen_of
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import given_heads
from bbparse.treebank.trees import crossing_words

#: Trees of a smaller batch are faster looked through one by one.
_FEW = 8

#: A constraint on the trees of a sentence besides its heads: maps a problem to a restricted one.
Restriction = Callable[[Problem], Problem]

# Most arcs that a message names.
_NAMED = 6


def check_crossing(sentence: Sentence, projective: bool) -> None:
    """Refuse heads that cross if trees must be projective."""
    crossing = sorted(crossing_words(sentence.heads)) if projective else []
    if crossing:
        arcs = ", ".join(f"{sentence.heads[m - 1]} → {m}" for m in crossing[:_NAMED])
        more = f" and {len(crossing) - _NAMED} more" if len(crossing) > _NAMED else ""
        raise TreebankError(
            f"{sentence.source or 'input'}, {sentence.name}: no projective tree has all heads that"
            f" are given: the arcs {arcs}{more} cross; a model trained with --projective no keeps"
            " them, unless --projective yes is given"
        )


def no_tree(
    scored: Scored, solution: Solution, complete: bool, restricted: bool
) -> TreebankError:
    """Return the error for given heads that no tree has; ``complete`` if no arc was pruned."""
    sentence = scored.sentence
    where = f"{sentence.source or 'input'}, {sentence.name}: no"
    if not complete:
        return TreebankError(f"{where} tree was found in time: give it more, or fewer constraints")
    conflict = f": {'; '.join(solution.conflict)}" if solution.conflict else ""
    kind = "projective tree" if scored.problem.projective else "tree"
    and_more = " and keeps to the constraints" if restricted else ""
    return TreebankError(
        f"{where} {kind} with one root has all heads that are given{and_more}{conflict}"
    )


def scored_around(
    maker: ProblemMaker, sentence: Sentence, restrict: Restriction | None = None,
    prune: int | None = None, margin: float | None = None,
) -> Scored:  # fmt: skip
    """Return the scored sentence whose trees have all its given heads.

    Given arcs are always candidates, even if the pruner would drop them.
    """
    given = given_heads(sentence)
    (scored,) = maker([sentence], prune, margin, [given])
    problem = scored.problem.with_heads(given)
    return replace(scored, problem=problem if restrict is None else restrict(problem))


def rules_for(valid: str | Rules | None, labeller: Labelling | None) -> Rules | None:
    """Return the validity rules for the trees of a model; `valid` is that of `ParseOptions`.

    Raises `ModelError` if rules are requested and the model has no labels, `ConfigError` if they
    cannot be read.
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


def unsuspected(
    labeller: Labelling | None, rules: Rules | None, scored: Sequence[Scored],
    found: Sequence[Solution], labels: Sequence[Labels | None],
) -> list[bool]:  # fmt: skip
    """Return which sentences of a batch certainly break no rules with their only trees."""
    names = [own.names for own in labels if own is not None]
    if len(names) < len(scored) or len(scored) < _FEW:
        return [False] * len(scored)
    if labeller is None or rules is None:
        return [True] * len(scored)
    screen = screen_of(rules, labeller.labels)
    suspects = screen(
        [one.sentence for one in scored], [one.heads[0] for one in found], names,
        scored[0].problem.projective,
    )  # fmt: skip
    return (~suspects).tolist()


def label_scores_around(
    labeller: Labelling, scored: Scored, heads: NDArray[np.int32]
) -> ArcLabelScores:
    """Return a function that scores the labels of any arc (head, modifier).

    An arc of the tree `heads`, int32[n + 1], is scored in that tree; another arc is scored in the
    tree that has it in place of its modifier's arc.
    """
    tree = heads.copy()
    tree[0] = 0
    of_tree = labeller.tree_scores(scored, tree)

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        if tree[mod] == head:
            return of_tree[mod - 1]
        moved = tree.copy()
        moved[mod] = head
        return labeller.tree_scores(scored, moved)[mod - 1]

    return scores


def kept_parse(
    labeller: Labelling, rules: Rules, scored: Scored, found: Parse,
    solve: Callable[..., Solution], *, k_best: int, deadline: Deadline, given: Mapping[int, str],
) -> Parse:  # fmt: skip
    """Return the k best valid trees, and the rules that they still break.

    ``found`` is the parse without rules; it is returned unchanged if its trees break none.
    ``solve`` is that of `Steps.solver`. ``given`` are fixed labels by word.
    """
    ruled = RuledSentence(rules, scored.sentence)
    rows = list(zip(found.solution.heads[:, 1:].tolist(), found.labels))
    projective = scored.problem.projective
    faults = [ruled.faults(*row, projective) for row in deadline.through(rows)]
    found, rows = found.first(len(faults)), rows[: len(faults)]
    if not any(faults):
        return found
    names = [*labeller.labels, *sorted({*given.values()} - {*labeller.labels})]
    around = label_scores_around(labeller, scored, found.solution.heads[0])

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        label_scores = around(head, mod)
        if len(names) > len(label_scores):
            label_scores = np.append(label_scores, np.full(len(names) - len(label_scores), -np.inf))
        if mod in given:
            label_scores = np.where(np.arange(len(names)) == names.index(given[mod]), 0.0, -np.inf)
        return label_scores

    spent = work_of(found.solution)

    def solve_again(problem: Problem, k: int) -> Solution:
        nonlocal spent
        solution = solve(problem, spent, explain=False, k_best=k)
        spent += work_of(solution)
        return solution

    kept = solve_valid(
        scored.problem, ruled, names, scores, solve_again,
        k_best=k_best, deadline=deadline,
        broken=[(heads, broken) for (heads, _), broken in zip(rows, faults)],
    )  # fmt: skip
    if len(kept.solution) < len(rows) and kept.solution.status not in ("optimal", "gap"):
        # A limit was reached before the search found as many trees.
        proved = found.solution.proved & ~np.logical_or.accumulate([bool(own) for own in faults])
        solution = replace(found.solution, proved=proved, status=kept.solution.status)
        return found._replace(solution=solution, faults=faults)
    solution = kept.solution
    solution.stats["rounds"] = kept.rounds
    return Parse(scored.sentence, solution, kept.labels, kept.faults)
