"""`load` and `Pipeline`: a model as one callable that takes text or sentences."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from bbparse.models import DEFAULT_MODEL
from bbparse.models.factors.family import FactorFamily
from bbparse.models.model import card
from bbparse.parser.document import Document, ParsedSentence
from bbparse.parser.parse import ParseOptions
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.runtime.options import check_type
from bbparse.text.segmentation import Split, sentences_of_text
from bbparse.treebank import Sentence

Token: TypeAlias = "str | Sequence[str]"
"""A word: its form, or (form, UPOS, XPOS, lemma, FEATS), where trailing items may be omitted."""

_COLUMNS = ("form", "UPOS", "XPOS", "lemma", "FEATS")


def load(
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
    **options: Any,
) -> Pipeline:
    """Read a model and return a pipeline that parses with it.

    Parameters
    ----------
    model : path or name
        A file, or the name of a model that comes with the package.
    factors : iterable of families, optional
        Factor families of the model that no installed package provides: classes, or
        ``"module:Class"``. A model file alone never makes Python import code.
    options
        Options by name, for all that it parses: the fields of `ParseOptions`.

    Raises
    ------
    ModelError
        If the file is missing, damaged, or not a model of this version.
    FactorError
        If a factor family of the model is neither installed nor given.

    Examples
    --------
    ::

        nlp = bbparse.load("english.model")
        doc = nlp([("She", "PRON"), ("slept", "VERB"), (".", "PUNCT")], k_best=2)
        for word in doc[0]:
            print(word.form, word.head, word.label)
    """
    return Pipeline(Parser.load(model, factors, **options))


class Pipeline:
    """A parser that takes text, sentences, words, or lists of them, and returns a `Document`."""

    def __init__(self, parser: Parser) -> None:
        check_type("parser", parser, Parser, "a Parser: bbparse.load reads one")
        self.parser = parser

    @property
    def card(self) -> dict[str, Any]:
        """The model's training data, settings and accuracy; see `bbparse.models.model.card`."""
        return card(self.parser.model)

    def __call__(
        self,
        text: str | Sentence | Iterable[Sentence] | Sequence[Token] | Iterable[Sequence[Token]],
        options: ParseOptions | None = None,
        *,
        split: Split = "text",
        threads: int = 1,
        **changes: Any,
    ) -> Document:
        """Parse a text, a sentence or several sentences.

        Parameters
        ----------
        text : str, Sentence, words, or an iterable of sentences
            Running text is segmented into sentences and words. A list of words is one sentence. A
            word is its form, or a tuple of its form, UPOS, XPOS, lemma and FEATS, where trailing
            items may be omitted; a word with blanks, as in some treebanks, must be a tuple. Several
            sentences are an iterable of `Sentence` or of lists of words; for several texts, use
            `pipe`. Words without tags are tagged first if the model has a tagger.
        options : ParseOptions
        split : {"text", "lines", "words"}
            Segmentation of running text. "text": as the model has learned it; "lines": each line
            is a sentence; "words": the same, with words separated by blanks.
        threads : int
            Number of threads that parse batches of sentences. Python code runs in one thread at a
            time, so two threads are 1.2 to 1.5 times as fast as one. For a corpus, the processes of
            ``bbparse parse --threads`` are faster.
        changes
            Options by name, such as ``k_best=2``: the fields of `ParseOptions`.

        Raises
        ------
        TreebankError
            If words are given in another form, or if no tree has the heads to keep.
        ModelError
            If text is given and the model has no tokenizer, or needs tags and has no tagger.
        """
        sentences = [text] if isinstance(text, Sentence) else self._sentences(text)
        parsed = self.pipe(sentences, options, split=split, threads=threads, **changes)
        return Document([sentence for document in parsed for sentence in document])

    def pipe(
        self,
        texts: Iterable[Sentence | str | Sequence[Token]],
        options: ParseOptions | None = None,
        *,
        split: Split = "text",
        **more: Any,
    ) -> Iterator[Document]:
        """Parse a stream of texts, sentences, or lists of words; yield a `Document` for each.

        The stream is read a little ahead. The document of a blank text has no sentences. Arguments
        are those of a call.
        """
        sizes: deque[int] = deque()  # numbers of sentences of the texts that are being parsed
        parsed: list[ParsedSentence] = []
        stream = self._stream(texts, split, sizes)
        # Without a tagger, words without tags are parsed by their forms.
        tag = self.parser.model.tagger is not None
        for parse in self.parser.parse_all(stream, options, tag=tag, **more):
            while not sizes[0]:
                yield Document([])
                sizes.popleft()
            parsed.append(ParsedSentence(parse.sentence, parse.trees, parse.status))
            if len(parsed) == sizes[0]:
                yield Document(parsed)
                sizes.popleft()
                parsed = []
        for _ in sizes:
            yield Document([])

    def _sentences(self, text: Any) -> Iterable[Any]:
        """Return the input of a call as a stream of sentences or texts."""
        if isinstance(text, str):
            return [text]
        if isinstance(text, bytes | bytearray) or not isinstance(text, Iterable):
            raise TreebankError(
                f"found {text!r:.60}, expected text, a Sentence, a list of words or of sentences"
            )
        items = list(text)
        if not items or not all(isinstance(item, str) or _is_word(item) for item in items):
            for number, item in enumerate(items, start=1):
                if _is_word(item):
                    raise TreebankError(
                        f"sentence {number} is {item!r:.60}, a word, expected a list of words"
                    )
            return [
                item if isinstance(item, Sentence) else sentence_of(item, number)
                for number, item in enumerate(items, start=1)
            ]
        for i, item in enumerate(items, start=1):
            if isinstance(item, str) and " " in item:
                raise TreebankError(
                    f"word {i} is {item!r:.60}, which contains blanks: use pipe for a list of"
                    f" texts, or ({item!r:.60},) for a word with blanks"
                )
        return [sentence_of(items)]

    def _stream(self, items: Iterable[Any], split: Split, sizes: deque[int]) -> Iterator[Sentence]:
        """Yield the sentences of sentences, texts, or lists of words; note how many each has."""
        if isinstance(items, str | Sentence) or not isinstance(items, Iterable):
            raise TreebankError(f"found {items!r:.60}, expected an iterable of sentences or texts")
        for number, item in enumerate(items, start=1):
            if isinstance(item, Sentence):
                sentences = [item]
            elif isinstance(item, str):
                if not self.parser.model.takes_words:
                    raise ModelError(
                        "the model has no tagger, so it cannot parse raw text: give words with"
                        " tags, or add a tagger to the model with 'bbparse bundle'"
                    )
                tokenizer = self.parser.needed_tokenizer()
                sentences = list(sentences_of_text(item, tokenizer, split=split))
            else:
                sentences = [sentence_of(item, number)]
            sizes.append(len(sentences))
            yield from sentences

    def __repr__(self) -> str:
        names = [family.name for family in self.parser.model.maker.families]
        families = f"factors {', '.join(names)}" if names else "no factors"
        return f"<Pipeline: {self.parser.model.config.model.backbone} backbone, {families}>"


