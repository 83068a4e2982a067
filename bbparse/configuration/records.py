"""The parts of a configuration: a record for each of its tables, with defaults and their ranges.

Templates and the settings of the search have records of their own
(`bbparse.configuration.templates.TemplateSet`, `bbparse.search.settings.SearchSettings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from bbparse.errors import ConfigError
from bbparse.oracle.projective.recurrences import RECURRENCES

T = TypeVar("T")

METHODS = ("adagrad", "passive-aggressive", "perceptron")
SOLVERS = ("bb", "price-and-cut")
STAGES = ("joint", "jackknife")


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What kind of trees, and which dynamic program.

    Attributes
    ----------
    backbone : str
        Recurrence, see :mod:`bbparse.oracle.projective.recurrences`.
    single_root : bool
        Whether the root takes exactly one modifier.
    projective : bool or "auto"
        Whether no two arcs cross. "auto" is for training, which looks at the trees: a model has
        one or the other.
    solver : {"bb", "price-and-cut"}
        Branch and bound, or price and cut (:mod:`bbparse.pricing`), which needs highspy. With the
        latter, a model of arcs and grandchildren parses without pruning, and scores grandchildren
        on demand.
    """

    backbone: str = "grandsib"
    single_root: bool = True
    projective: bool | str = field(default=True, metadata={"or": ("auto",)})
    solver: str = "bb"

    def __post_init__(self) -> None:
        if self.backbone not in RECURRENCES:
            raise ConfigError(
                f"model.backbone is {self.backbone!r}, expected one of {', '.join(RECURRENCES)}"
            )
        if not isinstance(self.projective, bool) and self.projective != "auto":
            raise ConfigError(
                f"model.projective is {self.projective!r}, expected true, false or 'auto'"
            )
        if self.solver not in SOLVERS:
            raise ConfigError(f"model.solver is {self.solver!r}, expected {' or '.join(SOLVERS)}")


@dataclass(frozen=True, slots=True)
class PrunerConfig:
    """The first-order classifier that keeps a few heads for each word.

    Attributes
    ----------
    k : int
        Most heads of a word; 0: all.
    margin : float
        Drop heads whose log-odds against the word's best head are below minus this.
    epochs, rate : int, float
        Passes over the training data, and AdaGrad's step.
    folds : int
        Training sentences get their candidates from a pruner that did not see them, trained on
        the other folds; 1: from the pruner itself.
    """

    k: int = 10
    margin: float = 6.0
    epochs: int = 3
    rate: float = 0.05
    folds: int = 4

    def __post_init__(self) -> None:
        _at_least("pruner.k", self.k, 0)
        _at_least("pruner.epochs", self.epochs, 1)
        _at_least("pruner.folds", self.folds, 1)
        _positive("pruner.margin", self.margin)
        _positive("pruner.rate", self.rate)


