"""Files of taggers: arrays and JSON, by themselves or as a part of a parser's model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse import __version__
from bbparse.errors import BBParseError, ModelError
from bbparse.storage.archive import TEXT, Rule, archive_kind, read_archive, write_archive
from bbparse.tagging.layer import Layer, layer_rules
from bbparse.tagging.tagger import Tagger

__all__ = ["KIND", "TAGGER_ARRAYS", "load_tagger", "save_tagger", "tagger_arrays", "tagger_from"]

KIND = "bbparse.Tagger"
VERSION = 1

_LAYERS = ("tags", "feats", "lemmas")
_NEEDED: dict[str, Rule] = {"tagger_header": (TEXT, 0, None), **layer_rules("tags")}

#: Arrays of a tagger, with the rules that `bbparse.storage.archive.read_archive` checks them by.
TAGGER_ARRAYS: dict[str, Rule] = {
    **_NEEDED,
    **layer_rules("feats"),
    **layer_rules("lemmas"),
    "tagger_lexicon": (TEXT, 0, None),
}


def tagger_arrays(tagger: Tagger) -> dict[str, NDArray[Any]]:
    """The arrays that `tagger_from` reads."""
    layers = {"tags": tagger.tags, "feats": tagger.feats, "lemmas": tagger.lemmas}
    header = {
        "bbparse": __version__,
        "known": tagger.encode.known,
        "habits": tagger.encode.habits,
        "notes": tagger.notes,
        "templates": {
            name: list(layer.compiled.lines) for name, layer in layers.items() if layer is not None
        },
    }
    arrays = {"tagger_header": np.array(json.dumps(header, sort_keys=True))}
    for name, layer in layers.items():
        if layer is not None:
            arrays.update(layer.to_arrays(name))
    if tagger.lexicon:
        lines = (f"{key}\t{lemma}" for key, lemma in tagger.lexicon.items())
        arrays["tagger_lexicon"] = np.array("\n".join(lines))
    return arrays


def tagger_from(arrays: Mapping[str, NDArray[Any]], where: str) -> Tagger:
    """A tagger from arrays that the rules of `TAGGER_ARRAYS` have been checked on.

    Raises
    ------
    ModelError
        If some are missing or damaged. Names the file, `where`.
    """
    missing = sorted(set(_NEEDED) - set(arrays))
    if missing:
        raise ModelError(f"{where}: field {missing[0]} of the tagger is missing")
    try:
        header = json.loads(str(arrays["tagger_header"].item()))
        templates = {name: [str(line) for line in header["templates"][name]]
                     for name in header["templates"]}  # fmt: skip
        known = {str(form): str(tags) for form, tags in header["known"].items()}
        habits = {str(form): str(cases) for form, cases in header["habits"].items()}
        notes = dict(header["notes"])
        layers: dict[str, Layer] = {}
        for name in _LAYERS:
            if name not in templates:
                continue
            gone = sorted(set(layer_rules(name)) - set(arrays))
            if gone:
                raise ModelError(f"{where}: field {gone[0]} of the tagger is missing")
            layers[name] = Layer.from_arrays(name, templates[name], arrays, where)
        tags = layers["tags"]
        for name, label in (("tags", ""), ("lemmas", "")):
            if name in layers and label not in layers[name].lists:
                raise ModelError(f"{where}: tagger, {name}: no candidates for new words")
    except ModelError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, BBParseError) as error:
        raise ModelError(f"{where}: header of the tagger is damaged: {error}") from error
    lexicon: dict[str, str] = {}
    if "tagger_lexicon" in arrays:
        for line in str(arrays["tagger_lexicon"].item()).split("\n"):
            key, tab, lemma = line.rpartition("\t")
            if not tab or not lemma:
                raise ModelError(f"{where}: tagger_lexicon is damaged at {line!r:.60}")
            lexicon[key] = lemma
    return Tagger(known, habits, tags, layers.get("feats"), layers.get("lemmas"), lexicon, notes)


def save_tagger(tagger: Tagger, path: str | os.PathLike[str]) -> None:
    """Write a tagger's file, whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    write_archive(path, KIND, VERSION, tagger_arrays(tagger))


def load_tagger(path: str | os.PathLike[str]) -> Tagger:
    """Read a tagger's file, or the tagger in a parser's model; see `Tagger.load`."""
    if archive_kind(path) == "bbparse.Model":
        from bbparse.model.file import load_parser

        tagger = load_parser(path).tagger
        if tagger is None:
            raise ModelError(f"{os.fspath(path)}: the model has no tagger in it")
        return tagger
    optional = set(TAGGER_ARRAYS) - set(_NEEDED)
    arrays = read_archive(path, KIND, VERSION, TAGGER_ARRAYS, optional, error=ModelError)
    return tagger_from(arrays, os.fspath(path))
