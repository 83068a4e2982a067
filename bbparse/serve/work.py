"""What is done for a request: sentences in, pieces of the answer out, one for each sentence.

A worker is a process that has the models and does one job after the other.
"""

from __future__ import annotations

import io
import json
import math
import os
import select
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from bbparse.deadline import NO_DEADLINE, Deadline
from bbparse.errors import BBParseError
from bbparse.explain import explain, page
from bbparse.parsing.confidence import NOTE
from bbparse.parsing.parse import Parse
from bbparse.parsing.parser import Parser
from bbparse.parsing.pipeline import sentence_of
from bbparse.parsing.valid import rules_for
from bbparse.problem import Problem
from bbparse.serve import udpipe, wire
from bbparse.serve.schema import Constraint, ParseRequest
from bbparse.serve.settings import Refused
from bbparse.show.formats import FORMATS, Style, as_conllu, sentence_record
from bbparse.show.svg import Arc, describe_tree, draw_arcs
from bbparse.text import sentences_of_text
from bbparse.treebank import NO_HEAD, Sentence, read_conllu

#: Words that are parsed together, at first and later: some time is to be seen soon.
FIRST_WORDS, MOST_WORDS = 50, 1000
#: Seconds a sentence may take by itself, as its work is limited to about one.
_OWN_LIMIT = 2.0
#: The least that a search is given.
_LEAST = 1e-3
#: Search nodes of each of the searches that explain a tree.
_EXPLAIN_NODES = 200


class Job(ParseRequest):
    """A request, checked as far as can be done without a model."""

    kind: Literal["parse", "process", "explain"]
    left: float = math.inf  #: Seconds until its deadline.
    skip: int = 0  #: Pieces that have been received from a worker before.
    max_words: int = 1000  #: This and the next: see `bbparse.serve.settings.Settings`.
    max_tree_words: int = 200_000
    udpipe: dict[str, str] = Field({})
    sentences: int = 0  #: Done.
    n_words: int = 0
    _end: Deadline = PrivateAttr(NO_DEADLINE)

    def model_post_init(self, _: Any) -> None:
        """Have the deadline from when the job is there."""
        self._end = Deadline.after(self.left)

    @property
    def end(self) -> Deadline:
        """The end of its time."""
        return self._end


def pieces(parsers: Mapping[str, Parser], job: Job) -> Generator[str, None, None]:
    """The answer to a job; `Refused` or `BBParseError` if there is none, or no more of it."""
    if job.model not in parsers:
        raise Refused(400, f"no model {job.model!r}; there are: {', '.join(parsers)}")
    parser = parsers[job.model]
    if job.kind == "process":
        yield from udpipe.answer(parser, job.model, job.udpipe, partial(parses, parser, job=job))
        return
    sentences = _sentences(parser, job)
    if job.kind == "explain":
        yield _page(parser, sentences, job)
        return
    if job.valid is not None:
        rules_for(job.valid, parser.labeller)
    write = FORMATS[job.format]
    style = Style(job.k_best, last=False)
    for found in parses(parser, map(parser.tagged, sentences), job):
        trees, status = found.trees, found.solution.status
        if job.drawings:
            record = _with_drawings(found, style, job.end)
            yield json.dumps(record, ensure_ascii=False) + "\n"
        else:
            yield write(found.sentence, trees, status, style)
    if not job.sentences:
        raise Refused(400, "there are no words in the input")


def _sentences(parser: Parser, job: Job) -> Iterator[Sentence]:
    """What a job gives to be parsed."""
    if job.text is not None:
        return sentences_of_text(job.text, parser.needed_cutter(), split=job.split)
    if job.conllu is not None:
        return read_conllu(io.BytesIO(job.conllu.encode("utf-8", "surrogatepass")))
    return (sentence_of(words, i) for i, words in enumerate(job.words or (), start=1))


