"""Training from sentences to a model: a network and factors, or templates and a labeller."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.registry import load_families, specification
from bbparse.models.graph.training import train_enhancer
from bbparse.models.learning.checkpoint import Checkpoint
from bbparse.models.learning.data import prepare
from bbparse.models.learning.run import Run, learn_with_network, learn_with_templates
from bbparse.models.model import NOTE, Model, card_note
from bbparse.models.model_file import save_model
from bbparse.neural.embeddings import Embeddings, EncoderStates, shared_embeddings
from bbparse.runtime.archive import Fields
from bbparse.runtime.errors import ConfigError, TreebankError
from bbparse.text.silver import Silver
from bbparse.text.tagger import TAGGER_FIELDS, Tagger, tagger_fields, tagger_from
from bbparse.text.tagger_training import ON_BASE, ON_TEXT, train_tagger
from bbparse.text.tokenizer import TOKENIZER_FIELDS, Tokenizer
from bbparse.text.tokenizer_training import FEW_ELEMENTS, train_tokenizer
from bbparse.treebank import Sentence, is_projective
from bbparse.treebank.sentence import check_tree, checked_column

# Added to the seed of a model for its tokenizer: the best of seven seeds for English EWT, whose
# sentences differ by up to 1.1 points of F1.
_TOKENIZER_SEED = 3
#: "auto" trains a projective model if fewer of the training trees are non-projective. With few
#: such trees a non-projective model would gain less in them than it loses in the others, in
#: accuracy and speed.
MIN_CROSSING = 0.05


class TextModels(NamedTuple):
    """Tokenizer and tagger of a model; no tagger if the treebank has no tags."""

    tagger: Tagger | None
    tokenizer: Tokenizer | None


def train_text_models(
    sentences: Sequence[Sentence],
    seed: int = 1,
    embeddings: Embeddings | None = None,
    checkpoint: Checkpoint | None = None,
    *,
    quick: bool = False,
    silver: Iterable[Sentence] = (),
    say: Callable[[str], object] = lambda line: None,
) -> TextModels:
    """Train a tokenizer and a tagger on a treebank, whose sentences are in text order.

    With ``quick``, as for models on a base, each is one network that learns in fewer passes. The
    tokenizer sees states of an encoder that a model holds or has as its base.
    """
    few: dict[str, Any] = {"elements": FEW_ELEMENTS} if quick else {}
    if isinstance(embeddings, EncoderStates) and embeddings.reads_text:
        few["embeddings"] = embeddings

    def learn() -> Fields:
        tokenizer = train_tokenizer(sentences, seed + _TOKENIZER_SEED, **few)
        say(f"tokenizer trained: {len(tokenizer.multiwords)} multiword tokens memorised")
        fields = tokenizer.to_fields()
        bare = [(s, i) for s in sentences for i, tag in enumerate(s.upos) if tag == "_"]
        untagged = {sentence.source for sentence, _ in bare}
        tagged = [sentence for sentence in sentences if sentence.source not in untagged]
        if bare:
            sentence, i = bare[0]
            more = f" (and {len(bare) - 1:,} more)" if len(bare) > 1 else ""
            outcome = "not all treebanks train the tagger" if tagged else "no tagger trained"
            say(
                f"{outcome}: {sentence.place(i)}: word {i + 1} has no UPOS{more}"
                + ("" if tagged else ", so parsing will need tagged input")
            )
        if not tagged:
            return fields
        settings = ON_BASE if quick else ON_TEXT if silver else None
        tagger = train_tagger(tagged, settings, seed, embeddings=embeddings, silver=silver)
        say(f"tagger trained: {len(tagger.tags)} tags")
        return {**fields, **tagger_fields(tagger)}

    fields = (checkpoint or Checkpoint()).once(
        "text", seed, {**TOKENIZER_FIELDS, **TAGGER_FIELDS}, learn, optional=TAGGER_FIELDS.keys()
    )
    tagger = tagger_from(fields, "text", embeddings) if "tagger" in fields else None
    return TextModels(tagger, Tokenizer.from_fields(fields, "text", embeddings))


def train(  # noqa: PLR0913 – public keywords
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    config: Configuration,
    *,
    factors: Iterable[str | type[FactorFamily] | FactorFamily] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    model: str | os.PathLike[str] | None = None,
    reading: Callable[[Embeddings | None, Checkpoint], TextModels] | None = None,
    embeddings: Callable[[Sequence[Sentence], Sequence[Sentence]], Embeddings] | None = None,
    silver: Silver | None = None,
    about: Mapping[str, str | None] | None = None,
    report: Any = None,
) -> Model:
    """Train a parser; its options are those of `bbparse.Parser.train`."""
    say = report if report is not None else lambda line: None
    if not sentences:
        raise TreebankError("there are no training sentences")
    for sentence in (*sentences, *dev):
        check_tree(sentence, single_root=config.model.single_root)
        try:  # not only when the model is written
            checked_column("deprels", sentence.deprels, sentence.n_words)
        except ValueError as error:
            raise TreebankError(f"{sentence.place()}: {error}") from None
    families = load_families(config.factors.families if factors is None else factors)
    config = config.with_("factors", families=tuple(specification(family) for family in families))
    if embeddings is not None and not config.network.epochs:
        raise ConfigError("network.epochs is 0: only networks use pretrained vectors")
    if silver is not None and not config.network.epochs:
        raise ConfigError("network.epochs is 0: only networks learn from raw text")
    source = None if embeddings is None else embeddings(sentences, dev)
    others = [source and source.note, silver and silver.digest]
    kept = Checkpoint(checkpoint, (*sentences, *dev), others)
    if files := kept.files():
        say(f"{files[0]}: resuming an earlier run")
    config = _with_projectivity(config, sentences, say)
    read = TextModels(None, None) if reading is None else reading(source, kept)
    shared_embeddings(source, *(part.embeddings for part in read if part is not None))
    data = prepare(sentences, config.model)
    if silver is not None:
        silver = replace(silver, tagger=read.tagger)
    data.embeddings, data.silver = source, silver or ()
    best = _learned(Run(config, data, dev, say, kept), families)
    best.tagger, best.tokenizer = read
    best.enhancer = train_enhancer(sentences)
    if best.enhancer is not None:
        say(f"enhanced graphs learned: {len(best.enhancer.templates)} paths of the tree")
    best.notes[NOTE] = card_note(sentences, dev, about or {})
    if model is not None:
        save_model(best, model)
    kept.remove()
    return best


def _learned(run: Run, families: Sequence[FactorFamily]) -> Model:
    """Train everything but tokenizer and tagger."""
    started = time.perf_counter()
    config, data, say = run.config, run.data, run.say
    if data.projectivised:
        say(
            f"{data.projectivised} of {len(data.sentences)} training trees are not projective;"
            " training uses the closest projective trees"
        )
    notes: dict[str, Any] = {
        "sentences": len(data.sentences),
        "projectivised": data.projectivised,
        "tagged": any(sentence.has_tags for sentence in data.sentences),
    }
    learn = learn_with_network if config.network.epochs else learn_with_templates
    best = learn(run, families)
    best.notes.update(notes)
    say(f"trained in {time.perf_counter() - started:.0f} s")
    return best


def _with_projectivity(
    config: Configuration, sentences: Sequence[Sentence], say: Callable[[str], None]
) -> Configuration:
    """Return the configuration with `model.projective` decided by the trees if it is "auto"."""
    if config.model.projective == "auto":
        crossing = sum(not is_projective(sentence.heads) for sentence in sentences)
        share = crossing / len(sentences)
        projective = share < MIN_CROSSING
        say(
            f"model.projective = {str(projective).lower()}: arcs cross in {100 * share:.1f} % of"
            f" the training trees, {'less' if projective else 'no less'} than"
            f" {100 * MIN_CROSSING:g} %"
        )
        config = config.with_("model", projective=projective)
    return config
