"""Work on a request, in a process that has the models: sentences in, the answer out."""

from __future__ import annotations

import io
import json
import math
import sys
import traceback
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from bbparse.apps.explain import explain, page
from bbparse.apps.serve import inception, udpipe
from bbparse.apps.serve.inception import Predict
from bbparse.apps.serve.schema import ParseRequest, Refused, SentenceConstraints
from bbparse.core import Problem
from bbparse.parser.confidence import NOTE
from bbparse.parser.inputs import sentence_of
from bbparse.parser.parse import Parse, ParseOptions
from bbparse.parser.parser import Parser
from bbparse.parser.search import Restriction
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import BBParseError, one_line
from bbparse.text import sentences_of_text
from bbparse.treebank import NO_HEAD, Sentence, read_conllu
from bbparse.treebank.drawing.formats import FORMATS, Style, as_conllu, sentence_record
from bbparse.treebank.drawing.layout import in_english
from bbparse.treebank.drawing.svg import describe_tree, draw_arcs, tree_arcs

#: Maximum number of words that are parsed together, first and later. The first batch is small, so
#: that a short deadline leaves some trees to answer with.
FIRST_WORDS, MAX_WORDS = 50, 1000
#: Maximum seconds of a sentence without a time limit: its work is limited to about one second.
_SENTENCE_SECONDS = 2.0
#: Minimum time limit of a search, in seconds.
_MIN_SECONDS = 1e-3
#: Maximum number of nodes of each search that explains a tree.
_EXPLAIN_NODES = 200


class Job(ParseRequest):
    """A request, checked as far as possible without a model."""

    kind: Literal["parse", "process", "explain", "inception"]
    until: float = math.inf  #: Its deadline by `bbparse.runtime.deadline.clock`.
    max_words: int = 1000  #: See `bbparse.apps.serve.schema.Settings`.
    udpipe: dict[str, str] = Field({})
    inception: Predict | None = None
    sentences: int = 0  #: Number of sentences done.

    @property
    def end(self) -> Deadline:
        """Deadline of the job."""
        return Deadline(self.until)


def pieces(parsers: Mapping[str, Parser], job: Job) -> Generator[str, None, None]:
    """Yield the answer to a job; `Refused` or `BBParseError` if there is none, or it breaks off."""
    names = [field.name for field in fields(ParseOptions)]
    if job.inception is not None:
        job.keep_heads, job.confidence = True, NOTE in parsers[job.model].model.notes
    options = ParseOptions(**{name: getattr(job, name) for name in names})
    parser = parsers[job.model].with_options(options)
    if job.kind == "process":
        yield from udpipe.answer(parser, job.model, job.udpipe, partial(parses, parser, job=job))
        return
    if job.inception is not None:
        yield inception.answer(parser, job.inception, partial(parses, job=job))
        return
    sentences = _sentences(parser, job)
    if job.kind == "explain":
        yield _page(parser, sentences, job)
        return
    write = FORMATS[job.format]
    style = Style(job.k_best, last=False)
    for result in parses(parser, parser.tag(sentences), job):
        trees, status = result.trees, result.status
        if job.drawings:
            record = _with_drawings(result, style, job.end)
            yield json.dumps(record, ensure_ascii=False) + "\n"
        else:
            yield write(result.sentence, trees, status, style)
    if not job.sentences:
        raise Refused(400, "there are no words in the input")


def _sentences(parser: Parser, job: Job) -> Iterator[Sentence]:
    """Yield the sentences of a job."""
    if job.text is not None:
        return sentences_of_text(job.text, parser.needed_tokenizer(), split=job.split)
    if job.conllu is not None:
        return read_conllu(io.StringIO(job.conllu))
    return (sentence_of(words, i) for i, words in enumerate(job.words or (), start=1))


