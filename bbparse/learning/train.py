"""Training from sentences to a model: a network and factors, or templates and a labeller."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError, TreebankError
from bbparse.factors import FactorFamily, load_families, specification
from bbparse.learning.candidates import prune_all
from bbparse.learning.checkpoint import Checkpoint
from bbparse.learning.data import prepare
from bbparse.learning.labeller import train_labeller
from bbparse.learning.network import learn_with_network
from bbparse.learning.reading import Reading
from bbparse.learning.run import Run
from bbparse.model.file import save_model
from bbparse.model.model import NOTE, Model, card_note
from bbparse.outside import Outside, one_source
from bbparse.treebank import Sentence, check_tree, is_projective
from bbparse.treebank.progress import progress_bars

#: Where fewer of the training trees have arcs that cross, "auto" leaves them out: what such a model
#: wins in few sentences it would lose in the others, and in speed.
LEAST_CROSSING = 0.05


def train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    config: Configuration,
    *,
    factors: Iterable[str | type[FactorFamily] | FactorFamily] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    model: str | os.PathLike[str] | None = None,
    reading: Callable[[Outside | None, Checkpoint], Reading] | None = None,
    outside: Callable[[Sequence[Sentence], Sequence[Sentence]], Outside] | None = None,
    about: Mapping[str, str | None] | None = None,
    progress: bool = False,
    report: Any = None,
) -> Model:
    """Train a parser.

    Parameters
    ----------
    sentences, dev : sequence of Sentence
        With a tree each; without a dev set the last epoch is kept.
    config : Configuration
    factors : iterable, optional
        Families, by name, class or object, instead of the configuration's.
    checkpoint : path, optional
        What the files begin with in which each part of the run is kept that is done, and its
        state after each epoch; a run with the same configuration and data that finds them goes on
        from there. Removed when all is done.
    model : path, optional
        Where to write the model, while there still is a checkpoint.
    reading : callable, optional
        Gives what the model is to cut text and to tag words with (`bbparse.learning.reading`), of
        what `outside` gave and a place to keep it in; called when the configuration and the trees
        have been checked.
    outside : callable, optional
        Gives vectors that networks take besides, of sentences and dev: a partial
        `bbparse.outside.read_vectors` or `fit_encoder`. Called after the same checks.
    about : mapping, optional
        What the model's card is to say: ``name`` of the treebank, ``language``, ``license``.
    progress : bool
        Whether to draw progress bars on standard error.
    report : callable, optional
        Called with a line of text now and then.

    Raises
    ------
    TreebankError, FactorError, ConfigError
        If there is no training sentence, one has no tree or an empty label, a family is unknown, or
        there are vectors from outside and no network that could take them.
    """
    say = report if report is not None else lambda line: None
    if not sentences:
        raise TreebankError("there are no training sentences")
    for sentence in (*sentences, *dev):
        check_tree(sentence, single_root=config.model.single_root)
        _check_labels(sentence)
    families = load_families(config.factors.families if factors is None else factors)
    config = config.with_("factors", families=tuple(specification(family) for family in families))
    if outside is not None and not config.network.epochs:
        raise ConfigError("network.epochs is 0, and only networks take vectors from outside")
    with progress_bars(progress):
        source = None if outside is None else outside(sentences, dev)
        kept = Checkpoint(checkpoint, (*sentences, *dev), None if source is None else source.note)
        if files := kept.files():
            say(f"{files[0]}: going on after an earlier run")
        config = _settled(config, sentences, say)
        read = Reading(None, None) if reading is None else reading(source, kept)
        one_source(source, None if read.tagger is None else read.tagger.outside)
        best = _learned(config, families, sentences, dev, kept, source, say)
        best.tagger, best.cutter = read
        best.notes[NOTE] = card_note(sentences, dev, about or {})
    if model is not None:
        save_model(best, model)
    kept.remove()
    return best


def _learned(
    config: Configuration,
    families: Sequence[FactorFamily],
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    checkpoint: Checkpoint,
    outside: Outside | None,
    say: Callable[[str], None],
) -> Model:
    """What `train` gives, of what has been checked."""
    started = time.perf_counter()
    data = prepare(sentences, config.model)
    data.outside = outside
    if data.projectivised:
        say(
            f"{data.projectivised} of {len(sentences)} training trees are not projective;"
            " learning from the closest projective trees"
        )
    notes = {
        "sentences": len(sentences), "projectivised": data.projectivised,
        "tagged": any(one.has_tags for one in sentences),
    }  # fmt: skip
    if config.network.epochs:
        best = learn_with_network(Run(config, data, None, dev, say, checkpoint), families)
        best.notes.update(notes)
        say(f"trained in {time.perf_counter() - started:.0f} s")
        return best
    pruner = prune_all(data, config, checkpoint)
    candidates = sum(len(arcs[0]) for arcs in data.arcs) / sum(s.n_words for s in sentences)
    say(
        f"pruner trained: {candidates:.2f} candidate heads a word,"
        f" {100 * data.recall:.2f} % of gold heads among them"
    )
    run = Run(config, data, pruner, dev, say, checkpoint)
    best = run.thinned(run.learn(families))
    best.notes.update(notes, pruner_recall=data.recall, candidates_per_word=candidates)
    best.labeller = train_labeller(config, data)
    if best.labeller is not None:
        say(f"{len(best.labeller.labels)} labels learned")
    say(f"trained in {time.perf_counter() - started:.0f} s")
    return best


def _check_labels(sentence: Sentence) -> None:
    """Find out before all training, not when the model is written, that labels are text."""
    for m, label in enumerate(sentence.deprels, start=1):
        if not label or any(c in label for c in "\t\n\r"):
            raise TreebankError(
                f"{sentence.source or 'input'}, {sentence.name}: word {m} has the label {label!r},"
                " expected text without tabs and breaks, or _ for none"
            )


def _settled(
    config: Configuration, sentences: Sequence[Sentence], say: Callable[[str], None]
) -> Configuration:
    """The configuration with `model.projective` yes or no, by the trees where it is "auto"."""
    if config.model.projective == "auto":
        crossing = sum(not is_projective(sentence.heads) for sentence in sentences)
        share = crossing / len(sentences)
        projective = share < LEAST_CROSSING
        say(
            f"model.projective = {str(projective).lower()}: arcs cross in {100 * share:.1f} % of"
            f" the training trees, {'less' if projective else 'no less'} than"
            f" {100 * LEAST_CROSSING:g} %"
        )
        config = config.with_("model", projective=projective)
    return config
