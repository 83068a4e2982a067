"""The parts of a configuration: a record for each of its tables, with defaults and their ranges.

Templates and the settings of the search have records of their own
(`bbparse.configuration.templates.TemplateSet`, `bbparse.search.settings.SearchSettings`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from bbparse.errors import ConfigError
from bbparse.oracle.projective.recurrences import RECURRENCES

T = TypeVar("T")

METHODS = ("adagrad", "passive-aggressive", "perceptron")
SOLVERS = ("bb", "price-and-cut")


def _checked(default: Any, right: Callable[[Any], bool], expected: str, **others: Any) -> Any:
    """A field with what its values must be, as a test and in words."""
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
    """A table of a configuration; its fields say what their values must be."""

    __slots__ = ()
    table: ClassVar[str]

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if one.metadata and not one.metadata["right"](value):
                raise ConfigError(
                    f"{self.table}.{one.name} is {value!r}, expected {one.metadata['expected']}"
                )


@dataclass(frozen=True, slots=True)
class ModelConfig(Record):
    """What kind of trees, and which dynamic program."""

    table = "model"
    #: Recurrence, see :mod:`bbparse.oracle.projective.recurrences`.
    backbone: str = _one_of("grandsib", RECURRENCES)
    #: Whether the root takes exactly one modifier.
    single_root: bool = True
    #: Whether no two arcs cross. "auto" is for training, which looks at the trees: a model has
    #: one or the other.
    projective: bool | str = _checked(
        True, lambda v: v in (True, False, "auto"), "true, false or 'auto'", also=("auto",)
    )
    #: Branch and bound, or price and cut (:mod:`bbparse.pricing`), which needs highspy. With the
    #: latter, a model of arcs and grandchildren parses without pruning, and scores grandchildren
    #: on demand.
    solver: str = _one_of("bb", SOLVERS)


@dataclass(frozen=True, slots=True)
class PrunerConfig(Record):
    """Which heads of a word are candidates; beside templates, by a first-order classifier."""

    table = "pruner"
    #: Most heads of a word; 0: all.
    k: int = _whole(10, 0)
    #: Drop heads whose log-odds against the word's best head are below minus this.
    margin: float = _positive(6.0)
    #: Passes over the training data, and AdaGrad's step.
    epochs: int = _whole(3, 1)
    rate: float = _positive(0.05)
    #: Training sentences get their candidates from a pruner that did not see them, trained on
    #: the other folds; 1: from the pruner itself.
    folds: int = _whole(4, 1)


@dataclass(frozen=True, slots=True)
class NetworkConfig(Record):
    """The network that scores arcs, siblings, grandchildren and labels, in place of templates.

    Sizes are multiples of 16.
    """

    table = "network"
    #: Most passes over the training data, words that are learned from in all, and the largest step
    #: of Adam. With 0 epochs there is no network, and the templates score.
    epochs: int = _whole(0, 0)
    words: int = _whole(4_200_000, 1)
    rate: float = _positive(0.003)
    #: Layers after the first, a convolution over five words: r for a recurrence over the sentence,
    #: c for a convolution over three words.
    layers: str = _checked(
        "rcrcr", lambda v: set(v) <= {"r", "c"} and len(v) <= 8, "at most 8 letters r and c"
    )
    #: Lengths of the vectors of words, by themselves and in their sentence.
    word: int = _size(96, 16)
    width: int = _size(192, 16)
    #: Lengths of the vectors of words as ends of arcs, in products and in sums; of siblings and
    #: grandchildren; and of labels.
    pairs: int = _size(96, 16)
    shared: int = _size(64, 16)
    parts: int = _size(32, 16)
    naming: int = _size(96, 16)
    #: Fractions that are left out at random in training: of the numbers between layers, of the
    #: words (of which then only tags are known), and of single attributes.
    dropout: float = _dropout(0.33)
    word_dropout: float = _dropout(0.15)
    attribute_dropout: float = _dropout(0.08)
    #: Words for each step.
    batch: int = _whole(1024, 1)
    #: Networks that learn from different starts; scores are the means of theirs.
    members: int = _between(1, 1, 16)
    #: Values of attributes that are there less often have no vectors.
    cutoff: int = _whole(2, 1)


@dataclass(frozen=True, slots=True)
class FactorConfig(Record):
    """Non-local factors."""

    table = "factors"
    #: Names of installed factor families.
    families: tuple[str, ...] = _checked(
        (), lambda v: all(isinstance(name, str) for name in v), "a list of names"
    )
    #: A feature takes part when it fires in at least so many gold trees.
    cutoff: int = _whole(5, 1)
    #: Learning rate of their weights, as a share of the backbone's. Rare evidence that overlaps
    #: with the backbone's learns too much otherwise, and large weights make loose bounds.
    rate: float = _positive(0.2)
    #: Beside a network, factors are learned from sentences that it did not see: into how many
    #: parts the training data is divided, each scored by a network that was trained on the others,
    #: in so many passes. The keys below are for that, too; beside templates, factors are learned
    #: together with them.
    folds: int = _whole(4, 2)
    fold_epochs: int = _whole(6, 1)
    #: Passes for the factors.
    epochs: int = _whole(3, 1)
    #: Added to every wrong arc while decoding.
    cost: float = _cost(4.0)
    #: Where AdaGrad's sums of squares start for the factors' weights.
    start: float = _positive(1.0)
    #: Their weights are averaged from this epoch on; before it is reached, from the first.
    average_from: int = _whole(1, 1)
    #: Most search nodes for one training sentence.
    node_limit: int = _whole(6, 1)
    #: With how many trees of the backbone the gold tree is compared, to see which features may
    #: matter: `cutoff` is for features in which it differs from one of these.
    rivals: int = _whole(1, 1)


@dataclass(frozen=True, slots=True)
class LearningConfig(Record):
    """How weights are learned."""

    table = "learning"
    #: Step of an update: per-feature (Duchi et al. 2011), as far as the loss needs it (Crammer
    #: et al. 2006), or always 1.
    method: str = _one_of("adagrad", METHODS)
    #: Passes over the training data; the best on dev is kept.
    epochs: int = _whole(8, 1)
    #: Weights are averaged from this epoch on; before it is reached, from the first.
    average_from: int = _whole(1, 1)
    #: Runs over the training data in other orders; the model is the mean of theirs.
    restarts: int = _whole(1, 1)
    #: AdaGrad's step, or the largest passive-aggressive step.
    rate: float = _positive(0.1)
    #: AdaGrad's starting sum of squares: the more, the weaker are features that are met rarely.
    start: float = _positive(1.0)
    #: Added to every wrong arc while decoding; 0: none.
    cost: float = _cost(1.0)
    #: Most search nodes for one training sentence.
    node_limit: int = _whole(50, 1)
    #: Of the order of sentences.
    seed: int = _whole(1, 0)
    #: Share of the backbone's non-zero weights that the finished model keeps, the largest; see
    #: :func:`bbparse.learning.run.keep_largest`.
    keep: float = _checked(1.0, lambda v: 0.0 < v <= 1.0, "a share above 0, at most 1")
    #: Bits of a weight of backbone and pruner in the finished model: 8, 16 or 32. Fewer bits are
    #: read faster.
    bits: int = _one_of(32, (8, 16, 32))


@dataclass(frozen=True, slots=True)
class LabelConfig(Record):
    """The classifier that names the arcs of a tree."""

    table = "labels"
    #: Passes over the training data, and AdaGrad's step. With 0 epochs there are no labels.
    epochs: int = _whole(4, 0)
    rate: float = _positive(0.3)

def read_record(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    """A record of settings from a TOML table, its types checked against the defaults."""
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
    """What `read_record` reads, in plain lists, strings and numbers."""
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
