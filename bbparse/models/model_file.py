"""Model files: arrays and JSON, never pickle.

A model holds its whole configuration, so it parses the same wherever it is loaded. Its weights are
stored without zeros: the distance of each from the one before, and its value in units of the
greatest common divisor of all, both in the narrowest type.
"""

from __future__ import annotations

import copyreg
import json
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
from bbparse.models.scoring.arc_network import ARC_ARRAYS, ArcNetwork
from bbparse.models.scoring.labeller import Labeller, Labelling
from bbparse.models.scoring.linear import LinearScorer
from bbparse.models.scoring.problem_maker import ProblemMaker, Pruner
from bbparse.neural.embeddings import EMBEDDINGS_ARRAYS, Embeddings, embeddings_from
from bbparse.runtime.archive import (
    INTS,
    REALS,
    TEXT,
    Rule,
    archive_bytes,
    archive_kind,
    read_archive,
    write_archive,
)
from bbparse.runtime.errors import BBParseError, ModelError
from bbparse.runtime.options import check_type
from bbparse.text.tagger import TAGGER_ARRAYS, Tagger, tagger_arrays, tagger_from
from bbparse.text.tokenizer import TOKENIZER_ARRAYS, Tokenizer

Arrays = dict[str, NDArray[Any]]
AnyFamily = str | type[FactorFamily] | FactorFamily
"""A factor family, its class, its name or ``"module:Class"``."""

KIND = "bbparse.Model"
TAGGER_KIND = "bbparse.Tagger"

def packed_rules(name: str) -> dict[str, Rule]:
    """Return the fields of the archive that hold a packed table."""
    gap = f"{name}_gap"
    return {gap: ("u", 1, gap), f"{name}_value": ("i", 1, gap), f"{name}_step": (INTS, 0, None)}


