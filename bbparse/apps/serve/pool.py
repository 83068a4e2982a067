"""Metrics of the service, and the processes that answer its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from bbparse.apps.serve.schema import Refused, Settings
from bbparse.apps.serve.work import Answer, answer, warm_up
from bbparse.parser.parser import Parser
from bbparse.runtime.deadline import clock
from bbparse.runtime.errors import WorkerError
from bbparse.runtime.pool import Workers

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
            "bbparse_request_seconds", "From a request to the end of its answer.", ["path"],
            registry=r, buckets=_SECONDS,
        )
        self.sentences = Counter("bbparse_sentences", "Sentences parsed.", registry=r)
        self.words = Counter("bbparse_words", "Words parsed.", registry=r)
        self.deaths = Counter("bbparse_worker_deaths", "Workers that died at work.", registry=r)


class Pool:
    """Processes that share the models and answer requests; `tell` reports to the operator."""

    def __init__(
        self, parsers: Mapping[str, Parser], settings: Settings, tell: Callable[[str], None]
    ) -> None:
        self.parsers, self.settings, self.tell = parsers, settings, tell
        self.metrics = Metrics()
        for parser in parsers.values():
            parser.maker = replace(parser.maker, max_parts=settings.max_parts)
        warm_up(parsers)
        self._workers = Workers[dict[str, Any], Answer](partial(answer, parsers), settings.workers)
        self._requests = 0  # taken and not yet answered
        for name in ("waiting", "workers"):
            gauge = Gauge(f"bbparse_{name}", f"Now: {name}.", registry=self.metrics.registry)
            gauge.set_function(partial(lambda name: self.facts()[name], name))

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    @property
    def models(self) -> dict[str, list[str]]:
        """Steps of each model; the first is the default."""
        return {
            name: [*["tokenizer"] * (p.tokenizer is not None), *["tagger"] * (p.tagger is not None),
                   "parser"]
            for name, p in self.parsers.items()
        }

    def facts(self) -> dict[str, Any]:
        """Return the state of the pool: models, workers and numbers of requests."""
        busy = min(self._requests, self.settings.workers)
        return {
            "models": self.models, "workers": self.settings.workers, "busy": busy,
            "waiting": self._requests - busy,
        }

    def model_of(self, name: str) -> str:
        """Return a model by its name, or by a prefix that ends before a hyphen, as in UDPipe."""
        for model in self.parsers:
            if not name or model == name or model.startswith(f"{name}-"):
                return model
        raise Refused(400, f"no model {name!r}; there are: {', '.join(self.parsers)}")

    async def answer(self, kind: str, fields: dict[str, Any]) -> str:
        """Return the answer to a request with fields of a `Job`; `Refused` if there is none."""
        settings, waiting = self.settings, self.facts()["waiting"]
        if waiting >= settings.queue:
            raise Refused(429, f"{waiting} requests are waiting already", after=1)
        job = {**fields, "kind": kind, "model": self.model_of(fields["model"])}
        job["max_words"] = settings.max_words
        seconds = min(job.pop("deadline", None) or settings.deadline, settings.deadline)
        job["until"] = clock() + seconds
        self._requests += 1
        try:
            future = self._workers.take(job)
            found = await asyncio.wait_for(asyncio.wrap_future(future), seconds + settings.grace)
        except WorkerError as error:
            self.metrics.deaths.inc()
            self.tell(f"{error}: another takes its place")
            raise Refused(500, "a worker died, perhaps because of this request") from None
        except TimeoutError:
            if future.cancelled():
                raise Refused(503, "no worker was free before the deadline", 1) from None
            raise Refused(504, "the deadline has passed: send less text") from None
        finally:
            self._requests -= 1
        self.metrics.sentences.inc(found.sentences)
        self.metrics.words.inc(found.words)
        return found.text
