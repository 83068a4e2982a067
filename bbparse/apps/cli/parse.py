"""``bbparse parse``: find the best trees of every sentence of a file."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, flag, option, tell
from bbparse.apps.cli.sources import (
    check_sources,
    load_parser,
    read_sections,
    sentences_of,
    total_size,
)
from bbparse.parser.parse import USUAL_FILES, FileOptions
from bbparse.parser.parser import Parser
from bbparse.parser.spans import Spans
from bbparse.parser.valid import rules_for
from bbparse.runtime.errors import BBParseError, TreebankError, WorkerError
from bbparse.runtime.output import open_output
from bbparse.runtime.pool import AHEAD, Workers, in_order
from bbparse.treebank.drawing.formats import FORMATS, Style
from bbparse.treebank.drawing.text import wants_ascii, wants_colour
from bbparse.treebank.progress import Bar
from bbparse.treebank.sections import Section, attempts

R = TypeVar("R")

_BLANK_LINE = ("\n\n", "\n\r\n")


@dataclass(slots=True)
class _Answer:
    """Result of parsing a section."""

    text: str = ""  #: Output for its sentences, or for those before an error.
    left_out: list[str] = field(default_factory=list)  #: Errors of sentences that are left out.
    error: BBParseError | None = None


@command()
@click.argument("sources", type=FILE, metavar="[INPUT|-]…", nargs=-1)
@options.model
@options.factors
@options.text
@options.output
@option(
    "--output-dir", "Write one output file per INPUT, or per file that a pattern such as"
    " 'in/*.conllu.xz' matches, into this folder. Finished files are skipped; manifest.jsonl lists"
    " them.", click.Path(readable=False), metavar="FOLDER",
)
@option(
    "--cluster", "With --output-dir: parse on a Ray cluster whose nodes share these folders.",
    metavar="auto|ADDRESS",
)
@option("--format format_name", "CoNLL-U, JSON lines, or drawn trees.", list(FORMATS), "conllu")
@options.number("k_best", "Write the K best trees of each sentence, best first.", 1)
@flag("--keep-heads", "Keep the heads that INPUT has; predict only heads that are _.")
@option(
    "--projective", "Projective trees only, or crossing arcs, too. Default: as the model was"
    " trained.", ["yes", "no"],
)
@options.valid
@options.spans
@flag(
    "--confidence", "Write the probability that an arc is right into MISC, that of the tree into a"
    " comment.",
)
@flag(
    "--skip-invalid", "Leave out malformed sentences and those that cannot be parsed; report each."
)
@options.prune
@options.members
@option(
    "--threads", "Parse with T parallel processes (threads on macOS and Windows).",
    options.ranged("threads"), 1, metavar="T",
)
@options.number("time_limit", "Limit per sentence. The best trees found by then are written.")
@options.number(
    "node_limit", "Limit per sentence in search nodes, which is the same on every machine. With"
    " neither limit, a search stops after about a second of work.",
)
@click.option(
    "--color/--no-color", "colour", default=None,
    help="Colour drawn trees. Default: if the output is a terminal and NO_COLOR is not set.",
)
@flag(
    "--ascii ascii_only", "Draw trees in ASCII. Default: if the terminal has no box-drawing"
    " characters.",
)
def parse(
    model: str, sources: tuple[str, ...], output: str, projective: str | None,
    output_dir: str | None, cluster: str | None, threads: int, colour: bool | None, **fields: Any,
) -> None:
    """Parse CoNLL-U, CoNLL-X or running text.

    Several INPUTs are parsed one after the other into one output. The file name decides how an
    INPUT is read; a comment names each text.

    Words that have tags keep them: only HEAD and DEPREL change. Running text (--text, or a file
    named .txt) is first split into sentences and words as in the model's treebank. Words without
    tags are tagged first. Both need a model with tokenizer and tagger; see 'bbparse bundle'.

    With K > 1 each tree has its rank, its score, an upper bound on the score of any tree of that
    rank, and whether it is proved. A single tree has a comment only if a limit stopped the search.

    A model trained on Universal Dependencies gives trees that pass UD's validator in heads and
    relations; see 'bbparse rules'. If no tree passes, comments name the broken rules.

    With --keep-heads, given heads and relations are kept: the trees are the best that have them.

    A model trained with --projective no gives trees with crossing arcs; --projective yes forbids
    them, which is faster. A model trained on projective trees cannot give crossing arcs.

    \b
    Examples:
      echo "Time flies." | bbparse parse --text --format tree
      bbparse parse in.conllu --output out.conllu
      bbparse parse a.conllu b.conllu c.txt --output out.conllu
      bbparse parse in.conllu --model en.model --k-best 3
      bbparse parse in.conllu --model en.model --format tree | less -R
      bbparse parse in.conllu --model en.model --format jsonl --output out.jsonl
      bbparse parse 'corpus/*.conllu.xz' --output-dir out --threads 4
    """
    is_projective = None if projective is None else projective == "yes"
    settings = FileOptions(projective=is_projective, **fields)
    if output_dir is not None:
        if output != "-":
            raise click.UsageError("--output is for one file, --output-dir for many: give one")
        _parse_shards(sources, output_dir, model, cluster, settings, threads)
        return
    if cluster is not None:
        raise click.UsageError("--cluster is for shards: give --output-dir, too")
    check_sources(sources)
    parser = load_parser(model).for_files(settings)
    parse_files(parser, sources or ["-"], output, settings, threads=threads, colour=colour)


@dataclass(frozen=True, slots=True)
class _SectionParser:
    """Parses sections, here or in a worker."""

    parser: Parser
    settings: FileOptions
    style: Style

    def __call__(self, section: Section) -> _Answer:
        answer, name, texts = _Answer(), section.name, list[str]()
        try:
            if self.settings.skip_invalid:
                texts += attempts(
                    lambda blocks: "".join(self._texts(Section(blocks, name))), section.blocks,
                    name, answer.left_out.append,
                )
            else:
                for text in self._texts(section):
                    texts.append(text)  # keeps those before an error
        except BBParseError as error:
            answer.error = error
        answer.text = "".join(texts)
        return answer

    def _texts(self, section: Section) -> Iterator[str]:
        format_name = self.settings.format_name
        if not section.n_sentences and format_name == "conllu":
            yield section.raw.decode("latin-1")  # blank lines
        sentences = self.parser.tag(sentences_of(section))
        for parse in self.parser.parse_all(sentences, self.settings):
            status = parse.solution.status
            yield FORMATS[format_name](parse.sentence, parse.trees, status, self.style)


def parse_files(
    parser: Parser, sources: Sequence[str], output: str, settings: FileOptions = USUAL_FILES, *,
    threads: int = 1, colour: bool | None = None,
) -> None:
    """Run the command after the model is loaded; see its options."""
    settings = replace(settings, valid=rules_for(settings.valid, parser.labeller) or "none")
    work = _SectionParser(parser, settings, _style(output, settings, colour))
    is_conllu = settings.format_name == "conllu"
    sections = read_sections(sources, parser, settings.split)
    count, left_out, name, last = 0, 0, "", ""
    spans = None if settings.spans is None else Spans.parsed(settings.spans)
    has_spans = False
    size = total_size(sources, settings.split)
    with (
        open_output(output) as stream, _progress_bar(output, size) as bar,
        closing(answers(work, sections, threads, _input_waits)) as results,
    ):
        for section, answer in results:
            count, left_out = count + section.n_sentences, left_out + len(answer.left_out)
            has_spans |= spans is not None and f"{spans.key}=".encode() in section.raw
            if name != section.name and is_conllu and last and not last.endswith(_BLANK_LINE):
                stream.write("\n" if last.endswith("\n") else "\n\n")
            stream.write(answer.text)
            name, last = section.name, answer.text or last
            for line in answer.left_out:
                tell(f"skipped: {line}")
            if answer.error is not None:
                raise answer.error
            bar.set_description_str(f"{count:,} sentences" if size else None, refresh=False)
            bar.update(len(section.raw) if size else section.n_sentences)
            if output == "-":
                stream.flush()  # a reader may wait for it before writing the next section
        if spans is not None:
            spans.check_found(has_spans, ", ".join(sources))
        if left_out and left_out == count:
            raise TreebankError(f"no sentence is left to parse: {count} are invalid")
    if left_out:
        tell(f"{left_out} of {count} sentences were skipped")


def answers(
    work: Callable[[Section], R], sections: Iterable[Section | None], workers: int,
    has_input: Callable[[], bool] = lambda: False,
) -> Generator[tuple[Section, R], None, None]:
    """Yield sections in order, each with the result of `work`; raise its errors.

    The first section is parsed in this process, so that workers share what it loads and compiles.
    None among the sections, and `has_input`, are as in `in_order`. `WorkerError` if a worker died.
    """
    source = iter(sections)
    for section in source:
        if section is not None:
            yield section, work(section)
            if workers > 1:
                break
    if workers > 1:
        with closing(Workers(work, workers)) as pool:
            try:
                yield from in_order(pool.take, source, AHEAD * workers, has_input)
            except BrokenProcessPool:
                raise WorkerError(
                    "a worker process died, perhaps because memory ran out: use fewer --threads or"
                    " a smaller --prune"
                ) from None


def _input_waits() -> bool:
    """Return True if standard input can be read at once."""
    with suppress(AttributeError, OSError, ValueError):
        return bool(select.select([sys.stdin.fileno()], [], [], 0.0)[0])
    return False


def _progress_bar(output: str, size: int | None) -> Bar:
    """Make a bar for the bytes of all files, or for sentences if their size is unknown."""
    silent = not sys.stderr.isatty() or (output == "-" and sys.stdout.isatty())
    if size is None:
        return Bar(delay=2, disable=silent, unit=" sentences")
    return Bar.of_bytes(size, silent)


def _parse_shards(
    sources: Sequence[str], folder: str, model: str, cluster: str | None, settings: FileOptions,
    workers: int,
) -> None:
    """Run the command with ``--output-dir``; report shards that cannot be parsed at the end."""
    from bbparse.apps.corpus import ParseSpec, parse_corpus  # imported when needed

    spec = ParseSpec.of(model, settings, options.given_factors())
    done = parse_corpus(
        sources, folder, spec, workers=workers, cluster=cluster, tell=tell,
        show_progress=sys.stderr.isatty(),
    )
    tell(
        f"{done.parsed} shards parsed ({done.sentences} sentences, {done.words} words),"
        f" {done.kept} were done already"
        + (f"; {done.left_out} sentences were skipped" if done.left_out else "")
    )
    if done.failed:
        raise TreebankError(
            f"{done.failed} shards cannot be parsed: see above, and {folder}/manifest.jsonl"
        )


def _style(output: str, options: FileOptions, colour: bool | None) -> Style:
    """Return the style of drawn trees, which depends on the terminal."""
    shown = output == "-"
    colour = shown and wants_colour() if colour is None else colour
    ascii_only = options.ascii_only or (shown and wants_ascii())
    return Style(options.k_best, colour=colour, ascii_only=ascii_only)
