"""Terms of a tree's score: arcs, parts and factors, each with its words and features."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.core.parts import ANY, PART_NAMES, rows_of
from bbparse.core.score import fired_parts
from bbparse.core.tree import heads_of
from bbparse.models.factors.family import tree_batches
from bbparse.models.factors.view import FactorView
from bbparse.models.scoring.arc_network import ArcNetwork, NetworkScores
from bbparse.models.scoring.linear import QUANTUM, LinearScorer
from bbparse.models.scoring.problem_maker import Scored
from bbparse.models.scoring.soft_tags import likely_tags_of
from bbparse.models.templates import KINDS, Template, TemplateSet
from bbparse.parser.parser import Parser
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.treebank import Sentence
from bbparse.treebank.drawing.layout import in_english
from bbparse.treebank.encode import encode

#: Kinds of term that a dynamic program scores: name of the arrays → name for readers.
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
    """Contribution to a score: of a feature that fired, with its weight, or of a word."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of the score of a tree."""

    kind: str  #: A key of `PARTS`, or the name of a factor family.
    #: For an arc (head, modifier); for parts the words in the order of their arrays (grandparent,
    #: head, inner sibling or -1, modifier). For factors their words, ascending.
    words: tuple[int, ...]
    arcs: tuple[tuple[int, int], ...]  #: Arcs that the tree must have for the term to count.
    value: float
    #: Features that add up to the value, largest magnitude first; empty if a network scores the
    #: term.
    features: tuple[Feature, ...] = ()
    #: If a network scores the term: the loss of value without each word that has an effect, largest
    #: magnitude first. For an arc it is the loss of its lead over the other heads of the word: what
    #: all heads lose does not change the choice among trees. Words interact, so these losses do not
    #: add up to the value.
    without: tuple[Feature, ...] = ()


def terms_of(scored: Scored, arcs: NDArray[np.int32], parser: Parser) -> list[Term]:
    """Return all terms of the score of a tree, int32[n] arcs; their values add up to it."""
    terms = part_terms(scored.problem, arcs)
    if parser.model.maker.families:
        terms += _family_terms(parser, parser.model.maker.view_of(scored, np.sort(arcs)))
    return terms


def part_terms(problem: Problem, arcs: NDArray[np.int32]) -> list[Term]:
    """Return the arcs of a tree, and those of its parts whose score is not 0."""
    heads = heads_of(problem, arcs)
    pairs = zip(heads[1:].tolist(), range(1, len(heads)))
    terms = [
        Term("arc", pair, (pair,), value)
        for pair, value in zip(pairs, problem.arc_score[arcs].tolist())
    ]
    for kind, part, fires in zip(PART_NAMES, problem.parts, fired_parts(problem, heads)):
        for *words, value in rows_of(column[fires] for column in part):
            if value:
                grand, head, inner, mod = words
                needed = (grand, head), (head, inner), (head, mod)
                needed_arcs = tuple(pair for pair in needed if min(pair) >= 0)
                named = tuple(word for word in words if word != ANY)
                terms.append(Term(kind, named, needed_arcs, value))
    return terms


def _family_terms(parser: Parser, view: FactorView) -> list[Term]:
    """Return the factors of a tree (all arcs of the view) by family, with non-zero features."""
    table = parser.model.maker.table
    terms = []
    for family in parser.model.maker.families:
        names: dict[int, str] | None = None
        for members, keys in chain.from_iterable(tree_batches([family], view)):
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
            words = tuple(sorted({word for pair in pairs for word in pair}))
            terms.append(Term(family.name, words, pairs, value, by_magnitude(features)))
    return terms


