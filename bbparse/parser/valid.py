"""Trees under constraints: around heads that an annotator has fixed, and under validity rules.

Sentences whose trees break rules are solved again under these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.models.scoring.labeller import Labelling
from bbparse.models.scoring.problem_maker import Scored
from bbparse.parser.parse import Parse
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.constraints import Candidates
from bbparse.parser.validity.lazily import solve_valid
from bbparse.parser.validity.rules import Rules, has_ud_relations
from bbparse.runtime.arrays import Float64s, Ints
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.trees import crossing_words

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
            f"{sentence.source or 'input'}, {sentence.name}: no projective tree has all fixed"
            f" heads: the arcs {arcs}{more} cross; use a model trained with --projective no,"
            " without --projective yes"
        )


def no_tree(scored: Scored, solution: Solution, complete: bool, restricted: bool) -> TreebankError:
    """Return the error for fixed heads that no tree has; ``complete`` if no arc was pruned."""
    sentence = scored.sentence
    where = f"{sentence.source or 'input'}, {sentence.name}: no"
    if not complete:
        return TreebankError(f"{where} tree was found in time: allow more, or drop constraints")
    conflict = f": {'; '.join(solution.conflict)}" if solution.conflict else ""
    kind = "projective tree" if scored.problem.projective else "tree"
    and_more = " and satisfies the constraints" if restricted else ""
    return TreebankError(f"{where} {kind} with one root has all fixed heads{and_more}{conflict}")


def rules_for(valid: str | Rules | None, labeller: Labelling | None) -> Rules | None:
    """Return the validity rules for the trees of a model; `valid` is that of `ParseOptions`."""
    if valid == "none" or (valid is None and labeller is None):
        return None
    if labeller is None:
        raise ModelError("the model has no labels, which validity rules need")
    if isinstance(valid, Rules):
        return valid.binding
    default = valid == "ud" or has_ud_relations(labeller.labels)
    rules = Rules.load("ud") if default else Rules(())
    if valid not in (None, "ud"):
        rules += Rules.load(str(valid))
    return rules.binding if len(rules) else None


def valid_parse(
    labeller: Labelling,
    rules: Rules,
    solver: Callable[..., Solution],
    scored: Scored,
    parse: Parse,
    *,
    k_best: int,
    deadline: Deadline,
    fixed: Mapping[int, str],
) -> Parse:
    """Return the k best valid trees; ``parse`` has those without rules, and their faults."""
    ruled, faults = RuledSentence(rules, scored.sentence), parse.faults
    broken = list(zip(parse.solution.heads[:, 1:].tolist(), faults))
    names = [*labeller.labels, *sorted({*fixed.values()} - {*labeller.labels})]

    def scores(heads: Ints, mods: Ints) -> Float64s:
        known = labeller.scores_around(scored, parse.solution.heads[0], heads, mods)
        of_arcs = np.full((len(mods), len(names)), -np.inf)
        of_arcs[:, : known.shape[1]] = known
        for m, label in fixed.items():
            of_arcs[mods == m] = np.where(np.array(names) == label, 0.0, -np.inf)
        return of_arcs

    spent = parse.solution.work

    def solve_again(problem: Problem, k: int) -> Solution:
        nonlocal spent
        solution = solver(problem, spent, explain=False, k_best=k)
        spent += solution.work
        return solution

    valid = solve_valid(
        Candidates(scored.problem, names, ruled),
        scores,
        solve_again,
        k_best=k_best,
        deadline=deadline,
        broken=broken,
    )
    solution = valid.solution
    if len(solution) < len(broken) and solution.status not in ("optimal", "gap"):
        # A limit was reached before the search found as many trees.
        proved = parse.solution.proved & ~np.logical_or.accumulate([bool(own) for own in faults])
        parse.solution = replace(parse.solution, proved=proved, status=solution.status)
        return parse
    solution.stats["rounds"] = valid.rounds
    return Parse(scored.sentence, solution, valid.labels, valid.faults)
