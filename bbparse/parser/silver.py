"""Label raw text with a teacher: text in, tokens, tags, trees and confidence as CoNLL-U out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from bbparse.models.model import Model
from bbparse.models.scoring.arc_network import BatchArcs
from bbparse.neural.ragged import batches
from bbparse.parser.confidence import NOTE
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.runtime.output import writing
from bbparse.runtime.progress import watched
from bbparse.text.segmentation import stream_text
from bbparse.text.silver import Silver, likely_line
from bbparse.text.tag_probabilities import likely, sharpened
from bbparse.treebank import Sentence
from bbparse.treebank.drawing.formats import Style, as_conllu
from bbparse.treebank.reading import open_source, raw_lines
from bbparse.treebank.sections import cut_sentences

# The comment that begins each section of the file.
_SECTION = "# silver section = "
_FIRST_WORD = re.compile(rb"1(\t[^\t]+){9}$")


def check_raw(sources: Sequence[str]) -> str:
    """Return a digest of running text; `TreebankError` if a file is not text in UTF-8."""
    digest = blake2b(digest_size=16)
    for source in sources:
        empty = True
        with open_source(source) as (stream, name):
            for number, line in enumerate(raw_lines(stream, name), 1):
                digest.update(line)
                if _FIRST_WORD.match(line):
                    raise TreebankError(
                        f"{name}, line {number}: a word of CoNLL-U, expected running text"
                    )
                empty = empty and not line.strip()
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise TreebankError(
                        f"{name}, line {number}: byte {error.start + 1} of the line is"
                        f" 0x{line[error.start]:02x}, expected text in UTF-8"
                    ) from None
        if empty:
            raise TreebankError(f"{name}: no words, expected running text")
        digest.update(b"\0")
    return digest.hexdigest()


def check_teacher(name: str, teacher: Parser, gold: Sequence[Sentence]) -> None:
    """Check that a teacher reads text, and has no labels that a treebank does not have."""
    teacher.needed_tokenizer()
    if teacher.model.tagger is None or teacher.model.labeller is None:
        raise ModelError(f"{name}: a teacher needs a tagger and labels")
    known = {label for sentence in gold for label in sentence.deprels}
    if other := sorted(set(teacher.model.labeller.labels) - known):
        raise ModelError(
            f"{name}: the teacher's label {other[0]} is not in the treebank; expected a model"
            " trained with the same labels"
        )


def label_text(teacher: Parser, sources: Sequence[str], path: Path, digest: str) -> Silver:
    """Write the teacher's trees of running text as CoNLL-U, by section, and return them.

    After an interruption the next call continues behind the last complete section.
    """
    if path.exists():
        return Silver(path, digest)
    teacher = teacher.with_options(confidence=NOTE in teacher.model.notes, enhanced=False)
    style = Style(1)
    part = path.with_name(path.name + ".part")
    with writing(part):
        done = _complete_sections(part)
        with open(part, "ab") as file:
            for number, section in enumerate(watched(_sections(teacher, sources), "raw text", "")):
                if number < done:
                    continue
                file.write(f"{_SECTION}{number}\n".encode())
                for batch in batches(section):
                    parses = [*teacher.parse_all(batch, tag=True)]
                    for parse, likely in zip(parses, likely_lines(teacher.model, parses)):
                        text = as_conllu(parse.sentence, parse.trees, parse.status, style)
                        file.write((likely + text).encode())
                file.flush()
        os.replace(part, path)
    return Silver(path, digest)


def likely_lines(model: Model, parses: Sequence[Parse]) -> Iterator[str]:
    """Yield the comments with a teacher's probabilities for sentences; empty without a network."""
    sentences = [parse.sentence for parse in parses]
    trees = [np.array(parse.trees[0].heads, np.int32) for parse in parses]
    scores = model.maker.scores(sentences)
    if scores is None:
        yield from [""] * len(parses)
        return
    words = [np.arange(1, len(tree) + 1, dtype=np.int32) for tree in trees]
    arcs = BatchArcs.of(list(zip(trees, words)))
    labels = scores.label_scores(arcs)
    for i, (sentence, n) in enumerate(zip(sentences, map(len, trees))):
        heads = likely(scores.of_sentence(i).scores[:, 1:].T, flatter=1.0)
        own = likely(labels[arcs.ptr[i] : arcs.ptr[i + 1]], flatter=1.0)
        kinds = [(heads, range(n + 1)), (own, model.maker.label_names)]
        tags = sentence.likely_tags
        if tags is not None:
            kinds += [(sharpened(tags.tags), tags.names[0]), (sharpened(tags.feats), tags.names[1])]
        yield likely_line(kinds)


def _sections(teacher: Parser, sources: Sequence[str]) -> Iterator[Iterator[Sentence]]:
    """Yield the sentences of running text, some hundred words at a time."""
    for source in sources:
        text = stream_text(source, teacher.needed_tokenizer())
        for section in cut_sentences(text, source):
            if section is not None:
                yield section.sentences()


def _complete_sections(part: Path) -> int:
    """Cut off the last section of an unfinished file; return the number of those before it."""
    if not part.exists():
        return 0
    number = end = offset = 0
    with open(part, "r+b") as file:
        for line in file:
            if line.startswith(_SECTION.encode()) and line.endswith(b"\n"):
                number, end = int(line[len(_SECTION) :]), offset
            offset += len(line)
        file.truncate(end)
    return number
