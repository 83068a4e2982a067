"""Compare bbparse with UDPipe 1 on running text, trained on the same treebank.

    python bench/text.py NAME TRAIN DEV [--model MODEL] [--udpipe FILE [--options EPOCHS]]
        [--full [--parser OPTIONS]]

The text is that of DEV with its paragraphs. If a treebank does not mark spaces, the usual spacing
is assumed, for UDPipe's training, too. Measures: F1 of tokens, words and sentences, UPOS, UAS, LAS
and MLAS by the official scorer; words per second of processor time from text to trees, in turns;
processor time of training (of bbparse: the tokenizer, if there is no MODEL) and file size. A MODEL
with crossing arcs also draws projective trees, as UDPipe does. UDPipe's tokenizer is trained into
FILE if that does not exist; ``--full`` also trains a tagger and a parser. Adds rows to
bench/results/text.json, and rewrites text.md.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from measure import arguments, markdown, result, train_udpipe, turns, udpipe, write_result

from bbparse.parser.parser import Parser
from bbparse.text import sentences_of_text
from bbparse.text.raw import is_spaced, plain_text, with_guessed_blanks
from bbparse.text.tokenizer_training import train_tokenizer
from bbparse.treebank import Sentence, format_sentence, read_conllu
from bbparse.treebank.alignment import evaluate_text
from bbparse.treebank.sentence import surface_tokens

#: Of text; the others are of trees.
CUT = ("tokens", "words", "sentences")
TREES = ("upos", "uas", "las", "mlas")


def with_blanks(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    """Sentences that say where there are no blanks, as usual if their treebank does not know."""
    known = is_spaced(map(surface_tokens, sentences))
    for sentence in sentences:
        if known:
            yield sentence
            continue
        lines = list(sentence.lines)
        for line, piece in zip(sentence.word_lines, with_guessed_blanks(surface_tokens(sentence))):
            if not piece.blank:
                lines[line] = lines[line].rpartition("\t")[0] + "\tSpaceAfter=No"
        yield replace(sentence, lines=lines)


def bbparse(parser: Parser) -> Callable[[str], list[Sentence]]:
    """The same by a model of ours."""

    def parse(text: str) -> list[Sentence]:
        cut = map(parser.tagged, sentences_of_text(text, parser.needed_tokenizer()))
        return [
            replace(one.sentence, heads=list(one.trees[0].heads), deprels=one.trees[0].labels)
            for one in parser.parse_all(cut)
        ]

    return parse


def scores(gold: Sequence[Sentence], found: Sequence[Sentence]) -> dict[str, float]:
    """F1 in percent; of trees where there are any."""
    whole = all(one.has_heads for one in found)
    if not whole:
        found = [replace(one, heads=[0] * one.n_words) for one in found]
    shares = {name: one.f1 for name, one in evaluate_text(gold, found).items()}
    return {name: 100 * shares[name] for name in (*CUT, *(TREES if whole else ()))}


def measured(
    gold: Sequence[Sentence], systems: dict[str, Callable[[str], list[Sentence]]], repeat: int
) -> dict[str, dict[str, Any]]:
    """Scores and speed of systems, in turns, after one turn that does not count."""
    text = plain_text(gold)
    words = sum(one.n_words for one in gold)
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    rows: dict[str, dict[str, Any]] = {}
    calls = {name: partial(system, text) for name, system in systems.items()}
    for name, found, took in turns(calls, repeat + 1, time.process_time):
        seconds[name].append(took)
        if name not in rows:
            rows[name] = scores(gold, found)
    for name, row in rows.items():
        row["words_per_second"] = words / median(seconds[name][1:] or seconds[name])
    return rows


TABLE = """
    tokens {tokens:.2f} | words {words:.2f} | sentences {sentences:.2f} | UPOS {upos:.2f}
    | UAS {uas:.2f} | LAS {las:.2f} | MLAS {mlas:.2f} | words/s {words_per_second:,.0f}
    | training, s {training_seconds:,.0f} | MB {megabytes:.2f}"""


def main() -> None:
    given = arguments(
        __doc__,
        "name",
        "train",
        "dev",
        model=str,
        seconds=float,
        udpipe=Path,
        options="epochs=100",
        full=False,
        parser="",
        repeat=3,
    )
    sentences = list(read_conllu(given.train))
    if given.udpipe is not None and not given.udpipe.exists():
        rest = ("", given.parser) if given.full else ("none", "none")
        text = "".join(map(format_sentence, with_blanks(sentences)))
        started = time.process_time()
        train_udpipe(given.udpipe, text, given.options, *rest)
        named = f"{given.options}, parser {given.parser}" if given.parser else given.options
        note = {"training_seconds": time.process_time() - started, "options": named}
        given.udpipe.with_suffix(".json").write_text(json.dumps(note), encoding="utf-8")
    gold = list(read_conllu(given.dev, require_heads=True))
    systems: dict[str, Callable[[str], list[Sentence]]] = {}
    notes: dict[str, dict[str, Any]] = {}
    if given.model is None:
        started = time.process_time()
        tokenizer = train_tokenizer(sentences)
        seconds = time.process_time() - started
        systems["bbparse, text only"] = lambda text: list(sentences_of_text(text, tokenizer))
        notes["bbparse, text only"] = {"training_seconds": seconds}
    else:
        parser = Parser.load(given.model)
        systems["bbparse"] = bbparse(parser)
        if parser.model.config.model.projective is False:
            systems["bbparse, drawn projective"] = bbparse(parser.with_options(projective=True))
        size = Path(given.model).stat().st_size / 1e6
        for title in systems:
            notes[title] = {"training_seconds": given.seconds, "megabytes": size}
    if given.udpipe is not None:
        note = json.loads(given.udpipe.with_suffix(".json").read_text(encoding="utf-8"))
        title = f"UDPipe 1{'' if given.full else ', text only'} ({note['options']})"
        rest = ["" if given.full else "none"] * 2
        process = udpipe(given.udpipe, "tokenize", *rest)
        systems[title] = lambda text: list(read_conllu(io.StringIO(process(text))))
        notes[title] = {**note, "megabytes": given.udpipe.stat().st_size / 1e6}
    rows = measured(gold, systems, given.repeat)
    every = result("text").get("rows", {})
    for title, row in rows.items():
        every[f"{given.name}, {title}"] = {**row, **notes.get(title, {})}
    every = dict(sorted(every.items()))
    table = markdown("treebank, system", every.items(), TABLE)
    write_result("text", {"rows": every}, table, ["ufal.udpipe"])


if __name__ == "__main__":
    main()
