"""Valid trees: what a parser finds, solved again under the rules that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.parsing.parse import Parse, Wanted
from bbparse.problem import Problem, Solution
from bbparse.scoring.labeller import Labeller, LabelQuanta
from bbparse.scoring.problem_maker import Scored
from bbparse.solving.options import Options
from bbparse.validity.check import RuledSentence
from bbparse.validity.constraints import LabelScores
from bbparse.validity.lazily import solve_valid
from bbparse.validity.rules import Rules, speaks_of_ud

#: What a difference of 1 between log-probabilities of labels is worth in the score of a tree.
LABEL_WEIGHT = 1.0


def rules_for(valid: str | Rules | None, labeller: Labeller | None) -> Rules | None:
    """The rules that trees of a model should keep; `valid` is that of `Parser.parse`.

    `ModelError` if there are any and the model has no labels, `ConfigError` if they cannot be read.
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
    labeller: Labeller, scored: Scored, heads: NDArray[np.int32], quanta: LabelQuanta | None = None
) -> LabelScores:
    """The labeller's scores of any arc: of an arc of the tree `heads`, int32[n + 1], in that tree;
    of another arc, in the tree that has it in place of its modifier's.

    Quanta are those of the tree, if known.
    """
    marks = scored.sure_marks
    own = heads.copy()
    own[0] = 0
    rows = labeller.scores_of(quanta or labeller.quanta(scored.values, own, marks))

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        if own[mod] == head:
            return rows[mod - 1]
        moved = own.copy()
        moved[mod] = head
        return labeller.scores_of(labeller.quanta(scored.values, moved, marks))[mod - 1]

    return scores


def _work(solution: Solution) -> float:
    """What the search of a solution has done."""
    return solution.stats.get("dp_work", 0.0) * solution.stats.get("edges", 0)


def kept_parse(
    labeller: Labeller,
    scored: Scored,
    found: Parse,
    rules: Rules,
    wanted: Wanted,
    solve: Callable[..., Solution],
    given: Mapping[int, str] | None = None,
    quanta: LabelQuanta | None = None,
) -> Parse:
    """The k best valid trees, and what rules they break in spite of all.

    ``found`` was made of the problem without rules, and comes back where its trees keep them;
    ``solve`` is `Parser.solve_problem`; ``given`` are labels that stay, by word; ``quanta`` those
    of the best tree that was found, if known.
    """
    ruled = RuledSentence(rules, scored.sentence)
    rows = list(zip(found.solution.heads[:, 1:].tolist(), found.labels))
    faults = [ruled.faults(*row) for row in rows]
    if not any(faults):
        return found
    names = [*labeller.labels, *sorted({*(given or {}).values()} - {*labeller.labels})]
    around = label_scores_around(labeller, scored, found.solution.heads[0], quanta)

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        own = around(head, mod)
        if len(names) > len(own):
            own = np.append(own, np.full(len(names) - len(own), -np.inf))
        if given and mod in given:
            own = np.where(np.arange(len(names)) == names.index(given[mod]), 0.0, -np.inf)
        return own

    whole = Options(time_limit=wanted.time_limit)
    spent = _work(found.solution)

    def solve_again(problem: Problem, k: int) -> Solution:
        nonlocal spent
        own = {**wanted.limits, "k_best": k, "time_limit": whole.time_left()}
        solution = solve(problem, spent, explain=False, **own)
        spent += _work(solution)
        return solution

    kept = solve_valid(
        scored.problem, ruled, names, scores, solve_again,
        weight=LABEL_WEIGHT, k_best=wanted.k_best,
        broken=[(heads, some) for (heads, _), some in zip(rows, faults)],
    )  # fmt: skip
    if len(kept.solution) < len(rows) and kept.solution.status != "optimal":
        # a limit was reached before there were as many trees
        return found._replace(faults=faults)
    kept.solution.stats["rounds"] = kept.rounds
    return Parse(scored.sentence, kept.solution, kept.labels, kept.faults)