def parses(parser: Parser, sentences: Iterable[Sentence], job: Job) -> Iterator[Parse]:
    """The sentences parsed, as the job asks, as long as there is time.

    Sentences that are parsed together share the time that is left; when it is over, the searches
    end with the best trees that they have.
    """
    options: dict[str, Any] = {
        "k_best": job.k_best, "prune": job.prune, "node_limit": job.node_limit,
        "valid": job.valid, "confidence": job.confidence,
    }  # fmt: skip
    asked = {one.sentence: one for one in job.constraints}
    if asked:
        sentences = list(sentences)
        if max(asked) > len(sentences):
            raise Refused(
                400, f"constraints: found sentence {max(asked)}, the input has {len(sentences)}"
            )
    for batch in _batches(sentences, job):
        left = job.end.left()
        if left <= 0 and job.sentences:
            raise Refused(
                504, f"the deadline is over after sentence {job.sentences}: send less at a time"
            )
        share = max(_LEAST, left / len(batch))
        limit = job.time_limit
        if limit is not None or share < _OWN_LIMIT:
            limit = min(share, math.inf if limit is None else limit)
        options |= {"time_limit": limit, "until": job.end}
        if job.keep_heads or asked:
            parsed = _around(parser, batch, job, asked, options)
        else:
            parsed = parser.parse_all(batch, **options)
        for found in parsed:
            job.sentences += 1
            job.n_words += found.sentence.n_words
            yield found


def _around(
    parser: Parser, batch: list[Sentence], job: Job, asked: dict[int, Constraint],
    options: dict[str, Any],
) -> Iterator[Parse]:  # fmt: skip
    """The sentences parsed around what is given."""
    for number, sentence in enumerate(batch, start=job.sentences + 1):
        wanted, restrict = _constrained(sentence, asked.get(number, Constraint()), job.keep_heads)
        # finding the reasons takes kernels that parsing does without
        yield from parser.parse_around([wanted], restrict=restrict, reasons=False, **options)


