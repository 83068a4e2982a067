"""Model files of `PhraseParser`: arrays, and a card in JSON; never pickle."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.grammar.counts import Table, open_table
from bbparse.grammar.grammar import Grammar, Pairs
from bbparse.grammar.parser import PhraseParser
from bbparse.grammar.tagger import PhraseTagger
from bbparse.grammar.words import Vocabulary
from bbparse.models.model_file import model_bytes, model_of_bytes
from bbparse.parser.parser import Parser
from bbparse.runtime.archive import (
    INTS,
    REALS,
    Fields,
    Rule,
    read_archive,
    reading_part,
    write_archive,
)
from bbparse.runtime.errors import ModelError
from bbparse.text.tagger import TAGGER_FIELDS, tagger_fields, tagger_from
from bbparse.text.tokenizer import TOKENIZER_FIELDS, Tokenizer

KIND = "bbparse.Phrases"
_RULES: dict[str, Rule] = {
    "phrases": dict,
    "parent": (INTS, 1, "parent"),
    "head": (INTS, 1, "parent"),
    "score": (REALS, 1, "parent"),
    "stop": (REALS, 3, None),
    "rule_ptr": (INTS, 1, None),
    "rule_pair": (INTS, 1, "rule_pair"),
    "rule_side": (INTS, 1, "rule_pair"),
    "rule_score": (REALS, 2, None),
    "root": (REALS, 1, None),
    "table_keys": ("u", 1, "table_keys"),
    "table_values": (REALS, 1, "table_keys"),
    "dependencies": ("u", 1, None),
    **TAGGER_FIELDS,
    **TOKENIZER_FIELDS,
}


def save_phrases(parser: PhraseParser, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically; `OutputError` on failure."""
    fields: Fields = {
        "phrases": {
            "entries": parser.vocabulary.entries,
            "symbols": parser.grammar.symbols,
            "n_tags": parser.grammar.n_tags,
        },
        **parser.grammar.pairs._asdict(),
    }
    slots, values = parser.grammar.table
    order = np.argsort(slots)[np.count_nonzero(slots == 0) :]
    fields["table_keys"], fields["table_values"] = slots[order], values[order]
    fields |= {**tagger_fields(parser.tagger.tagger), **parser.tokenizer.to_fields()}
    if parser.dependencies is not None:
        fields["dependencies"] = np.frombuffer(model_bytes(parser.dependencies.model), np.uint8)
    write_archive(path, KIND, fields)


def load_phrases(path: str | os.PathLike[str]) -> PhraseParser:
    """Read a model of ``bbparse train-phrases``, whose `parse` takes words; see the how-to page.

    Raises `ModelError` if it is missing, damaged, of another kind or version.
    """
    optional = {"dependencies", *TAGGER_FIELDS, *TOKENIZER_FIELDS}
    fields = read_archive(path, KIND, _RULES, optional, ModelError)
    where = os.fspath(path)
    tagger, tokenizer = tagger_from(fields, where), Tokenizer.from_fields(fields, where)
    dependencies = None
    if "dependencies" in fields:
        try:
            dependencies = Parser(model_of_bytes(fields["dependencies"].tobytes()))
        except ModelError as error:
            raise ModelError(f"{where}: its dependency parser: {error}") from None
    expected = {"entries": list[str], "symbols": list[str], "n_tags": int}
    with reading_part("phrases", fields, where, expected) as given:
        vocabulary, symbols = Vocabulary(given["phrases"]["entries"]), given["phrases"]["symbols"]
        pairs = _pairs(fields, len(symbols))
        grammar = Grammar(symbols, given["phrases"]["n_tags"], pairs, _table(fields))
        phrase_tagger = PhraseTagger(tagger, grammar, vocabulary)
        return PhraseParser(vocabulary, grammar, phrase_tagger, tokenizer, dependencies)


def _table(fields: Fields) -> Table:
    keys = fields["table_keys"].astype(np.uint64)
    if len(keys) and (keys[0] == 0 or (keys[1:] <= keys[:-1]).any()):
        raise ModelError("table_keys are not sorted, expected none twice and none 0")
    return open_table(keys, fields["table_values"].astype(np.float32))


def _pairs(fields: Fields, n_symbols: int) -> Pairs:
    types = dict.fromkeys(("score", "stop", "rule_score", "root"), np.float32)
    columns: dict[str, NDArray[Any]] = {
        field: np.ascontiguousarray(fields[field], types.get(field, np.int32))
        for field in Pairs._fields
    }
    pairs = Pairs(**columns)
    n_pairs, n_rules = len(pairs.parent), len(pairs.rule_pair)
    for field, minimum, limit, shape in (
        ("parent", 0, n_symbols, (n_pairs,)),
        ("head", 0, n_symbols, (n_pairs,)),
        ("rule_pair", 0, n_pairs, (n_rules,)),
        ("rule_side", 0, 2, (n_rules,)),
        ("rule_ptr", 0, n_rules + 1, (n_symbols + 1,)),
        ("stop", -np.inf, 1, (2, 2, n_pairs)),
        ("rule_score", -np.inf, 1, (n_rules, 2)),
        ("root", -np.inf, 1, (n_symbols,)),
    ):
        array = getattr(pairs, field)
        if array.shape != shape or (
            array.size and not minimum <= array.min() <= array.max() < limit
        ):
            raise ModelError(
                f"{field} has shape {array.shape}, or values out of range,"
                f" expected {shape} and {minimum} to below {limit}"
            )
    if (np.diff(pairs.rule_ptr) < 0).any() or not (pairs.root > -np.inf).any():
        raise ModelError("the grammar is damaged, or has no start symbol")
    return pairs
