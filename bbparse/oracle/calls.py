"""What bounding asks of an oracle, in kernels: one name for what each type of oracle does.

An oracle's state is a NamedTuple of arrays, a node's own; `scratch` is made once a node. Arcs are
in the oracle's order, and ``arc_score`` float64[A] has all scores of arcs, -inf where one is dead.
An oracle that is not exact consists of components that are to agree, and has multipliers of its
own; `best` bounds from above, and the tree is one of its components'.

* ``make(kind, n, head, mod, single_root, index, weights, group_ptr)``: an oracle, over pairs sorted
  by (head, mod) and their weights; the kind says of which type
* ``scratch_of(oracle)``
* ``copy_of(oracle)``: an independent one, trimmed to what is alive
* ``size_of(oracle)``: a number that the work of a call grows with
* ``weights_of(oracle)``: the scores of its parts, for their magnitudes
* ``is_exact(oracle)``
* ``best(oracle, scratch, arc_score)``: the best value; -inf where there is no tree
* ``tree_of(oracle, scratch, arc_score, tree)``: write the tree of the last `best`; returns the
  score of its parts
* ``with_each(oracle, scratch, arc_score, each)``: after `best`, what trees with each arc score at
  most (-inf: dead, or none has it)
* ``eliminate(oracle, scratch, floor)``: after `with_each`, drop what is in no tree that scores so
  much; False where no tree is left
* ``k_best(oracle, scratch, arc_score, n_words, k, least, until)``: after `best`, trees, values,
  part scores, and what all trees that are not listed score at most; one that scores less than the
  least may be the last, and fewer than k come at the moment ``until``, but one at least
* ``hold(oracle, scratch, base, factors, hard)``: take over factors of a node that now fit; ``base``
  is -inf where an arc is dead, and factors of weight ``-hard`` stay
* ``inner_norm(oracle, scratch, chosen)``: squared length of the subgradient of its multipliers
* ``inner_step(oracle, scratch, chosen, alpha)``: one step of them at a tree
* ``inner_gaps(oracle, scratch, chosen, arc_gap)``: add to arcs what the components' values exceed
  their scores of a tree by
"""

from __future__ import annotations

from bbparse.oracle.by_type import by_type
from bbparse.oracle.nonprojective import calls as nonprojective
from bbparse.oracle.nonprojective.automata import Automata, automata_scratch
from bbparse.oracle.nonprojective.holding import automata_hold
from bbparse.oracle.projective import calls as projective
from bbparse.oracle.projective.build import Chart

make = by_type({
    projective.Projective: projective.make_chart,
    nonprojective.Nonprojective: nonprojective.make_automata,
})  # fmt: skip
scratch_of = by_type({Chart: projective.chart_scratch, Automata: automata_scratch})
copy_of = by_type({Chart: projective.chart_copy, Automata: nonprojective.automata_copy})
size_of = by_type({Chart: projective.chart_size, Automata: nonprojective.automata_size})
weights_of = by_type({Chart: projective.chart_weights, Automata: nonprojective.automata_weights})
is_exact = by_type({Chart: True, Automata: False})
best = by_type({Chart: projective.chart_best, Automata: nonprojective.automata_best})
tree_of = by_type({Chart: projective.chart_tree, Automata: nonprojective.automata_tree})
with_each = by_type({Chart: projective.chart_with_each, Automata: nonprojective.automata_with_each})
eliminate = by_type({Chart: projective.chart_eliminate, Automata: True})
k_best = by_type({Chart: projective.chart_k_best, Automata: nonprojective.automata_k_best})
hold = by_type({Chart: None, Automata: automata_hold})
inner_norm = by_type({Chart: 0.0, Automata: nonprojective.automata_norm})
inner_step = by_type({Chart: None, Automata: nonprojective.automata_step})
inner_gaps = by_type({Chart: None, Automata: nonprojective.automata_gaps})
