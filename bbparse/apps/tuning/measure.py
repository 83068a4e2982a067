"""Accuracy and speed of a parser with more or fewer candidate heads per word (QL13 §4.6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.parser.parse import Parse, ParseOptions
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence
from bbparse.treebank.evaluation import Scores, Tally
from bbparse.treebank.significance import Difference, compare_tallies

#: Number of sentences that are parsed before timing starts, so that the compiled code is loaded,
#: and their maximum length in words: without pruning, a long one takes seconds.
WARM_UP, WARM_UP_WORDS = 20, 30
#: Seconds after which a pass is not repeated.
LONG_PASS = 60.0


@dataclass(slots=True)
class Setting:
    """A number of candidate heads, and the accuracy and speed with it."""

    prune: int  #: Maximum number of candidate heads of a word; 0: all.
    tally: Tally = field(default_factory=Tally)
    labelled: bool = True  #: True if the parser predicts labels.
    passes: list[float] = field(default_factory=list)  #: Seconds of each pass over the sentences.
    #: Means over the sentences: ``dp_calls`` of the dynamic program; ``dp_work``, the calls
    #: weighted by the fraction of the chart that they fill, where an inside-outside pass counts
    #: three times; search ``nodes``. Fractions of the sentences: ``closed_at_root`` and ``proved``.
    figures: dict[str, float] = field(default_factory=dict)
    #: float64[sentences, 3]: words, calls of the dynamic program, and seconds for scoring and
    #: solving, one sentence at a time.
    per_sentence: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    failure: str = ""  #: Why the setting could not be measured; empty if it was.

    @property
    def name(self) -> str:
        """Name as on the command line: a number or ``none``."""
        return str(self.prune) if self.prune else "none"

    @property
    def scores(self) -> Scores:
        return self.tally.scores()

    @property
    def words_per_second(self) -> float:
        """Speed of the median pass; 0 if there was none."""
        seconds = median(self.passes) if self.passes else 0.0
        return float(self.per_sentence[:, 0].sum()) / seconds if seconds else 0.0

    def as_dict(self) -> dict[str, object]:
        """Return the figures of all sentences by name, for JSON."""
        if self.failure:
            return {"prune": self.name, "failure": self.failure}
        scores = self.scores
        return {
            "prune": self.name,
            "uas": scores.uas,
            "uas_no_punct": scores.uas_no_punct,
            "las": scores.las if self.labelled else None,
            "words_per_second": self.words_per_second,
            "seconds": self.passes,
            **self.figures,
        }

    def by_length(self) -> NDArray[np.float64]:
        """Average over ranges of five words, or of five sentences: float64[ranges, 3]."""
        rows = self.per_sentence[np.argsort(self.per_sentence[:, 0], kind="stable")]
        classes = (rows[:, 0] - 1) // 5
        starts = [0]
        for i in range(1, len(rows)):
            if classes[i] != classes[i - 1] and i - starts[-1] >= 5:
                starts.append(i)
        if len(rows) - starts[-1] < 5 and len(starts) > 1:
            starts.pop()
        parts = [part for part in np.split(rows, starts[1:]) if len(part)]
        return np.array([part.mean(axis=0) for part in parts]).reshape(-1, 3)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The fastest setting that loses little accuracy."""

    setting: Setting
    best: Setting  #: The most accurate setting.
    loss: Difference  #: best - setting in the chosen measure, with its confidence interval.


def measure_settings(
    parser: Parser,
    sentences: Sequence[Sentence],
    prunes: Sequence[int],
    *,
    passes: int = 3,
    clock: Callable[[], float] = time.perf_counter,
    **options: Any,
) -> list[Setting]:
    """Parse a treebank with several numbers of candidate heads, in turns.

    The first pass of each setting parses sentence by sentence, to measure accuracy and the times of
    single sentences. Further passes measure speed; settings take turns, so that a temporarily slow
    machine does not favour one of them. After a pass of more than `LONG_PASS` seconds, which counts
    as a measurement of speed, there are no others.
    """
    options_of = [ParseOptions(prune=prune, **options) for prune in prunes]
    settings = [_first_pass(parser, sentences, each, clock) for each in options_of]
    for _ in watched(range(passes), "speed", " passes"):
        for setting, each in zip(settings, options_of):
            if setting.failure or (setting.passes and setting.passes[0] > LONG_PASS):
                continue
            started = clock()
            for _ in parser.parse_all(sentences, each):
                pass
            setting.passes.append(clock() - started)
    return settings


def _first_pass(
    parser: Parser, sentences: Sequence[Sentence], options: ParseOptions, clock: Callable[[], float]
) -> Setting:
    """Measure accuracy, and the time and work of each sentence."""
    prune = options.prune or 0
    setting = Setting(prune, labelled=parser.model.labeller is not None)
    parses: list[Parse] = []
    seconds: list[float] = []
    few_words = (s for s in sentences if s.n_words <= WARM_UP_WORDS)
    try:
        for sentence in islice(few_words, WARM_UP):
            parser.parse(sentence, prune=prune, node_limit=1)
        pass_started = clock()
        for sentence in watched(sentences, f"prune {setting.name}"):
            started = clock()
            (parse,) = parser.parse_all([sentence], options)
            seconds.append(clock() - started)
            setting.tally.add(sentence, parse.trees[0].heads, parse.trees[0].labels)
            parses.append(parse)
    except ProblemError as error:
        return Setting(prune, failure=str(error))
    total_seconds = clock() - pass_started
    if total_seconds > LONG_PASS:
        setting.passes.append(total_seconds)

    def stats(name: str) -> list[float]:
        return [float(parse.stats.get(name, 0)) for parse in parses]

    lengths = [sentence.n_words for sentence in sentences]
    setting.per_sentence = np.array([lengths, stats("dp_calls"), seconds]).T
    setting.figures = {
        **{name: fmean(stats(name)) for name in ("dp_calls", "dp_work", "nodes", "closed_at_root")},
        "proved": fmean(all(tree.proved for tree in parse.trees) for parse in parses),
    }
    return setting


def suggest(
    settings: Sequence[Setting], max_loss: float, measure: str = "las"
) -> Suggestion | None:
    """Return the fastest setting that loses at most a fraction of accuracy, such as 0.001."""
    measured = [setting for setting in settings if not setting.failure]
    if not measured:
        return None

    def accuracy(setting: Setting) -> float:
        return float(getattr(setting.scores, measure))

    best = max(measured, key=lambda s: (accuracy(s), s.words_per_second))
    # slack, so that rounding does not exclude a loss of exactly `max_loss`
    min_accuracy = accuracy(best) - max_loss - 1e-12
    fastest = max(
        (s for s in measured if accuracy(s) >= min_accuracy), key=lambda s: s.words_per_second
    )
    return Suggestion(fastest, best, compare_tallies(best.tally, fastest.tally)[measure])
