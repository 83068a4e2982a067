"""A model and how to parse with it, as one thing that other processes and machines are given.

`mapper` makes of it a function on pandas data frames, which other engines call on batches.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from bbparse import __version__
from bbparse.errors import BBParseError, ConfigError, ModelError
from bbparse.model import DEFAULT_MODEL, MODELS
from bbparse.parsing.compiling import load_compiled
from bbparse.parsing.parse import Parse
from bbparse.parsing.parser import Parser
from bbparse.parsing.valid import rules_for
from bbparse.scoring.problem_maker import batches
from bbparse.show.formats import FORMATS, Style
from bbparse.storage.output import temporary_folder
from bbparse.text.segmentation import Split, sentences_of_text
from bbparse.text.tokenizer import LanguageCheck
from bbparse.treebank import Sentence, read_conllu
from bbparse.validity.rules import Rules


@dataclass(frozen=True, slots=True)
class Settings:
    """How to read, parse and write; the fields are what ``bbparse parse`` has as options."""

    split: Split | None = None
    format_name: str = "conllu"
    k_best: int = 1
    keep_heads: bool = False
    projective: bool | None = None
    members: int | None = None
    valid: str | None = None
    confidence: bool = False
    ascii_only: bool = False
    prune: int | None = None
    time_limit: float | None = None
    node_limit: int | None = None
    skip_invalid: bool = False  #: Of shards: leave sentences out that cannot be parsed.


@dataclass(frozen=True)
class Recipe:
    """All that outputs depend on but their inputs. It may be pickled, and is equal by content."""

    model: str  #: Name of the model, for messages.
    content: bytes = field(repr=False)  #: Of the model's file.
    settings: Settings = Settings()
    factors: tuple[str, ...] = ()  #: Families that the model needs, as ``"module:Class"``.
    rules: Rules | None = field(default=None, compare=False)  #: Those of ``settings.valid``.
    rules_digest: str = ""

    @classmethod
    def of(
        cls,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        settings: Settings | None = None,
        factors: Iterable[str] = (),
    ) -> Recipe:
        """Read what is needed, so that nobody else has to.

        Raises
        ------
        ModelError
            If there is no such model.
        ConfigError
            If rules cannot be read.
        """
        settings = settings or Settings()
        path = MODELS.path(model)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
        rules, digest, valid = None, "", settings.valid
        if valid not in (None, "none", "ud"):
            rules = Rules.load(valid)
            digest = sha256(Path(valid).read_bytes()).hexdigest() if Path(valid).is_file() else ""
        return cls(os.fspath(model), content, settings, tuple(factors), rules, digest)

    @cached_property
    def description(self) -> dict[str, Any]:
        """What tells it apart, for manifests; of the model its hash."""
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
        """The parser, which a process loads once; raises what loading a model raises."""
        return _loaded(self)

    def parses(
        self,
        parser: Parser,
        sentences: Iterable[Sentence],
        leave_out: Callable[[str], None] | None = None,
    ) -> Iterator[Parse]:
        """What the parser, which is this recipe's, finds for sentences.

        What is wrong with the recipe is raised at once, what is with a sentence when it is reached;
        with ``leave_out`` it is given this instead, with its place, and the sentence is left out.
        """
        asked = self.settings
        valid: Rules | str | None = asked.valid
        if self.rules is not None:
            valid = (rules_for(None, parser.labeller) or Rules(())) + self.rules
        options: dict[str, Any] = {
            "k_best": asked.k_best, "prune": asked.prune, "confidence": asked.confidence,
            "valid": rules_for(valid, parser.labeller) or "none",
            "time_limit": asked.time_limit, "node_limit": asked.node_limit,
        }  # fmt: skip
        parser.wanted(**options)

        def parse(some: Iterable[Sentence]) -> Iterator[Parse]:
            tagged = map(parser.tagged, some)
            return parser.parse_all(tagged, keep_heads=asked.keep_heads, **options)

        return parse(sentences) if leave_out is None else _valid(parse, sentences, leave_out)

    def text(self, found: Parse) -> str:
        """What is written for a sentence."""
        write = FORMATS[self.settings.format_name]
        style = Style(self.settings.k_best, ascii_only=self.settings.ascii_only)
        return write(found.sentence, found.trees, found.solution.status, style)


def _valid(
    parse: Callable[[Iterable[Sentence]], Iterator[Parse]],
    sentences: Iterable[Sentence],
    leave_out: Callable[[str], None],
) -> Iterator[Parse]:
    """What is found for the sentences that can be parsed."""
    for batch in batches(sentences):
        with suppress(BBParseError):  # which of them it is shows one by one
            yield from list(parse(batch))
            continue
        for one in batch:
            try:
                found = list(parse([one]))
            except BBParseError as error:
                start = f"{one.source}, line "
                where = "" if str(error).startswith(start) else f"{start}{one.line_number}: "
                leave_out(f"{where}{error}")
            else:
                yield from found


@lru_cache(maxsize=2)
def _loaded(recipe: Recipe) -> Parser:
    with temporary_folder() as folder:
        path = Path(folder, "model")
        path.write_bytes(recipe.content)
        try:
            parser = load_compiled(path, recipe.factors)
        except ModelError as error:
            raise ModelError(str(error).replace(str(path), recipe.model)) from None
    if recipe.settings.projective is not None:
        parser = parser.with_projective(recipe.settings.projective)
    if recipe.settings.members is not None:
        parser = parser.with_members(recipe.settings.members)
    return parser


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
        likeness = LanguageCheck(parser.cutter) if parser.cutter is not None else None
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
        self, text: str, parser: Parser, likeness: LanguageCheck | None
    ) -> Iterable[Sentence]:
        split = self.recipe.settings.split
        if split is None:
            return read_conllu(io.StringIO(text))
        return sentences_of_text(text, parser.needed_cutter(), split=split, language_check=likeness)
