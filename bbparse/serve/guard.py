"""What stands before the application: no client can hold it up, or fill its memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

from bbparse.serve.pool import Metrics
from bbparse.serve.settings import Settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Headers of requests that have a body.
_BODY = (b"content-length", b"transfer-encoding")
#: Seconds in which the head of a request has to be there.
_HEAD_SECONDS = 10.0


class Guard:
    """Limits bodies in size and time, and ends what is done for a client that has left."""

    def __init__(self, app: Any, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self._held = 0  # bytes of all bodies

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
            self._held -= exchange.size
            work.cancel()
            path = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(path, str(exchange.status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - started)

    def take(self, size: int, whole: int) -> None:
        """Take a piece of a body in; HTTPException if it is too much."""
        self._held += size
        if whole > self.settings.max_bytes:
            most = self.settings.max_bytes
            raise HTTPException(413, f"the body has more than {most:,} bytes: send less at a time")
        if self._held > self.settings.all_bytes:
            raise HTTPException(429, "too many large requests at a time", {"Retry-After": "1"})


class _Exchange:
    """A request and its answer."""

    def __init__(
        self, guard: Guard, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        self.guard, self.size, self.status = guard, 0, 499
        self._receive, self._send = receive, send
        self._until = asyncio.get_running_loop().time() + guard.settings.upload
        self._whole, self._gone = asyncio.Event(), asyncio.Event()
        self._complete = False
        lengths = [value for name, value in scope["headers"] if name in _BODY]
        self._empty = all(value == b"0" for value in lengths)  # there is no body to wait for
        if self._empty:
            self._whole.set()

    async def receive(self) -> Message:
        """A piece of the body; afterwards, that the client has left."""
        if self._empty:
            self._empty = False
            return {"type": "http.request", "body": b"", "more_body": False}
        if self._whole.is_set():
            await self._gone.wait()
            return {"type": "http.disconnect"}
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            seconds = self.guard.settings.upload
            raise HTTPException(408, f"the body took longer than {seconds:g} s") from None
        length = len(message.get("body", b""))
        self.size += length
        self.guard.take(length, self.size)
        if not message.get("more_body"):
            self._whole.set()
        return message

    async def watch(self, work: asyncio.Future[None]) -> None:
        """Stop the work when the client leaves."""
        await self._whole.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        if not self._complete:
            work.cancel()

    async def send(self, message: Message) -> None:
        """A piece of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if not self._whole.is_set():  # what comes after that is not read
                message["headers"] = [*message["headers"], (b"connection", b"close")]
        self._complete = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)


class Protocol(H11Protocol):
    """HTTP, for clients that send the head of a request within some seconds, and take answers.

    One that takes nothing for ``stall`` seconds while something waits for it is left: that ends its
    requests, too.
    """

    _late: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, stall: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._stall = stall

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Wait for as long as there is no whole head."""
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the client, which has not taken what was sent."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self._stall, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with a client that has taken it."""
        super().resume_writing()
        self._take_on()

    def _take_on(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._take_on()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
