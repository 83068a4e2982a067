"""What a tree's score is made of: arcs, parts and factors, each with its words and features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import KINDS, Template, TemplateSet
from bbparse.factors import FactorView
from bbparse.factors.view import NO_LABEL
from bbparse.problem.tree import _neighbours, count_terms, fired_factors, heads_of
from bbparse.scoring.scorer import PartScorer
from bbparse.treebank.encode import encode

if TYPE_CHECKING:
    from bbparse.parsing.parser import Parser
    from bbparse.problem import Problem
    from bbparse.treebank import Sentence

__all__ = ["PARTS", "Feature", "Term", "family_terms", "part_terms", "terms_of", "with_features"]

#: Kinds of term that a dynamic program scores: name of the arrays → what it is called.
PARTS = {
    "arc": "arcs",
    "sib": "adjacent siblings",
    "gc": "grandchildren",
    "ogc": "outermost grandchildren",
    "gsib": "grand-siblings",
}
_KIND_OF_PART = {
    "arc": "arc", "sib": "sibling", "gc": "grandchild", "ogc": "outermost_grandchild",
    "gsib": "grandsibling",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that fired, and its weight."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of the score of a tree.

    Attributes
    ----------
    kind : str
        A key of `PARTS`, the name of a factor family, or "factor" and "count factor" where no
        family is known.
    words : tuple of int
        For an arc (head, modifier); for parts the words in the order of their arrays (grandparent,
        head, inner sibling or -1, modifier). For factors their words, ascending.
    arcs : tuple of (head, modifier)
        What has to be in the tree.
    value : float
    features : tuple of Feature
        Largest magnitude first; empty where they are not known.
    """

    kind: str
    words: tuple[int, ...]
    arcs: tuple[tuple[int, int], ...]
    value: float
    features: tuple[Feature, ...] = ()


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
        view = parser.maker.view(sentence, problem, None, np.sort(arcs).astype(np.int64))
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
    p = problem
    heads = heads_of(p, arcs)
    inner, outermost = _neighbours(heads)
    terms = [
        Term("arc", (int(heads[m]), m), ((int(heads[m]), m),), float(p.arc_score[arc]))
        for m, arc in enumerate(arcs.tolist(), start=1)
    ]
    sib = (heads[p.sib_outer] == p.sib_head) & (inner[p.sib_outer] == p.sib_inner)
    gc = (heads[p.gc_head] == p.gc_grand) & (heads[p.gc_mod] == p.gc_head)
    ogc = (heads[p.ogc_head] == p.ogc_grand) & (heads[p.ogc_mod] == p.ogc_head)
    ogc &= outermost[p.ogc_mod]
    gsib = (heads[p.gsib_outer] == p.gsib_head) & (inner[p.gsib_outer] == p.gsib_inner)
    gsib &= heads[p.gsib_head] == p.gsib_grand
    for kind, fires, score, columns in (
        ("sib", sib, p.sib_score, (p.sib_head, p.sib_inner, p.sib_outer)),
        ("gc", gc, p.gc_score, (p.gc_grand, p.gc_head, p.gc_mod)),
        ("ogc", ogc, p.ogc_score, (p.ogc_grand, p.ogc_head, p.ogc_mod)),
        ("gsib", gsib, p.gsib_score, (p.gsib_grand, p.gsib_head, p.gsib_inner, p.gsib_outer)),
    ):
        for i in np.flatnonzero(fires & (score != 0.0)).tolist():
            words = tuple(int(column[i]) for column in columns)
            terms.append(Term(kind, words, _arcs_of_part(kind, words), float(score[i])))
    return terms


