"""Split raw text into sentences of words, as the treebank of a model does.

A `Tokenizer`, which is trained with the model, finds sentences, tokens and words. Every word has
its position in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, tee
from typing import Literal, Protocol

from bbparse.runtime.errors import TreebankError
from bbparse.text.tokenizer import MAX_TOKENS, Token, Tokenizer
from bbparse.treebank.reading import BYTE_ORDER_MARK, Source, arriving_lines, open_source
from bbparse.treebank.sentence import MAX_WORDS, NO_HEAD, Sentence

#: Ways to split a text: "text", as the model has learned; "lines", every line is a sentence;
#: "words", every line is a sentence of words with spaces between them.
Split = Literal["text", "lines", "words"]
SPLITS: tuple[Split, ...] = ("text", "lines", "words")

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
_LINE_END = re.compile(r"\n\s*")
_TOKEN = re.compile(r"\S+")
# Spaces without width, joiners, byte order marks: alone or before a word they say nothing; after a
# word, joiners may be part of it.
_SIGNS = "\u200b-\u200d\u2060\ufeff"
_INVISIBLE = re.compile(f"[{_SIGNS}]")
_AT_BORDER = re.compile(rf"(?<!\S)[{_SIGNS}]+|[\u200b\ufeff]+(?!\S)")
# Number of characters after which text without paragraph breaks is split at the end of a line.
_MAX_PARAGRAPH = 1 << 20
# Number of characters from which on complete paragraphs are passed on.
_TOGETHER = 1 << 14
# Number of characters after which a line is split at a space.
_MAX_LINE = 1 << 17


class TextTokenizer(Protocol):
    """A tokenizer, or those of several languages."""

    def of_text(self, text: str) -> tuple[Tokenizer, str]:
        """Return the tokenizer of a text, and a comment for its sentences or an empty string."""
        ...


#: Start and end of a paragraph or line, and whether a paragraph begins with it.
Span = tuple[int, int, bool]


def split_of_name(source: str) -> Split | None:
    """Return how to split a source with this name: as text, or None if it is no text file."""
    return "text" if source.endswith((".txt", ".txt.gz", ".txt.xz")) else None


def stream_text(
    source: Source,
    tokenizer: TextTokenizer,
    split: Split = "text",
    first: int = 1,
    document: str | None = None,
    ids: str = "",
) -> Iterator[Sentence | None]:
    """Read the sentences of a file as `sentences_of_text`; yield None where reading has to wait.

    By then all sentences of complete paragraphs, with the blank line after them, have been yielded.
    ``document`` is the name of the text, written into a comment before the first sentence; the ids
    of the sentences begin with ``ids``.
    """
    number, offset = first, 0
    with open_source(source) as (stream, name):
        for paragraph in _pieces(arriving_lines(stream, name, source == "-"), name):
            if paragraph is None:
                yield None
                continue
            for sentence in sentences_of_text(
                paragraph, tokenizer, split=split, offset=offset, first=number, ids=ids
            ):
                if number == first and document is not None:
                    sentence.lines.insert(0, f"# newdoc id = {' '.join(document.split())}")
                    sentence.word_lines = [line + 1 for line in sentence.word_lines]
                number += 1
                sentence.source = name
                yield sentence
            offset += len(paragraph)
        if number == first:
            raise TreebankError(f"{name}: no words")


def sentences_of_text(
    text: str,
    tokenizer: TextTokenizer,
    *,
    split: Split = "text",
    offset: int = 0,
    first: int = 1,
    ids: str = "",
) -> Iterator[Sentence]:
    """Split a text into sentences.

    They have comments ``sent_id`` and ``text``, and ``newpar`` where a paragraph begins. MISC has
    ``SpaceAfter=No`` where no space follows, and ``TokenRange=start:end`` in characters;
    contractions such as *don't* may be multiword tokens.

    Parameters
    ----------
    text : str
        A blank line ends a paragraph, and with it a sentence; other line breaks are spaces.
    tokenizer : Tokenizer
        Tokenizer of a model, or those of several languages; see `Parser.needed_tokenizer`.
    split : {"text", "lines", "words"}
        "lines": each line is a sentence, cut if it is too long to be parsed; "words": the same,
        with words separated by spaces; "text": the tokenizer finds sentences and words.
    offset, first : int
        Position of the text in the document, in characters, and number of the first sentence.
    ids : str
        Beginning of each ``sent_id``, before the number.
    """
    if split not in SPLITS:
        raise TreebankError(f"split is {split!r}, expected one of {', '.join(SPLITS)}")
    if _INVISIBLE.search(text):
        text = _AT_BORDER.sub(lambda match: " " * len(match.group()), text)
    number, begins = first, True
    every = _spans(text, _PARAGRAPH_END if split == "text" else _LINE_END)
    for (own, comment), group in groupby(
        every, lambda span: tokenizer.of_text(text[span[0] : span[1]])
    ):
        spans, ahead = tee(group)
        pieces = _split((text[start:end] for start, end, _ in ahead), own, split)
        for sentences, (start, _, new_paragraph) in zip(pieces, spans):
            begins |= new_paragraph
            for tokens in sentences:
                shifted = [Token(a + start, b + start, words) for a, b, words in tokens]
                sentence = _sentence(text, shifted, offset, f"{ids}{number}", begins)
                if comment:
                    sentence.lines.insert(begins, comment)
                    sentence.word_lines = [line + 1 for line in sentence.word_lines]
                sentence.number = number
                yield sentence
                begins = False
                number += 1


def _spans(text: str, border: re.Pattern[str]) -> Iterator[Span]:
    """Yield paragraphs or lines, split if too long; True: a paragraph begins."""
    start, new_paragraph = 0, False
    while start < len(text):
        if text[start].isspace():
            start += 1
            continue
        match = border.search(text, start)
        end = match.start() if match else len(text)
        if end - start > _MAX_LINE:
            space = text.rfind(" ", start, start + _MAX_LINE)
            end, match = (space if space > start else start + _MAX_LINE), None
        yield start, end, new_paragraph
        new_paragraph = match is not None and match.group().count("\n") > 1
        start = match.end() if match else end


def _split(texts: Iterable[str], tokenizer: Tokenizer, split: Split) -> Iterator[list[list[Token]]]:
    """Yield the tokens of the sentences of each paragraph or line."""
    if split == "text":
        yield from tokenizer.paragraphs(texts)
        return
    lines: Iterable[list[Token]] = (
        [Token(word.start(), word.end(), (word.group(),)) for word in _TOKEN.finditer(text)]
        for text in texts
    )
    for tokens in tokenizer.lines(texts) if split == "lines" else lines:
        fits = sum(len(token.words) for token in tokens) <= MAX_WORDS
        size = max(1, len(tokens)) if fits else MAX_TOKENS
        yield [tokens[i : i + size] for i in range(0, len(tokens), size)]


def _sentence(
    text: str, tokens: Sequence[Token], offset: int, name: str, new_paragraph: bool
) -> Sentence:
    start, end = tokens[0].start, tokens[-1].end
    lines = ["# newpar"] if new_paragraph else []
    clean_text = " ".join(text[start:end].replace(BYTE_ORDER_MARK, "").split())
    lines += [f"# sent_id = {name}", f"# text = {clean_text}"]
    forms: list[str] = []
    word_lines: list[int] = []
    for a, b, words in tokens:
        items = [] if b == len(text) or text[b : b + 1].isspace() else ["SpaceAfter=No"]
        items.append(f"TokenRange={offset + a}:{offset + b}")
        misc = "|".join(items)
        written = _visible(text[a:b])
        if len(words) > 1:
            first = len(forms) + 1
            lines.append(
                "\t".join((f"{first}-{first + len(words) - 1}", written, *"_______", misc))
            )
            is_split = "".join(words) == text[a:b]
            for word in words:
                word_misc = f"TokenRange={offset + a}:{offset + a + len(word)}" if is_split else "_"
                forms.append(_visible(word))
                word_lines.append(len(lines))
                lines.append("\t".join((str(len(forms)), forms[-1], *"_______", word_misc)))
                a += len(word)
        else:
            forms.append(written)
            word_lines.append(len(lines))
            lines.append("\t".join((str(len(forms)), written, *"_______", misc)))
    lemmas, upos, xpos, feats, deprels = (["_"] * len(forms) for _ in range(5))
    heads = [NO_HEAD] * len(forms)
    return Sentence(lines, word_lines, forms, lemmas, upos, xpos, feats, heads, deprels)


def is_blank(text: str) -> bool:
    """Return True for white space and invisible characters, which are no word."""
    return not _INVISIBLE.sub("", text).strip()


def _visible(form: str) -> str:
    """Return a form without white space other than single spaces and without byte order marks."""
    return form if form.isprintable() else " ".join(form.replace(BYTE_ORDER_MARK, "").split())


def _pieces(stream: Iterable[bytes | None], name: str) -> Iterator[str | None]:
    """Yield pieces of a text that end with a blank line; together they are the whole text.

    None, which says that reading on has to wait, is passed on.
    """
    whole, lines = "", list[str]()  # complete paragraphs, and the lines of the next one
    size = number = 0
    blank = False
    for raw in stream:
        line = ""
        if raw is not None:
            number += 1
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                if blank:
                    whole += "".join(lines)
                if whole:
                    yield whole
                raise TreebankError(
                    f"{name}, line {number}: byte {error.start + 1} of the line is"
                    f" 0x{raw[error.start]:02x}, expected text in UTF-8"
                ) from None
        if lines and ((blank and not line.isspace()) or size > _MAX_PARAGRAPH):
            whole += "".join(lines)
            lines, size = [], 0
        if whole and (raw is None or len(whole) > _TOGETHER):
            yield whole
            whole = ""
        if raw is None:
            yield None
            continue
        blank = line.isspace()
        lines.append(line)
        size += len(line)
    if whole or lines:
        yield whole + "".join(lines)
