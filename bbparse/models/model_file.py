"""Model files: arrays, and a card in JSON; never pickle.

A model holds its whole configuration, so it parses the same wherever it is loaded. The weights of
templates are stored without zeros: the distance of each from the one before, and its value in units
of the greatest common divisor of all, both in the narrowest type.
"""

from __future__ import annotations

import copyreg
import os
from collections.abc import Iterable
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse import __version__
from bbparse.models import MODELS
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.registry import load_families
from bbparse.models.factors.table import FactorTable
from bbparse.models.model import Model
from bbparse.models.scoring.arc_network import ARC_FIELDS, ArcNetwork
from bbparse.models.scoring.labeller import Labeller, Labelling
from bbparse.models.scoring.linear import LinearScorer
from bbparse.models.scoring.problem_maker import ProblemMaker, Pruner
from bbparse.neural.embeddings import EMBEDDINGS_FIELDS, Embeddings, embeddings_from
from bbparse.runtime.archive import (
    REALS,
    Fields,
    Rule,
    archive_bytes,
    archive_kind,
    read_archive,
    reading_part,
    write_archive,
)
from bbparse.runtime.errors import ModelError
from bbparse.runtime.options import check_type
from bbparse.text.tagger import TAGGER_FIELDS, Tagger, tagger_fields, tagger_from
from bbparse.text.tokenizer import TOKENIZER_FIELDS, Tokenizer

AnyFamily = str | type[FactorFamily] | FactorFamily
"""A factor family, its class, its name or ``"module:Class"``."""

KIND = "bbparse.Model"
TAGGER_KIND = "bbparse.Tagger"


def packed_rules(name: str) -> dict[str, Rule]:
    """Return the fields of the archive that hold a packed table."""
    gap = f"{name}_gap"
    return {gap: ("u", 1, gap), f"{name}_value": ("i", 1, gap), f"{name}_step": int}


_READING_FIELDS: dict[str, Rule] = {**EMBEDDINGS_FIELDS, **TAGGER_FIELDS, **TOKENIZER_FIELDS}
_RULES: dict[str, Rule] = {
    "model": dict, **packed_rules("backbone"), **packed_rules("pruner"),
    "labels": dict, **packed_rules("label"),
    "factor_keys": ("u", 1, "factor_keys"), "factor_weights": (REALS, 1, "factor_keys"),
    **ARC_FIELDS, **_READING_FIELDS,
}  # fmt: skip
_OPTIONAL = set(_RULES) - {"model", "factor_keys", "factor_weights"}


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically; raises `OutputError` if it cannot be written."""
    check_type("model", model, Model, "a Model", ModelError)
    write_archive(path, KIND, _fields_of(model))


def model_bytes(model: Model) -> bytes:
    """Return a model as bytes, from which `model_of_bytes` makes the same model."""
    return archive_bytes(KIND, _fields_of(model))


# Pickle a model as its file, with its families: a fifth of its size in memory.
copyreg.pickle(
    Model, lambda model: (model_of_bytes, (model_bytes(model), tuple(model.maker.families)))
)


def _fields_of(model: Model) -> Fields:
    maker, labeller, table = model.maker, model.labeller, model.maker.table.pruned()
    fields: Fields = {
        "model": {
            "bbparse": __version__, "quantum": maker.quantum,
            "configuration": model.config.to_table(), "notes": model.notes,
        },
        **(maker.network.to_fields() if maker.network is not None else {}),
        "factor_keys": table.keys, "factor_weights": table.weights,
    }  # fmt: skip
    if maker.scorer is not None and maker.pruner is not None:
        fields |= pack("backbone", maker.scorer.weights)
        fields |= pack("pruner", maker.pruner.scorer.weights)
    if isinstance(labeller, Labeller):
        fields["labels"] = {"names": labeller.labels, "root": labeller.root}
        fields |= pack("label", labeller.weights.reshape(-1))
    return fields | _reading_fields(model.tagger, model.tokenizer, model.embeddings)


def _reading_fields(
    tagger: Tagger | None, tokenizer: Tokenizer | None, embeddings: Embeddings | None
) -> Fields:
    """Return the fields of embeddings, tagger and tokenizer, as far as there are any."""
    return {
        **(embeddings.to_fields() if embeddings is not None else {}),
        **(tagger_fields(tagger) if tagger is not None else {}),
        **(tokenizer.to_fields() if tokenizer is not None else {}),
    }


def load_model(name_or_path: str | os.PathLike[str], factors: Iterable[AnyFamily] = ()) -> Model:
    """Read a model file, or a model that comes with the package, by its name.

    `factors` are families that the model was trained with and that are not installed as plug-ins,
    as classes or ``"module:Class"``: a model file alone never has code imported. Raises
    `ModelError` if the file is missing, truncated, not a model, or of another version, and
    `FactorError` if a family is missing.
    """
    path = MODELS.path(name_or_path)
    return _model(_read(path), os.fspath(path), factors)


def model_of_bytes(data: bytes, factors: Iterable[AnyFamily] = ()) -> Model:
    """Read a model from the bytes of `model_bytes` or of a model file; see `load_model`."""
    return _model(_read(data), "bytes", factors)


def _read(source: str | os.PathLike[str] | bytes) -> Fields:
    return read_archive(source, KIND, _RULES, _OPTIONAL, ModelError)


def _model(fields: Fields, where: str, factors: Iterable[AnyFamily]) -> Model:
    with reading_part("model", fields, where) as card:
        config = Configuration.from_table(card["configuration"])
        quantum, notes = float(card["quantum"]), dict(card["notes"])
        if not 0.0 < quantum < float("inf"):
            raise ModelError(f"quantum is {quantum}, expected a number above 0")
        table = FactorTable(fields["factor_keys"], fields["factor_weights"])
    families = load_families(config.factors.families, given=load_families(factors), paths=False)
    network = pruner = scorer = None
    labeller: Labelling | None = None
    if config.network.epochs:
        network = ArcNetwork.from_fields(fields, where)
        labeller = network if network.labels else None
    else:
        with reading_part("model", fields, where):
            weights = unpack("backbone", fields, 1 << config.templates.bits)
            scorer = LinearScorer(config.templates, weights, quantum)
            pruner = Pruner.of(config, unpack("pruner", fields, 1 << config.pruner_templates.bits))
        if "labels" in fields:
            labeller = _labeller(config, fields, where)
    embeddings = embeddings_from(fields, where)
    tagger = None
    if not fields.keys().isdisjoint(TAGGER_FIELDS):
        tagger = tagger_from(fields, where, embeddings)
    taken = None if network is None else network.taken(embeddings, f"{where}: its network")
    maker = ProblemMaker(config, network, pruner, scorer, families, table, taken, quantum)
    return Model(maker, labeller, tagger, notes, _tokenizer(fields, where))


def _labeller(config: Configuration, fields: Fields, where: str) -> Labeller:
    """Return the labeller of a model with templates."""
    with reading_part("labels", fields, where) as card:
        names = tuple(str(name) for name in card["names"])
        labeller = Labeller(config.label_templates, names, int(card["root"]))
        weights = unpack("label", fields, labeller.weights.size, np.int16)
        labeller.weights[:] = weights.reshape(labeller.weights.shape)
    return labeller


def load_tagger(path: str | os.PathLike[str]) -> tuple[Tagger, Tokenizer | None]:
    """Read a tagger's file, or the tagger of a parser's model; return it with its tokenizer.

    Raises `ModelError` if the file is missing, truncated, not a tagger, or of another version.
    """
    where = os.fspath(path)
    if archive_kind(path) == KIND:
        fields = _read(path)
        if fields.keys().isdisjoint(TAGGER_FIELDS):
            raise ModelError(f"{where}: the model has no tagger in it")
    else:
        optional = _READING_FIELDS.keys() - {"tagger"}
        fields = read_archive(path, TAGGER_KIND, _READING_FIELDS, optional, ModelError)
    return tagger_from(fields, where, embeddings_from(fields, where)), _tokenizer(fields, where)


def save_tagger(
    path: str | os.PathLike[str], tagger: Tagger, tokenizer: Tokenizer | None = None
) -> None:
    """Write a tagger's file atomically; raises `OutputError` if it cannot be written."""
    check_type("tagger", tagger, Tagger, "a Tagger", ModelError)
    check_type("tokenizer", tokenizer, (Tokenizer, NoneType), "a Tokenizer or None", ModelError)
    write_archive(path, TAGGER_KIND, _reading_fields(tagger, tokenizer, tagger.embeddings))


