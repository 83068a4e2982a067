"""What a tree's score is made of: arcs, parts and factors, each with its words and features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import KINDS, Template, TemplateSet
from bbparse.factors import FactorView, tree_batches
from bbparse.problem.parts import PART_NAMES, rows_of
from bbparse.problem.tree import count_terms, fired_factors, fired_parts, heads_of
from bbparse.scoring.scorer import PartScorer
from bbparse.treebank.encode import encode

if TYPE_CHECKING:
    from bbparse.parsing.parser import Parser
    from bbparse.problem import Problem
    from bbparse.treebank import Sentence

#: Kinds of term that a dynamic program scores: name of the arrays → what it is called.
PARTS = {
    "arc": "arcs",
    "sib": "adjacent siblings",
    "gc": "grandchildren",
    "ogc": "outermost grandchildren",
    "gsib": "grand-siblings",
}
_TEMPLATES_OF = dict(zip(PARTS, KINDS))


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that fired, and its weight."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of the score of a tree."""

    #: A key of `PARTS`, the name of a factor family, or "factor" and "count factor" where no family
    #: is known.
    kind: str
    #: For an arc (head, modifier); for parts the words in the order of their arrays (grandparent,
    #: head, inner sibling or -1, modifier). For factors their words, ascending.
    words: tuple[int, ...]
    arcs: tuple[tuple[int, int], ...]  #: What has to be in the tree.
    value: float
    features: tuple[Feature, ...] = ()  #: Largest magnitude first; empty where they are not known.


def terms_of(
    problem: Problem,
    arcs: NDArray[np.int32],
    parser: Parser | None = None,
    sentence: Sentence | None = None,
) -> list[Term]:
    """All terms of a tree's score; their values add up to it.

    Parameters
    ----------
    problem : Problem
    arcs : int32[n]
        The tree, a row of `Solution.arcs`.
    parser, sentence : optional
        What the problem came from: factors are then given by family, with features.
    """
    terms = part_terms(problem, arcs)
    if parser is not None and sentence is not None and parser.maker.families:
        own = np.sort(arcs)
        view = parser.maker.view(sentence, problem.arc_head[own], problem.arc_mod[own])
        terms += family_terms(parser, view)
    else:
        for f in fired_factors(problem, arcs).tolist():
            members = problem.factor_arcs[problem.factor_ptr[f] : problem.factor_ptr[f + 1]]
            terms.append(_factor(problem, "factor", members, float(problem.factor_score[f])))
        terms += _count_terms(problem, arcs)
    return terms


def _count_terms(problem: Problem, arcs: NDArray[np.int32]) -> list[Term]:
    terms = []
    for c, value in enumerate(count_terms(problem, arcs).tolist()):
        if value:
            members = problem.count_arcs[problem.count_ptr[c] : problem.count_ptr[c + 1]]
            fired = members[np.isin(members, arcs)]
            terms.append(_factor(problem, "count factor", fired, value))
    return terms


def _factor(problem: Problem, kind: str, members: NDArray[np.int32], value: float) -> Term:
    pairs = tuple(zip(problem.arc_head[members].tolist(), problem.arc_mod[members].tolist()))
    return Term(kind, tuple(sorted({w for pair in pairs for w in pair})), pairs, value)


def part_terms(problem: Problem, arcs: NDArray[np.int32]) -> list[Term]:
    """The arcs and parts of a tree that have a score other than 0 (arcs: whatever they score)."""
    heads = heads_of(problem, arcs)
    pairs = zip(heads[1:].tolist(), range(1, len(heads)))
    terms = [
        Term("arc", pair, (pair,), value)
        for pair, value in zip(pairs, problem.arc_score[arcs].tolist())
    ]
    for kind, part, fires in zip(PART_NAMES, problem.parts, fired_parts(problem, heads)):
        for *words, value in rows_of(column[fires] for column in part):
            if value:
                at = {name.partition("_")[2]: w for name, w in zip(PART_NAMES[kind], words)}
                head, mod = at["head"], at.get("outer", at.get("mod", -1))
                needed = (at.get("grand", -1), head), (head, at.get("inner", -1)), (head, mod)
                own = tuple(pair for pair in needed if min(pair) >= 0)
                terms.append(Term(kind, tuple(words), own, value))
    return terms


