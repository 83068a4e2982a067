"""Guard in front of the application: no client can block it or fill its memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

from bbparse.apps.serve.pool import Metrics
from bbparse.apps.serve.settings import Settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Headers that show that a request has a body.
_BODY = (b"content-length", b"transfer-encoding")
#: Number of bodies of the maximum size that may be in memory.
_BODIES = 16
#: Seconds in which the head of a request has to arrive.
_HEAD_SECONDS = 10.0


class Guard:
    """Limits the size and duration of bodies, and cancels the work for clients that have left."""

    def __init__(self, app: Any, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self._n_bytes = 0  # size of all bodies in memory

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(self, scope, receive, send)
        started = time.perf_counter()
        work = asyncio.ensure_future(self.app(scope, exchange.receive, exchange.send))
        watch = asyncio.ensure_future(exchange.watch(work))
        try:
            with suppress(asyncio.CancelledError):
                await work
        finally:
            watch.cancel()
            self._n_bytes -= exchange.size
            work.cancel()
            path = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(path, str(exchange.status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - started)

    def take(self, size: int, body_size: int) -> None:
        """Count a piece of a body; HTTPException if the body, or all together, are too large."""
        self._n_bytes += size
        if body_size > self.settings.max_bytes:
            max_bytes = self.settings.max_bytes
            raise HTTPException(
                413, f"the body has more than {max_bytes:,} bytes: send less at a time"
            )
        if self._n_bytes > _BODIES * self.settings.max_bytes:
            raise HTTPException(429, "too many large requests at a time", {"Retry-After": "1"})


class _Exchange:
    """A request and its answer."""

    def __init__(
        self, guard: Guard, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        self.guard, self.size, self.status = guard, 0, 499
        self._receive, self._send = receive, send
        self._upload_ends = asyncio.get_running_loop().time() + guard.settings.upload
        self._received, self._left = asyncio.Event(), asyncio.Event()
        self._answered = False
        lengths = [value for name, value in scope["headers"] if name in _BODY]
        self._has_no_body = all(value == b"0" for value in lengths)
        if self._has_no_body:
            self._received.set()

    async def receive(self) -> Message:
        """Return a piece of the body; after the body, wait until the client leaves, and say so."""
        if self._has_no_body:
            self._has_no_body = False
            return {"type": "http.request", "body": b"", "more_body": False}
        if self._received.is_set():
            await self._left.wait()
            return {"type": "http.disconnect"}
        try:
            async with asyncio.timeout_at(self._upload_ends):
                message = await self._receive()
        except TimeoutError:
            seconds = self.guard.settings.upload
            raise HTTPException(408, f"the body took longer than {seconds:g} s") from None
        length = len(message.get("body", b""))
        self.size += length
        self.guard.take(length, self.size)
        if not message.get("more_body"):
            self._received.set()
        return message

    async def watch(self, work: asyncio.Future[None]) -> None:
        """Cancel the work when the client leaves."""
        await self._received.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._left.set()
        if not self._answered:
            work.cancel()

    async def send(self, message: Message) -> None:
        """Send a piece of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if not self._received.is_set():  # the rest of the body will not be read
                message["headers"] = [*message["headers"], (b"connection", b"close")]
        self._answered = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)


class Protocol(H11Protocol):
    """HTTP with time limits: for sending the head of a request, and for taking the answer.

    A connection whose client takes nothing for ``stall`` seconds is closed, which also ends its
    requests.
    """

    def __init__(self, *arguments: Any, stall: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._stall = stall
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the head, but not longer than allowed."""
        super().data_received(data)
        self._start_head_timer()

    def pause_writing(self) -> None:
        """Start the time limit of a client that does not take the answer."""
        super().pause_writing()
        self._timers["stall"] = self.loop.call_later(self._stall, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the time limit of a client that takes the answer again."""
        super().resume_writing()
        self._stop("stall")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop("head")
        self._stop("stall")
        super().connection_lost(exc)

    def _start_head_timer(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop("head")
        elif "head" not in self._timers and not self.transport.is_closing():
            self._timers["head"] = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _stop(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()
