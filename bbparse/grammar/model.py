"""Model files of `PhraseParser`: arrays and JSON, never pickle."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.grammar.counts import Table, open_table
from bbparse.grammar.grammar import Grammar, Pairs
from bbparse.grammar.parser import PhraseParser, PhraseSettings
from bbparse.grammar.tagger import PhraseTagger
from bbparse.grammar.words import Vocabulary
from bbparse.models.model_file import model_bytes, model_of_bytes
from bbparse.parser.parser import Parser
from bbparse.runtime.archive import INTS, REALS, TEXT, Rule, read_archive, write_archive
from bbparse.runtime.errors import ConfigError, ModelError
from bbparse.runtime.options import check_type
from bbparse.text.tagger import TAGGER_ARRAYS, tagger_arrays, tagger_from
from bbparse.text.tokenizer import TOKENIZER_ARRAYS, Tokenizer

KIND = "bbparse.Phrases"
LEVELS = ("kinds", "split")


def _pairs_rules(name: str) -> dict[str, Rule]:
    pairs, rules = f"{name}_parent", f"{name}_rule_pair"
    return {
        pairs: (INTS, 1, pairs), f"{name}_head": (INTS, 1, pairs),
        f"{name}_score": (REALS, 1, pairs), f"{name}_stop": (REALS, 3, None),
        f"{name}_rule_ptr": (INTS, 1, None), rules: (INTS, 1, rules),
        f"{name}_rule_side": (INTS, 1, rules), f"{name}_rule_score": (REALS, 2, None),
        f"{name}_root": (REALS, 1, None),
    }


_RULES: dict[str, Rule] = {
    "header": (TEXT, 0, None),
    **{name: rule for level in LEVELS for name, rule in _pairs_rules(level).items()},
    "table_keys": ("u", 1, "table_keys"), "table_values": (REALS, 1, "table_keys"),
    "dependencies": ("u", 1, None), **TAGGER_ARRAYS, **TOKENIZER_ARRAYS,
}


def save_phrases(parser: PhraseParser, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically; `OutputError` on failure."""
    check_type("parser", parser, PhraseParser, "a PhraseParser", ModelError)
    header = {
        "entries": parser.vocabulary.entries,
        "symbols": [grammar.symbols for grammar in parser.grammars],
        "n_tags": parser.grammar.n_tags,
        "settings": asdict(parser.settings),
        "margin": parser.tagger.margin,
    }
    arrays: dict[str, NDArray[Any]] = {"header": np.array(json.dumps(header))}
    for name, grammar in zip(LEVELS, parser.grammars):
        for field, array in grammar.pairs._asdict().items():
            arrays[f"{name}_{field}"] = array
    slots, values = parser.grammar.table
    order = np.argsort(slots)[np.count_nonzero(slots == 0) :]
    arrays["table_keys"], arrays["table_values"] = slots[order], values[order]
    arrays |= tagger_arrays(parser.tagger.tagger)
    if parser.tokenizer is not None:
        arrays |= parser.tokenizer.to_arrays()
    if parser.dependencies is not None:
        arrays["dependencies"] = np.frombuffer(model_bytes(parser.dependencies.model), np.uint8)
    write_archive(path, KIND, arrays)


def load_phrases(path: str | os.PathLike[str]) -> PhraseParser:
    """Read a model file; `ModelError` if it is missing, damaged, of another kind or newer."""
    optional = {"dependencies", *TAGGER_ARRAYS, *TOKENIZER_ARRAYS}
    arrays = read_archive(path, KIND, _RULES, optional, ModelError)
    where = os.fspath(path)
    try:
        header = json.loads(str(arrays["header"].item()))
        vocabulary = Vocabulary(header["entries"])
        n_tags = int(header["n_tags"])
        grammars = [
            Grammar(list(symbols), n_tags, _pairs(name, arrays, symbols, where))
            for name, symbols in zip(LEVELS, header["symbols"], strict=True)
        ]
        grammars[-1].table = _table(arrays)
        tagger = PhraseTagger(
            tagger_from(arrays, where), grammars[-1], vocabulary, float(header["margin"])
        )
        margins = tuple(map(float, header["settings"].pop("margins")))
        settings = PhraseSettings(margins, **header["settings"])
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise ModelError(f"{where}: the header is damaged: {error}") from None
    dependencies = None
    if "dependencies" in arrays:
        try:
            dependencies = Parser(model_of_bytes(arrays["dependencies"].tobytes()))
        except ModelError as error:
            raise ModelError(f"{where}: its dependency parser: {error}") from None
    tokenizer = None
    if not arrays.keys().isdisjoint(TOKENIZER_ARRAYS):
        tokenizer = Tokenizer.from_arrays(arrays, where)
    try:
        return PhraseParser(vocabulary, grammars, tagger, dependencies, settings, tokenizer)
    except (KeyError, ConfigError) as error:
        raise ModelError(f"{where}: its grammars do not fit each other: {error}") from None


def _table(arrays: dict[str, NDArray[Any]]) -> Table:
    keys = arrays["table_keys"].astype(np.uint64)
    if len(keys) and (keys[0] == 0 or (keys[1:] <= keys[:-1]).any()):
        raise ValueError("table_keys are not sorted, expected none twice and none 0")
    return open_table(keys, arrays["table_values"].astype(np.float32))


def _pairs(name: str, arrays: dict[str, NDArray[Any]], symbols: list[str], where: str) -> Pairs:
    types = dict.fromkeys(("score", "stop", "rule_score", "root"), np.float32)
    fields: dict[str, NDArray[Any]] = {
        field: np.ascontiguousarray(arrays[f"{name}_{field}"], types.get(field, np.int32))
        for field in Pairs._fields
    }
    pairs = Pairs(**fields)
    n_symbols, n_pairs, n_rules = len(symbols), len(pairs.parent), len(pairs.rule_pair)
    for field, minimum, limit, shape in (
        ("parent", 0, n_symbols, (n_pairs,)), ("head", 0, n_symbols, (n_pairs,)),
        ("rule_pair", 0, n_pairs, (n_rules,)), ("rule_side", 0, 2, (n_rules,)),
        ("rule_ptr", 0, n_rules + 1, (n_symbols + 1,)), ("stop", -np.inf, 1, (2, 2, n_pairs)),
        ("rule_score", -np.inf, 1, (n_rules, 2)), ("root", -np.inf, 1, (n_symbols,)),
    ):
        array = getattr(pairs, field)
        if array.shape != shape or (
            array.size and not minimum <= array.min() <= array.max() < limit
        ):
            raise ModelError(
                f"{where}: {name}_{field} has shape {array.shape}, or values out of range,"
                f" expected {shape} and {minimum} to below {limit}"
            )
    if (np.diff(pairs.rule_ptr) < 0).any() or not (pairs.root > -np.inf).any():
        raise ModelError(f"{where}: {name} is damaged, or a grammar without a start symbol")
    return pairs