def parses(parser: Parser, sentences: Iterable[Sentence], job: Job) -> Iterator[Parse]:
    """Parse sentences until the deadline of a job; those parsed together share the time left."""
    constraints = {constraint.sentence: constraint for constraint in job.constraints}
    if constraints:
        sentences = list(sentences)
        last, count = max(constraints), len(sentences)
        if last > count:
            raise Refused(400, f"constraints: found sentence {last}, the input has {count}")
    for batch in _batches(sentences, job):
        seconds_left = job.end.left()
        if seconds_left <= 0 and job.sentences:
            raise Refused(
                504, f"the deadline passed after sentence {job.sentences}: send less at a time"
            )
        seconds, limit = max(_MIN_SECONDS, seconds_left / len(batch)), job.time_limit
        if limit is not None or seconds < _SENTENCE_SECONDS:
            limit = min(seconds, math.inf if limit is None else limit)
        results: Iterator[Parse]
        if job.keep_heads or constraints:
            results = _around(parser, batch, job, constraints, limit)
        else:
            results = parser.parse_all(batch, time_limit=limit, until=job.end)
        for result in results:
            job.sentences += 1
            yield result


def _around(
    parser: Parser,
    batch: list[Sentence],
    job: Job,
    constraints: dict[int, SentenceConstraints],
    time_limit: float | None,
) -> Iterator[Parse]:
    """Parse sentences under their constraints."""
    parser = parser.with_options(keep_heads=True, time_limit=time_limit)
    for number, sentence in enumerate(batch, start=job.sentences + 1):
        constraint = constraints.get(number, SentenceConstraints())
        if not job.keep_heads:
            n = sentence.n_words
            sentence = replace(sentence, heads=[NO_HEAD] * n, deprels=["_"] * n)
        # no reasons: to find them, kernels would be compiled that parsing does not need
        yield from parser.parse_all(
            [_with_heads(sentence, constraint)],
            restrict=_restriction(constraint),
            reasons=False,
            until=job.end,
        )


def _batches(sentences: Iterable[Sentence], job: Job) -> Iterator[list[Sentence]]:
    """Yield sentences that are parsed together; refuse those that are too long."""
    batch: list[Sentence] = []
    words, max_words = 0, FIRST_WORDS
    for sentence in sentences:
        n = sentence.n_words
        if n > job.max_words:
            raise Refused(413, f"{sentence.name} has {n} words, expected at most {job.max_words}")
        if batch and words + n > max_words:
            yield batch
            batch, words, max_words = [], 0, MAX_WORDS
        batch.append(sentence)
        words += n
    if batch:
        yield batch


def _with_heads(sentence: Sentence, constraint: SentenceConstraints) -> Sentence:
    """Return the sentence with the required heads and labels."""
    n, heads, labels = sentence.n_words, list(sentence.heads), list(sentence.deprels)
    for column, required in (("heads", constraint.heads), ("labels", constraint.labels)):
        for m, value in required.items():
            if m > n or (isinstance(value, int) and value > n):
                raise Refused(
                    400,
                    f"constraints, {column}: found {m}: {value} for {sentence.name}, which has"
                    f" {n} words",
                )
    for m, head in constraint.heads.items():
        heads[m - 1] = head
    for m, label in constraint.labels.items():
        if heads[m - 1] == NO_HEAD:
            raise Refused(
                400, f"constraints, labels: found {m}: {label}, expected a head of {m} in heads"
            )
        labels[m - 1] = label
    return replace(sentence, heads=heads, deprels=labels)


def _restriction(constraint: SentenceConstraints) -> Restriction | None:
    """Return a function that restricts a problem; None if heads and labels are all constraints."""

    def restrict(problem: Problem) -> Problem:
        weights = [
            (f.arcs, -math.inf if f.weight is None else f.weight) for f in constraint.factors
        ]
        problem = problem.without_arcs(constraint.forbid).with_factors(weights)
        for subtree in constraint.subtrees:
            problem = problem.with_subtree(
                subtree.words, complete=subtree.complete, weight=subtree.weight
            )
        return problem

    has_more = constraint.forbid or constraint.factors or constraint.subtrees
    return restrict if has_more else None


