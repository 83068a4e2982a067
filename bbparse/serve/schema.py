"""What ``/v1/parse`` and ``/v1/explain`` take, as OpenAPI has it."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: No number in a request is larger: what comes after it has numbers of 32 bits.
MOST = 2**31 - 1
Head = Annotated[int, Field(ge=0, le=MOST)]
Position = Annotated[int, Field(ge=1, le=MOST)]  #: Of a word, or a sentence; from 1.
Arc = tuple[Head, Position]
Word = str | Annotated[list[str], Field(min_length=1, max_length=5)]


class Options(BaseModel):
    """How to parse; in the query of a request whose body is text or CoNLL-U."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    model: str = Field("", description="Name of a model; the first one if left out.")
    split: Literal["text", "lines", "words"] = Field(
        "text",
        description="How text is cut: as the model has learned it; each line is a sentence; each"
        " line is a sentence, and its words are what blanks are between.",
    )
    k_best: int = Field(1, ge=1, le=1000, description="How many trees of each sentence.")
    keep_heads: bool = Field(
        False, description="Fill in HEADs that are _ only, around those that the CoNLL-U has."
    )
    valid: str | None = Field(
        None,
        description="Rules that trees keep: none, ud, or those of a plug-in besides. Default: ud"
        " for models of Universal Dependencies.",
    )
    confidence: bool = Field(False, description="Say how sure each arc is (calibrated models).")
    prune: int | None = Field(
        None, ge=0, le=MOST,
        description="Candidate heads of a word, instead of the model's; 0: all.",
    )
    time_limit: float | None = Field(
        None, gt=0, description="Seconds for the search of one sentence; the best trees so far"
        " come back with their bounds."
    )  # fmt: skip
    node_limit: int | None = Field(
        None, ge=1, le=MOST, description="Search nodes for one sentence."
    )
    deadline: float | None = Field(
        None, gt=0, description="Seconds for the whole request; not more than the service allows."
    )
    format: Literal["jsonl", "conllu", "tree"] = Field(
        "jsonl", description="JSON, a line for each sentence; CoNLL-U; trees drawn for reading."
    )
    drawings: bool = Field(
        False, description="Give each tree of the JSON as an image (svg) and as conllu, too."
    )
    sentence: Position = Field(1, description="Which sentence to explain.")

    @field_validator("valid")
    @classmethod
    def _no_file(cls, value: str | None) -> str | None:
        """Files of this machine are none of a client's business."""
        if value not in (None, "none", "ud"):
            names = ["none", "ud", *sorted(entry_points(group="bbparse.rules").names)]
            if value not in names:
                raise ValueError(f"expected one of {', '.join(names)}")
        return value


class TextOptions(Options):
    """Options, and the text itself."""

    text: str


class Factor(BaseModel):
    """A weight that trees with all of some arcs get."""

    model_config = ConfigDict(extra="forbid")

    arcs: list[Arc] = Field(min_length=1)
    weight: float | None = Field(
        None, allow_inf_nan=False, description="null: no tree has them all."
    )


class Constraint(BaseModel):
    """What the trees of one sentence keep to."""

    model_config = ConfigDict(extra="forbid")

    sentence: Position = Field(1, description="Which one, from 1.")
    heads: dict[Position, Head] = Field({}, description="Word to head; 0 is the root.")
    labels: dict[Position, Annotated[str, Field(min_length=1, pattern=r"^[^\s]+$")]] = Field(
        {}, description="Labels of these arcs."
    )
    forbid: list[Arc] = Field([], description="(head, word): arcs that no tree has.")
    factors: list[Factor] = []

    def joined(self, other: Constraint | None) -> Constraint:
        """Both for the same sentence as one; `ValueError` where no tree keeps to both."""
        if other is None:
            return self
        for name in ("heads", "labels"):
            before, after = getattr(other, name), getattr(self, name)
            for m in sorted(before.keys() & after.keys()):
                if before[m] != after[m]:
                    raise ValueError(
                        f"found {name} {before[m]} and {after[m]} for word {m} of sentence"
                        f" {self.sentence}, expected one"
                    )
        return Constraint(
            sentence=self.sentence, heads={**other.heads, **self.heads},
            labels={**other.labels, **self.labels}, forbid=[*other.forbid, *self.forbid],
            factors=[*other.factors, *self.factors],
        )  # fmt: skip


class ParseRequest(Options):
    """A request in JSON: options and exactly one of text, conllu and words."""

    text: str | None = None
    conllu: str | None = None
    words: list[list[Word]] | None = Field(
        None,
        description="Sentences as lists of words: forms, or lists of form, UPOS, XPOS, lemma and"
        " FEATS, of which the last may be left out.",
    )
    constraints: list[Constraint] = Field(
        [], description="Several for one sentence all hold; they must not contradict each other."
    )

    @field_validator("constraints")
    @classmethod
    def _joined(cls, constraints: list[Constraint]) -> list[Constraint]:
        """One for each sentence."""
        found: dict[int, Constraint] = {}
        for one in constraints:
            found[one.sentence] = one.joined(found.get(one.sentence))
        return list(found.values())


_REFERENCE = "#/components/schemas/{model}"


def with_bodies(document: dict[str, Any], paths: tuple[str, ...]) -> dict[str, Any]:
    """An OpenAPI document with the bodies that requests to some paths may have."""
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
