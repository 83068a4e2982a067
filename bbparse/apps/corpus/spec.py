"""Parse specifications: a model and how to parse with it, as one value for other processes.

`mapper` makes a function on pandas data frames from it, which other engines call on batches.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from bbparse import __version__
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.neural.ragged import batches
from bbparse.parser.parse import USUAL_FILES, FileOptions, Parse
from bbparse.parser.parser import Parser
from bbparse.parser.valid import rules_for
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import BBParseError, ConfigError, ModelError
from bbparse.runtime.output import temporary_folder
from bbparse.text.segmentation import Split, sentences_of_text
from bbparse.text.tokenizer import LanguageCheck
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.drawing.formats import FORMATS, Style
from bbparse.treebank.sections import attempts

#: Settings for reading, parsing and writing shards.
Settings = FileOptions


@dataclass(frozen=True)
class ParseSpec:
    """Everything that outputs depend on except inputs; can be pickled, and compares by content."""

    model: str  #: Name of the model, for messages.
    content: bytes = field(repr=False)  #: Bytes of the model file.
    settings: Settings = USUAL_FILES
    factors: tuple[str, ...] = ()  #: Families that the model needs, as ``"module:Class"``.
    rules: Rules | None = field(default=None, compare=False)  #: Rules of ``settings.valid``.
    rules_digest: str = ""  #: SHA-256 of their file.

    @classmethod
    def of(
        cls,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        settings: Settings | None = None,
        factors: Iterable[str] = (),
    ) -> ParseSpec:
        """Read the model and the rules, so that no other process has to.

        Parameters
        ----------
        model : path or name
        settings : Settings, optional
        factors : iterable of "module:Class"
            Families that the model was trained with and that are not installed as plug-ins.

        Raises
        ------
        ModelError
            If there is no such model.
        ConfigError
            If the rules cannot be read.
        """
        settings = settings or USUAL_FILES
        path = MODELS.path(model)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
        rules, digest, valid = None, "", settings.valid
        if valid not in (None, "none", "ud"):
            if not isinstance(valid, str):
                raise ConfigError("valid is a table of rules, expected its name or file")
            rules = Rules.load(valid)
            digest = sha256(Path(valid).read_bytes()).hexdigest() if Path(valid).is_file() else ""
        return cls(os.fspath(model), content, settings, tuple(factors), rules, digest)

    @cached_property
    def description(self) -> dict[str, Any]:
        """Everything that distinguishes it, for manifests; the model by its hash."""
        about = {
            "bbparse": __version__,
            "model_sha256": sha256(self.content).hexdigest(),
            "settings": asdict(self.settings),
            "factors": list(self.factors),
        }
        return {**about, "rules_sha256": self.rules_digest} if self.rules_digest else about

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the description, in hexadecimal."""
        return sha256(json.dumps(self.description, sort_keys=True).encode()).hexdigest()

    def parser(self) -> Parser:
        """Return the parser, which each process loads once; errors are those of loading a model."""
        return _loaded(self)

    def parse(
        self,
        parser: Parser,
        sentences: Iterable[Sentence],
        leave_out: Callable[[str], None] | None = None,
    ) -> Iterator[Parse]:
        """Parse sentences with the parser of this specification.

        Parameters
        ----------
        parser : Parser
            Result of :meth:`parser`.
        sentences : iterable of Sentence
        leave_out : callable, optional
            If given, a sentence that cannot be parsed is left out, and this is called with the
            error and its place. Otherwise the error is raised when the sentence is reached.

        Raises
        ------
        BBParseError
            At once if the specification is wrong.
        """
        valid: Rules | str | None = self.settings.valid
        if self.rules is not None:
            valid = (rules_for(None, parser.labeller) or Rules(())) + self.rules
        options = replace(self.settings, valid=rules_for(valid, parser.labeller) or "none")
        parser.wanted(options)

        if leave_out is None:
            return parser.parse_all(parser.tag(sentences), options)

        def parse(batch: list[Sentence]) -> list[Parse]:
            return list(parser.parse_all(parser.tag(batch), options))

        return (
            result
            for batch in batches(sentences)
            for results in attempts(parse, batch, batch[0].source, leave_out)
            for result in results
        )

    def text(self, parse: Parse) -> str:
        """Return the output for a sentence."""
        write = FORMATS[self.settings.format_name]
        style = Style(self.settings.k_best, ascii_only=self.settings.ascii_only)
        return write(parse.sentence, parse.trees, parse.solution.status, style)


