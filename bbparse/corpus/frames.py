"""`mapper`: parsing as a function on pandas data frames, which other engines call on batches."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import Any

from bbparse.corpus.recipe import Recipe, Settings
from bbparse.errors import BBParseError, ConfigError
from bbparse.model import DEFAULT_MODEL
from bbparse.parsing.parser import Parser
from bbparse.text.cutter import Likeness
from bbparse.text.cutting import Split, sentences_of_text
from bbparse.treebank import Sentence, read_conllu


def mapper(
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    column: str = "text",
    *,
    split: Split | None = "text",
    output: str = "conllu",
    error: str = "error",
    factors: Iterable[str] = (),
    **settings: Any,
) -> Mapper:
    """A function from a data frame with texts to the same with trees.

    Its model goes with it where it is pickled, and is loaded once in each process.

    Parameters
    ----------
    model : path or name
    column : str
        Which column has the texts, each of any number of sentences.
    split : {"text", "lines", "words"} or None
        How texts are cut; None: they are CoNLL-U.
    output, error : str
        Names of the columns that are added: the trees as one text, and what is wrong with a text,
        which has no trees then. Texts that are missing have neither.
    factors : iterable of "module:Class"
        Families the model was trained with that are not installed as plug-ins.
    settings
        See `Settings`.

    Raises
    ------
    ModelError
        If there is no such model.
    ConfigError
        If rules cannot be read, or a setting is not for texts.
    """
    if settings.get("skip_invalid"):
        raise ConfigError("skip_invalid is for shards: what is wrong with a text stands beside it")
    recipe = Recipe.of(model, Settings(split=split, **settings), factors)
    return Mapper(recipe, column, output, error)


class Mapper:
    """What `mapper` makes: call it with a data frame, or with an iterator of them."""

    def __init__(self, recipe: Recipe, column: str, output: str, error: str) -> None:
        self.recipe = recipe
        self.column = column
        self.output = output
        self.error = error

    def __call__(self, frame: Any) -> Any:
        """A data frame, or each of an iterator of them, with two more columns.

        `BBParseError` if there is no such column, or the model cannot parse what it has.
        """
        return map(self._parsed, frame) if isinstance(frame, Iterator) else self._parsed(frame)

    def __dask_tokenize__(self) -> object:
        return self.recipe.digest, self.column, self.output, self.error

    def _parsed(self, frame: Any) -> Any:
        import pandas

        if self.column not in frame.columns:
            known = ", ".join(map(str, frame.columns))
            raise BBParseError(f"the data has no column {self.column!r}, its columns are {known}")
        texts = [None if pandas.isna(value) else str(value) for value in frame[self.column]]
        trees, errors = self._trees(texts) if len(texts) else ([], [])
        new = {self.output: trees, self.error: errors}
        columns = {  # of text even where all are missing, as files of columns have types
            name: pandas.Series(values, frame.index, dtype="string") for name, values in new.items()
        }
        return frame.assign(**columns)

    def _trees(self, texts: list[str | None]) -> tuple[list[str | None], list[str | None]]:
        """The trees of each text, and what is wrong with it."""
        parser = self.recipe.parser()
        likeness = Likeness(parser.cutter) if parser.cutter is not None else None
        errors: list[str | None] = [None] * len(texts)
        rows: list[int] = []
        sentences: list[Sentence] = []
        for i, text in enumerate(texts):
            try:
                own = [] if text is None else list(self._sentences(text, parser, likeness))
                tagged = [parser.tagged(sentence) for sentence in own]
            except BBParseError as error:
                errors[i] = str(error)
                continue
            sentences += tagged
            rows += [i] * len(tagged)
        written: list[list[str]] = [[] for _ in texts]
        for i, found in zip(rows, self.recipe.parses(parser, sentences)):
            written[i].append(self.recipe.text(found))
        trees = [
            None if text is None or error is not None else "".join(own)
            for text, error, own in zip(texts, errors, written)
        ]
        return trees, errors

    def _sentences(
        self, text: str, parser: Parser, likeness: Likeness | None
    ) -> Iterable[Sentence]:
        split = self.recipe.settings.split
        if split is None:
            return read_conllu(io.StringIO(text))
        return sentences_of_text(text, parser.needed_cutter(), split=split, likeness=likeness)