TEMPLATE_ARRAYS = {**packed_rules("backbone"), **packed_rules("pruner")}
LABEL_ARRAYS: dict[str, Rule] = {
    "label_names": (TEXT, 1, None), "label_root": (INTS, 0, None), **packed_rules("label")
}
_RULES: dict[str, Rule] = {
    "header": (TEXT, 0, None),
    **TEMPLATE_ARRAYS,
    "factor_keys": ("u", 1, "factor_keys"),
    "factor_weights": (REALS, 1, "factor_keys"),
    **LABEL_ARRAYS,
    **ARC_ARRAYS,
    **EMBEDDINGS_ARRAYS,
    **TAGGER_ARRAYS,
    **TOKENIZER_ARRAYS,
}
_OPTIONAL = set(_RULES) - {"header", "factor_keys", "factor_weights"}


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically; raises `OutputError` if it cannot be written."""
    check_type("model", model, Model, "a Model", ModelError)
    write_archive(path, KIND, _arrays_of(model))


def model_bytes(model: Model) -> bytes:
    """Return a model as bytes, from which `model_of_bytes` makes the same model."""
    return archive_bytes(KIND, _arrays_of(model))


# Pickle a model as its file, with its families: a fifth of its size in memory.
copyreg.pickle(
    Model, lambda model: (model_of_bytes, (model_bytes(model), tuple(model.maker.families)))
)


def _arrays_of(model: Model) -> Arrays:
    maker, labeller = model.maker, model.labeller
    header = {
        "bbparse": __version__, "quantum": maker.quantum, "configuration": model.config.to_table(),
        "notes": model.notes,
    }
    table = maker.table.pruned()
    arrays: Arrays = {
        "header": np.array(json.dumps(header, sort_keys=True)),
        **(maker.network.to_arrays() if maker.network is not None else {}),
    }
    if maker.scorer is not None and maker.pruner is not None:
        arrays |= pack("backbone", maker.scorer.weights)
        arrays |= pack("pruner", maker.pruner.scorer.weights)
    arrays |= {"factor_keys": table.keys, "factor_weights": table.weights}
    if isinstance(labeller, Labeller):
        arrays["label_names"] = np.array(labeller.labels)
        arrays["label_root"] = np.array(labeller.root, np.int32)
        arrays |= pack("label", labeller.weights.reshape(-1))
    return arrays | _reading_arrays(model.tagger, model.tokenizer, model.embeddings)


def _reading_arrays(
    tagger: Tagger | None, tokenizer: Tokenizer | None, embeddings: Embeddings | None
) -> Arrays:
    """Return the arrays of embeddings, tagger and tokenizer, as far as there are any."""
    return {
        **(embeddings.to_arrays() if embeddings is not None else {}),
        **(tagger_arrays(tagger) if tagger is not None else {}),
        **(tokenizer.to_arrays() if tokenizer is not None else {}),
    }


def load_model(name_or_path: str | os.PathLike[str], factors: Iterable[AnyFamily] = ()) -> Model:
    """Read a model file, or a model that comes with the package, by its name.

    `factors` are families that the model was trained with and that are not installed as plug-ins,
    as classes or ``"module:Class"``: a model file alone never has code imported. Raises
    `ModelError` if the file is missing, truncated, not a model, or of a newer version, and
    `FactorError` if a family is missing.
    """
    path = MODELS.path(name_or_path)
    return _model(_arrays(path), os.fspath(path), factors)


def model_of_bytes(data: bytes, factors: Iterable[AnyFamily] = ()) -> Model:
    """Read a model from the bytes of `model_bytes` or of a model file; see `load_model`."""
    return _model(_arrays(data), "bytes", factors)


def _model(arrays: Arrays, where: str, factors: Iterable[AnyFamily]) -> Model:
    try:
        header = json.loads(str(arrays["header"].item()))
        config = Configuration.from_table(header["configuration"])
        quantum = float(header["quantum"])
        if not 0.0 < quantum < float("inf"):
            raise ValueError(f"quantum is {quantum}, expected a number above 0")
        notes = dict(header["notes"])
    except (ValueError, KeyError, TypeError, BBParseError) as error:
        raise ModelError(f"{where}: header is damaged: {error}") from error
    families = load_families(config.factors.families, given=load_families(factors), paths=False)
    network = pruner = scorer = None
    if config.network.epochs:
        network = ArcNetwork.from_arrays(arrays, where)
    else:
        _require(arrays, TEMPLATE_ARRAYS, where)
        weights = unpack(where, "backbone", arrays, 1 << config.templates.bits)
        scorer = LinearScorer(config.templates, weights, quantum)
        weights = unpack(where, "pruner", arrays, 1 << config.pruner_templates.bits)
        pruner = Pruner.of(config, weights)
    try:
        table = FactorTable(arrays["factor_keys"], arrays["factor_weights"])
    except BBParseError as error:
        raise ModelError(f"{where}: {error}") from error
    labeller: Labelling | None = network if network is not None and network.labels else None
    if network is None and not arrays.keys().isdisjoint(LABEL_ARRAYS):
        labeller = _labeller(config, arrays, where)
    embeddings = embeddings_from(arrays, where)
    tagger = None
    if not arrays.keys().isdisjoint(TAGGER_ARRAYS):
        tagger = tagger_from(arrays, where, embeddings)
    taken = None if network is None else network.taken(embeddings, f"{where}: its network")
    maker = ProblemMaker(config, network, pruner, scorer, families, table, taken, quantum)
    return Model(maker, labeller, tagger, notes, _tokenizer(arrays, where))


def _require(arrays: Arrays, names: Iterable[str], where: str) -> None:
    for name in names:
        if name not in arrays:
            raise ModelError(f"{where}: array {name} is missing")


def _labeller(config: Configuration, arrays: Arrays, where: str) -> Labeller:
    """Return the labeller of a model with templates."""
    _require(arrays, LABEL_ARRAYS, where)
    names = tuple(arrays["label_names"].tolist())
    try:
        labeller = Labeller(config.label_templates, names, int(arrays["label_root"]))
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None
    weights = unpack(where, "label", arrays, labeller.weights.size, np.int16)
    labeller.weights[:] = weights.reshape(labeller.weights.shape)
    return labeller


def load_tagger(path: str | os.PathLike[str]) -> tuple[Tagger, Tokenizer | None]:
    """Read a tagger's file, or the tagger of a parser's model; return it with its tokenizer.

    Raises `ModelError` if the file is missing, truncated, not a tagger, or of a newer version.
    """
    if archive_kind(path) == KIND:
        arrays = _arrays(path)
        if arrays.keys().isdisjoint(TAGGER_ARRAYS):
            raise ModelError(f"{os.fspath(path)}: the model has no tagger in it")
    else:
        rules = {**TAGGER_ARRAYS, **EMBEDDINGS_ARRAYS, **TOKENIZER_ARRAYS}
        optional = set(rules) - {"tagger_header"}
        arrays = read_archive(path, TAGGER_KIND, rules, optional, ModelError)
    where = os.fspath(path)
    return tagger_from(arrays, where, embeddings_from(arrays, where)), _tokenizer(arrays, where)


def save_tagger(
    path: str | os.PathLike[str], tagger: Tagger, tokenizer: Tokenizer | None = None
) -> None:
    """Write a tagger's file atomically; raises `OutputError` if it cannot be written."""
    check_type("tagger", tagger, Tagger, "a Tagger", ModelError)
    check_type("tokenizer", tokenizer, (Tokenizer, NoneType), "a Tokenizer or None", ModelError)
    write_archive(path, TAGGER_KIND, _reading_arrays(tagger, tokenizer, tagger.embeddings))