@dataclass(frozen=True, slots=True)
class GuideConfig:
    """The classifier whose opinion on single arcs the templates of the model build on.

    It is a small neural network (:mod:`bbparse.scoring.network`), which `NetworkConfig` says more
    about.

    Attributes
    ----------
    epochs, rate : int, float
        Passes over the training data, and the step of Adam. With 0 epochs there is no guide.
    folds : int
        Training sentences get the opinion of a guide that did not see them, trained on the other
        folds; 1: of the guide itself.
    least : int
        Candidate arcs below this step of the guide's odds (0 to 11) are dropped, as long as there
        is a tree of the others: fewer arcs, and many fewer parts.
    """

    epochs: int = 0
    rate: float = 0.004
    folds: int = 4
    least: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.least <= 11:
            raise ConfigError(f"guide.least is {self.least}, expected 0 to 11")
        _at_least("guide.epochs", self.epochs, 0)
        _at_least("guide.folds", self.folds, 1)
        _positive("guide.rate", self.rate)


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The guide's network.

    Sizes of vectors are multiples of 4, the width of 16.

    Attributes
    ----------
    word, width : int
        Length of the vectors of words by themselves, and in their context.
    layers : int
        Convolutions over three words at a time, after the first over five.
    shared, pairs : int
        Length of the vectors that say what head and modifier add up to, and what their product is.
    dropout, word_dropout : float
        Shares of the numbers between layers, and of the attributes of words, that are left out at
        random in training.
    batch : int
        Sentences for each step.
    cutoff : int
        Values of attributes that are there less often have no vectors.
    """

    word: int = 64
    width: int = 128
    layers: int = 2
    shared: int = 96
    pairs: int = 64
    dropout: float = 0.2
    word_dropout: float = 0.12
    batch: int = 32
    cutoff: int = 2

    def __post_init__(self) -> None:
        for name, whole in (("word", 4), ("width", 16), ("shared", 4), ("pairs", 4)):
            size = getattr(self, name)
            if size % whole or not whole <= size <= 4096:
                raise ConfigError(
                    f"network.{name} is {size}, expected a multiple of {whole} up to 4096"
                )
        if not 0 <= self.layers <= 16:
            raise ConfigError(f"network.layers is {self.layers}, expected 0 to 16")
        for name in ("dropout", "word_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(
                    f"network.{name} is {getattr(self, name)}, expected at least 0 and below 1"
                )
        _at_least("network.batch", self.batch, 1)
        _at_least("network.cutoff", self.cutoff, 1)


@dataclass(frozen=True, slots=True)
class FactorConfig:
    """Non-local factors.

    Attributes
    ----------
    families : tuple of str
        Names of installed factor families.
    cutoff : int
        A feature takes part when it fires in at least so many gold trees.
    rate : float
        Learning rate of their weights, as a share of the backbone's. Rare evidence that overlaps
        with the backbone's learns too much otherwise, and large weights make loose bounds.
    stage : {"joint", "jackknife"}
        Whether they are learned together with the backbone, or in a stage of their own on
        sentences that the backbone did not see: see :mod:`bbparse.learning.stages`. The keys
        below are for that stage.
    folds : int
        Into how many parts the training data is divided; each is scored by a backbone that was
        trained on the others.
    fold_epochs : int
        Passes over the training data for these backbones.
    fold_restarts : int
        Each of these backbones is the mean of so many runs, as `learning.restarts` says it of the
        backbone: factors learn from errors like those they will meet.
    epochs : int
        Passes for the factors.
    cost : float
        Added to every wrong arc while decoding.
    start : float
        Where AdaGrad's sums of squares start for the factors' weights.
    average_from : int
        Their weights are averaged from this epoch on; before it is reached, from the first.
    node_limit : int
        Most search nodes for one training sentence.
    rivals : int
        With how many trees of the backbone the gold tree is compared, to see which features may
        matter: `cutoff` is for features in which it differs from one of these.
    """

    families: tuple[str, ...] = ()
    cutoff: int = 5
    rate: float = 0.2
    stage: str = "joint"
    folds: int = 4
    fold_epochs: int = 3
    fold_restarts: int = 1
    epochs: int = 3
    cost: float = 4.0
    start: float = 1.0
    average_from: int = 1
    node_limit: int = 6
    rivals: int = 1

    def __post_init__(self) -> None:
        for name in (
            "cutoff", "fold_epochs", "fold_restarts", "epochs", "average_from", "node_limit",
            "rivals",
        ):  # fmt: skip
            _at_least(f"factors.{name}", getattr(self, name), 1)
        _at_least("factors.folds", self.folds, 2)
        _positive("factors.rate", self.rate)
        _positive("factors.start", self.start)
        if not self.cost >= 0.0:
            raise ConfigError(f"factors.cost is {self.cost}, expected 0 or more")
        if self.stage not in STAGES:
            raise ConfigError(
                f"factors.stage is {self.stage!r}, expected one of {', '.join(STAGES)}"
            )
        if not all(isinstance(name, str) for name in self.families):
            raise ConfigError(f"factors.families is {self.families!r}, expected a list of names")


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """How weights are learned.

    Attributes
    ----------
    method : {"adagrad", "passive-aggressive", "perceptron"}
        Step of an update: per-feature (Duchi et al. 2011), as far as the loss needs it (Crammer
        et al. 2006), or always 1.
    epochs : int
        Passes over the training data; the best on dev is kept.
    average_from : int
        Weights are averaged from this epoch on; before it is reached, from the first.
    restarts : int
        Runs over the training data in other orders; the model is the mean of theirs.
    rate : float
        AdaGrad's step, or the largest passive-aggressive step.
    start : float
        AdaGrad's starting sum of squares: the more, the weaker are features that are met rarely.
    cost : float
        Added to every wrong arc while decoding; 0: none.
    node_limit : int
        Most search nodes for one training sentence.
    seed : int
        Of the order of sentences.
    keep : float
        Share of the backbone's non-zero weights that the finished model keeps, the largest; see
        :func:`bbparse.learning.averaging.keep_largest`.
    bits : int
        Bits of a weight of backbone and pruner in the finished model: 8, 16 or 32. Fewer bits are
        read faster.
    """

    method: str = "adagrad"
    epochs: int = 8
    average_from: int = 1
    restarts: int = 1
    rate: float = 0.1
    start: float = 1.0
    cost: float = 1.0
    node_limit: int = 50
    seed: int = 1
    keep: float = 1.0
    bits: int = 32

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(
                f"learning.method is {self.method!r}, expected one of {', '.join(METHODS)}"
            )
        _at_least("learning.epochs", self.epochs, 1)
        _at_least("learning.average_from", self.average_from, 1)
        _at_least("learning.restarts", self.restarts, 1)
        _positive("learning.start", self.start)
        _at_least("learning.node_limit", self.node_limit, 1)
        _at_least("learning.seed", self.seed, 0)
        _positive("learning.rate", self.rate)
        if self.cost < 0.0:
            raise ConfigError(f"learning.cost is {self.cost}, expected 0 or more")
        if not 0.0 < self.keep <= 1.0:
            raise ConfigError(f"learning.keep is {self.keep}, expected a share above 0, at most 1")
        if self.bits not in (8, 16, 32):
            raise ConfigError(f"learning.bits is {self.bits}, expected 8, 16 or 32")


@dataclass(frozen=True, slots=True)
class LabelConfig:
    """The classifier that names the arcs of a tree.

    Attributes
    ----------
    epochs, rate : int, float
        Passes over the training data, and AdaGrad's step. With 0 epochs there are no labels.
    """

    epochs: int = 4
    rate: float = 0.3

    def __post_init__(self) -> None:
        _at_least("labels.epochs", self.epochs, 0)
        _positive("labels.rate", self.rate)


def read_record(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    """A record of settings from a TOML table, its types checked against the defaults.

    Raises
    ------
    ConfigError
        For an unknown key or a value of the wrong type.
    """
    defaults = {f.name: getattr(cls(), f.name) for f in fields(cls)}  # type: ignore[arg-type]
    others = {f.name: f.metadata.get("or", ()) for f in fields(cls)}  # type: ignore[arg-type]
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


def _at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} is {value!r}, expected a whole number of at least {least}")


def _positive(name: str, value: float) -> None:
    if not value > 0.0:
        raise ConfigError(f"{name} is {value!r}, expected a number above 0")
