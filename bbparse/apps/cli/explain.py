"""``bbparse explain``: a page that explains why a tree is the best one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, command, option
from bbparse.apps.corpus.files import read_sentences
from bbparse.apps.explain import explain as explain_sentence
from bbparse.apps.explain import page
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import TreebankError
from bbparse.runtime.output import open_output
from bbparse.text.segmentation import Split, sentences_of_text
from bbparse.treebank import Sentence


@command()
@click.argument("source", type=FILE, metavar="[INPUT|TEXT|-]", default="-")
@options.model
@options.text
@option(
    "-o --output",
    "The page; - is standard output.",
    OutputFile(),
    metavar="PAGE.html",
    required=True,
)
@option(
    "--sentence wanted",
    "Number of the sentence, from 1, or its sent_id. Default: the first.",
    metavar="N|ID",
)
@options.number("k_best", "Show the K best trees.", 3)
@options.valid
@options.prune
@options.limits()
def explain(
    source: str,
    model: str,
    factors: list[str],
    split: Split | None,
    output: str,
    wanted: str | None,
    **limits: Any,
) -> None:
    """Write an HTML page that explains why the best tree of a sentence is the best.

    The input is CoNLL-U, CoNLL-X or running text, as for 'bbparse parse', or the sentence itself.
    The page works offline. It shows the k best trees and their differences; how much score the best
    tree would lose without each of its arcs; the arcs, parts and factors that make up its score,
    with the words that the network relied on; and the bounds of the search. If the best tree breaks
    validity rules, the page also shows the best tree that satisfies them all.

    The limits apply to each search: one for the trees, one for their trace, and one for each arc.

    \b
    Examples:
      bbparse explain "Time flies like an arrow." -o page.html
      bbparse explain in.conllu --model en.model -o page.html
      bbparse explain in.conllu --model en.model --sentence 12 --k-best 5 -o page.html
      bbparse explain in.conllu --model en.model --valid my-rules.toml -o page.html
    """
    loaded = Parser.load(model, factors)
    sentences, place = _read(source, loaded, split)
    sentence = loaded.tagged(_choose(sentences, wanted, place))
    written = page(explain_sentence(loaded, sentence, **limits), model=os.path.basename(model))
    with open_output(output) as stream:
        stream.write(written)


def _read(source: str, parser: Parser, split: Split | None) -> tuple[Iterable[Sentence], str]:
    """Return the sentences, and the name of their source for messages."""
    is_file = source == "-" or os.path.exists(source)
    is_text = not source or any(c.isspace() for c in source)
    if not is_file and not is_text and source[-1] not in ".?!…。？！":
        raise TreebankError(
            f"{source}: no such file; one word is read as text if it ends in a full stop"
        )
    if is_file:
        place = "standard input" if source == "-" else source
        return read_sentences(source, parser.needed_tokenizer, split), place
    tokenizer = parser.needed_tokenizer()
    return sentences_of_text(source, tokenizer, split=split or "text"), "the text"


def _choose(sentences: Iterable[Sentence], wanted: str | None, place: str) -> Sentence:
    """Return the sentence with a number, without reading further, or else with a sent_id."""
    count, named = 0, []
    for sentence in sentences:
        count += 1
        if wanted in (None, str(sentence.number)):
            return sentence
        if sentence.name == wanted:
            named.append(sentence)
    if len(named) > 1:
        numbers = " and ".join(str(sentence.number) for sentence in named[:2])
        raise TreebankError(
            f"{place}: sentences {numbers} have the sent_id {wanted}: give a number"
        )
    if named:
        return named[0]
    found = f"no sentence {wanted}; there are {count}" if count else "no words"
    raise TreebankError(f"{place}: {found}")
