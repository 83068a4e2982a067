"""Parse specifications: a model and how to parse with it, as one value for other processes."""

from __future__ import annotations

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
from bbparse.runtime.errors import ConfigError, ModelError
from bbparse.runtime.output import temporary_folder
from bbparse.treebank import Sentence
from bbparse.treebank.drawing.formats import FORMATS, Style
from bbparse.treebank.sections import attempts


@dataclass(frozen=True)
class ParseSpec:
    """Everything that outputs depend on except inputs; can be pickled, and compares by content."""

    model: str  #: Name of the model, for messages.
    content: bytes = field(repr=False)  #: Bytes of the model file.
    settings: FileOptions = USUAL_FILES
    factors: tuple[str, ...] = ()  #: Families that the model needs, as ``"module:Class"``.
    rules: Rules | None = field(default=None, compare=False)  #: Rules of ``settings.valid``.
    rules_digest: str = ""  #: SHA-256 of their file.

    @classmethod
    def of(
        cls, model: str | os.PathLike[str] = DEFAULT_MODEL, settings: FileOptions = USUAL_FILES,
        factors: Iterable[str] = (),
    ) -> ParseSpec:
        """Read the model and the rules, so that no other process has to.

        Parameters
        ----------
        model : path or name
        settings : FileOptions, optional
        factors : iterable of "module:Class"
            Families that the model was trained with and that are not installed as plug-ins.

        Raises
        ------
        ModelError, ConfigError
            If there is no such model, or the rules cannot be read.
        """
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
            "bbparse": __version__, "model_sha256": sha256(self.content).hexdigest(),
            "settings": asdict(self.settings), "factors": list(self.factors),
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
        self, parser: Parser, sentences: Iterable[Sentence],
        leave_out: Callable[[str], None] | None = None,
    ) -> Iterator[Parse]:
        """Parse sentences with the result of :meth:`parser`.

        With `leave_out`, a sentence that cannot be parsed is left out, and this is called with the
        error and its place. Otherwise the error is raised when the sentence is reached. Errors of
        the specification are raised at once, as a `BBParseError`.
        """
        valid: Rules | str | None = self.settings.valid
        if self.rules is not None:
            valid = (rules_for(None, parser.labeller) or Rules(())) + self.rules
        options = replace(self.settings, valid=rules_for(valid, parser.labeller) or "none")
        parser.steps(options)  # refuses what the model cannot do before anything is read

        if leave_out is None:
            return parser.parse_all(parser.tag(sentences), options)

        def parse(batch: list[Sentence]) -> list[Parse]:
            return list(parser.parse_all(parser.tag(batch), options))

        return (
            result for batch in batches(sentences)
            for results in attempts(parse, batch, batch[0].source, leave_out) for result in results
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
