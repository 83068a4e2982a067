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
STAGES = ("joint", "jackknife")


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
    """The first-order classifier that keeps a few heads for each word."""

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
class GuideConfig(Record):
    """The classifier whose opinion on single arcs the templates of the model build on.

    It is a small neural network (:mod:`bbparse.scoring.network`), which `NetworkConfig` says more
    about.
    """

    table = "guide"
    #: Passes over the training data, and the step of Adam. With 0 epochs there is no guide.
    epochs: int = _whole(0, 0)
    rate: float = _positive(0.004)
    #: Training sentences get the opinion of a guide that did not see them, trained on the other
    #: folds; 1: of the guide itself.
    folds: int = _whole(4, 1)
    #: Candidate arcs below this step of the guide's odds (0 to 11) are dropped, as long as there
    #: is a tree of the others: fewer arcs, and many fewer parts.
    least: int = _between(0, 0, 11)
    #: Whether words without tags get those that tagger and guide like best together, instead of the
    #: tagger's: that takes time, and pays where the tagger learned from a large treebank.
    tags: bool = False


@dataclass(frozen=True, slots=True)
class NetworkConfig(Record):
    """The guide's network.

    Sizes of vectors are multiples of 4, the width of 16.
    """

    table = "network"
    #: Length of the vectors of words by themselves, and in their context.
    word: int = _size(64)
    width: int = _size(128, 16)
    #: Convolutions over three words at a time, after the first over five.
    layers: int = _between(2, 0, 16)
    #: Length of the vectors that say what head and modifier add up to, and what their product is.
    shared: int = _size(96)
    pairs: int = _size(64)
    #: Shares of the numbers between layers, and of the attributes of words, that are left out at
    #: random in training.
    dropout: float = _dropout(0.2)
    word_dropout: float = _dropout(0.12)
    #: Sentences for each step.
    batch: int = _whole(32, 1)
    #: Values of attributes that are there less often have no vectors.
    cutoff: int = _whole(2, 1)


@dataclass(frozen=True, slots=True)
class TreesConfig(NetworkConfig):
    """A network beside the guide, learned from the likelihood of whole trees.

    It scores arcs, siblings and grandchildren; that is added to what the templates say.
    """

    table = "trees"
    width: int = _size(192, 16)
    dropout: float = _dropout(0.3)
    word_dropout: float = _dropout(0.2)
    #: Passes over the training data, and the step of Adam. With 0 epochs there is none.
    epochs: int = _whole(0, 0)
    rate: float = _positive(0.004)
    #: Length of the vectors that score siblings and grandchildren.
    parts: int = _size(32)
    #: By what its scores are multiplied.
    weight: float = _positive(2.0)


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
    #: Whether they are learned together with the backbone, or in a stage of their own on
    #: sentences that the backbone did not see: see :mod:`bbparse.learning.run`. The keys
    #: below are for that stage.
    stage: str = _one_of("joint", STAGES)
    #: Into how many parts the training data is divided; each is scored by a backbone that was
    #: trained on the others.
    folds: int = _whole(4, 2)
    #: Passes over the training data for these backbones.
    fold_epochs: int = _whole(3, 1)
    #: Each of these backbones is the mean of so many runs, as `learning.restarts` says it of the
    #: backbone: factors learn from errors like those they will meet.
    fold_restarts: int = _whole(1, 1)
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
