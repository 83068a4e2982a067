"""What a model needs for running text and for words without tags: a cutter and a tagger."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bbparse.errors import ModelError
from bbparse.learning.checkpoint import digest
from bbparse.model.file import load_tagger, save_tagger
from bbparse.outside import Outside
from bbparse.tagging import Tagger, TaggerSettings, train_tagger
from bbparse.text import Cutter, CutterSettings, train_cutter
from bbparse.treebank import Sentence


class Reading(NamedTuple):
    """What reads words and text; no tagger where the treebank has no tags."""

    tagger: Tagger | None
    cutter: Cutter | None


def learn_to_read(
    sentences: Sequence[Sentence],
    seed: int = 1,
    outside: Outside | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
    say: Callable[[str], object] = lambda line: None,
) -> Reading:
    """Learn from a treebank, in the order of its text, how it is cut and its words are tagged, by
    vectors from outside, too, if there are any.

    The checkpoint is a file to keep what was learned in; found there, it is not learned again from
    the same data.
    """
    identity = digest(sentences, seed, None if outside is None else outside.note)
    if checkpoint is not None and Path(checkpoint).exists():
        try:
            tagger, cutter = load_tagger(checkpoint)
        except ModelError as error:
            say(f"{error}; learning it again")
        else:
            if tagger.notes.pop("identity", None) == identity:
                say(f"{checkpoint}: cutter and tagger taken from there")
                tagger.outside = tagger.outside and outside
                return Reading(tagger, cutter)
    cutter = train_cutter(sentences, replace(CutterSettings(), seed=seed))
    say(f"cutter of text trained: {len(cutter.multiwords)} multiword tokens known by heart")
    if any("_" in sentence.upos for sentence in sentences):
        say("no tagger trained: some words have no UPOS, which the input will have to have")
        return Reading(None, cutter)
    settings = replace(TaggerSettings(), seed=seed)
    tagger = train_tagger(sentences, settings, outside=outside, progress=progress)
    say(f"tagger trained: {len(tagger.tags.labels)} tags")
    if checkpoint is not None:
        tagger.notes["identity"] = identity
        save_tagger(checkpoint, tagger, cutter)
        del tagger.notes["identity"]
    return Reading(tagger, cutter)
