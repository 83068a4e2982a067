"""Requests to ``/v1/parse`` and ``/v1/explain``, as models for OpenAPI."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: Maximum of numbers in a request: the parser stores them in 32 bits.
MAX_INT = 2**31 - 1
Head = Annotated[int, Field(ge=0, le=MAX_INT)]
Position = Annotated[int, Field(ge=1, le=MAX_INT)]   #: Position of a word or a sentence, from 1.
Arc = tuple[Head, Position]
Word = str | Annotated[list[str], Field(min_length=1, max_length=5)]


class Options(BaseModel):
    """Options of parsing; in the query of a request whose body is text or CoNLL-U."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    model: str = Field("", description="Name of a model; the first one if left out.")
    split: Literal["text", "lines", "words"] = Field(
        "text",
        description="How to split text: as the model has learned; each line is a sentence; each"
        " line is a sentence of words with spaces between them.",
    )
    k_best: int = Field(1, ge=1, le=1000, description="Number of trees for each sentence.")
    keep_heads: bool = Field(
        False, description="Keep the HEADs of the CoNLL-U, and find only those that are _."
    )
    valid: str | None = Field(
        None,
        description="Validity rules of the trees: none, ud, or ud and those of a plug-in. Default:"
        " ud for models of Universal Dependencies.",
    )
    spans: str | None = Field(
        None,
        description="KEY or KEY:WEIGHT: words between brackets in this MISC item of the CoNLL-U"
        " form one subtree; each head too many costs WEIGHT.",
    )
    confidence: bool = Field(False, description="Add probabilities of arcs (calibrated models).")
    prune: int | None = Field(
        None, ge=0, le=MAX_INT,
        description="Maximum number of candidate heads of a word, not the model's; 0: all.",
    )
    time_limit: float | None = Field(
        None, gt=0, description="Seconds for the search of one sentence; after them, the answer has"
        " the best trees so far and their bounds."
    )  # fmt: skip
    node_limit: int | None = Field(
        None, ge=1, le=MAX_INT, description="Maximum number of search nodes for one sentence."
    )
    deadline: float | None = Field(
        None, gt=0, description="Seconds for the whole request, up to the maximum of the service."
    )
    format: Literal["jsonl", "conllu", "tree"] = Field(
        "jsonl", description="JSON, a line for each sentence; CoNLL-U; trees drawn as text."
    )
    drawings: bool = Field(
        False, description="Add each tree as an image (svg) and as conllu to the JSON."
    )
    sentence: Position = Field(1, description="Number of the sentence to explain.")

    @field_validator("valid")
    @classmethod
    def _no_file(cls, value: str | None) -> str | None:
        """Refuse paths: clients must not read files of this machine."""
        shipped = ("none", "ud", "parallel")
        if value not in (None, *shipped):
            names = [*shipped, *sorted(entry_points(group="bbparse.rules").names)]
            if value not in names:
                raise ValueError(f"expected one of {', '.join(names)}")
        return value


class TextOptions(Options):
    """Options with the text."""

    text: str


class Factor(BaseModel):
    """A score for trees that have all of some arcs."""

    model_config = ConfigDict(extra="forbid")

    arcs: list[Arc] = Field(min_length=1)
    weight: float | None = Field(
        None, allow_inf_nan=False, description="Score; null forbids trees that have all the arcs."
    )


class Subtree(BaseModel):
    """Words that form a connected subtree."""

    model_config = ConfigDict(extra="forbid")

    words: list[Position] = Field(min_length=1)
    complete: bool = Field(True, description="No other words hang from them.")
    weight: float | None = Field(
        None, ge=0, allow_inf_nan=False,
        description="What each arc costs that should not be; null: no tree has one.",
    )


class Constraint(BaseModel):
    """Constraints on the trees of one sentence."""

    model_config = ConfigDict(extra="forbid")

    sentence: Position = Field(1, description="Number of the sentence, from 1.")
    heads: dict[Position, Head] = Field({}, description="Word to head; 0 is the root.")
    labels: dict[Position, Annotated[str, Field(min_length=1, pattern=r"^[^\s]+$")]] = Field(
        {}, description="Labels of these arcs."
    )
    forbid: list[Arc] = Field([], description="Arcs (head, word) that no tree may have.")
    factors: list[Factor] = []
    subtrees: list[Subtree] = []

    def joined(self, constraint: Constraint | None) -> Constraint:
        """Merge two constraints on one sentence; `ValueError` if no tree can satisfy both."""
        if constraint is None:
            return self
        for name in ("heads", "labels"):
            other_values, own_values = getattr(constraint, name), getattr(self, name)
            for m in sorted(other_values.keys() & own_values.keys()):
                if other_values[m] != own_values[m]:
                    raise ValueError(
                        f"found {name} {other_values[m]} and {own_values[m]} for word {m} of"
                        f" sentence {self.sentence}, expected one"
                    )
        return Constraint(
            sentence=self.sentence, heads={**constraint.heads, **self.heads},
            labels={**constraint.labels, **self.labels}, forbid=[*constraint.forbid, *self.forbid],
            factors=[*constraint.factors, *self.factors],
            subtrees=[*constraint.subtrees, *self.subtrees],
        )  # fmt: skip


class ParseRequest(Options):
    """A JSON request: options, and exactly one of text, conllu and words."""

    text: str | None = None
    conllu: str | None = None
    words: list[list[Word]] | None = Field(
        None,
        description="Sentences as lists of words: forms, or lists of form, UPOS, XPOS, lemma and"
        " FEATS, of which the last may be left out.",
    )
    constraints: list[Constraint] = Field(
        [], description="All constraints on a sentence apply; they must not contradict one another."
    )

    @field_validator("constraints")
    @classmethod
    def _joined(cls, constraints: list[Constraint]) -> list[Constraint]:
        """Merge the constraints on each sentence."""
        merged: dict[int, Constraint] = {}
        for constraint in constraints:
            merged[constraint.sentence] = constraint.joined(merged.get(constraint.sentence))
        return list(merged.values())


_REFERENCE = "#/components/schemas/{model}"


def with_bodies(document: dict[str, Any], paths: tuple[str, ...]) -> dict[str, Any]:
    """Add to an OpenAPI document the bodies of requests to some paths."""
    schema = ParseRequest.model_json_schema(ref_template=_REFERENCE)
    parts = document.setdefault("components", {}).setdefault("schemas", {})
    parts.update(schema.pop("$defs"), ParseRequest=schema)
    text = {"schema": {"type": "string"}}
    for path in paths:
        document["paths"][path]["post"]["requestBody"] = {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": _REFERENCE.format(model="ParseRequest")}},
                "text/plain": text,
                "text/x-conllu": text,
            },
        }
    return document
