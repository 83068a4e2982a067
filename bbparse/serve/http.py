"""The service over HTTP: its paths, and the process that answers them."""

from __future__ import annotations

import asyncio
import email
import ipaddress
import json
import math
import os
import signal
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from functools import partial
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import parse_qsl

import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from bbparse import __version__
from bbparse.serve import udpipe
from bbparse.serve.guard import Guard, Protocol
from bbparse.serve.pool import Metrics, Pool
from bbparse.serve.schema import Options, ParseRequest, TextOptions, with_bodies
from bbparse.serve.settings import Refused, Settings

_PAGE = {"": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
_SAFE = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:;"
    " frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
}  # fmt: skip
_KINDS = {
    "jsonl": "application/x-ndjson", "conllu": "text/x-conllu", "tree": "text/plain",
}  # fmt: skip
_TYPES = sorted(set(_KINDS.values()))
_CHUNK = 1 << 16  # bytes of an answer that are sent at a time
_ANYONE = {"Access-Control-Allow-Origin": "*"}  # as UDPipe's


class _Stream(StreamingResponse):
    """An answer in pieces, which ends what makes them when it ends, however that is."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with aclosing(self.body_iterator):
            await super().__call__(scope, receive, send)


def application(pool: Pool, metrics: Metrics, reload: Any) -> FastAPI:
    """All paths; `reload` asks for the models to be loaded anew."""
    app = FastAPI(title="bbparse", version=__version__, docs_url=None, redoc_url=None)

    @app.exception_handler(Refused)
    @app.exception_handler(HTTPException)
    @app.exception_handler(RequestValidationError)
    @app.exception_handler(ValidationError)
    async def refuse(request: Request, error: Exception) -> Response:
        return _refusal(request, error)

    @app.exception_handler(ClientDisconnect)
    async def left(request: Request, error: Exception) -> Response:
        return Response(status_code=499)  # nobody reads it, but what counts requests

    def model_of(name: str) -> str:
        """A model by its name, or a beginning of it that ends before a hyphen, as in UDPipe."""
        if not name:
            return next(iter(pool.models))
        for known in pool.models:
            if known == name or known.startswith(f"{name}-"):
                return known
        raise Refused(400, f"no model {name!r}; there are: {', '.join(pool.models)}")

    def answer(kind: str, fields: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        deadline = fields.pop("deadline", None)
        given = {"model": model_of(fields["model"]), **pool.settings.of_jobs()}
        return pool.answer({**fields, **given, "kind": kind}, deadline)

    @app.post(
        "/v1/parse", summary="Parse text, CoNLL-U or words", tags=["parse"],
        response_class=_Stream,
        responses={200: {"content": {kind: {"schema": {"type": "string"}} for kind in _TYPES}}},
    )  # fmt: skip
    async def parse(request: Request, options: Annotated[Options, Query()]) -> Response:
        """One piece for each sentence, as it is done: JSON lines, CoNLL-U or drawn trees.

        After the answer has begun, what ends it is told in its last line.
        """
        fields = await _fields(request, options)
        kind, pieces = _KINDS[fields["format"]], answer("parse", fields)
        first = await anext(pieces, b"")
        return _Stream(_told(first, pieces, kind), media_type=f"{kind}; charset=utf-8")

    page = {"tags": ["parse"], "response_class": HTMLResponse}
    why = "Why a tree is the best, as a page"

    @app.post("/v1/explain", summary=why, **page)
    async def explain(request: Request, options: Annotated[Options, Query()]) -> Response:
        return HTMLResponse(await _joined(answer("explain", await _fields(request, options))))

    @app.get("/v1/explain", summary=why, **page)
    async def explain_text(options: Annotated[TextOptions, Query()]) -> Response:
        return HTMLResponse(await _joined(answer("explain", options.model_dump())))

    @app.get("/process", tags=["UDPipe"], summary="As UDPipe's REST service")
    @app.post("/process", tags=["UDPipe"], summary="As UDPipe's REST service")
    async def process(request: Request) -> Response:
        """UDPipe's: parameters data, model, tokenizer, tagger, parser, input, output."""
        given = dict(parse_qsl(request.url.query, keep_blank_values=True, errors="strict"))
        given |= _form(await request.body(), request.headers.get("content-type", ""))
        udpipe.check(given)
        model = model_of(given.get("model", ""))
        result = await _joined(answer("process", {"model": model, "udpipe": given}))
        thanks = ["https://universaldependencies.org"]
        found = {"model": model, "acknowledgements": thanks, "result": result.decode()}
        return JSONResponse(found, headers=_ANYONE)

    @app.get("/models", tags=["UDPipe"], summary="Models, and what each can do")
    async def models() -> Response:
        found = {"models": pool.models, "default_model": next(iter(pool.models))}
        return JSONResponse(found, headers=_ANYONE)

    @app.post("/v1/models/reload", tags=["service"], summary="Load the models anew")
    async def load_anew(request: Request) -> Response:
        """From this machine only. Requests go on; /health tells the generation."""
        client = request.client.host if request.client else "127.0.0.1"
        if not ipaddress.ip_address(client).is_loopback or "origin" in request.headers:
            raise Refused(403, "models are reloaded from the machine of the service only")
        reload()
        return JSONResponse({"generation": pool.generation}, 202)

    @app.get("/health", tags=["service"], summary="Whether requests are answered")
    async def health() -> Response:
        facts = pool.facts()
        good = bool(facts["workers"])
        status = {"status": "ok" if good else "no workers", "version": __version__}
        return JSONResponse(status | facts, 200 if good else 503)

    @app.get(
        "/metrics", tags=["service"], summary="For Prometheus", response_class=PlainTextResponse
    )
    async def numbers() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    def show(name: str, kind: str) -> None:
        data = (files("bbparse.serve") / "page" / (name or "page.html")).read_bytes()

        @app.get(f"/{name}", include_in_schema=False)
        async def shown() -> Response:
            return Response(data, media_type=f"{kind}; charset=utf-8", headers=_SAFE)

    for name, kind in _PAGE.items():
        show(name, kind)
    document = app.openapi
    app.openapi = lambda: with_bodies(document(), ("/v1/parse", "/v1/explain"))
    return app


