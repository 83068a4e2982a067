"""The processes that answer the requests of the service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bbparse.apps.serve.schema import Refused, Settings
from bbparse.apps.serve.work import answer, warm_up
from bbparse.parser.parser import Parser
from bbparse.runtime.deadline import clock
from bbparse.runtime.errors import WorkerError
from bbparse.runtime.pool import Workers


class Pool:
    """Processes that share the models and answer requests; `tell` reports to the operator."""

    def __init__(
        self, parsers: Mapping[str, Parser], settings: Settings, tell: Callable[[str], None]
    ) -> None:
        self.parsers, self.settings, self.tell = parsers, settings, tell
        for parser in parsers.values():
            parser.model.maker = replace(parser.model.maker, max_parts=settings.max_parts)
        warm_up(parsers)
        self._workers = Workers[dict[str, Any], str](partial(answer, parsers), settings.workers)
        self._requests = 0  # taken and not yet answered

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    @property
    def models(self) -> dict[str, list[str]]:
        """Steps of each model; the first is the default."""
        return {
            name: [
                *["tokenizer"] * (p.model.tokenizer is not None),
                *["tagger"] * (p.model.tagger is not None),
                "parser",
            ]
            for name, p in self.parsers.items()
        }

    def facts(self) -> dict[str, Any]:
        """Return the state of the pool: models, workers and numbers of requests."""
        busy = min(self._requests, self.settings.workers)
        return {
            "models": self.models,
            "workers": self.settings.workers,
            "busy": busy,
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
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds + settings.grace)
        except WorkerError as error:
            self.tell(f"{error}: another takes its place")
            raise Refused(500, "a worker died, perhaps because of this request") from None
        except TimeoutError:
            if future.cancelled():
                raise Refused(503, "no worker was free before the deadline", 1) from None
            raise Refused(504, "the deadline has passed: send less text") from None
        finally:
            self._requests -= 1
