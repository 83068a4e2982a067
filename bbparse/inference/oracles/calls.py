"""Calls from bounding to an oracle, in kernels: one name for the implementations of all types.

The state of an oracle is a NamedTuple of arrays that belongs to a node; `scratch` is made once per
node. Arcs are in the order of the oracle, and ``arc_score`` float64[A] has the scores of all arcs,
-inf for removed ones. An oracle that is not exact consists of components that have to agree, and
has multipliers of its own; `best` is an upper bound, and the tree is that of one component.

* ``scratch_of(oracle)``
* ``size_of(oracle)``: a number with which the work of a call grows
* ``is_exact(oracle)``
* ``best(oracle, scratch, arc_score, until)``: the best value; -inf if there is no tree; NaN if it
  is not found before the time ``until``
* ``tree_of(oracle, scratch, arc_score, tree)``: write the tree of the last `best`; return the score
  of its parts
* ``with_each(oracle, scratch, arc_score, each)``: after `best`, write an upper bound on the trees
  with each arc (-inf: removed, or in no tree)
* ``eliminate(oracle, scratch, floor)``: after `with_each`, drop everything that is in no tree of at
  least this score; return False if no tree is left
* ``k_best(oracle, scratch, arc_score, n_words, k, min_score, until)``: after `best`, return trees,
  values, part scores, and an upper bound on all trees that are not listed; the last one may score
  less than ``min_score``, and fewer than k are returned at the time ``until``, but at least one
* ``inner_norm(oracle, scratch, chosen)``: squared length of the subgradient of its multipliers
* ``inner_step(oracle, scratch, chosen, alpha)``: make one subgradient step at a tree
* ``inner_gaps(oracle, scratch, chosen, arc_gap)``: add to arcs the amounts by which the values of
  components exceed their scores of a tree

The names are kernels that are selected by the type of their first argument, so that callers are
written once. A kernel over oracles, such as the one that bounds a node, is compiled for each type
of oracle that it is called with, and includes only the kernels of that type: nobody waits for an
oracle that is not used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from numba.extending import overload

from bbparse.core.parts import ProblemArrays
from bbparse.inference.oracles.nonprojective import calls as nonprojective
from bbparse.inference.oracles.nonprojective.automata import Automata, automata_scratch
from bbparse.inference.oracles.projective import calls as projective
from bbparse.inference.oracles.projective.build import Chart
from bbparse.runtime import linking
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import Kernel


def oracle_over(
    problem: ProblemArrays, mode: int, head: Ints, mod: Ints, until: float = math.inf
) -> Any:
    """Make the oracle of a problem over sorted arcs; `TimeOver` if it is not made in time."""
    if problem.projective:
        return projective.make_chart(problem, mode, head, mod, until)
    return nonprojective.make_automata(problem, mode, head, mod)


def by_type(kernels: Mapping[type, Any]) -> Callable[..., Any]:
    """Make one name for several kernels, for use in other kernels.

    ``kernels`` has by the NamedTuple class of the first parameter a kernel, or the constant that it
    would return; all take as many parameters. Callers must import, directly or indirectly, the
    files of all kernels, so that cached code is compiled again when one of them changes.
    """

    def call(first: Any, *rest: Any) -> Any:
        implementation = kernels[type(first)]
        return implementation(first, *rest) if callable(implementation) else implementation

    def choose(first: Any, *rest: Any) -> Any:
        if first.instance_class not in kernels:
            return None
        implementation = kernels[first.instance_class]
        return (
            implementation.py_func
            if callable(implementation)
            else lambda first, *rest: implementation
        )

    options: dict[str, Any] = {"nopython": True}
    if any(isinstance(implementation, Kernel) for implementation in kernels.values()):
        # as kernels are compiled for kernels
        options |= {"pipeline_class": linking.PartCompiler, "no_cpython_wrapper": True}
    overload(call, jit_options=options, strict=False)(choose)
    vars(call)["overloads"] = [choose]  # cached code depends on it
    return call


scratch_of = by_type({Chart: projective.chart_scratch, Automata: automata_scratch})
size_of = by_type({Chart: projective.chart_size, Automata: nonprojective.automata_size})
is_exact = by_type({Chart: True, Automata: False})
best = by_type({Chart: projective.chart_best, Automata: nonprojective.automata_best})
tree_of = by_type({Chart: projective.chart_tree, Automata: nonprojective.automata_tree})
with_each = by_type({Chart: projective.chart_with_each, Automata: nonprojective.automata_with_each})
eliminate = by_type({Chart: projective.chart_eliminate, Automata: True})
k_best = by_type({Chart: projective.chart_k_best, Automata: nonprojective.automata_k_best})
inner_norm = by_type({Chart: 0.0, Automata: nonprojective.automata_norm})
inner_step = by_type({Chart: None, Automata: nonprojective.automata_step})
inner_gaps = by_type({Chart: None, Automata: nonprojective.automata_gaps})
