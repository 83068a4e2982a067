"""Input of commands: sentences of treebanks or running text."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence

from bbparse.apps.corpus.files import read_sections, sentences_of
from bbparse.runtime.errors import TreebankError
from bbparse.text.segmentation import Split, split_of_name
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence


def read_sentences(
    source: str, tokenizer: Callable[[], Tokenizer], split: Split | None
) -> Iterator[Sentence]:
    """Read sentences of CoNLL-U or CoNLL-X, or of running text if `split` or the name says so."""
    for section in read_sections([source], tokenizer, split):
        if section is not None:
            yield from sentences_of(section)


def check_sources(sources: Sequence[str]) -> None:
    """Check, before any work, that all sources exist and none is repeated."""
    for i, source in enumerate(sources):
        name = "standard input" if source == "-" else source
        if source in sources[:i]:
            raise TreebankError(f"{name}: given twice as input")
        if source != "-" and len(sources) > 1 and not os.path.exists(source):
            raise TreebankError(f"{name}: cannot be read: {os.strerror(errno.ENOENT)}")


def total_size(sources: Sequence[str], split: Split | None) -> int | None:
    """Return the size in bytes of uncompressed treebank files, for progress; None for others."""
    for source in sources:
        packed = source.endswith((".gz", ".xz"))
        if split or split_of_name(source) or packed or not os.path.isfile(source):
            return None
    return sum(map(os.path.getsize, sources))
