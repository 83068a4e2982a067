"""What is done for a request: sentences in, pieces of the answer out, one for each sentence."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

from bbparse.explain import explain, page
from bbparse.parsing.given_heads import fill_in_all
from bbparse.parsing.parse import Parse
from bbparse.parsing.parser import Parser
from bbparse.parsing.pipeline import sentence_of
from bbparse.parsing.valid import rules_for
from bbparse.problem import Problem
from bbparse.serve import udpipe
from bbparse.serve.settings import Refused
from bbparse.show.formats import FORMATS, Style, as_conllu
from bbparse.show.records import sentence_record
from bbparse.show.svg import Arc, describe_tree, draw_arcs
from bbparse.text import sentences_of_text
from bbparse.text.cutting import Split
from bbparse.treebank import NO_HEAD, Sentence, read_conllu

#: Words that are parsed together, at first and later: some time is to be seen soon.
FIRST_WORDS, MOST_WORDS = 50, 1000
#: Seconds a sentence may take by itself, as its work is limited to about one.
_OWN_LIMIT = 2.0
#: The least that a search is given.
_LEAST = 1e-3
#: Search nodes of each of the searches that explain a tree.
_EXPLAIN_NODES = 200


@dataclass(slots=True)
class Job:
    """A request, checked as far as can be done without a model; see `bbparse.serve.schema`."""

    kind: str  #: parse, process, explain or warm
    model: str = ""
    left: float = math.inf  #: Seconds until its deadline.
    skip: int = 0  #: Pieces that have been received from a worker before.
    max_words: int = 1000
    text: str | None = None
    conllu: str | None = None
    words: list[Any] | None = None  #: Sentences as lists of words.
    split: Split = "text"
    k_best: int = 1
    keep_heads: bool = False
    constraints: list[dict[str, Any]] = field(default_factory=list)
    valid: str | None = None
    confidence: bool = False
    prune: int | None = None
    time_limit: float | None = None
    node_limit: int | None = None
    format: str = "jsonl"
    drawings: bool = False
    sentence: int = 1  #: Which one to explain.
    udpipe: dict[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    sentences: int = 0  #: Done.
    n_words: int = 0

    @classmethod
    def parsed(cls, text: bytes | str) -> Job:
        """From JSON."""
        return cls(**json.loads(text))

    def time_left(self) -> float:
        """Seconds until its deadline, perhaps negative."""
        return self.left - (time.monotonic() - self.started)


def pieces(parsers: Mapping[str, Parser], job: Job) -> Generator[str, None, None]:
    """The answer to a job.

    Raises
    ------
    Refused, BBParseError
        If there is none, or no more of it.
    """
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
            yield json.dumps(_with_drawings(found, style), ensure_ascii=False) + "\n"
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
    asked = {int(one.get("sentence", 1)): one for one in job.constraints}
    for batch in _batches(sentences, job):
        left = job.time_left()
        if left <= 0 and job.sentences:
            raise Refused(
                504, f"the deadline is over after sentence {job.sentences}: send less at a time"
            )
        share = max(_LEAST, left / len(batch))
        limit = job.time_limit
        if limit is not None or share < _OWN_LIMIT:
            limit = min(share, math.inf if limit is None else limit)
        options["time_limit"] = limit
        if job.keep_heads or asked:
            for sentence in batch:
                number = job.sentences + 1
                wanted, restrict = _constrained(sentence, asked.get(number), job.keep_heads)
                # finding the reasons takes kernels that parsing does without
                how = {"restrict": restrict, "reasons": False}
                for found in fill_in_all(parser, [wanted], **how, **options):
                    job.sentences += 1
                    job.n_words += sentence.n_words
                    yield found
        else:
            for found in parser.parse_all(batch, **options):
                job.sentences += 1
                job.n_words += found.sentence.n_words
                yield found


def _batches(sentences: Iterable[Sentence], job: Job) -> Iterator[list[Sentence]]:
    batch: list[Sentence] = []
    words, most = 0, FIRST_WORDS
    for sentence in sentences:
        if sentence.n_words > job.max_words:
            raise Refused(
                413,
                f"{sentence.name} has {sentence.n_words} words, expected at most {job.max_words}",
            )
        if batch and words + sentence.n_words > most:
            yield batch
            batch, words, most = [], 0, MOST_WORDS
        batch.append(sentence)
        words += sentence.n_words
    if batch:
        yield batch


def _constrained(
    sentence: Sentence, asked: dict[str, Any] | None, keep_heads: bool
) -> tuple[Sentence, Any]:
    """A sentence with the heads that it must have, and what else is asked of its trees."""
    n = sentence.n_words
    asked = asked or {}
    if not keep_heads:
        sentence = replace(sentence, heads=[NO_HEAD] * n, deprels=["_"] * n)
    heads, labels = list(sentence.heads), list(sentence.deprels)
    for column, least in (("heads", 0), ("labels", None)):
        for word, value in asked.get(column, {}).items():
            m = int(word)
            if not 1 <= m <= n or (least is not None and not 0 <= value <= n):
                raise Refused(
                    400, f"constraints, {column}: found {m}: {value} for {sentence.name}, which"
                    f" has {n} words",
                )  # fmt: skip
            (heads if column == "heads" else labels)[m - 1] = value
    forbidden, factors = asked.get("forbid", []), asked.get("factors", [])

    def restrict(problem: Problem) -> Problem:
        weights = [(f["arcs"], -math.inf if f["weight"] is None else f["weight"]) for f in factors]
        return problem.without_arcs(forbidden).with_factors(weights)

    return (
        replace(sentence, heads=heads, deprels=labels),
        restrict if forbidden or factors else None,
    )


def _with_drawings(found: Parse, style: Style) -> dict[str, Any]:
    """The record of a sentence, with each tree as an image and in CoNLL-U."""
    sentence, status = found.sentence, found.solution.status
    record = sentence_record(sentence, found.trees, status)
    for tree, entry in zip(found.trees, record["trees"]):
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
        parser, parser.tagged(sentence), k_best=job.k_best, prune=job.prune,
        node_limit=_EXPLAIN_NODES, time_limit=max(_LEAST, job.time_left() / (sentence.n_words + 4)),
    )  # fmt: skip
    return page(found, model=job.model)


def warm_up(parsers: Mapping[str, Parser]) -> None:
    """Have compiled code in memory before requests come, and before there are workers."""
    words = [[["The", "DET"], ["cat", "NOUN"], ["slept", "VERB"], [".", "PUNCT"]]]
    for name, parser in parsers.items():
        ways: list[dict[str, Any]] = [{}, {"k_best": 2}, {"constraints": [{"forbid": [[1, 2]]}]}]
        if parser.labeller is not None:  # with a tree that breaks rules
            two = {"heads": {"1": 3, "2": 3}, "labels": {"1": "nsubj", "2": "nsubj"}}
            ways += [{"constraints": [two]}]
        for way in ways:
            list(pieces(parsers, Job("parse", name, words=words, **way)))
        if parser.tagger is not None and parser.cutter is not None:
            list(pieces(parsers, Job("parse", name, text="A cat slept. Two did.")))
