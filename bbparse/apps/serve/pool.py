"""Metrics of the service, and the processes that answer its requests, one at a time each."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from bbparse.apps.serve.settings import Refused, Settings
from bbparse.apps.serve.work import Answer, answer, warm_up
from bbparse.parser.parser import Parser
from bbparse.runtime.deadline import clock
from bbparse.runtime.errors import BBParseError
from bbparse.runtime.pool import Workers

#: Returns the models by name; called again to reload them.
Load = Callable[[], Mapping[str, Parser]]
#: Bounds of the histogram of seconds that requests take.
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Metrics of one service for Prometheus."""

    def __init__(self) -> None:
        r = self.registry = CollectorRegistry()
        PlatformCollector(registry=r)
        ProcessCollector(registry=r)
        self.requests = Counter(
            "bbparse_requests", "Requests answered.", ["path", "status"], registry=r
        )
        self.seconds = Histogram(
            "bbparse_request_seconds", "From a request to the end of its answer.",
            ["path"], registry=r, buckets=_SECONDS,
        )  # fmt: skip
        self.sentences = Counter("bbparse_sentences", "Sentences parsed.", registry=r)
        self.words = Counter("bbparse_words", "Words parsed.", registry=r)
        self.deaths = Counter("bbparse_worker_deaths", "Workers that died at work.", registry=r)
        self.reloads = Counter("bbparse_reloads", "Times that models were loaded.", registry=r)


@dataclass(slots=True, eq=False)
class _Worker:
    """A process that answers one request at a time, with the models of its generation."""

    process: Workers[dict[str, Any], Answer]
    generation: int


class Pool:
    """Gives requests to workers, first come, first served.

    `tell` is called with lines for the person who started the service.
    """

    def __init__(
        self, load: Load, settings: Settings, metrics: Metrics, tell: Callable[[str], None]
    ) -> None:
        self.settings, self.metrics, self.tell = settings, metrics, tell
        self._load, self.generation = load, 1
        self._parsers = self._loaded()
        self._workers = {self._started() for _ in range(settings.workers)}
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        for worker in self._workers:
            self._idle.put_nowait(worker)
        self._requests = 0  # taken and not yet answered
        self._seconds = 0.05  # moving average of the time that a request takes
        for name in ("waiting", "workers"):
            gauge = Gauge(f"bbparse_{name}", f"Now: {name}.", registry=metrics.registry)
            gauge.set_function(partial(lambda name: self.facts()[name], name))

    def _loaded(self) -> Mapping[str, Parser]:
        """Load the models, limit the number of parts of a sentence, and compile."""
        parsers = self._load()
        for parser in parsers.values():
            parser.maker = replace(parser.maker, max_parts=self.settings.max_parts)
        warm_up(parsers)
        return parsers

    def _started(self) -> _Worker:
        worker = _Worker(Workers(partial(answer, self._parsers), 1), self.generation)
        worker.process.start()
        return worker

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.process.close()

    async def reload(self) -> None:
        """Load the models again; old workers only finish what they have begun."""
        try:
            self._parsers = await asyncio.to_thread(self._loaded)
        except BBParseError as error:
            self.tell(f"the models stay as they were: {error}")
            return
        self.generation += 1
        self.metrics.reloads.inc()
        for _ in range(self._idle.qsize()):
            self._put_back(self._idle.get_nowait())
        self.tell(f"loaded {', '.join(self._parsers)} anew")

    def _put_back(self, worker: _Worker, is_lost: bool = False) -> None:
        """Let a worker take the next request, or start one in its place."""
        if is_lost or worker.generation < self.generation:
            self._workers.remove(worker)
            worker.process.close()
            worker = self._started()
            self._workers.add(worker)
        self._idle.put_nowait(worker)

    @property
    def models(self) -> dict[str, list[str]]:
        """Steps of each model; the first is the default."""
        return {
            name: [*["tokenizer"] * (p.tokenizer is not None), *["tagger"] * (p.tagger is not None),
                   "parser"]
            for name, p in self._parsers.items()
        }  # fmt: skip

    def facts(self) -> dict[str, Any]:
        """Return the state of the pool: models, workers and numbers of requests."""
        busy = min(self._requests, len(self._workers))
        return {
            "models": self.models, "generation": self.generation, "workers": len(self._workers),
            "busy": busy, "waiting": self._requests - busy,
        }  # fmt: skip

    def model_of(self, name: str) -> str:
        """Return a model by its name, or by a prefix that ends before a hyphen, as in UDPipe."""
        if not name:
            return next(iter(self._parsers))
        for model in self._parsers:
            if model == name or model.startswith(f"{name}-"):
                return model
        raise Refused(400, f"no model {name!r}; there are: {', '.join(self._parsers)}")

    async def answer(self, kind: str, fields: dict[str, Any]) -> str:
        """Return the answer to a request; `Refused` if there is none.

        ``fields`` are those of its kind of `bbparse.apps.serve.work.Job`.
        """
        settings, waiting = self.settings, self.facts()["waiting"]
        if waiting >= settings.queue:
            after = math.ceil(waiting * self._seconds / len(self._workers))
            raise Refused(429, f"{waiting} requests are waiting already", max(1, after))
        job = {**fields, "kind": kind, "model": self.model_of(fields["model"])}
        job |= {name: getattr(settings, name) for name in ("max_words", "max_tree_words")}
        seconds = min(job.pop("deadline", None) or settings.deadline, settings.deadline)
        job["until"] = clock() + seconds
        self._requests += 1
        try:
            try:
                async with asyncio.timeout(seconds if self._idle.empty() else None):
                    worker = await self._idle.get()
            except TimeoutError:
                raise Refused(503, "there was no worker before the deadline", 1) from None
            return await self._by(worker, job)
        finally:
            self._requests -= 1

    async def _by(self, worker: _Worker, job: dict[str, Any]) -> str:
        """Return the answer of a worker, which is replaced if it dies or does not end in time."""
        is_lost, started = True, clock()
        left = max(0.0, job["until"] - started) + self.settings.grace
        try:
            found = await asyncio.wait_for(asyncio.wrap_future(worker.process.take(job)), left)
            is_lost = False
        except Refused:
            is_lost = False
            raise
        except BrokenProcessPool:
            self.metrics.deaths.inc()
            self.tell("a worker died, as when memory runs out: there is a new one")
            raise Refused(500, "the worker died of the request") from None
        except TimeoutError:
            text = "the deadline is over, and the work on it would not end: send less"
            raise Refused(504, text) from None
        finally:
            self._put_back(worker, is_lost)
        self.metrics.sentences.inc(found.sentences)
        self.metrics.words.inc(found.words)
        self._seconds += 0.1 * (clock() - started - self._seconds)
        return found.text
