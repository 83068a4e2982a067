"""Jackknifing: training text tagged by taggers that have not seen it.

A parser that is to work with predicted tags is best trained on predicted tags, which have to be as
wrong as those of new text (QL13 §4.2): each tenth is tagged by a tagger trained on the other nine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import TreebankError
from bbparse.tagging.training import TaggerSettings, train_tagger
from bbparse.treebank import Sentence

#: Sentences that stay together where the file does not say which documents it has.
_BLOCK = 20


def folds_of(sentences: Sequence[Sentence], folds: int) -> NDArray[np.int64]:
    """Which fold each sentence is in, int64[N]; a `TreebankError` if there are too few of them.

    Documents (comments ``newdoc``) stay whole, because their words repeat; in a file without them,
    blocks of sentences do. They go round the folds, so that each has something of every genre.
    """
    number = np.cumsum([
        any(line.startswith("# newdoc") for line in sentence.lines[: sentence.word_lines[0]])
        for sentence in sentences
    ])  # fmt: skip
    if len(np.unique(number)) < 2 * folds:
        block = max(1, min(_BLOCK, len(sentences) // (2 * folds)))
        number = np.arange(len(sentences)) // block
    found = number % folds
    if folds < 2 or len(np.unique(found)) < folds:
        raise TreebankError(
            f"{len(sentences)} sentences cannot be cut into {folds} folds, expected at least"
            " two folds with a sentence each"
        )
    return found


def jackknife(
    sentences: Sequence[Sentence],
    folds: int = 10,
    settings: TaggerSettings | None = None,
    *,
    progress: bool = False,
    report: Callable[[str], object] = lambda line: None,
) -> list[Sentence]:
    """Sentences with the tags that a tagger trained on the other folds gives them.

    Parameters
    ----------
    sentences : sequence of Sentence
        With gold tags.
    folds : int
        At least 2.
    settings : TaggerSettings, optional
    progress : bool
        Whether to draw progress bars on standard error.
    report : callable, optional
        Called with a line of text after each fold.

    Returns
    -------
    list of Sentence
        Copies, in the same order; trees are as they were.
    """
    of = folds_of(sentences, folds)
    out: list[Sentence] = list(sentences)
    right = words = 0
    for fold in range(folds):
        tagger = train_tagger(
            [sentences[i] for i in np.flatnonzero(of != fold).tolist()], settings, progress=progress
        )
        for i in np.flatnonzero(of == fold).tolist():
            out[i] = tagger(sentences[i])
            right += sum(a == b for a, b in zip(out[i].upos, sentences[i].upos))
            words += sentences[i].n_words
        report(f"fold {fold + 1} of {folds}: UPOS {100 * right / words:.2f} so far")
    return out