def _with_drawings(parse: Parse, style: Style, deadline: Deadline) -> dict[str, Any]:
    """Return the record of a sentence, with each tree as an image and CoNLL-U, if time allows."""
    sentence, status = parse.sentence, parse.status
    record = sentence_record(sentence, parse.trees, status)
    record["trees"] = list(deadline.through(record["trees"]))
    names = ["the root", *map(in_english, sentence.forms)]
    for tree, entry in deadline.through(zip(parse.trees, record["trees"])):
        arcs = tree_arcs(tree.heads, tree.labels)
        for arc in arcs:
            label = f", {arc.label}" if arc.label else ""
            arc.tip = f"{names[arc.mod]} ← {names[arc.head]}{label}"
        entry["svg"] = draw_arcs(
            sentence.forms,
            arcs,
            sentence.upos,
            title="The best tree",
            description=describe_tree(sentence.forms, tree.heads, tree.labels),
        )
        entry["conllu"] = as_conllu(sentence, [tree], status, Style(last=False))
    return record


def _page(parser: Parser, sentences: Iterator[Sentence], job: Job) -> str:
    """Return the page that explains why a tree is the best."""
    read = list(islice(sentences, job.sentence))
    if len(read) < job.sentence:
        raise Refused(400, f"no sentence {job.sentence}: the input has {len(read)}")
    ((sentence,),) = _batches(read[-1:], job)
    job.sentences = 1
    explanation = explain(
        parser,
        parser.tagged(sentence),
        k_best=job.k_best,
        prune=job.prune,
        valid=job.valid,
        node_limit=_EXPLAIN_NODES,
        deadline=job.end,
        # one search an arc, three for trees, trace and valid tree; a share is left for features
        time_limit=max(_MIN_SECONDS, job.end.left() / (sentence.n_words + 4)),
    )
    return page(explanation, model=job.model)


def warm_up(parsers: Mapping[str, Parser]) -> None:
    """Compile and load the code before requests come and workers are forked."""
    words = [[["The", "DET"], ["cat", "NOUN"], ["slept", "VERB"], [".", "PUNCT"]]]
    crossing = Sentence.from_words(
        [form for form, _ in words[0]],
        upos=[tag for _, tag in words[0]],
        heads=[3, 4, 0, NO_HEAD],
        deprels=["det", "nsubj", "root", "_"],
    )
    for name, parser in parsers.items():
        constraints: list[dict[str, Any]] = [
            {"forbid": [(1, 2)]},
            {"factors": [{"arcs": [(3, 2), (2, 1)]}]},
        ]
        if parser.model.labeller is not None:  # a tree that breaks validity rules
            constraints += [{"heads": {1: 3, 2: 3}, "labels": {1: "nsubj", 2: "nsubj"}}]
        requests: list[dict[str, Any]] = [
            {},
            {"k_best": 2},
            {"prune": 0},
            *({"constraints": [one]} for one in constraints),
            {"kind": "explain"},
            *[{"confidence": True}] * (NOTE in parser.model.notes),
        ]
        for request in requests:
            job = {"kind": "parse", "model": name, "words": words, **request}
            list(pieces(parsers, Job.model_validate(job)))
        around = Parser(parser.model.with_projective(False), ParseOptions(keep_heads=True))
        list(around.parse_all([crossing], reasons=False))
        if parser.model.tagger is not None and parser.model.tokenizer is not None:
            list(pieces(parsers, Job(kind="parse", model=name, text="A cat slept. Two did.")))


def answer(parsers: Mapping[str, Parser], fields: Mapping[str, Any]) -> str:
    """Return the answer to a request; its last line is an error if the deadline was over."""
    warnings.simplefilter("ignore")  # nobody would read them here
    job, text = Job.model_validate(fields), ""
    try:
        for piece in pieces(parsers, job):
            text += piece
    except Refused as error:
        if job.kind != "parse" or not text:
            raise
        is_json = job.format == "jsonl"
        text += json.dumps({"error": error.text}) + "\n" if is_json else f"# error = {error}\n"
    except BBParseError as error:
        raise Refused(400, one_line(error)) from None
    except MemoryError:
        raise Refused(413, "too much for the memory of the service: send less") from None
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        raise Refused(500, f"internal error: {type(error).__name__}") from None
    return text
