"""The contract of the search's oracles: kernels that answer for any oracle, by its type.

An oracle answers what a factor of AD3 answers (Martins et al. 2015): its best structure under
changed scores, the score of that structure, and max-marginals. `Oracle` asks the same of objects
(`inference.oracles.protocol`), for `bbparse.agree`. A search asks kernels, millions of times, and
may also list trees, shrink the oracle, and change its multipliers. To add an oracle, write a
NamedTuple of arrays and its `Calls`, and add both to `_ORACLES`.

Each name is selected by the type of its first argument, so that callers are written once. A kernel
over oracles, such as the one that bounds a node, is compiled for each type of oracle that it is
called with, and includes only the kernels of that type: nobody waits for an oracle that is not
used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba.extending import overload

from bbparse.core.parts import ProblemArrays
from bbparse.inference.oracles.nonprojective.automata import Automata
from bbparse.inference.oracles.nonprojective.calls import AUTOMATA_CALLS, make_automata
from bbparse.inference.oracles.projective.build import Chart
from bbparse.inference.oracles.projective.calls import CHART_CALLS, make_chart
from bbparse.runtime import linking
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import Kernel


def oracle_over(
    problem: ProblemArrays, mode: int, head: Ints, mod: Ints, until: float = math.inf
) -> Any:
    """Make the oracle of a problem over sorted arcs; `TimeOver` if it is not made in time."""
    if problem.projective:
        return make_chart(problem, mode, head, mod, until)
    return make_automata(problem, mode, head, mod)


_ORACLES = {Chart: CHART_CALLS, Automata: AUTOMATA_CALLS}


def _by_type(name: str) -> Callable[..., Any]:
    """Make one name for the calls of all oracles, for use in kernels.

    Callers must import, directly or indirectly, the files of all kernels, so that cached code is
    compiled again when one of them changes.
    """
    kernels = {oracle: getattr(calls, name) for oracle, calls in _ORACLES.items()}

    def call(first: Any, *rest: Any) -> Any:
        implementation = kernels[type(first)]
        return implementation(first, *rest) if callable(implementation) else implementation

    def choose(first: Any, *rest: Any) -> Any:
        if first.instance_class not in kernels:
            return None
        implementation = kernels[first.instance_class]
        if callable(implementation):
            return implementation.py_func
        return lambda first, *rest: implementation

    options: dict[str, Any] = {"nopython": True}
    if any(isinstance(implementation, Kernel) for implementation in kernels.values()):
        # as kernels are compiled for kernels
        options |= {"pipeline_class": linking.PartCompiler, "no_cpython_wrapper": True}
    overload(call, jit_options=options, strict=False)(choose)
    vars(call)["overloads"] = [choose]  # cached code depends on it
    return call


scratch_of, size_of, is_exact = map(_by_type, ("scratch_of", "size_of", "is_exact"))
best, tree_of, max_marginals = map(_by_type, ("best", "tree_of", "max_marginals"))
eliminate, k_best = map(_by_type, ("eliminate", "k_best"))
inner_norm, inner_step, inner_gaps = map(_by_type, ("inner_norm", "inner_step", "inner_gaps"))