@lru_cache(maxsize=2)
def _loaded(spec: ParseSpec) -> Parser:
    with temporary_folder() as folder:
        path = Path(folder, "model")
        path.write_bytes(spec.content)
        try:
            parser = Parser.load(path, spec.factors)
        except ModelError as error:
            raise ModelError(str(error).replace(str(path), spec.model)) from None
    return parser.for_files(spec.settings)


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
    """Make a function that adds a column with trees to a data frame with texts.

    The model is pickled with the function, and each process loads it once.

    Parameters
    ----------
    model : path or name
    column : str
        Name of the column of texts, each with any number of sentences.
    split : {"text", "lines", "words"} or None
        How to split texts into sentences and words; None: they are CoNLL-U.
    output, error : str
        Names of the new columns: the trees as one text, and the error of a text that has no trees.
        Both are missing where the text is missing.
    factors : iterable of "module:Class"
        Families that the model was trained with and that are not installed as plug-ins.
    settings
        See `Settings`.

    Returns
    -------
    Mapper

    Raises
    ------
    ModelError
        If there is no such model.
    ConfigError
        If the rules cannot be read, or a setting is not for texts.
    """
    if settings.get("skip_invalid"):
        raise ConfigError("skip_invalid is for shards: the error of a text stands beside it")
    spec = ParseSpec.of(model, Settings(split=split, **settings), factors)
    return Mapper(spec, column, output, error)


@dataclass(frozen=True, eq=False)
class Mapper:
    """Function on data frames, made by `mapper`: call it with a frame or an iterator of frames."""

    spec: ParseSpec
    column: str
    output: str
    error: str

    def __call__(self, frame: Any) -> Any:
        """Return a data frame, or an iterator of them, with two more columns.

        `BBParseError` if there is no such column, or the model cannot parse its texts.
        """
        return map(self._parsed, frame) if isinstance(frame, Iterator) else self._parsed(frame)

    def __dask_tokenize__(self) -> object:
        return self.spec.digest, self.column, self.output, self.error

    def _parsed(self, frame: Any) -> Any:
        import pandas

        if self.column not in frame.columns:
            names = ", ".join(map(str, frame.columns))
            raise BBParseError(f"the data has no column {self.column!r}, its columns are {names}")
        texts = [None if pandas.isna(value) else str(value) for value in frame[self.column]]
        trees, errors = self._trees(texts) if len(texts) else ([], [])
        new = {self.output: trees, self.error: errors}
        columns = {  # of text even if all are missing: Parquet files need a type
            name: pandas.Series(values, frame.index, dtype="string") for name, values in new.items()
        }
        return frame.assign(**columns)

    def _trees(self, texts: list[str | None]) -> tuple[list[str | None], list[str | None]]:
        """Return the trees of each text, and its error."""
        parser = self.spec.parser()
        language_check = LanguageCheck(parser.tokenizer) if parser.tokenizer is not None else None
        errors: list[str | None] = [None] * len(texts)
        rows: list[int] = []
        sentences: list[Sentence] = []
        for i, text in enumerate(texts):
            try:
                raw = [] if text is None else self._sentences(text, parser, language_check)
                tagged = list(parser.tag(raw))
            except BBParseError as error:
                errors[i] = str(error)
                continue
            sentences += tagged
            rows += [i] * len(tagged)
        written: list[list[str]] = [[] for _ in texts]
        for i, parse in zip(rows, self.spec.parse(parser, sentences)):
            written[i].append(self.spec.text(parse))
        trees = [
            None if text is None or error is not None else "".join(lines)
            for text, error, lines in zip(texts, errors, written)
        ]
        return trees, errors

    def _sentences(
        self, text: str, parser: Parser, language_check: LanguageCheck | None
    ) -> Iterable[Sentence]:
        split = self.spec.settings.split
        if split is None:
            return read_conllu(io.StringIO(text))
        return sentences_of_text(
            text, parser.needed_tokenizer(), split=split, language_check=language_check
        )