def _batches(sentences: Iterable[Sentence], job: Job) -> Iterator[list[Sentence]]:
    batch: list[Sentence] = []
    words, most = 0, FIRST_WORDS
    for sentence in sentences:
        if sentence.n_words > job.max_words:
            raise Refused(
                413,
                f"{sentence.name} has {sentence.n_words} words, expected at most {job.max_words}",
            )
        trees = max(1, job.max_tree_words // sentence.n_words)
        if job.k_best > trees:
            raise Refused(
                413, f"k_best is {job.k_best}, expected at most {trees} for {sentence.name}, which"
                f" has {sentence.n_words} words",
            )  # fmt: skip
        if batch and words + sentence.n_words > most:
            yield batch
            batch, words, most = [], 0, MOST_WORDS
        batch.append(sentence)
        words += sentence.n_words
    if batch:
        yield batch


def _constrained(sentence: Sentence, asked: Constraint, keep_heads: bool) -> tuple[Sentence, Any]:
    """A sentence with the heads that it must have, and what else is asked of its trees."""
    n = sentence.n_words
    if not keep_heads:
        sentence = replace(sentence, heads=[NO_HEAD] * n, deprels=["_"] * n)
    heads, labels = list(sentence.heads), list(sentence.deprels)
    for m, value in [*asked.heads.items(), *asked.labels.items()]:
        if not 1 <= m <= n or (isinstance(value, int) and not 0 <= value <= n):
            column = "heads" if isinstance(value, int) else "labels"
            raise Refused(
                400, f"constraints, {column}: found {m}: {value} for {sentence.name}, which has"
                f" {n} words",
            )  # fmt: skip
    for m, head in asked.heads.items():
        heads[m - 1] = head
    for m, label in asked.labels.items():
        labels[m - 1] = label

    def restrict(problem: Problem) -> Problem:
        weights = [(f.arcs, -math.inf if f.weight is None else f.weight) for f in asked.factors]
        return problem.without_arcs(asked.forbid).with_factors(weights)

    return (
        replace(sentence, heads=heads, deprels=labels),
        restrict if asked.forbid or asked.factors else None,
    )


def _with_drawings(found: Parse, style: Style, deadline: Deadline) -> dict[str, Any]:
    """The record of a sentence, with each tree as an image and in CoNLL-U, if there is time."""
    sentence, status = found.sentence, found.solution.status
    record = sentence_record(sentence, found.trees, status)
    record["trees"] = list(deadline.through(record["trees"]))
    for tree, entry in deadline.through(zip(found.trees, record["trees"])):
        arcs = []
        for m, head in enumerate(tree.heads, start=1):
            label = tree.labels[m - 1] if tree.labels else ""
            above = sentence.forms[head - 1] if head else "the root"
            tip = f"{sentence.forms[m - 1]} ← {above}{f', {label}' if label else ''}"
            arcs.append(Arc(head, m, label, tip=tip))
        entry["svg"] = draw_arcs(
            sentence.forms, arcs, sentence.upos, interactive=True, title="The best tree",
            description=describe_tree(sentence.forms, tree.heads, tree.labels),
        )  # fmt: skip
        entry["conllu"] = as_conllu(sentence, [tree], status, Style(last=False))
    return record


def _page(parser: Parser, sentences: Iterator[Sentence], job: Job) -> str:
    """The page that says why a tree is the best."""
    some = list(islice(sentences, job.sentence))
    if len(some) < job.sentence:
        raise Refused(400, f"no sentence {job.sentence}: the input has {len(some)}")
    ((sentence,),) = _batches(some[-1:], job)
    job.sentences, job.n_words = 1, sentence.n_words
    found = explain(
        parser, parser.tagged(sentence), k_best=job.k_best, prune=job.prune, valid=job.valid,
        node_limit=_EXPLAIN_NODES, deadline=job.end,
        time_limit=max(_LEAST, job.end.left() / (sentence.n_words + 4)),
    )  # fmt: skip
    return page(found, model=job.model)


def warm_up(parsers: Mapping[str, Parser]) -> None:
    """Have compiled code in memory before requests come, and before there are workers."""
    words = [[["The", "DET"], ["cat", "NOUN"], ["slept", "VERB"], [".", "PUNCT"]]]
    for name, parser in parsers.items():
        ways: list[dict[str, Any]] = [
            {}, {"k_best": 2}, {"prune": 0}, {"constraints": [{"forbid": [(1, 2)]}]},
            {"constraints": [{"factors": [{"arcs": [(3, 2), (2, 1)]}]}]},
        ]  # fmt: skip
        if NOTE in parser.notes:
            ways += [{"confidence": True}]
        if parser.labeller is not None:  # with a tree that breaks rules
            two = {"heads": {1: 3, 2: 3}, "labels": {1: "nsubj", 2: "nsubj"}}
            ways += [{"constraints": [two]}]
        for way in ways:
            list(pieces(parsers, Job(kind="parse", model=name, words=words, **way)))
        list(pieces(parsers, Job(kind="explain", model=name, words=words)))
        if parser.tagger is not None and parser.cutter is not None:
            list(pieces(parsers, Job(kind="parse", model=name, text="A cat slept. Two did.")))


def work(
    parsers: Mapping[str, Parser],
    address: str,
    generation: int,
    others: Sequence[socket.socket] = (),
) -> None:
    """Be a worker: serve the queue at an address, a socket's path, until it closes the connection.

    `generation` is that of the models, which the queue is told; `others` are sockets of the first
    process, whose end shows only if nobody else has hold of them.
    """
    for one in others:
        one.close()
    os.setsid()  # Ctrl-C is for the first process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    warnings.simplefilter("ignore")  # of texts in other languages: nobody reads it here
    with (
        suppress(OSError),  # the other side has ended
        socket.socket(socket.AF_UNIX) as connection,
    ):
        connection.connect(address)
        with connection.makefile("rb") as stream:
            hello = {"pid": os.getpid(), "generation": generation}
            connection.sendall(wire.json_frame(wire.HELLO, hello))
            while (received := wire.read_frame(stream)) is not None:
                if received[0] == wire.JOB:
                    _answer(parsers, Job.model_validate_json(received[1]), connection)


def _answer(parsers: Mapping[str, Parser], job: Job, connection: socket.socket) -> None:
    refused: dict[str, Any] = {}
    try:
        with closing(pieces(parsers, job)) as found:
            for number, piece in enumerate(found):
                if number >= job.skip:
                    connection.sendall(wire.frame(wire.PIECE, piece))
                if select.select([connection], [], [], 0)[0]:
                    break  # STOP, as nothing else comes here
    except Refused as error:
        refused = {"status": error.status, "text": error.text}
    except BBParseError as error:
        refused = {"status": 400, "text": " ".join(str(error).split())}
    except MemoryError:
        refused = {"status": 413, "text": "too much for the memory of the service: send less"}
    except OSError:
        raise
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        refused = {"status": 500, "text": f"internal error: {type(error).__name__}"}
    if refused:
        connection.sendall(wire.json_frame(wire.NO, refused))
    else:
        done = {"sentences": job.sentences, "words": job.n_words}
        connection.sendall(wire.json_frame(wire.END, done))