def _tokenizer(arrays: Arrays, where: str) -> Tokenizer | None:
    if arrays.keys().isdisjoint(TOKENIZER_ARRAYS):
        return None
    return Tokenizer.from_arrays(arrays, where)


def _arrays(source: str | os.PathLike[str] | bytes) -> Arrays:
    return read_archive(source, KIND, _RULES, _OPTIONAL, ModelError)


def pack(name: str, weights: NDArray[np.integer[Any]]) -> Arrays:
    """Return the fields of a table of weights, with names that begin with `name`."""
    index = np.flatnonzero(weights)
    values = weights[index].astype(np.int64)
    step = max(1, int(np.gcd.reduce(values))) if len(values) else 1
    return {
        f"{name}_gap": _narrowest(np.diff(index, prepend=0).astype(np.uint64)),
        f"{name}_value": _narrowest(values // step),
        f"{name}_step": np.array(step, np.int64),
    }


def unpack(
    where: str, name: str, arrays: Arrays, size: int, dtype: type[np.integer[Any]] = np.int32
) -> NDArray[np.int32]:
    """Return the table of `size` weights that `pack` packed.

    Raises `ModelError`, naming the file `where`, if an index lies outside the table or occurs
    twice, or a weight does not fit the type.
    """
    gaps, values = arrays[f"{name}_gap"], arrays[f"{name}_value"].astype(np.int64)
    step, most = int(arrays[f"{name}_step"].item()), int(np.iinfo(dtype).max)
    if not 1 <= step <= most:
        raise ModelError(f"{where}: {name}_step is {step}, expected 1..{most}")
    weights = np.zeros(size, np.int32)
    if not len(gaps):
        return weights
    # Each gap is within the table, so that their sum cannot overflow 64 bits.
    if int(gaps.max()) >= size or (len(gaps) > 1 and int(gaps[1:].min()) < 1):
        raise ModelError(f"{where}: {name}_gap is damaged: expected ascending indices")
    index = np.cumsum(gaps.astype(np.int64))
    if int(index[-1]) >= size:
        raise ModelError(
            f"{where}: {name}_gap goes up to weight {int(index[-1])}, expected less than {size}"
        )
    largest = max(int(values.max()), -int(values.min())) * step
    if largest > most:
        raise ModelError(f"{where}: {name}_value is {largest}, expected at most {most}")
    weights[index] = values * step
    return weights


def _narrowest(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in the narrowest type of their kind."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    limits = [np.iinfo(f"{values.dtype.kind}{size}") for size in (1, 2, 4, 8)]
    return values.astype(next(x.dtype for x in limits if x.min <= low and high <= x.max))
