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
from bbparse.parser.parse import Parse, Wanted
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.constraints import ArcLabelScores
from bbparse.parser.validity.lazily import solve_valid
from bbparse.parser.validity.rules import Rules, speaks_of_ud
from bbparse.parser.validity.screen import screen_of
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import given_heads
from bbparse.treebank.trees import crossing_words

#: Trees of a smaller batch are faster looked through one by one.
_FEW = 8

#: A constraint on the trees of a sentence besides its heads: maps a problem to a restricted one.
Restriction = Callable[[Problem], Problem]

#: Makes the scored sentence with the pruning and margin of `ProblemMaker`.
Remake = Callable[..., Scored]

# Most arcs that a message names.
_NAMED = 6


def fill_in(
    maker: ProblemMaker,
    solver: Callable[[Scored], Callable[..., Solution]],
    sentence: Sentence,
    wanted: Wanted,
    restrict: Restriction | None = None,
    reasons: bool = True,
) -> tuple[Scored, Solution]:
    """Find the best trees that have every given head of a sentence.

    Given arcs are always candidates, even if the pruner would drop them. If the candidates contain
    fewer trees than requested, pruning is loosened. ``solver`` gives `Parser.solve_problem` for a
    scored sentence; the other parameters are those of `Parser.parse_around`.
    """
    where = f"{sentence.source or 'input'}, {sentence.name}: no"
    crossing = sorted(crossing_words(sentence.heads)) if maker.config.projective else []
    if crossing:
        arcs = ", ".join(f"{sentence.heads[m - 1]} → {m}" for m in crossing[:_NAMED])
        more = f" and {len(crossing) - _NAMED} more" if len(crossing) > _NAMED else ""
        raise TreebankError(
            f"{where} projective tree has all heads that are given: the arcs {arcs}{more} cross; a"
            " model trained with --projective no keeps them, unless --projective yes is given"
        )
    for heads, margin in wanted.wider(sentence.n_words):
        scored = scored_around(maker, sentence, restrict, heads, margin)
        whole = heads == 0  # no arc was left out, so the contradiction can be explained
        solution = solver(scored)(scored.problem, explain=whole and reasons, **wanted.limits)
        open_ = solution.status not in ("optimal", "infeasible") or wanted.deadline.is_over()
        if len(solution) >= wanted.options.k_best or open_:
            break
    if solution.status == "infeasible" and not whole:
        raise TreebankError(f"{where} tree was found in time: give it more, or fewer constraints")
    if solution.status == "infeasible":
        conflict = f": {'; '.join(solution.conflict)}" if solution.conflict else ""
        kind = "projective tree" if maker.config.projective else "tree"
        and_more = " and keeps to the constraints" if restrict is not None else ""
        raise TreebankError(
            f"{where} {kind} with one root has all heads that are given{and_more}{conflict}"
        )
    return scored, solution


def scored_around(
    maker: ProblemMaker, sentence: Sentence, restrict: Restriction | None = None,
    prune: int | None = None, margin: float | None = None,
) -> Scored:  # fmt: skip
    """Return the scored sentence whose trees have all its given heads; see `fill_in`."""
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


def suspected(
    labeller: Labelling | None, scored: Sequence[Scored], found: Sequence[Solution],
    labels: Sequence[Labels | None], wanted: Wanted,
) -> list[bool]:  # fmt: skip
    """Return which sentences of a batch need more than the labels of their only tree.

    They are those whose trees may break rules; all of them if more is asked for than a tree.
    """
    names = [own.names for own in labels if own is not None]
    more = wanted.options.k_best > 1 or wanted.calibration is not None
    if more or len(names) < len(scored) or len(scored) < _FEW:
        return [True] * len(scored)
    if labeller is None or wanted.rules is None:
        return [False] * len(scored)
    screen = screen_of(wanted.rules, labeller.labels)
    return screen(
        [one.sentence for one in scored], [one.heads[0] for one in found], names,
        scored[0].problem.projective,
    ).tolist()  # fmt: skip


def label_scores_around(
    labeller: Labelling, scored: Scored, heads: NDArray[np.int32],
    rows: NDArray[np.float64] | None = None,
) -> ArcLabelScores:  # fmt: skip
    """Return a function that scores the labels of any arc (head, modifier).

    An arc of the tree `heads`, int32[n + 1], is scored in that tree; another arc is scored in the
    tree that has it in place of its modifier's arc. ``rows`` are the scores of the tree, if known.
    """
    tree = heads.copy()
    tree[0] = 0
    of_tree = labeller.tree_scores(scored, tree) if rows is None else rows

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        if tree[mod] == head:
            return of_tree[mod - 1]
        moved = tree.copy()
        moved[mod] = head
        return labeller.tree_scores(scored, moved)[mod - 1]

    return scores


def kept_parse(
    labeller: Labelling,
    scored: Scored,
    found: Parse,
    rules: Rules,
    wanted: Wanted,
    solve: Callable[..., Solution],
    given: Mapping[int, str] | None = None,
    label_rows: NDArray[np.float64] | None = None,
) -> Parse:
    """Return the k best valid trees, and the rules that they still break.

    ``found`` is the parse without rules; it is returned unchanged if its trees break none.
    ``solve`` is `Parser.solve_problem`. ``given`` are fixed labels by word. ``label_rows`` are the
    label scores of the best tree of ``found``, if known.
    """
    ruled = RuledSentence(rules, scored.sentence)
    rows = list(zip(found.solution.heads[:, 1:].tolist(), found.labels))
    projective = scored.problem.projective
    faults = [ruled.faults(*row, projective) for row in wanted.deadline.through(rows)]
    found, rows = found.first(len(faults)), rows[: len(faults)]
    if not any(faults):
        return found
    names = [*labeller.labels, *sorted({*(given or {}).values()} - {*labeller.labels})]
    around = label_scores_around(labeller, scored, found.solution.heads[0], label_rows)

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        label_scores = around(head, mod)
        if len(names) > len(label_scores):
            label_scores = np.append(label_scores, np.full(len(names) - len(label_scores), -np.inf))
        if given and mod in given:
            label_scores = np.where(np.arange(len(names)) == names.index(given[mod]), 0.0, -np.inf)
        return label_scores

    spent = work_of(found.solution)

    def solve_again(problem: Problem, k: int) -> Solution:
        nonlocal spent
        limits = {**wanted.limits, "k_best": k}
        solution = solve(problem, spent, explain=False, **limits)
        spent += work_of(solution)
        return solution

    kept = solve_valid(
        scored.problem, ruled, names, scores, solve_again,
        k_best=wanted.options.k_best, deadline=wanted.deadline,
        broken=[(heads, broken) for (heads, _), broken in zip(rows, faults)],
    )  # fmt: skip
    if len(kept.solution) < len(rows) and kept.solution.status not in ("optimal", "gap"):
        # A limit was reached before the search found as many trees.
        proved = found.solution.proved & ~np.logical_or.accumulate([bool(own) for own in faults])
        solution = replace(found.solution, proved=proved, status=kept.solution.status)
        return found._replace(solution=solution, faults=faults)
    solution = kept.solution
    if wanted.trees and kept.faults[0] and solution.proved[0]:
        # The families may give a tree with fewer faults less than these faults cost.
        unproved = np.zeros(1, np.bool_)
        solution = replace(solution, proved=unproved, upper_bounds=np.full(1, np.inf), status="gap")
    solution.stats["rounds"] = kept.rounds
    return Parse(scored.sentence, solution, kept.labels, kept.faults)