def _arcs_of_part(kind: str, words: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    if kind == "sib":
        head, inner, outer = words
        grand = -1
    elif kind == "gsib":
        grand, head, inner, outer = words
    else:
        grand, head, outer = words
        inner = -1
    pairs = [(grand, head)] if grand >= 0 else []
    pairs += [(head, inner)] if inner >= 0 else []
    return (*pairs, (head, outer))


def family_terms(parser: Parser, view: FactorView) -> list[Term]:
    """The factors of a tree, by family, with the features that have a weight.

    Parameters
    ----------
    parser : Parser
    view : FactorView
        Over the arcs of the tree.
    """
    table = parser.maker.table
    terms = []
    for family in parser.maker.families:
        batch = family.propose(view, table)
        counts = family.propose_counts(view, table)
        # of a set all of whose arcs are in the tree, what fires is its last cell
        last = counts.ptr[1:] - 1
        fired = [
            (batch.arcs[batch.ptr[f] : batch.ptr[f + 1]],
             batch.feat_keys[batch.feat_ptr[f] : batch.feat_ptr[f + 1]])
            for f in np.flatnonzero(table.score_batch(batch)).tolist()
        ] + [
            (counts.arcs[counts.ptr[c] : counts.ptr[c + 1]],
             counts.feat_keys[counts.feat_ptr[i] : counts.feat_ptr[i + 1]])
            for c, i in enumerate(last.tolist())
        ]  # fmt: skip
        names: dict[int, str] | None = None
        for members, keys in fired:
            places = table.find(keys)
            known = [(key, i) for key, i in zip(keys.tolist(), places.tolist()) if i >= 0]
            value = math.fsum(float(table.weights[i]) for _, i in known)
            if not value:
                continue
            if names is None:
                names = family.name_features(view)
            features = [
                Feature(names.get(key, "unnamed feature"), float(table.weights[i]))
                for key, i in known
                if table.weights[i]
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
    """Terms of trees with the features of their arcs and parts.

    The weight of a template at a place depends on no other template, so each template is scored by
    itself, over the arcs of each tree.

    Parameters
    ----------
    parser : Parser
    sentence : Sentence
    trees : sequence of (heads, terms)
        heads int[n + 1], heads[0] is not read.
    prune : int, optional
        As given to `Parser.problem`: the guide's opinion of an arc depends on the other candidates.

    Returns
    -------
    list of list of Term
    """
    values = encode(sentence)
    views = [FactorView.of_tree(sentence, heads, values) for heads, _ in trees]
    wanted: list[dict[tuple[str, tuple[int, ...]], list[Feature]]] = [
        {(t.kind, t.words): [] for t in terms if t.kind in PARTS} for _, terms in trees
    ]
    projective, single_root = parser.config.projective, parser.config.model.single_root
    marks = None
    opinion: _Opinion = {}
    if parser.maker.guide is not None:
        heads, mods = parser.maker.pruner.candidates(values, prune)
        marks = parser.maker.guide.marks(values, heads, mods)
        for head, mod in zip(heads.tolist(), mods.tolist()):
            label = int(marks[head, mod]) & NO_LABEL
            known = 0 < label <= len(parser.maker.guide.labels)
            opinion[head, mod] = parser.maker.guide.labels[label - 1] if known else "?"
    for kind, name in _KIND_OF_PART.items():
        for template in parser.maker.scorer.templates.templates[name]:
            scorer = _alone(parser.maker.scorer, name, template)
            for view, found in zip(views, wanted):
                scores = scorer.score(
                    values, view.arc_head, view.arc_mod, projective, single_root, marks
                )
                columns = (
                    [view.arc_head, view.arc_mod]
                    if kind == "arc"
                    else [getattr(scores, f"{kind}_{c}") for c in _COLUMNS[kind]]
                )
                value = getattr(scores, f"{kind}_score")
                for i in np.flatnonzero(value).tolist():
                    words = tuple(int(column[i]) for column in columns)
                    if (kind, words) in found:
                        text = _filled(template, name, words, view, opinion)
                        found[kind, words].append(Feature(text, float(value[i])))
    return [
        [
            _with(term, found[term.kind, term.words]) if term.kind in PARTS else term
            for term in terms
        ]
        for (_, terms), found in zip(trees, wanted)
    ]


def _with(term: Term, features: list[Feature]) -> Term:
    """A term with its features; what they do not explain is what the label costs."""
    rest = term.value - math.fsum(f.weight for f in features)
    if abs(rest) > 1e-9 * (1.0 + abs(term.value)):
        features = [*features, Feature("a less likely label", rest)]
    return replace(term, features=_largest(features))


_COLUMNS = {
    "sib": ("head", "inner", "outer"),
    "gc": ("grand", "head", "mod"),
    "ogc": ("grand", "head", "mod"),
    "gsib": ("grand", "head", "inner", "outer"),
}


def _alone(scorer: PartScorer, kind: str, template: Template) -> PartScorer:
    """The scorer with one template only."""
    empty: dict[str, tuple[Template, ...]] = dict.fromkeys(KINDS, ())
    templates = TemplateSet(
        dict.fromkeys(KINDS, ()), scorer.templates.bits, {**empty, kind: (template,)}
    )
    return PartScorer(templates, scorer.weights, scorer.quantum)


#: The label that the guide gives an arc.
_Opinion = dict[tuple[int, int], str]
#: Atoms that tell such a label, with the roles of the arc's words.
_LABEL_ATOMS = {"label": "hm", "slabel": "hs", "glabel": "gh"}


def _filled(
    template: Template, kind: str, words: tuple[int, ...], view: FactorView, opinion: _Opinion
) -> str:
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
            pieces.append(f"@{name}={opinion.get((head, mod), '<none>')}")
        else:
            pieces.append(f"@{name}")
    if template.also:
        pieces.append(f"+@{template.also}")
    return " ".join(pieces)
