"""Queue of requests, and the workers that take them. It runs in the event loop of `http`."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from bbparse.apps.serve import wire
from bbparse.apps.serve.settings import Refused, Settings

#: Size of the part of an answer, in bytes, that may wait for a slow client before its worker waits.
_MAX_BUFFER = 1 << 20
#: Number of workers that a request may kill.
_MAX_TRIES = 2
_NO_WORKER = "there was no worker before the deadline"
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


class Ticket:
    """A request in progress; workers add pieces of its answer, and `Pool.answer` takes them."""

    def __init__(self, job: dict[str, Any], until: float) -> None:
        self.job, self.until = job, until
        self.received = self.tries = 0
        self.waited = False  # for a worker
        self.ended = False  # no more pieces will come
        self.refused: Refused | None = None
        self.pieces: deque[bytes] = deque()
        self.size = 0  # bytes of the pieces
        self.news, self.room = asyncio.Event(), asyncio.Event()

    async def add(self, piece: bytes) -> None:
        """Add a piece from a worker; if the client is slow, wait, at most until the deadline."""
        self.received += 1
        if self.ended:
            return
        self.pieces.append(piece)
        self.size += len(piece)
        self.news.set()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self.until):
                while self.size > _MAX_BUFFER and not self.ended:
                    self.room.clear()
                    await self.room.wait()

    def end(self, refused: Refused | None = None) -> None:
        """End the pieces; only the first end counts."""
        if not self.ended:
            self.ended, self.refused = True, refused
        self.news.set()
        self.room.set()


@dataclass(slots=True, eq=False)
class _Worker:
    pid: int
    generation: int
    writer: asyncio.StreamWriter
    ticket: Ticket | None = None
    since: float = 0.0  # time at which it got the request


class Pool:
    """Gives requests to workers, first come, first served."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.models: dict[str, list[str]] = {}  #: Model → its steps; the first is the default.
        self.announced = self.models  #: Models of the next generation of workers.
        self.generation = 0  #: Generation of the models that answer requests.
        #: Called with the process id before a worker is killed.
        self.killed: Callable[[int], object] = lambda pid: None
        self._waiting: deque[Ticket] = deque()
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._seconds = 0.05  # moving average of the time that a request takes
        for name, now in (("waiting", self._waiting), ("workers", self._workers)):
            gauge = Gauge(f"bbparse_{name}", f"Now: {name}.", registry=metrics.registry)
            gauge.set_function(partial(len, now))

    async def listen(self, address: str) -> None:
        """Accept workers that connect to a socket."""
        self._server = await asyncio.start_unix_server(self._serve, address, limit=_MAX_BUFFER)

    async def close(self) -> None:
        """Let the workers end."""
        self._server.close()
        for worker in self._workers:
            worker.writer.close()
        while self._workers:
            await asyncio.sleep(0.01)

    def facts(self) -> dict[str, Any]:
        """Return the state of the pool: models, workers and numbers of requests."""
        return {
            "models": self.models, "generation": self.generation,
            "workers": len(self._workers), "busy": len(self._workers) - len(self._idle),
            "waiting": len(self._waiting),
        }  # fmt: skip

    def model_of(self, name: str) -> str:
        """Return a model by its name, or by a prefix that ends before a hyphen, as in UDPipe."""
        if not name:
            return next(iter(self.models))
        for model in self.models:
            if model == name or model.startswith(f"{name}-"):
                return model
        raise Refused(400, f"no model {name!r}; there are: {', '.join(self.models)}")

    async def whole(self, kind: str, fields: dict[str, Any]) -> bytes:
        """Return the whole answer to a request, as `answer` does in pieces."""
        return b"".join([piece async for piece in self.answer(kind, fields)])

    async def answer(self, kind: str, fields: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of the answer to a request; `Refused` if there is none or it breaks off.

        The request is dropped when the pieces are no longer taken. ``fields`` are those of its kind
        of `bbparse.apps.serve.work.Job`.
        """
        job = {**fields, "kind": kind, "model": self.model_of(fields["model"])}
        job |= {name: getattr(self.settings, name) for name in ("max_words", "max_tree_words")}
        ticket = self._submit(job, job.pop("deadline", None))
        # cancelled at the end: a waiting timer would keep the request in memory
        overdue_timer = asyncio.get_running_loop().call_at(
            ticket.until + self.settings.grace, self._overdue, ticket
        )
        try:
            while ticket.pieces or not ticket.ended:
                if not ticket.pieces:
                    ticket.news.clear()
                    await ticket.news.wait()
                    continue
                piece = ticket.pieces.popleft()
                ticket.size -= len(piece)
                ticket.room.set()
                yield piece
            if ticket.refused is not None:
                raise ticket.refused
        finally:
            overdue_timer.cancel()
            self._drop(ticket)

    def _submit(self, job: dict[str, Any], deadline: float | None) -> Ticket:
        if not self._idle and len(self._waiting) >= self.settings.queue:
            after = len(self._waiting) * self._seconds / max(1, len(self._workers))
            raise Refused(
                429, f"{len(self._waiting)} requests are waiting already", max(1, math.ceil(after))
            )
        max_seconds = self.settings.deadline
        now = asyncio.get_running_loop().time()
        ticket = Ticket(
            job, now + (max_seconds if deadline is None else min(deadline, max_seconds))
        )
        self._waiting.append(ticket)
        self._match()
        ticket.waited = True
        return ticket

    def _drop(self, ticket: Ticket, refused: Refused | None = None) -> None:
        """Drop a request that nobody waits for; no effect if it is answered."""
        if ticket.ended:
            return
        ticket.end(refused)
        with suppress(ValueError):
            self._waiting.remove(ticket)
        for worker in self._workers:
            if worker.ticket is ticket:
                worker.writer.write(wire.frame(wire.STOP))

    def _match(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._idle and self._waiting:
            ticket = self._waiting.popleft()
            if ticket.waited and not ticket.received and ticket.until < now:
                ticket.end(Refused(503, _NO_WORKER, 1))
                continue
            worker = self._idle.pop()
            worker.ticket, worker.since = ticket, now
            job = {**ticket.job, "left": ticket.until - now, "skip": ticket.received}
            worker.writer.write(wire.frame(wire.JOB, job))

    def _overdue(self, ticket: Ticket) -> None:
        if ticket in self._waiting:
            self._drop(ticket, Refused(503, _NO_WORKER, 1))
        elif not ticket.ended:
            text = "the deadline is over, and the work on it would not end: send less"
            self._drop(ticket, Refused(504, text))
            asyncio.get_running_loop().call_later(self.settings.patience, self._kill, ticket)

    def _kill(self, ticket: Ticket) -> None:
        for worker in self._workers:
            if worker.ticket is ticket:
                self.killed(worker.pid)
                os.kill(worker.pid, signal.SIGKILL)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle the messages of one worker."""
        worker = None
        loop = asyncio.get_running_loop()
        try:
            _, text = await wire.next_frame(reader)
            worker = _Worker(writer=writer, **json.loads(text))
            self._workers.add(worker)
            self._move_on(worker.generation)
            self._free(worker)
            while True:
                kind, text = await wire.next_frame(reader)
                ticket = worker.ticket
                if ticket is None:
                    continue
                if kind == wire.PIECE:
                    await ticket.add(text)
                    if ticket.size > _MAX_BUFFER and not ticket.ended:
                        self._drop(ticket, Refused(504, "the deadline is over: take it faster"))
                    continue
                if kind == wire.END:
                    counts = json.loads(text)
                    self.metrics.sentences.inc(counts["sentences"])
                    self.metrics.words.inc(counts["words"])
                    ticket.end()
                else:
                    ticket.end(Refused(**json.loads(text)))
                self._seconds += 0.1 * (loop.time() - worker.since - self._seconds)
                worker.ticket = None
                self._free(worker)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()
            if worker is not None:
                self._workers.discard(worker)
                if worker in self._idle:
                    self._idle.remove(worker)
                if worker.ticket is not None:
                    self.metrics.deaths.inc()
                    self._again(worker.ticket)

    def _again(self, ticket: Ticket) -> None:
        """Give the request of a dead worker to another one."""
        ticket.tries += 1
        if ticket.ended:
            return
        if ticket.tries >= _MAX_TRIES:
            ticket.end(Refused(500, f"{_MAX_TRIES} workers died of the request"))
        else:
            self._waiting.appendleft(ticket)
            self._match()

    def _free(self, worker: _Worker) -> None:
        if worker.generation < self.generation:
            worker.writer.close()  # ends the worker
        else:
            self._idle.append(worker)
            self._match()

    def _move_on(self, generation: int) -> None:
        """Switch to the models of a newer generation of workers; older workers only finish."""
        if generation > self.generation:
            self.generation, self.models = generation, self.announced
            idle, self._idle = self._idle, []
            for worker in idle:
                self._free(worker)