def by_magnitude(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Sort features, largest magnitude first."""
    return tuple(sorted(features, key=lambda f: (-abs(f.weight), f.text)))


def with_features(
    parser: Parser,
    sentence: Sentence,
    trees: Sequence[tuple[NDArray[np.int32], list[Term]]],
    deadline: Deadline = NO_DEADLINE,
) -> list[list[Term]]:
    """Add features or, unless the deadline passes first, losses without words to (heads, terms)."""
    if parser.model.maker.network is not None:
        return _without_words(parser, parser.model.maker.network, sentence, trees, deadline)
    scorer = cast(LinearScorer, parser.model.maker.scorer)  # a model has a network or a scorer
    values = encode(sentence)
    features_of: list[dict[tuple[str, tuple[int, ...]], list[Feature]]] = [
        {(t.kind, t.words): [] for t in terms if t.kind in PARTS} for _, terms in trees
    ]
    projective, single_root = parser.model.config.projective, parser.model.config.model.single_root
    views = [FactorView.of_tree(sentence, heads, values) for heads, _ in trees]
    for kind, name in _TEMPLATES_OF.items():
        for template in scorer.templates.templates[name]:
            alone = _alone(scorer, name, template)
            for view, features in zip(views, features_of):
                scores = alone.score(values, view.arc_head, view.arc_mod, projective, single_root)
                columns = (
                    [view.arc_head, view.arc_mod]
                    if kind == "arc"
                    else [scores[column] for column in PART_NAMES[kind][:-1]]
                )
                value = scores[f"{kind}_score"]
                for i in np.flatnonzero(value).tolist():
                    words = tuple(int(column[i]) for column in columns)
                    if (kind, words) in features:
                        text = _filled(template, name, words, view)
                        features[kind, words].append(Feature(text, float(value[i])))
    return [
        [
            replace(term, features=by_magnitude(features[term.kind, term.words]))
            if term.kind in PARTS
            else term
            for term in terms
        ]
        for (_, terms), features in zip(trees, features_of)
    ]


def _without_words(
    parser: Parser,
    network: ArcNetwork,
    sentence: Sentence,
    trees: Sequence[tuple[NDArray[np.int32], list[Term]]],
    deadline: Deadline,
) -> list[list[Term]]:
    """Set `Term.without` of the terms of trees, unless the deadline passes first."""
    embeddings = parser.model.maker.embeddings
    vectors = None if embeddings is None else embeddings([sentence])[0]
    best = trees[0][0]
    kind = parser.model.config.projective, parser.model.config.model.single_root
    tree_arcs, lost = [], []
    for heads, terms in trees:
        mods = np.arange(1, len(heads), dtype=np.int32)
        order = np.lexsort((mods, heads[1:]))
        tree_arcs.append((np.asarray(heads, np.int32)[mods[order]], mods[order]))
        lost.append({(t.kind, t.words): (t.value, list[Feature]()) for t in terms})
    tags = likely_tags_of(sentence)
    others = network.without_words(sentence, vectors, tags)
    rivals = _rivals(network([sentence], [vectors], [tags]).sentences()[0], best)
    for name, scores in zip(names_of(sentence), others):
        if deadline.is_over():
            return [terms for _, terms in trees]
        less = rivals - _rivals(scores, best)
        for (head, mod), lost_terms in zip(tree_arcs, lost):
            fields = {**scores.fields(head, mod, *kind), "arc_head": head, "arc_mod": mod}
            for part in ("arc", *network.KINDS):
                columns = PART_NAMES.get(part, ("arc_head", "arc_mod", "arc_score"))
                for *words, score in zip(*(fields[column].tolist() for column in columns)):
                    if (key := (part, tuple(words))) in lost_terms:
                        value, losses = lost_terms[key]
                        loss = value - score - (less[words[1]] if part == "arc" else 0.0)
                        if loss:
                            losses.append(Feature(name, float(loss)))
    return [
        [replace(t, without=by_magnitude(lost_terms[t.kind, t.words][1])) for t in terms]
        for (_, terms), lost_terms in zip(trees, lost)
    ]


def _rivals(scores: NetworkScores, best: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the log-sum of scores of heads other than the best tree's, float64[n + 1]."""
    others = scores.scores - scores.totals
    others[best[1:], np.arange(1, len(best))] = -np.inf
    sums = np.logaddexp.reduce(others, axis=0)
    return np.where(np.isfinite(sums), np.rint(sums / QUANTUM) * QUANTUM, 0.0)


def names_of(sentence: Sentence) -> list[str]:
    """Return the forms of words, with their numbers where several words have the same form."""
    times = Counter(sentence.forms)
    pairs = enumerate(sentence.forms, start=1)
    return [
        f"{in_english(form)} ({word})" if times[form] > 1 else in_english(form)
        for word, form in pairs
    ]


def _alone(scorer: LinearScorer, kind: str, template: Template) -> LinearScorer:
    """Return the scorer with one template only."""
    table = {"bits": scorer.templates.bits, kind: [str(template)]}
    templates = TemplateSet.from_table(table)
    return LinearScorer(templates, scorer.weights)


def _filled(template: Template, kind: str, words: tuple[int, ...], view: FactorView) -> str:
    """Format a template with the values of its words."""
    roles = dict(zip(KINDS[kind], words))
    pieces = [
        # a template with words between has as many values as there are words
        f"{atom} of a word between"
        if atom.role == "b"
        else atom.filled(view.attribute, roles[atom.role])
        for atom in template.words
    ]
    return " ".join([*pieces, *(f"@{name}" for name in template.atoms)])
