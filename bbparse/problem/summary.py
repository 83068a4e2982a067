"""What a problem is, in one line."""

from __future__ import annotations

import numpy as np

from bbparse.problem.base import ProblemArrays
from bbparse.problem.parts import KINDS


def summary(p: ProblemArrays) -> str:
    """The sizes of a problem, and what restricts its trees."""
    counts = [f"n_words={p.n_words}", f"arcs={len(p.arc_head)}"]
    states = ((1, "required"), (-1, "forbidden"))
    held = [f"{k} {name}" for s, name in states if (k := int((p.arc_state == s).sum()))]
    if p.arc_label is not None:
        held.append(f"{len(np.unique(p.arc_label))} labels")
    if held:
        counts[-1] += f" ({', '.join(held)})"
    counts += [
        f"{kind}={len(part[-1])}" for kind, part in zip(KINDS, p.parts) if len(part[-1])
    ]
    if len(p.factor_score):
        hard = int((p.factor_score == -np.inf).sum())
        counts.append(f"factors={len(p.factor_score)}" + (f" ({hard} hard)" if hard else ""))
    if len(p.count_arcs):
        infinite = np.logical_or.reduceat(
            p.count_score == -np.inf, p.count_score_ptr[:-1]
        )
        hard = int(infinite.sum())
        counts.append(f"counts={len(infinite)}" + (f" ({hard} hard)" if hard else ""))
    if p.quantum:
        counts.append(f"quantum={p.quantum:g}")
    counts.append("projective" if p.projective else "non-projective")
    counts.append("single-root" if p.single_root else "multi-root")
    return f"Problem({', '.join(counts)})"