def _tokenizer(fields: Fields, where: str) -> Tokenizer | None:
    if fields.keys().isdisjoint(TOKENIZER_FIELDS):
        return None
    return Tokenizer.from_fields(fields, where)


def pack(name: str, weights: NDArray[np.integer[Any]]) -> Fields:
    """Return the fields of a table of weights, with names that begin with `name`."""
    index = np.flatnonzero(weights)
    values = weights[index].astype(np.int64)
    step = max(1, int(np.gcd.reduce(values))) if len(values) else 1
    return {
        f"{name}_gap": _narrowest(np.diff(index, prepend=0).astype(np.uint64)),
        f"{name}_value": _narrowest(values // step),
        f"{name}_step": step,
    }


def unpack(
    name: str, fields: Fields, size: int, dtype: type[np.integer[Any]] = np.int32
) -> NDArray[np.int32]:
    """Return the table of `size` weights that `pack` packed.

    Raises `ModelError` if an index lies outside the table or occurs twice, or a weight does not fit
    the type.
    """
    gaps, values = fields[f"{name}_gap"], fields[f"{name}_value"].astype(np.int64)
    step, most = fields[f"{name}_step"], int(np.iinfo(dtype).max)
    if not 1 <= step <= most:
        raise ModelError(f"{name}_step is {step}, expected 1..{most}")
    weights = np.zeros(size, np.int32)
    if not len(gaps):
        return weights
    # Each gap is within the table, so that their sum cannot overflow 64 bits.
    if int(gaps.max()) >= size or (len(gaps) > 1 and int(gaps[1:].min()) < 1):
        raise ModelError(f"{name}_gap is damaged: expected ascending indices")
    index = np.cumsum(gaps.astype(np.int64))
    if int(index[-1]) >= size:
        raise ModelError(
            f"{name}_gap goes up to weight {int(index[-1])}, expected less than {size}"
        )
    largest = max(int(values.max()), -int(values.min())) * step
    if largest > most:
        raise ModelError(f"{name}_value is {largest}, expected at most {most}")
    weights[index] = values * step
    return weights


def _narrowest(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in the narrowest type of their kind."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    limits = [np.iinfo(f"{values.dtype.kind}{size}") for size in (1, 2, 4, 8)]
    return values.astype(next(x.dtype for x in limits if x.min <= low and high <= x.max))
