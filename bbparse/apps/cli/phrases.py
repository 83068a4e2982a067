"""``bbparse phrases`` and ``train-phrases``: phrase structure of sentences, and its training."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, command, option, say
from bbparse.apps.corpus.files import read_sentences
from bbparse.grammar.evaluation import compare_trees
from bbparse.grammar.model import load_phrases, save_phrases
from bbparse.grammar.parser import WITH, PhraseParse, PhraseParser
from bbparse.grammar.training import read_treebank
from bbparse.grammar.training import train_phrases as learn
from bbparse.models.configuration import CONFIGURATIONS
from bbparse.runtime.output import open_output
from bbparse.text.segmentation import Split

FORMATS = ("ptb", "tree", "jsonl")


@command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@option("--model", "Model of 'bbparse train-phrases'.", FILE, required=True)
@options.text
@option(
    "--with use",
    "Models beside the grammar: the tagger (tags), the dependency parser (arcs), or both.",
    WITH,
    "both",
)
@options.output
@option("--format format_name", "Brackets, drawn trees or JSON lines.", FORMATS, "ptb")
@options.number(
    "k_best",
    "Write the K best trees of each sentence, best first; all have the tags and arcs of"
    " the best one.",
    1,
)
@options.limits()
def phrases(
    source: str,
    model: str,
    split: Split | None,
    use: str,
    output: str,
    format_name: str,
    **limits: Any,
) -> None:
    """Parse running text, CoNLL-U or bracketed trees (.ptb, .mrg) into phrase structure.

    The command reads the words of bracketed trees, and the words of CoNLL-U, with XPOS if all words
    have one. Of all trees in the chart, it finds the one with the highest score by the grammar and
    the models of --with; JSON output has "complete": false if a limit stopped the search before the
    proof. If the chart has no tree for a sentence, the parser splits the sentence and joins the
    parts in a phrase X; JSON output then has "fallback": true.

    \b
    Examples:
      echo "Time flies." | bbparse phrases --text --model phrases.model --format tree
      bbparse phrases gold.ptb --model phrases.model -o out.ptb
    """
    k_best = limits.pop("k_best")
    parser = load_phrases(model)
    if use in ("arcs", "both") and parser.dependencies is None:
        use = "none" if use == "arcs" else "tags"
        say(f"{model} has no dependency parser: using --with {use}")
    with open_output(output) as out:
        for words, tags in _sentences(source, parser, split):
            parsed = parser.parse(words, tags, use=use, k=k_best, **limits)
            out.write(_shown(parsed, words, format_name))


def _sentences(
    source: str, parser: PhraseParser, split: Split | None
) -> Iterator[tuple[list[str], list[str] | None]]:
    """Yield words, and tags if they are known."""
    if split is None and source.endswith((".ptb", ".mrg")):
        yield from ((tree.words, None) for tree in read_treebank(source))
        return
    for sentence in read_sentences(source, lambda: parser.tokenizer, split):
        yield sentence.forms, None if "_" in sentence.xpos else sentence.xpos


def _shown(parsed: PhraseParse, words: list[str], format_name: str) -> str:
    if format_name == "ptb":
        return "".join(f"{tree}\n" for tree in parsed.trees)
    if format_name == "tree":
        return "".join(tree.to_text() + "\n" for tree in parsed.trees)
    agreement = parsed.agreement
    record = {
        "words": words,
        "trees": [
            {"tree": str(tree), "score": None if score == float("-inf") else score}
            for tree, score in zip(parsed.trees, parsed.scores)
        ],
        "heads": parsed.heads,
        "fallback": parsed.fallback,
        "complete": parsed.complete,
        "agreement": None
        if agreement is None
        else {
            "status": agreement.status,
            "value": agreement.value,
            "bound": agreement.bound,
            "calls": agreement.calls,
            "nodes": agreement.nodes,
        },
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


@command("train-phrases")
@click.argument("treebank", type=FILE, metavar="TRAIN")
@option("--dev", "Trees to report the accuracy on.", FILE)
@option("--model", "Where to write the model.", OutputFile(streams=False), required=True)
@option(
    "--config",
    "Configuration of the dependency parser; none: train no parser.",
    CONFIGURATIONS,
    "phrases",
    metavar="NAME|FILE|none",
)
def train_phrases(treebank: str, dev: str | None, model: str, config: str) -> None:
    """Train a grammar, a tagger and a dependency parser on the bracketed trees of TRAIN.

    Traces (-NONE-), functional tags and empty phrases are dropped; heads follow Collins' rules.

    \b
    Example:
      bbparse train-phrases train.ptb --dev dev.ptb --model phrases.model
    """
    trees = read_treebank(treebank)
    dev_trees = read_treebank(dev) if dev is not None else []
    parser = learn(trees, dev_trees, None if config == "none" else config, report=say)
    save_phrases(parser, model)
    say(f"wrote {model}")
    use = "none" if config == "none" else "both"
    if dev_trees:
        parsed = [(tree, parser.parse(tree.words, use=use).trees[0]) for tree in dev_trees]
        scores = compare_trees(parsed)
        say(
            f"dev: F1 {100 * scores.f1:.2f}, exact {100 * scores.exact / scores.sentences:.2f},"
            f" tags {100 * scores.tags / max(1, scores.words):.2f}"
        )