def family_terms(parser: Parser, view: FactorView) -> list[Term]:
    """The factors of a tree (all arcs of the view), by family, with features that have a weight."""
    table = parser.maker.table
    terms = []
    for family in parser.maker.families:
        names: dict[int, str] | None = None
        for members, keys in chain.from_iterable(tree_batches([family], view, table)):
            places = table.find(keys)
            known = places >= 0
            weights = table.weights[places[known]].tolist()
            value = math.fsum(weights)
            if not value:
                continue
            if names is None:
                names = family.name_features(view)
            features = [
                Feature(names.get(key, "unnamed feature"), weight)
                for key, weight in zip(keys[known].tolist(), weights)
                if weight
            ]
            pairs = tuple(zip(view.arc_head[members].tolist(), view.arc_mod[members].tolist()))
            words = tuple(sorted({w for pair in pairs for w in pair}))
            terms.append(Term(family.name, words, pairs, value, _largest(features)))
    return terms


def _largest(features: Iterable[Feature]) -> tuple[Feature, ...]:
    return tuple(sorted(features, key=lambda f: (-abs(f.weight), f.text)))


def with_features(
    parser: Parser,
    sentence: Sentence,
    trees: Sequence[tuple[NDArray[np.int32], list[Term]]],
    prune: int | None = None,
) -> list[list[Term]]:
    """Terms of trees, given as (heads, terms), with the features of their arcs and parts.

    The weight of a template at a place depends on no other template, so each template is scored by
    itself, over the arcs of each tree. The guide's opinion of an arc depends on the other
    candidates, and so on `prune`.
    """
    values = encode(sentence)
    wanted: list[dict[tuple[str, tuple[int, ...]], list[Feature]]] = [
        {(t.kind, t.words): [] for t in terms if t.kind in PARTS} for _, terms in trees
    ]
    projective, single_root = parser.config.projective, parser.config.model.single_root
    maker = parser.maker
    labels = tuple(maker.label_names)
    marks = maker.marks([sentence], [values], [maker.pruner.candidates(values, prune)])[0]
    views = [FactorView.of_tree(sentence, heads, values, marks, labels) for heads, _ in trees]
    for kind, name in _TEMPLATES_OF.items():
        for template in maker.scorer.templates.templates[name]:
            scorer = _alone(maker.scorer, name, template)
            for view, found in zip(views, wanted):
                scores = scorer.score(
                    values, view.arc_head, view.arc_mod, projective, single_root, marks
                )
                columns = (
                    [view.arc_head, view.arc_mod]
                    if kind == "arc"
                    else [scores[column] for column in PART_NAMES[kind][:-1]]
                )
                value = scores[f"{kind}_score"]
                for i in np.flatnonzero(value).tolist():
                    words = tuple(int(column[i]) for column in columns)
                    if (kind, words) in found:
                        text = _filled(template, name, words, view)
                        found[kind, words].append(Feature(text, float(value[i])))
    rest = "the network" if parser.config.trees.epochs else "a less likely label"
    return [
        [
            _with(term, found[term.kind, term.words], rest) if term.kind in PARTS else term
            for term in terms
        ]
        for (_, terms), found in zip(trees, wanted)
    ]


def _with(term: Term, features: list[Feature], what: str) -> Term:
    """A term with its features; what they do not explain is something else."""
    rest = term.value - math.fsum(f.weight for f in features)
    if abs(rest) > 1e-9 * (1.0 + abs(term.value)):
        features = [*features, Feature(what, rest)]
    return replace(term, features=_largest(features))


def _alone(scorer: PartScorer, kind: str, template: Template) -> PartScorer:
    """The scorer with one template only."""
    empty: dict[str, tuple[Template, ...]] = dict.fromkeys(KINDS, ())
    templates = TemplateSet(
        dict.fromkeys(KINDS, ()), scorer.templates.bits, {**empty, kind: (template,)}
    )
    return PartScorer(templates, scorer.weights, scorer.quantum)


#: Atoms that tell the label that the guide gives an arc, with the roles of its words.
_LABEL_ATOMS = {"label": "hm", "slabel": "hs", "glabel": "gh"}


def _filled(template: Template, kind: str, words: tuple[int, ...], view: FactorView) -> str:
    """A template with the values its words have."""
    roles = dict(zip(KINDS[kind], words))
    pieces = []
    for atom in template.words:
        place = roles.get(atom.role)
        if place is None:  # the words between: as many values as there are
            pieces.append(f"{atom} of a word between")
        elif place < 0:
            pieces.append(f"{atom}=<none>")
        else:
            pieces.append(f"{atom}={view.attribute(place + atom.offset, atom.attribute)}")
    for name in template.arcs:
        if name in _LABEL_ATOMS:
            head, mod = (roles[role] for role in _LABEL_ATOMS[name])
            pieces.append(f"@{name}={view.label_name(head, mod)}")
        else:
            pieces.append(f"@{name}")
    if template.also:
        pieces.append(f"+@{template.also}")
    return " ".join(pieces)
