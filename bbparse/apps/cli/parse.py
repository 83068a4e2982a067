"""``bbparse parse``: find the best trees of every sentence of a file."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, flag, option, tell
from bbparse.apps.corpus.files import (
    USUAL_FILES,
    FileOptions,
    answers,
    misc_keys,
    parse_section,
    read_sections,
)
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import TreebankError, counted
from bbparse.runtime.output import open_output
from bbparse.runtime.progress import Bar
from bbparse.text.segmentation import Split, split_of_name
from bbparse.treebank.drawing.formats import FORMATS
from bbparse.treebank.drawing.text import wants_colour
from bbparse.treebank.sentence import check_key

_BLANK_LINE = ("\n\n", "\n\r\n")


@command()
@click.argument("sources", type=FILE, metavar="[INPUT|-]…", nargs=-1)
@options.model
@options.text
@options.output
@option(
    "--output-dir",
    "Write one output file per INPUT, or per file that a pattern such as"
    " 'in/*.conllu.xz' matches, into this folder. Finished files are skipped; manifest.jsonl lists"
    " them.",
    click.Path(readable=False),
    metavar="FOLDER",
)
@option(
    "--cluster",
    "With --output-dir: parse on a Ray cluster whose nodes share these folders.",
    metavar="auto|ADDRESS",
)
@option("--format format_name", "CoNLL-U, JSON lines, or drawn trees.", list(FORMATS), "conllu")
@options.number("k_best", "Write the K best trees of each sentence, best first.", 1)
@flag("--keep-heads", "Keep the heads of INPUT; predict only those that are _.")
@option(
    "--projective",
    "yes: projective trees only; no: crossing arcs, too. Default: as the model was trained.",
    ["yes", "no"],
)
@option(
    "--language",
    "Language of INPUT, as a code or the name of its model, for a model of many languages. Default:"
    " each paragraph of running text decides, as a comment says.",
    metavar="CODE|NAME",
)
@options.valid
@options.spans
@options.edges
@flag(
    "--confidence",
    "Write the probability that an arc is right into MISC, and that of the tree into a comment.",
)
@option(
    "--enhanced",
    "Write the enhanced graphs of trees into DEPS, in place of all that stands there."
    "  [default: yes if the model can]",
    ["yes", "no"],
)
@flag(
    "--skip-invalid", "Leave out malformed sentences and those that cannot be parsed; report each."
)
@options.prune
@options.members
@option(
    "--threads",
    "Parse with T parallel processes (threads on macOS and Windows).",
    options.ranged("threads"),
    1,
    metavar="T",
)
@options.limits(nodes=None)
def parse(
    model: str,
    factors: list[str],
    sources: tuple[str, ...],
    output: str,
    output_dir: str | None,
    cluster: str | None,
    threads: int,
    **fields: Any,
) -> None:
    """Parse CoNLL-U, CoNLL-X or running text.

    Several INPUTs are parsed one after the other into one output. The file name decides how an
    INPUT is read; a comment precedes each text.

    Words that have tags keep them: only HEAD and DEPREL change. Running text (--text, or a file
    named .txt) is first split into sentences and words as in the model's treebank. Words without
    tags are tagged first. Both need a model with tokenizer and tagger; see 'bbparse bundle'.

    With K > 1 each tree has its rank, its score, an upper bound on the score of any tree of that
    rank, and whether it is proved. A single tree has such a comment only if a limit stopped its
    search: --time-limit, --node-limit, or by default about a second's work.

    A model trained on Universal Dependencies gives trees that pass UD's validator in heads and
    relations; see 'bbparse rules'. If no tree passes, comments name the broken rules.

    A model trained with --projective no predicts crossing arcs; --projective yes forbids them,
    which is faster. A model trained on projective trees cannot predict crossing arcs.

    \b
    Examples:
      echo "Time flies." | bbparse parse --text --format tree
      bbparse parse in.conllu --output out.conllu
      bbparse parse a.conllu b.conllu c.txt --output out.conllu
      bbparse parse in.conllu --model en.model --k-best 3
      bbparse parse in.conllu --model en.model --format jsonl --output out.jsonl
      bbparse parse 'corpus/*.conllu.xz' --output-dir out --threads 4
    """
    if fields["enhanced"] is None and fields["format_name"] == "tree":
        fields["enhanced"] = "no"  # drawn trees do not show graphs
    for name in ("projective", "enhanced"):
        fields[name] = {"yes": True, "no": False}.get(fields[name])
    settings = FileOptions(**fields)
    if output_dir is not None:
        if output != "-":
            raise click.UsageError("--output is for one file, --output-dir for many: give one")
        _parse_shards(sources, output_dir, model, factors, cluster, settings, threads)
        return
    if cluster is not None:
        raise click.UsageError("--cluster is for shards: give --output-dir, too")
    _check_sources(sources)
    parse_files(Parser.load(model, factors), sources or ["-"], output, settings, threads)


def parse_files(
    parser: Parser,
    sources: Sequence[str],
    output: str,
    settings: FileOptions = USUAL_FILES,
    threads: int = 1,
) -> None:
    """Run the command after the model is loaded; see its options."""
    parser = parser.with_options(settings)
    colour = output == "-" and wants_colour(sys.stdout)
    work = partial(parse_section, parser=parser, settings=settings, colour=colour)
    sections = read_sections(sources, parser.needed_tokenizer, settings.split)
    is_conllu = settings.format_name == "conllu"
    count, left_out, name, last = 0, 0, "", ""
    missing = misc_keys(settings)
    size = _total_size(sources, settings.split)
    with (
        open_output(output) as stream,
        Bar.over(size) as bar,
        closing(answers(work, sections, threads)) as results,
    ):
        for section, answer in results:
            count, left_out = count + section.n_sentences, left_out + len(answer.left_out)
            raw = section.raw
            missing = [key for key in missing if f"{key}=".encode() not in raw]
            if name != section[0].name and is_conllu and last and not last.endswith(_BLANK_LINE):
                stream.write("\n" if last.endswith("\n") else "\n\n")
            stream.write(answer.text)
            name, last = section[0].name, answer.text or last
            for line in answer.left_out:
                tell(f"skipped: {line}")
            if answer.error is not None:
                raise answer.error
            bar.set_description_str(f"{count:,} sentences, " if size else None, refresh=False)
            bar.update(len(raw) if size else section.n_sentences)
            if output == "-":
                stream.flush()  # a reader may wait for it before writing the next section
        for key in missing:
            check_key(False, key, ", ".join(sources))
        if left_out and left_out == count:
            raise TreebankError(f"no sentence is left to parse: {count} invalid")
    if left_out:
        tell(f"{left_out} of {count} sentences were skipped")


def _parse_shards(
    sources: Sequence[str],
    folder: str,
    model: str,
    factors: list[str],
    cluster: str | None,
    settings: FileOptions,
    workers: int,
) -> None:
    """Run the command with ``--output-dir``; report shards that cannot be parsed at the end."""
    from bbparse.apps.corpus.run import parse_corpus  # imported when needed
    from bbparse.apps.corpus.work import ParseSpec

    spec = ParseSpec(model, settings, factors)
    done = parse_corpus(sources, folder, spec, workers=workers, cluster=cluster, tell=tell)
    tell(
        f"{counted(done['parsed'], 'shard')} parsed ({counted(done['sentences'], 'sentence')},"
        f" {counted(done['words'], 'word')}); done already: {done['kept']}"
        + (f"; skipped: {counted(done['left_out'], 'sentence')}" if done["left_out"] else "")
    )
    if done["failed"]:
        raise TreebankError(
            f"{counted(done['failed'], 'shard')} not parsed: see above, and {folder}/manifest.jsonl"
        )


def _check_sources(sources: Sequence[str]) -> None:
    """Check, before any work, that all sources exist and none is repeated."""
    for i, source in enumerate(sources):
        name = "standard input" if source == "-" else source
        if source in sources[:i]:
            raise TreebankError(f"{name}: given twice as input")
        if source != "-" and len(sources) > 1 and not os.path.exists(source):
            raise TreebankError(f"{name}: cannot be read: {os.strerror(errno.ENOENT)}")


def _total_size(sources: Sequence[str], split: Split | None) -> int | None:
    """Return the size in bytes of uncompressed treebank files, for progress; None for others."""
    for source in sources:
        packed = source.endswith((".gz", ".xz"))
        if split or split_of_name(source) or packed or not os.path.isfile(source):
            return None
    return sum(map(os.path.getsize, sources))
