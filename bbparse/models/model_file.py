"""Model files: arrays, and a card in JSON; never pickle.

A model holds its whole configuration, so it parses the same wherever it is loaded.
"""

from __future__ import annotations

import copyreg
import os
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bbparse.models import MODELS
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.registry import load_families
from bbparse.models.factors.table import FactorTable
from bbparse.models.graph.enhancer import GRAPH_FIELDS, Enhancer
from bbparse.models.model import NOTE, Model
from bbparse.models.scoring.arc_network import ARC_FIELDS, ArcNetwork
from bbparse.models.scoring.labeller import Labeller, Labelling
from bbparse.models.scoring.linear import LinearScorer
from bbparse.models.scoring.problem_maker import ProblemMaker
from bbparse.neural.embeddings import (
    EMBEDDINGS_FIELDS,
    Embeddings,
    EncoderStates,
    embeddings_from,
    shared_embeddings,
)
from bbparse.neural.embeddings.base import Base
from bbparse.neural.embeddings.bert import Bert
from bbparse.neural.embeddings.encoder import VARIABLE
from bbparse.runtime.archive import (
    REALS,
    Fields,
    Rule,
    archive_bytes,
    archive_card,
    check_entry,
    read_archive,
    reading_part,
    write_archive,
)
from bbparse.runtime.errors import ModelError
from bbparse.text.languages import LANGUAGES_FIELDS, Languages
from bbparse.text.tagger import TAGGER_FIELDS, Tagger, tagger_fields, tagger_from
from bbparse.text.tokenizer import TOKENIZER_FIELDS, Tokenizer

AnyFamily = str | type[FactorFamily] | FactorFamily
"""A factor family, its class, its name or ``"module:Class"``."""

KIND = "bbparse.Model"
TAGGER_KIND = "bbparse.Tagger"


# Types of notes that are read wherever they are there.
_NOTES = {NOTE: dict, "confidence": dict[str, list[float]]}
_READING_FIELDS: dict[str, Rule] = {**EMBEDDINGS_FIELDS, **TAGGER_FIELDS, **TOKENIZER_FIELDS}
_RULES: dict[str, Rule] = {
    "model": dict,
    "backbone": ("i", 1, None),
    "pruner": ("i", 1, None),
    "labels": dict,
    "label": ("i", 1, None),
    "factor_keys": ("u", 1, "factor_keys"),
    "factor_weights": (REALS, 1, "factor_keys"),
    **ARC_FIELDS,
    **GRAPH_FIELDS,
    **_READING_FIELDS,
    **LANGUAGES_FIELDS,
}
_OPTIONAL = set(_RULES) - {"model", "factor_keys", "factor_weights"}


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically; raises `OutputError` if it cannot be written."""
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
        "model": {"configuration": model.config.to_table(), "notes": model.notes},
        **(maker.network.to_fields() if maker.network is not None else {}),
        "factor_keys": table.keys,
        "factor_weights": table.weights,
    }
    if maker.scorer is not None and maker.pruner is not None:
        fields |= {"backbone": maker.scorer.weights, "pruner": maker.pruner.weights}
    if isinstance(labeller, Labeller):
        fields["labels"] = {"names": labeller.labels, "root": labeller.root}
        fields["label"] = labeller.weights.reshape(-1)
    if model.enhancer is not None:
        fields |= model.enhancer.to_fields()
    if model.languages is not None:
        fields |= model.languages.to_fields()
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

    `factors` are families that are not installed: a model file alone never has code imported.
    """
    path = MODELS.path(name_or_path)
    return _model(_read(path), os.fspath(path), factors)


def model_of_bytes(data: bytes, factors: Iterable[AnyFamily] = ()) -> Model:
    """Read a model from the bytes of `model_bytes` or of a model file; see `load_model`."""
    return _model(_read(data), "bytes", factors)


def _read(source: str | os.PathLike[str] | bytes) -> Fields:
    return read_archive(source, KIND, _RULES, _OPTIONAL, ModelError)


