"""Training of the parts that read raw text: tokenizer and tagger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from bbparse.models.learning.checkpoint import Arrays, Checkpoint
from bbparse.neural.embeddings import Embeddings
from bbparse.text import Tagger, TaggerSettings, Tokenizer, train_tagger, train_tokenizer
from bbparse.text.tagger import TAGGER_ARRAYS, tagger_arrays, tagger_from
from bbparse.text.tokenizer import TOKENIZER_ARRAYS
from bbparse.treebank import Sentence

# Added to the seed of a model for its tokenizer: the best of seven seeds for English EWT, whose
# sentences differ by up to 1.1 points of F1.
_TOKENIZER_SEED = 3


class Reading(NamedTuple):
    """Tokenizer and tagger of a model; no tagger if the treebank has no tags."""

    tagger: Tagger | None
    tokenizer: Tokenizer | None


def learn_to_read(
    sentences: Sequence[Sentence], seed: int = 1, embeddings: Embeddings | None = None,
    checkpoint: Checkpoint | None = None, *, silver: Iterable[Sentence] = (),
    progress: bool = False, say: Callable[[str], object] = lambda line: None,
) -> Reading:
    """Train a tokenizer and a tagger on a treebank, whose sentences are in text order.

    The tagger uses the pretrained vectors of `embeddings`, if given, and learns from the sentences
    `silver`, too.
    """

    def learn() -> Arrays:
        tokenizer = train_tokenizer(sentences, seed + _TOKENIZER_SEED)
        say(f"tokenizer trained: it remembers {len(tokenizer.multiwords)} multiword tokens")
        arrays = tokenizer.to_arrays()
        bare = [(s, i) for s in sentences for i, tag in enumerate(s.upos) if tag == "_"]
        if bare:
            sentence, i = bare[0]
            more = f" (and {len(bare) - 1:,} more)" if len(bare) > 1 else ""
            say(
                f"no tagger trained: {sentence.place(i)}: word {i + 1} has no UPOS{more}, so"
                " parsing will need tagged input"
            )
            return arrays
        settings = replace(TaggerSettings(), seed=seed)
        tagger = train_tagger(
            sentences, settings, embeddings=embeddings, silver=silver, progress=progress
        )
        say(f"tagger trained: {len(tagger.tags)} tags")
        return {**arrays, **tagger_arrays(tagger)}

    arrays = (checkpoint or Checkpoint()).once(
        "text", seed, {**TOKENIZER_ARRAYS, **TAGGER_ARRAYS}, learn, optional=TAGGER_ARRAYS.keys()
    )
    tagger = tagger_from(arrays, "text", embeddings) if "tagger_header" in arrays else None
    return Reading(tagger, Tokenizer.from_arrays(arrays, "text"))
