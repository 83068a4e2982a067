"""Parameters and results of UDPipe's REST service, so that its clients work with this service.

The reference is at https://lindat.mff.cuni.cz/services/udpipe/api-reference.php; the interpretation
of parameters follows the server of UDPipe 2.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from bbparse import __version__
from bbparse.apps.serve.schema import Refused
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.text import sentences_of_text
from bbparse.text.segmentation import Split, is_blank
from bbparse.treebank import Sentence, format_sentence, read_conllu
from bbparse.treebank.drawing.formats import Style, as_conllu
from bbparse.treebank.reading import BYTE_ORDER_MARK

#: Formats of ``input`` and ``output``; options follow after ``=``.
INPUTS = ("conllu", "generic_tokenizer", "horizontal", "vertical")
OUTPUTS = ("conllu", "horizontal", "vertical", "plaintext")
_BLANK_LINE = re.compile(r"\n\r?\n$")
#: The last item of MISC that a tokenizer writes.
_RANGE = re.compile(r"([\t|])TokenRange=(\d+):(\d+)$")


def check(options: Mapping[str, str]) -> None:
    """Refuse parameters that are wrong for every model."""
    if "data" not in options:
        raise Refused(400, "The parameter 'data' is required.")
    kind = _name(options, "input")
    if "tokenizer" not in options and kind not in INPUTS:
        raise Refused(400, f"Unknown input format '{kind}', expected {', '.join(INPUTS)}.")
    kind = _name(options, "output")
    if kind not in OUTPUTS:
        raise Refused(400, f"Unknown output format '{kind}', expected {', '.join(OUTPUTS)}.")


def answer(
    parser: Parser,
    model: str,
    options: Mapping[str, str],
    parse: Callable[[Iterable[Sentence]], Iterator[Parse]],
) -> Iterator[str]:
    """Yield the pieces of the result: the header, and one for each sentence."""
    output = _name(options, "output")
    if output == "conllu":
        yield f"# generator = bbparse {__version__}\n# udpipe_model = {model}\n"
    sentences = _read(parser, options)
    if "tagger" in options:
        if parser.model.tagger is None:
            raise ModelError(f"The model '{model}' has no tagger.")
        sentences = parser.model.tagger.tag(sentences)
    if "parser" not in options:
        for sentence in sentences:
            yield _written(sentence, format_sentence(sentence), output)
        return
    for result in parse(parser.tag(sentences)):
        status, style = result.status, Style(last=False)
        text = as_conllu(result.sentence, result.trees, status, style)
        yield _written(result.sentence, text, output)


def _name(options: Mapping[str, str], key: str) -> str:
    return options.get(key, "conllu").partition("=")[0]


def _read(parser: Parser, options: Mapping[str, str]) -> Iterator[Sentence]:
    data, offsets = _composed(options["data"])
    kind, _, kind_options = options.get("input", "conllu").partition("=")
    if "tokenizer" in options or kind == "generic_tokenizer":
        tokenizer_options = options.get("tokenizer", kind_options).split(";")
        split: Split = "lines" if "presegmented" in tokenizer_options else "text"
        sentences = sentences_of_text(data, parser.needed_tokenizer(), split=split)
        return map(
            partial(_with_ranges, offsets if "ranges" in tokenizer_options else None), sentences
        )
    if kind == "horizontal":
        sentences = sentences_of_text(data, parser.needed_tokenizer(), split="words")
        return map(partial(_with_ranges, None), sentences)
    if kind == "vertical":
        return _vertical(data)
    return _conllu(data)


def _conllu(data: str) -> Iterator[Sentence]:
    if not data.strip():
        return
    try:
        yield from read_conllu(io.StringIO(data))
    except TreebankError as error:
        raise Refused(400, f"Cannot parse the input in 'conllu' format: {error}") from None


def _vertical(data: str) -> Iterator[Sentence]:
    lines = [line.partition("\t")[0].strip(BYTE_ORDER_MARK) for line in data.splitlines()]
    forms = ["" if is_blank(line) else " ".join(line.split()) for line in lines]
    blocks = (list(words) for has_form, words in groupby(forms, bool) if has_form)
    for number, words in enumerate(blocks, start=1):
        yield Sentence.from_words(words, name=str(number))


def _composed(text: str) -> tuple[str, list[int]]:
    """Return a text in NFC, and for each of its offsets the one in the text itself."""
    if unicodedata.is_normalized("NFC", text):
        return text, list(range(len(text) + 1))
    nfc = partial(unicodedata.normalize, "NFC")
    composed, offsets, start = "", [], 0
    for end in range(1, len(text) + 1):
        segment, following = text[start:end], text[end : end + 1]
        if following and unicodedata.combining(following):
            continue
        if nfc(segment + following) != nfc(segment) + nfc(following):
            continue
        offsets += [min(start + i, end) for i in range(len(nfc(segment)))]
        composed += nfc(segment)
        start = end
    return composed, [*offsets, len(text)]


def _with_ranges(offsets: Sequence[int] | None, sentence: Sentence) -> Sentence:
    """Write ``TokenRange`` with these offsets; None removes it, as UDPipe does by default."""

    def moved(match: re.Match[str]) -> str:
        if offsets is None:
            return "\t_" if match[1] == "\t" else ""
        return f"{match[1]}TokenRange={offsets[int(match[2])]}:{offsets[int(match[3])]}"

    lines = [line if line[0] == "#" else _RANGE.sub(moved, line) for line in sentence.lines]
    return replace(sentence, lines=lines)


def _written(sentence: Sentence, conllu: str, output: str) -> str:
    if output == "conllu":
        return conllu if _BLANK_LINE.search(conllu) else conllu.rstrip("\r\n") + "\n\n"
    if output == "vertical":
        return "\n".join(sentence.forms) + "\n\n"
    if output == "horizontal":
        return " ".join(form.replace(" ", "\u00a0") for form in sentence.forms) + "\n"
    return sentence.written + "\n"