async def _joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def _told(
    first: bytes, pieces: AsyncGenerator[bytes, None], kind: str
) -> AsyncGenerator[bytes, None]:
    """An answer that has begun, with what ends it before its time as a last line."""
    async with aclosing(pieces):
        piece = first
        try:
            while piece:
                for start in range(0, len(piece), _CHUNK):
                    yield piece[start : start + _CHUNK]
                piece = await anext(pieces, b"")
        except Refused as error:
            line = f"# error = {error.text}\n"
            yield (json.dumps({"error": error.text}) + "\n" if "json" in kind else line).encode()


async def _fields(request: Request, options: Options) -> dict[str, Any]:
    """What a request asks for: options in its query, or all in a body of JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == "application/json":
        fields = ParseRequest.model_validate_json(body).model_dump()
        given = [name for name in ("text", "conllu", "words") if fields[name] is not None]
        if len(given) != 1:
            raise Refused(
                400, f"found {' and '.join(given) or 'none'}, expected one of text, conllu, words"
            )
        return fields
    if kind not in ("text/plain", "text/x-conllu", "application/conllu"):
        raise Refused(
            415, f"the body is of type {kind!r}, expected text/plain, text/x-conllu or"
            " application/json",
        )  # fmt: skip
    field = "text" if kind == "text/plain" else "conllu"
    return {**options.model_dump(), field: _decoded(body)}


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            400, f"byte {error.start + 1} of the body is 0x{body[error.start]:02x}, expected UTF-8"
        ) from None


def _form(body: bytes, kind: str) -> dict[str, str]:
    if not body:
        return {}
    if kind.startswith("multipart/form-data"):
        message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        parts: Any = message.get_payload() if message.is_multipart() else ()
        return {
            str(part.get_param("name", header="Content-Disposition")):
            _decoded(part.get_payload(decode=True) or b"")
            for part in parts
        }  # fmt: skip
    if kind.startswith("application/x-www-form-urlencoded"):
        try:
            return dict(parse_qsl(_decoded(body), keep_blank_values=True, errors="strict"))
        except ValueError:
            raise Refused(400, "the form is malformed: expected UTF-8, percent-encoded") from None
    raise Refused(400, f"Unsupported payload Content-Type '{kind}'.")


def _refusal(request: Request, error: Exception) -> Response:
    """An error as its path tells it: in plain text as UDPipe does, or as JSON."""
    headers: dict[str, str] = {}
    if isinstance(error, RequestValidationError | ValidationError):
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        status, text = 400, f"{place}: {first['msg']}" if place else str(first["msg"])
    elif isinstance(error, HTTPException):
        status, text, headers = error.status_code, str(error.detail), dict(error.headers or {})
    else:
        assert isinstance(error, Refused)
        status, text = error.status, error.text
        headers = {"Retry-After": str(error.after)} if error.after else {}
    if request.url.path in ("/process", "/models"):
        return PlainTextResponse(text, status, headers | _ANYONE)
    return JSONResponse({"error": text}, status, headers)


class _Server(uvicorn.Server):
    """Says when it is ready."""

    control: asyncio.StreamWriter

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.control.write(b"ready\n")


def run(
    listener: socket.socket,
    control: socket.socket,
    address: str,
    settings: Settings,
    others: Sequence[socket.socket] = (),
) -> None:
    """The process that speaks HTTP.

    Clients come to `listener`, workers to the socket at the path `address`. By `control` lines of
    JSON come from the first process, and words go to it; `others` are its own sockets, whose end
    shows only if nobody else has hold of them.
    """
    for one in others:
        one.close()
    os.setsid()  # Ctrl-C is for the first process, which passes it on as SIGTERM
    stop: list[int] = []  # by signals that come before the server listens to them
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: stop.append(number))
    asyncio.run(_run(listener, control, address, settings, stop))


async def _run(
    listener: socket.socket,
    control: socket.socket,
    address: str,
    settings: Settings,
    stop: list[int],
) -> None:
    metrics = Metrics()
    pool = Pool(settings, metrics)
    await pool.listen(address)
    reader, writer = await asyncio.open_connection(sock=control)
    app = application(pool, metrics, lambda: writer.write(b"reload\n"))
    pool.killed = lambda pid: writer.write(b"killed-%d\n" % pid)
    server = _Server(
        uvicorn.Config(
            Guard(app, settings, metrics), ws="none", lifespan="off",
            log_level="error", access_log=False, server_header=False,
            http=partial(Protocol, stall=settings.stall), timeout_keep_alive=30,
            limit_concurrency=settings.connections,
            timeout_graceful_shutdown=math.ceil(settings.deadline + settings.grace),
        )
    )  # fmt: skip
    server.control = writer

    async def obey() -> None:
        while line := await reader.readline():
            pool.announced = json.loads(line)
            metrics.reloads.inc()
        server.should_exit = True  # the first process has ended

    writer.write(b"listening\n")
    pool.models = pool.announced = json.loads(await reader.readline())
    obeying = asyncio.ensure_future(obey())
    server.should_exit = bool(stop)
    await server.serve([listener])
    obeying.cancel()
    await pool.close()
