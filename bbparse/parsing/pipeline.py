"""`load` and `Pipeline`: a model as one object that is called with what one has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from bbparse.errors import ModelError, TreebankError
from bbparse.factors import FactorFamily
from bbparse.model import DEFAULT_MODEL
from bbparse.model.model import card
from bbparse.options import check_type
from bbparse.parsing.compiling import load_compiled
from bbparse.parsing.document import Document, ParsedSentence
from bbparse.parsing.parser import Parser
from bbparse.text.segmentation import Split, sentences_of_text
from bbparse.treebank import Sentence
from bbparse.validity.rules import Rules

Token: TypeAlias = "str | Sequence[str]"
"""A word: its form, or (form, UPOS, XPOS, lemma, FEATS); the last of these may be left out."""

_COLUMNS = ("form", "UPOS", "XPOS", "lemma", "FEATS")


def load(
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
) -> Pipeline:
    """Read a model, to be called with what is to be parsed.

    Parameters
    ----------
    model : path or name
        A file, or the name of a model that comes with the package.
    factors : iterable of families, optional
        Families the model was trained with that are not installed as plug-ins: classes, or
        ``"module:Class"``. A model file never has code imported by itself.

    Raises
    ------
    ModelError
        If the file is missing, truncated, no model, or of a newer version.
    FactorError
        If a family the model needs is neither installed nor given.

    Examples
    --------
    ::

        nlp = bbparse.load("english.model")
        doc = nlp([("She", "PRON"), ("slept", "VERB"), (".", "PUNCT")], k_best=2)
        for word in doc[0]:
            print(word.form, word.head, word.label)
    """
    return Pipeline(load_compiled(model, factors))


class Pipeline:
    """A parser that takes sentences, words, or lists of them, and gives a `Document`.

    Parameters
    ----------
    parser : Parser
    """

    def __init__(self, parser: Parser) -> None:
        check_type("parser", parser, Parser, "a Parser: bbparse.load reads one")
        self.parser = parser

    @property
    def card(self) -> dict[str, Any]:
        """What the model was learned from, how, and what it reaches: `bbparse.model.model.card`."""
        return card(self.parser.model)

    def __call__(
        self,
        text: str | Sentence | Iterable[Sentence] | Sequence[Token] | Iterable[Sequence[Token]],
        *,
        k_best: int = 1,
        keep_heads: bool = False,
        split: Split = "text",
        prune: int | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
        valid: str | Rules | None = None,
        confidence: bool = False,
        threads: int = 1,
    ) -> Document:
        """Parse.

        Parameters
        ----------
        text : str, Sentence, words, or an iterable of sentences
            Running text is cut into sentences and words. A list of words is one sentence; a word is
            its form, or a tuple of its form, UPOS, XPOS, lemma and FEATS, of which the last may be
            left out; one that has blanks in it, as some treebanks have them, must be a tuple.
            Several sentences are an iterable of `Sentence` or of lists of words; several texts are
            for `pipe`. Words without tags are tagged first where the model has a tagger.
        k_best : int
            How many trees of each sentence.
        keep_heads : bool
            Find the best trees with all heads and labels that a `Sentence` has; a head of -1 is
            none. One sentence at a time.
        split : {"text", "lines", "words"}
            How running text is cut: as the model has learned it; each line is a sentence; each
            line is a sentence, and its words are what blanks are between.
        prune : int, optional
            Most candidate heads of a word, instead of the model's; 0: all arcs.
        time_limit, node_limit : optional
            Seconds, or nodes, for the search of one sentence. Without both, it may do what takes
            about a second, the same on every machine; ``time_limit=inf`` lets it come to its end.
        valid : str or Rules, optional
            The rules that trees keep: by default UD's, if the model's labels are relations of UD;
            those of a file or a plug-in besides; "ud" or "none".
        confidence : bool
            Say how sure each arc and each tree is, for models that are calibrated.
        threads : int
            Batches of sentences that are parsed at the same time, by threads of this process. They
            take turns in Python, so two are 1.2 to 1.5 times as fast as one; for a corpus, the
            processes of ``bbparse parse --threads`` are faster.

        Raises
        ------
        TreebankError
            If words are given in another form, or no tree has the heads to keep.
        ModelError
            If raw text is given and the model needs tags and has no tagger, or cannot cut text.
        """
        sentences = [text] if isinstance(text, Sentence) else self._sentences(text)
        options = {
            "k_best": k_best, "prune": prune, "time_limit": time_limit, "node_limit": node_limit,
            "valid": valid, "confidence": confidence, "threads": threads, "keep_heads": keep_heads,
        }  # fmt: skip
        return Document(list(self.pipe(sentences, split=split, **options)))

    def pipe(
        self,
        sentences: Iterable[Sentence | str | Sequence[Token]],
        *,
        split: Split = "text",
        **options: Any,
    ) -> Iterator[ParsedSentence]:
        """Parse a stream of sentences, texts, or lists of words, a little ahead of the reader.

        A text may be several sentences. Options are those of a call.
        """
        # without a tagger, words without tags are parsed by their forms
        stream = self._stream(sentences, split)
        tagged = stream if self.parser.tagger is None else map(self.parser.tagged, stream)
        for one in self.parser.parse_all(tagged, **options):
            yield ParsedSentence(one.sentence, one.trees, one.solution.status)

    def _sentences(self, text: Any) -> Iterable[Any]:
        """What was given, as a stream of sentences."""
        if isinstance(text, str):
            return [text]
        if not isinstance(text, Iterable):
            raise TreebankError(
                f"found {text!r:.60}, expected text, a Sentence, a list of words or of sentences"
            )
        items = list(text)
        if not items or not all(isinstance(item, str) or _is_word(item) for item in items):
            return [
                item if isinstance(item, Sentence) else sentence_of(item, number)
                for number, item in enumerate(items, start=1)
            ]
        for i, item in enumerate(items, start=1):
            if isinstance(item, str) and " " in item:
                raise TreebankError(
                    f"word {i} is {item!r:.60}, which has blanks in it: a list of texts is for"
                    f" pipe; a word with blanks is given as ({item!r:.60},)"
                )
        return [sentence_of(items)]

    def _stream(self, items: Iterable[Any], split: Split) -> Iterator[Sentence]:
        """Sentences, whatever they were given as."""
        if isinstance(items, str | Sentence) or not isinstance(items, Iterable):
            raise TreebankError(f"found {items!r:.60}, expected an iterable of sentences or texts")
        for number, item in enumerate(items, start=1):
            if isinstance(item, Sentence):
                yield item
            elif isinstance(item, str):
                if not self.parser.model.takes_words:
                    raise ModelError(
                        "the model has no tagger, so it cannot parse raw text: give words with"
                        " their tags, or put a tagger into the model with 'bbparse bundle'"
                    )
                yield from sentences_of_text(item, self.parser.needed_cutter(), split=split)
            else:
                yield sentence_of(item, number)

    def __repr__(self) -> str:
        names = [family.name for family in self.parser.maker.families]
        families = f"factors {', '.join(names)}" if names else "no factors"
        return f"<Pipeline: {self.parser.config.model.backbone} backbone, {families}>"


def _is_word(item: Any) -> bool:
    """Whether it is a tuple that describes a word rather than a list of words."""
    return (
        isinstance(item, tuple)
        and 1 <= len(item) <= len(_COLUMNS)
        and all(isinstance(value, str) for value in item)
    )


def sentence_of(words: Iterable[Token], number: int = 1) -> Sentence:
    """The sentence of a list of words, each a `str` or (form, UPOS, XPOS, lemma, FEATS), of which
    the last may be left out; `TreebankError` if one is neither, or there are none."""
    rows: list[tuple[str, ...]] = []
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise TreebankError(f"sentence {number} is {words!r:.60}, expected a list of words")
    for i, word in enumerate(words, start=1):
        row = tuple(word) if isinstance(word, tuple | list) else (word,)
        if not 1 <= len(row) <= len(_COLUMNS) or not all(isinstance(v, str) for v in row):
            raise TreebankError(
                f"sentence {number}, word {i} is {word!r}, expected text or a tuple of"
                f" {', '.join(_COLUMNS)}"
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
