"""Parts of a configuration: a record for each table, with defaults and the ranges of values.

Templates and the settings of the search have records of their own
(`bbparse.models.templates.TemplateSet`, `bbparse.inference.search.settings.SearchSettings`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from bbparse.inference.oracles.projective.recurrences import RECURRENCES
from bbparse.runtime.errors import ConfigError

T = TypeVar("T")

METHODS = ("adagrad", "passive-aggressive", "perceptron")
SOLVERS = ("bb", "price-and-cut")


def _checked(default: Any, right: Callable[[Any], bool], expected: str, **others: Any) -> Any:
    """Return a field with a check of its values, and the words for that check."""
    return field(default=default, metadata={"right": right, "expected": expected, **others})


def _whole(default: int, least: int) -> Any:
    return _checked(
        default, lambda v: type(v) is int and v >= least, f"a whole number of at least {least}"
    )


def _positive(default: float) -> Any:
    return _checked(default, lambda v: v > 0.0, "a number above 0")


def _cost(default: float) -> Any:
    return _checked(default, lambda v: v >= 0.0, "0 or more")


def _one_of(default: Any, values: Collection[Any]) -> Any:
    return _checked(default, lambda v: v in values, f"one of {', '.join(map(str, values))}")


def _between(default: int, least: int, most: int) -> Any:
    return _checked(default, lambda v: least <= v <= most, f"{least} to {most}")


def _size(default: int, step: int = 4) -> Any:
    return _checked(
        default, lambda v: v % step == 0 and step <= v <= 4096, f"a multiple of {step} up to 4096"
    )


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
    #: True if arcs must not cross. "auto" is for training, which decides by the trees: a model
    #: has one or the other.
    projective: bool | str = _checked(
        True, lambda v: v in (True, False, "auto"), "true, false or 'auto'", also=("auto",)
    )
    #: Branch and bound, or price and cut (`inference.programs`), which needs highspy. With price
    #: and cut, a model of arcs and grandchildren parses without pruning and scores grandchildren
    #: on demand.
    solver: str = _one_of("bb", SOLVERS)


@dataclass(frozen=True, slots=True)
class PrunerConfig(Record):
    """Pruning of candidate heads; beside templates, by a first-order classifier."""

    table = "pruner"
    #: Most candidate heads of a word; 0: all.
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
    """The network that scores arcs, siblings, grandchildren and labels, in place of templates.

    Sizes are multiples of 16.
    """

    table = "network"
    #: Most passes over the training data, most training words in all passes, and the largest step
    #: of Adam. With 0 epochs there is no network, and templates score.
    epochs: int = _whole(0, 0)
    words: int = _whole(4_200_000, 1)
    rate: float = _positive(0.003)
    #: Layers after the first, a convolution over five words: r for a recurrence over the sentence,
    #: c for a convolution over three words.
    layers: str = _checked(
        "rcrcr", lambda v: set(v) <= {"r", "c"} and len(v) <= 8, "at most 8 letters r and c"
    )
    #: Lengths of word vectors, alone and in context.
    word: int = _size(96, 16)
    width: int = _size(192, 16)
    #: Lengths of the vectors of words as endpoints: of arcs, in products and in sums; of siblings
    #: and grandchildren; and of labels.
    pairs: int = _size(96, 16)
    shared: int = _size(64, 16)
    parts: int = _size(32, 16)
    naming: int = _size(96, 16)
    #: Fractions that are dropped at random in training: of the numbers between layers, of words
    #: (of which then only the tags are known), and of single attributes.
    dropout: float = _dropout(0.33)
    word_dropout: float = _dropout(0.15)
    attribute_dropout: float = _dropout(0.08)
    #: Words in a step.
    batch: int = _whole(1024, 1)
    #: Number of networks with different initial weights; their scores are averaged.
    members: int = _between(1, 1, 16)
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
    #: Learning rate of the factors' weights, as a fraction of the backbone's. Rare evidence that
    #: overlaps with the backbone's is overfitted otherwise, and large weights make loose bounds.
    rate: float = _positive(0.2)
    #: Beside a network, factors are trained on sentences that it was not trained on. `folds` is
    #: the number of parts of the training data, each scored by a network that was trained on the
    #: others in `fold_epochs` passes. The keys below also hold for that. Beside templates, factors
    #: are trained together with them.
    folds: int = _whole(4, 2)
    fold_epochs: int = _whole(6, 1)
    #: Passes for the factors.
    epochs: int = _whole(3, 1)
    #: Added to every wrong arc while decoding.
    cost: float = _cost(4.0)
    #: Initial sum of squares of AdaGrad for the factors' weights.
    start: float = _positive(1.0)
    #: Weights are averaged from this epoch on, and from the first before it is reached.
    average_from: int = _whole(1, 1)
    #: Most search nodes for a training sentence.
    node_limit: int = _whole(6, 1)
    #: Number of trees of the backbone that the gold tree is compared with, to find the features
    #: that matter: `cutoff` counts trees in which a feature distinguishes the gold tree.
    rivals: int = _whole(1, 1)


@dataclass(frozen=True, slots=True)
class LearningConfig(Record):
    """Training of weights."""

    table = "learning"
    #: Length of a step: per feature (Duchi et al. 2011), as the loss needs it (Crammer et al.
    #: 2006), or always 1.
    method: str = _one_of("adagrad", METHODS)
    #: Passes over the training data; the best one on dev is kept.
    epochs: int = _whole(8, 1)
    #: Weights are averaged from this epoch on, and from the first before it is reached.
    average_from: int = _whole(1, 1)
    #: AdaGrad's step, or the largest passive-aggressive step.
    rate: float = _positive(0.1)
    #: Initial sum of squares of AdaGrad: larger values weaken rare features.
    start: float = _positive(1.0)
    #: Added to every wrong arc while decoding; 0: none.
    cost: float = _cost(1.0)
    #: Most search nodes for a training sentence.
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

def read_record(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    """Build a record from a TOML table; the types of values are checked against the defaults."""
    defaults = {f.name: getattr(cls(), f.name) for f in fields(cls)}  # type: ignore[arg-type]
    others = {f.name: f.metadata.get("also", ()) for f in fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in defaults:
            raise ConfigError(f"unknown key {key!r} in [{where}]; keys are {', '.join(defaults)}")
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
    names = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
    return names.get(type(default), "a list of strings")


def record_table(record: Any) -> dict[str, Any]:
    """Return the table that `read_record` reads, of plain lists, strings and numbers."""
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
