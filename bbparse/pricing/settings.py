"""How price and cut goes about a problem."""

from __future__ import annotations

from dataclasses import dataclass

from bbparse.errors import ProblemError

#: What may tie triples to arcs (RSM12 §3.2): z_gp + z_pc - 1 <= y_gpc; y_gpc <= z_gp and z_pc;
#: Σ_g y_gpc = z_pc; Σ_c y_gpc <= n z_gp.
CONSTRAINTS = ("ArcGP", "GPArc", "OneGP", "NoGP")
#: With one of these, a whole point is a tree with its triples.
_ENOUGH = ({"ArcGP", "GPArc"}, {"OneGP", "NoGP"}, {"OneGP", "GPArc"})
CONNECTIVITY = ("cuts", "flow")


@dataclass(frozen=True, slots=True)
class PricingSettings:
    """Rows of the program, and when its columns come in.

    `ProblemError` if a name is unknown, or the constraints do not say what a triple is.
    """

    #: Of `CONSTRAINTS`. OneGP and GPArc imply the two others: sum GPArc over c for NoGP, and over
    #: all other g, with one head for each word, for ArcGP.
    constraints: tuple[str, ...] = ("OneGP", "GPArc")
    #: What keeps cycles out: rows found where violated, or a flow from the root to each word (where
    #: trees must be projective, their derivations).
    connectivity: str = "cuts"
    #: Triples come in when they may matter; otherwise all are there from the start.
    delayed: bool = True
    #: Duals are raised as far as they may be (RSM12 §4.3.3), and an arc that no solution has used
    #: has no triples; otherwise each arc has one from the start, as in the paper.
    raised: bool = True

    def __post_init__(self) -> None:
        for name in self.constraints:
            if name not in CONSTRAINTS:
                raise ProblemError(f"unknown constraint {name!r}: some of {', '.join(CONSTRAINTS)}")
        if not any(enough <= set(self.constraints) for enough in _ENOUGH):
            raise ProblemError(
                f"constraints {', '.join(self.constraints) or '(none)'} do not tie triples to arcs:"
                " expected GPArc with ArcGP or OneGP, or OneGP with NoGP"
            )
        if self.connectivity not in CONNECTIVITY:
            raise ProblemError(
                f"unknown connectivity {self.connectivity!r}: one of {', '.join(CONNECTIVITY)}"
            )