def _is_word(item: Any) -> bool:
    """Return True for a tuple that describes a word, or too much of it; False for a sentence."""
    return isinstance(item, tuple) and len(item) > 0 and isinstance(item[0], str)


def sentence_of(words: Iterable[Token], number: int = 1) -> Sentence:
    """Build a sentence from forms, or tuples as in `Token`; ``number`` is for messages.

    Raises `TreebankError` if a word is neither, or there are no words.
    """
    rows: list[tuple[str, ...]] = []
    if isinstance(words, str | bytes | bytearray) or not isinstance(words, Iterable):
        raise TreebankError(f"sentence {number} is {words!r:.60}, expected a list of words")
    for i, word in enumerate(words, start=1):
        row = tuple(word) if isinstance(word, tuple | list) else (word,)
        if not 1 <= len(row) <= len(_COLUMNS) or not all(isinstance(v, str) for v in row):
            raise TreebankError(
                f"sentence {number}, word {i} is {word!r:.60}, expected text or a tuple of up to"
                f" {len(_COLUMNS)} texts: {', '.join(_COLUMNS)}"
            )
        if not row[0].strip():
            raise TreebankError(f"sentence {number}, word {i} is {row[0]!r}, expected text")
        rows.append(row + ("_",) * (len(_COLUMNS) - len(row)))
    if not rows:
        raise TreebankError(f"sentence {number} has no words")
    forms, upos, xpos, lemmas, feats = ([v or "_" for v in column] for column in zip(*rows))
    try:
        sentence = Sentence.from_words(forms, upos=upos, xpos=xpos, lemmas=lemmas, feats=feats)
    except ValueError as error:
        raise TreebankError(f"sentence {number}: {error}") from error
    sentence.number = number
    return sentence