def _model(fields: Fields, where: str, factors: Iterable[AnyFamily]) -> Model:
    with reading_part("model", fields, where, {"configuration": dict, "notes": dict}):
        config = Configuration.from_table(fields["model"]["configuration"])
        notes = fields["model"]["notes"]
        for name in _NOTES.keys() & notes.keys():
            check_entry("the entry model of the card is damaged", name, notes[name], _NOTES[name])
        table = FactorTable(fields["factor_keys"], fields["factor_weights"])
    families = load_families(config.factors.families, given=load_families(factors), paths=False)
    network = pruner = scorer = None
    labeller: Labelling | None = None
    if config.network.epochs:
        network = ArcNetwork.from_fields(fields, where)
        labeller = network if network.labels else None
    else:
        with reading_part("model", fields, where) as given:
            scorer = LinearScorer(config.templates)
            pruner = LinearScorer(config.pruner_templates)
            _fill(scorer.weights, "backbone", given)
            _fill(pruner.weights, "pruner", given)
        if "labels" in fields:
            labeller = _labeller(config, fields, where)
    embeddings = embeddings_from(fields, where, partial(_encoder_of_base, where))
    tagger = None
    if not fields.keys().isdisjoint(TAGGER_FIELDS):
        tagger = tagger_from(fields, where, embeddings)
    taken = (
        None if network is None else network.used_embeddings(embeddings, f"{where}: its network")
    )
    maker = ProblemMaker(config, network, pruner, scorer, families, table, taken)
    enhancer = None
    if not fields.keys().isdisjoint(GRAPH_FIELDS):
        enhancer = Enhancer.from_fields(fields, where)
    languages = Languages.from_fields(fields, where) if "languages" in fields else None
    tokenizer = _tokenizer(fields, where, embeddings)
    return Model(maker, labeller, tagger, notes, tokenizer, enhancer, languages)


def _labeller(config: Configuration, fields: Fields, where: str) -> Labeller:
    """Return the labeller of a model with templates."""
    with reading_part("labels", fields, where, {"names": list[str], "root": int}) as given:
        names, root = tuple(given["labels"]["names"]), given["labels"]["root"]
        labeller = Labeller(config.label_templates, names, root)
        _fill(labeller.weights.reshape(-1), "label", given)
    return labeller


def load_tagger(path: str | os.PathLike[str]) -> tuple[Tagger, Tokenizer | None]:
    """Read a tagger's file, or the tagger of a parser's model; return it with its tokenizer."""
    where = os.fspath(path)
    if archive_card(path).get("kind") == KIND:
        fields = _read(path)
        if fields.keys().isdisjoint(TAGGER_FIELDS):
            raise ModelError(f"{where}: the model has no tagger in it")
    else:
        optional = _READING_FIELDS.keys() - {"tagger"}
        fields = read_archive(path, TAGGER_KIND, _READING_FIELDS, optional, ModelError)
    embeddings = embeddings_from(fields, where, partial(_encoder_of_base, where))
    return tagger_from(fields, where, embeddings), _tokenizer(fields, where, embeddings)


def installed() -> dict[str, dict[str, Any]]:
    """Return the models that are found by name, each with its file, its notes and its card."""
    found = {}
    for name, path in MODELS.files().items():
        notes = archive_card(path).get("model", {}).get("notes", {})
        found[name] = {"file": os.fspath(path), **notes.get(NOTE, {})}
    return found


def load_base(name_or_path: str | os.PathLike[str]) -> Base:
    """Read the encoder of a model, which other models may use (`--base`)."""
    path = MODELS.path(name_or_path)
    return _base(path, path.stat().st_mtime_ns)


@lru_cache(1)  # models of several languages share it
def _base(path: Path, changed: int) -> Base:
    embeddings = embeddings_from(_read(path), os.fspath(path))
    encoder = embeddings.held_encoder if isinstance(embeddings, EncoderStates) else None
    if embeddings is None or encoder is None:
        raise ModelError(f"{path}: holds no encoder, so it cannot be the base of other models")
    return Base(path.stem, embeddings.note, encoder)


def _encoder_of_base(where: str, name: str) -> Bert:
    """Return the encoder of the base of a model: one beside its file, or one that is installed."""
    beside = Path(where).with_name(f"{name}.model")
    return load_base(os.environ.get(VARIABLE) or (beside if beside.is_file() else name)).encoder


def save_tagger(
    path: str | os.PathLike[str], tagger: Tagger, tokenizer: Tokenizer | None = None
) -> None:
    """Write a tagger's file atomically; raises `OutputError` if it cannot be written."""
    readers = (part.embeddings for part in (tagger, tokenizer) if part is not None)
    read = shared_embeddings(*readers)
    write_archive(path, TAGGER_KIND, _reading_fields(tagger, tokenizer, read))


def _tokenizer(fields: Fields, where: str, embeddings: Embeddings | None) -> Tokenizer | None:
    if fields.keys().isdisjoint(TOKENIZER_FIELDS):
        return None
    return Tokenizer.from_fields(fields, where, embeddings)


def _fill(weights: NDArray[Any], name: str, fields: Fields) -> None:
    """Copy the field of a file into a table of weights, of the same type and length."""
    array = fields[name]
    if array.dtype != weights.dtype or len(array) != len(weights):
        raise ModelError(
            f"{name} has {len(array)} elements of dtype {array.dtype}, expected {len(weights)} of"
            f" {weights.dtype}"
        )
    weights[:] = array
