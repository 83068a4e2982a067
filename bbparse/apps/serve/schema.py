"""Limits of the service, and OpenAPI models of requests to ``/v1``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: Maximum of numbers in a request: the parser stores them in 32 bits.
MAX_INT = 2**31 - 1
Head = Annotated[int, Field(ge=0, le=MAX_INT)]
Position = Annotated[int, Field(ge=1, le=MAX_INT)]  #: Position of a word or a sentence, from 1.
Arc = tuple[Head, Position]
Word = str | Annotated[list[str], Field(min_length=1, max_length=5)]


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the service: the options of the command, and others."""

    workers: int = 1  #: Number of processes that parse.
    queue: int = 128  #: Maximum number of requests that wait for a worker.
    deadline: float = 60.0  #: Maximum seconds for a request, from its arrival.
    max_bytes: int = 4 << 20  #: Maximum size of the body of a request.
    max_words: int = 1000  #: Maximum length of a sentence.
    max_parts: int = 8_000_000  #: Maximum number of candidate parts; they take some seconds.
    grace: float = 5.0  #: Seconds after its deadline when a request is given up.


class Refused(Exception):
    """A request that is not answered: HTTP status, and a line that says what was expected.

    It may be tried again after so many seconds; 0: trying again does not help.
    """

    def __init__(self, status: int, text: str, after: int = 0) -> None:
        super().__init__(status, text, after)  # the arguments from which pickle makes it again
        self.status, self.text, self.after = status, text, after

    def __str__(self) -> str:
        return self.text


class Strict(BaseModel):
    """A model that forbids unknown fields."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Options(Strict):
    """Options of parsing; in the query of a request whose body is text or CoNLL-U."""

    model: str = Field("", description="Name of a model. Default: the first.")
    split: Literal["text", "lines", "words"] = Field(
        "text",
        description="Segmentation: by the model; one sentence per line; one sentence per"
        " line, with words separated by spaces.",
    )
    k_best: int = Field(1, ge=1, le=1000, description="Number of trees per sentence.")
    keep_heads: bool = Field(
        False, description="Keep the heads of the CoNLL-U, and predict only those that are _."
    )
    valid: str | None = Field(
        None,
        description="Validity rules of the trees: none, ud, or ud and those of a plug-in."
        " Default: ud for models of Universal Dependencies.",
    )
    spans: str | None = Field(
        None,
        description="KEY or KEY:WEIGHT: words between brackets in this MISC item of the CoNLL-U"
        " form one subtree; each additional head outside costs WEIGHT.",
    )
    edges: str | None = Field(
        None, description="Item of MISC: KEY=HEAD:LABEL is an edge that the graph must have."
    )
    confidence: bool = Field(False, description="Add probabilities of arcs (calibrated models).")
    enhanced: bool | None = Field(
        None, description="Add enhanced graphs (DEPS). Default: if the model makes them."
    )
    projective: bool | None = Field(
        None, description="Projective trees only, or not. Default: as the model was trained."
    )
    language: str | None = Field(
        None, description="Language, for a model of many; by default a comment or the text tells."
    )
    members: int | None = Field(
        None, ge=1, le=16, description="Average only so many of the model's networks: faster."
    )
    prune: int | None = Field(
        None,
        ge=0,
        le=MAX_INT,
        description="Maximum number of candidate heads per word, instead of the model's; 0: all.",
    )
    time_limit: float | None = Field(
        None,
        gt=0,
        description="Time limit per sentence, in seconds; the answer has the best trees"
        " found by then, with bounds.",
    )
    node_limit: int | None = Field(
        None, ge=1, le=MAX_INT, description="Maximum number of search nodes per sentence."
    )
    deadline: float | None = Field(
        None, gt=0, description="Seconds for the whole request, up to the maximum of the service."
    )
    format: Literal["jsonl", "conllu", "tree"] = Field(
        "jsonl", description="JSON, one line per sentence; CoNLL-U; trees drawn as text."
    )
    drawings: bool = Field(
        False, description="Add each tree as an image (svg) and as conllu to the JSON."
    )
    sentence: Position = Field(1, description="Number of the sentence to explain.")

    @field_validator("valid")
    @classmethod
    def _no_file(cls, value: str | None) -> str | None:
        """Refuse paths: clients must not read files of this machine."""
        plugins = sorted(entry_points(group="bbparse.rules").names)
        names = ["none", "ud", "parallel", *plugins]
        if value is not None and value not in names:
            raise ValueError(f"expected one of {', '.join(names)}")
        return value


class TextOptions(Options):
    """Options with the text."""

    text: str


class Factor(Strict):
    """A score for trees that have all these arcs."""

    arcs: list[Arc] = Field(min_length=1)
    weight: float | None = Field(
        None, allow_inf_nan=False, description="Score; null forbids trees that have all the arcs."
    )


class Subtree(Strict):
    """Words that form a connected subtree."""

    words: list[Position] = Field(min_length=1)
    complete: bool = Field(True, description="No other words depend on them.")
    weight: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Cost of each arc that breaks the subtree; null forbids such trees.",
    )


class SentenceConstraints(Strict):
    """Constraints on the trees of one sentence."""

    sentence: Position = Field(1, description="Number of the sentence, from 1.")
    heads: dict[Position, Head] = Field({}, description="Word to head; 0 is the root.")
    labels: dict[Position, Annotated[str, Field(min_length=1, pattern=r"^[^\s]+$")]] = Field(
        {}, description="Labels of words with given heads."
    )
    forbid: list[Arc] = Field([], description="Forbidden arcs (head, word).")
    factors: list[Factor] = []
    subtrees: list[Subtree] = []


class ParseRequest(Options):
    """A JSON request: options, and exactly one of text, conllu and words."""

    text: str | None = None
    conllu: str | None = None
    words: list[list[Word]] | None = Field(
        None,
        description="Sentences as lists of words: forms, or lists of form, UPOS, XPOS, lemma"
        " and FEATS, of which the last may be omitted.",
    )
    constraints: list[SentenceConstraints] = Field([], description="At most one per sentence.")

    @field_validator("constraints")
    @classmethod
    def _distinct(cls, constraints: list[SentenceConstraints]) -> list[SentenceConstraints]:
        """Refuse two constraints of one sentence."""
        for number, times in Counter(each.sentence for each in constraints).items():
            if times > 1:
                raise ValueError(f"found {times} of sentence {number}, expected one")
        return constraints


def with_bodies(document: dict[str, Any], paths: tuple[str, ...]) -> dict[str, Any]:
    """Add the request bodies of paths to an OpenAPI document."""
    place = "#/components/schemas/"
    schema = ParseRequest.model_json_schema(ref_template=place + "{model}")
    parts = document.setdefault("components", {}).setdefault("schemas", {})
    parts.update(schema.pop("$defs"), ParseRequest=schema)
    text = {"schema": {"type": "string"}}
    record = {"schema": {"$ref": place + "ParseRequest"}}
    content = {"application/json": record, "text/plain": text, "text/x-conllu": text}
    for path in paths:
        document["paths"][path]["post"]["requestBody"] = {"required": True, "content": content}
    return document
