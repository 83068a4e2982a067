"""Configuration: one TOML file for training and parsing.

Each table is a record with defaults and the ranges of values. An unknown key is an error that lists
the known ones, so a misspelt key is never silently ignored. Templates and the settings of the
search have records of their own (`bbparse.models.templates.TemplateSet`,
`bbparse.inference.search.settings.SearchSettings`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from bbparse.inference.oracles.projective.recurrences import RECURRENCES
from bbparse.inference.search.settings import SearchSettings
from bbparse.models.templates import TemplateSet, default_label_templates
from bbparse.runtime.errors import ConfigError
from bbparse.runtime.shipped import Shipped

T = TypeVar("T")

CONFIGURATIONS = Shipped("configuration", "configs", ".toml", ConfigError)
METHODS = ("adagrad", "perceptron")
SOLVERS = ("bb", "price-and-cut")
#: Keys in older files → the keys now.
FORMER_KEYS = {
    "pairs": "biaffine_dim",
    "shared": "arc_mlp_dim",
    "parts": "part_dim",
    "naming": "label_dim",
}


def _checked(default: Any, right: Callable[[Any], bool], expected: str, **others: Any) -> Any:
    """Return a field with a check of its values, and the words for that check."""
    return field(default=default, metadata={"right": right, "expected": expected, **others})


def _whole(default: int, least: int) -> Any:
    expected = f"an integer of at least {least}"
    return _checked(default, lambda v: type(v) is int and v >= least, expected)


def _positive(default: float) -> Any:
    return _checked(default, lambda v: v > 0.0, "a number above 0")


def _cost(default: float) -> Any:
    return _checked(default, lambda v: v >= 0.0, "0 or more")


def _one_of(default: Any, values: Collection[Any]) -> Any:
    return _checked(default, lambda v: v in values, f"one of {', '.join(map(str, values))}")


def _size(default: int) -> Any:
    expected = "a multiple of 16 up to 4096"
    return _checked(default, lambda v: v % 16 == 0 and 16 <= v <= 4096, expected)


def _dropout(default: float) -> Any:
    return _checked(default, lambda v: 0.0 <= v < 1.0, "at least 0 and below 1")


class Record:
    """A table of a configuration; its fields carry the checks of their values."""

    __slots__ = ()
    table: ClassVar[str]

    def __post_init__(self) -> None:
        for option in fields(self):  # type: ignore[arg-type]
            value = getattr(self, option.name)
            if option.metadata and not option.metadata["right"](value):
                raise ConfigError(
                    f"{self.table}.{option.name} is {value!r},"
                    f" expected {option.metadata['expected']}"
                )


@dataclass(frozen=True, slots=True)
class ModelConfig(Record):
    """Kind of trees, and dynamic program."""

    table = "model"
    #: Recurrence, see :mod:`bbparse.inference.oracles.projective.recurrences`.
    backbone: str = _one_of("grandsib", RECURRENCES)
    #: True if the root takes exactly one modifier.
    single_root: bool = True
    #: True if arcs must not cross. With "auto", training decides by the treebank.
    projective: bool | str = _checked(
        True, lambda v: v in (True, False, "auto"), "true, false or 'auto'", also=("auto",)
    )
    #: Branch and bound, or price and cut (`inference.programs`), which needs highspy. With price
    #: and cut, a model of arcs and grandchildren parses without pruning and scores grandchildren
    #: on demand.
    solver: str = _one_of("bb", SOLVERS)


@dataclass(frozen=True, slots=True)
class PrunerConfig(Record):
    """Pruning of candidate heads: by the network, or with templates by a first-order classifier."""

    table = "pruner"
    #: Maximum number of candidate heads per word; 0: all.
    k: int = _whole(10, 0)
    #: Drop heads whose log-odds are more than this below those of the word's best head.
    margin: float = _positive(6.0)
    #: Passes over the training data, and step of AdaGrad.
    epochs: int = _whole(3, 1)
    rate: float = _positive(0.05)
    #: Folds of the training data. The candidates of a fold come from a pruner that was trained on
    #: the others; 1: from the pruner itself.
    folds: int = _whole(4, 1)


@dataclass(frozen=True, slots=True)
class NetworkConfig(Record):
    """The network that scores arcs, siblings, grandchildren and labels, in place of templates."""

    table = "network"
    #: Maximum number of passes over the training data, maximum number of training words in all
    #: passes, and peak learning rate of Adam. With 0 epochs, templates replace the network.
    epochs: int = _whole(0, 0)
    words: int = _whole(4_200_000, 1)
    rate: float = _positive(0.003)
    #: Layers after the first, a convolution over five words: r for a recurrence over the sentence,
    #: c for a convolution over three words.
    layers: str = _checked(
        "rcrcr", lambda v: set(v) <= {"r", "c"} and len(v) <= 8, "at most 8 letters r and c"
    )
    #: Sizes of word vectors, alone and in context.
    word: int = _size(96)
    width: int = _size(192)
    #: Sizes of the vectors of words as endpoints of arcs, in products and in sums; of siblings and
    #: grandchildren; and of labels.
    biaffine_dim: int = _size(96)
    arc_mlp_dim: int = _size(64)
    part_dim: int = _size(32)
    label_dim: int = _size(96)
    #: Dropout rates in training: of the numbers between layers, of words (which keep only their
    #: tags), and of single attributes.
    dropout: float = _dropout(0.33)
    word_dropout: float = _dropout(0.15)
    attribute_dropout: float = _dropout(0.08)
    #: Words per step.
    batch: int = _whole(1024, 1)
    #: Number of networks with different initial weights; their scores are averaged.
    members: int = _checked(1, lambda v: 1 <= v <= 16, "1 to 16")
    #: Attribute values that occur less often have no vectors.
    cutoff: int = _whole(2, 1)


@dataclass(frozen=True, slots=True)
class FactorConfig(Record):
    """Non-local factors."""

    table = "factors"
    #: Names of installed factor families.
    families: tuple[str, ...] = _checked(
        (), lambda v: all(isinstance(name, str) for name in v), "a list of names"
    )
    #: A feature is used if it fires in at least this many gold trees.
    cutoff: int = _whole(5, 1)
    #: Learning rate of the factors' weights, as a fraction of the backbone's. A large rate overfits
    #: rare features that overlap with the backbone's, and large weights loosen the bounds.
    rate: float = _positive(0.2)
    #: With a network, factors are trained on sentences that it was not trained on: `folds` parts
    #: of the training data are each scored by a network that was trained on the others in
    #: `fold_epochs` passes. The keys below apply to this training. With templates, factors are
    #: trained together with them.
    folds: int = _whole(4, 2)
    fold_epochs: int = _whole(6, 1)
    #: Passes for the factors.
    epochs: int = _whole(3, 1)
    #: Added to every wrong arc while decoding.
    cost: float = _cost(4.0)
    #: Initial sum of squares of AdaGrad for the factors' weights.
    start: float = _positive(1.0)
    #: First epoch that is averaged; before it is reached, all epochs are.
    average_from: int = _whole(1, 1)
    #: Maximum number of search nodes per training sentence.
    node_limit: int = _whole(6, 1)
    #: Number of the backbone's best trees to compare the gold tree with when features are selected:
    #: `cutoff` counts the trees in which a feature distinguishes the gold tree.
    rivals: int = _whole(1, 1)


@dataclass(frozen=True, slots=True)
class LearningConfig(Record):
    """Training of templates and factors; `seed` also applies to networks."""

    table = "learning"
    #: Step size: per feature (AdaGrad, Duchi et al. 2011), or always 1.
    method: str = _one_of("adagrad", METHODS)
    #: Passes over the training data; the best one on dev is kept.
    epochs: int = _whole(8, 1)
    #: First epoch that is averaged; before it is reached, all epochs are.
    average_from: int = _whole(1, 1)
    #: AdaGrad's step.
    rate: float = _positive(0.1)
    #: Initial sum of squares of AdaGrad: larger values weaken rare features.
    start: float = _positive(1.0)
    #: Added to every wrong arc while decoding; 0: none.
    cost: float = _cost(1.0)
    #: Maximum number of search nodes per training sentence.
    node_limit: int = _whole(50, 1)
    #: Seed of the order of sentences and of initial weights.
    seed: int = _whole(1, 0)


@dataclass(frozen=True, slots=True)
class LabelConfig(Record):
    """The classifier of arc labels."""

    table = "labels"
    #: Passes over the training data, and step of AdaGrad. With 0 epochs there are no labels.
    epochs: int = _whole(4, 0)
    rate: float = _positive(0.3)


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings of a parser; see the records of its parts."""

    templates: TemplateSet = field(default_factory=lambda: TemplateSet.from_table({}))
    pruner_templates: TemplateSet = field(default_factory=lambda: TemplateSet.from_table({}))
    model: ModelConfig = field(default_factory=ModelConfig)
    pruner: PrunerConfig = field(default_factory=PrunerConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    factors: FactorConfig = field(default_factory=FactorConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    search: SearchSettings = field(default_factory=SearchSettings)
    labels: LabelConfig = field(default_factory=LabelConfig)
    label_templates: TemplateSet = field(default_factory=default_label_templates)

    def __post_init__(self) -> None:
        if self.network.epochs:
            for wrong, expected in (
                (self.model.backbone != "grandsib", "the backbone grandsib"),
                (self.model.solver != "bb", "the solver bb"),
                (self.templates.lines or self.pruner_templates.lines, "no templates"),
            ):
                if wrong:
                    raise ConfigError(
                        f"network.epochs is {self.network.epochs}, which needs {expected}"
                    )

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Configuration:
        """Build a configuration from parsed TOML; refuse unknown keys and impossible values."""
        tables = [*_RECORDS, "templates"]
        for name, value in table.items():
            if name not in tables:
                raise ConfigError(f"unknown table [{name}]; there are {', '.join(tables)}")
            if not isinstance(value, Mapping):
                raise ConfigError(f"{name} is {value!r:.60}, expected a table [{name}]")
        parts = {name: dict(table.get(name, {})) for name in _RECORDS}
        lines_of = {
            "templates": ("templates", table.get("templates")),
            "pruner_templates": ("pruner.templates", parts["pruner"].pop("templates", None)),
            "label_templates": ("labels.templates", parts["labels"].pop("templates", None)),
        }
        # First the keys: a misspelt one may be why templates seem to lack.
        records: dict[str, Any] = {
            name: read_record(_RECORDS[name], part, name) for name, part in parts.items()
        }
        for name, (where, lines) in lines_of.items():
            if lines is not None:
                records[name] = TemplateSet.from_table(lines, where)
            elif name != "label_templates" and not parts["network"].get("epochs"):
                raise ConfigError(f"table [{where}] is missing")
        config = cls(**records)
        if not any(config.label_templates.templates.values()):
            raise ConfigError("labels.templates has no template, expected at least one")
        return config

    @classmethod
    def load(cls, name_or_path: str | Path) -> Configuration:
        """Read a configuration by the name it is shipped under, or by its path."""
        path = CONFIGURATIONS.path(name_or_path)
        try:
            with open(path, "rb") as stream:
                table = tomllib.load(stream)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not TOML: {error}") from None
        try:
            return cls.from_table(table)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    def to_table(self) -> dict[str, Any]:
        """Return the table that :meth:`from_table` reads, of plain lists, strings and numbers."""
        table: dict[str, Any] = {name: record_table(getattr(self, name)) for name in _RECORDS}
        table["templates"] = self.templates.to_table()
        table["pruner"]["templates"] = self.pruner_templates.to_table()
        table["labels"]["templates"] = self.label_templates.to_table()
        return table

    @property
    def method(self) -> dict[str, Any]:
        """Options of `bbparse.solve`, except limits."""
        if self.model.solver != "bb":
            return {"method": self.model.solver}
        return self.search_options

    @property
    def search_options(self) -> dict[str, Any]:
        """Options of branch and bound, which decodes in training: that needs a tree, no proof."""
        if not self.projective:
            return {"settings": self.search}
        return {"backbone": self.model.backbone, "settings": self.search}

    @property
    def projective(self) -> bool:
        """True if no two arcs of a tree may cross; also while training has not settled "auto"."""
        return bool(self.model.projective)

    def with_(self, part: str, **changes: Any) -> Configuration:
        """Return a copy with fields of one record changed; values of None change nothing."""
        changes = {key: value for key, value in changes.items() if value is not None}
        return replace(self, **{part: replace(getattr(self, part), **changes)})


#: The class of each table, except for tables of templates.
_RECORDS: dict[str, Any] = {
    x.name: x.default_factory for x in fields(Configuration) if "templates" not in x.name
}


def read_record(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    """Build a record from a TOML table; the types of values are checked against the defaults."""
    defaults = {f.name: getattr(cls(), f.name) for f in fields(cls)}  # type: ignore[arg-type]
    others = {f.name: f.metadata.get("also", ()) for f in fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in table.items():
        key = FORMER_KEYS.get(name, name)
        if key not in defaults:
            raise ConfigError(f"unknown key {name!r} in [{where}]; keys are {', '.join(defaults)}")
        default = defaults[key]
        if isinstance(default, tuple) and isinstance(value, list | tuple):
            value = tuple(value)
        elif isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        elif type(value) is not type(default) and value not in others[key]:
            raise ConfigError(
                f"{where}.{key} is {value!r:.60}, expected"
                f" {' or '.join([_described(default), *map(repr, others[key])])}"
            )
        values[key] = value
    return cls(**values)


def _described(default: object) -> str:
    names = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}
    return names.get(type(default), "a list of strings")


def record_table(record: Any) -> dict[str, Any]:
    """Return the table that `read_record` reads, of plain lists, strings and numbers."""
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
