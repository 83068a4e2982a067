"""The service over HTTP: its paths, and the process that answers them."""

from __future__ import annotations

import asyncio
import email
import math
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.abc import Traversable
from importlib.resources import files
from typing import Annotated, Any, cast
from urllib.parse import parse_qsl

import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bbparse import __version__
from bbparse.apps.serve import inception, udpipe
from bbparse.apps.serve.pool import Pool
from bbparse.apps.serve.schema import (
    Options,
    ParseRequest,
    Refused,
    Settings,
    TextOptions,
    with_bodies,
)
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ServiceError
from bbparse.runtime.signals import stopped_by

SAFE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:;"
    " frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_KINDS = {"jsonl": "application/x-ndjson", "conllu": "text/x-conllu", "tree": "text/plain"}
#: Seconds in which the rest of a body that is too large may come.
_DRAIN_SECONDS = 10.0
_ANYONE = {"Access-Control-Allow-Origin": "*"}  # as in UDPipe's service


def serve(
    load: Callable[[], Mapping[str, Parser]],
    host: str,
    port: int,
    settings: Settings,
    tell: Callable[[str], None],
) -> None:
    """Answer requests until SIGTERM or SIGINT; `tell` reports to the operator."""
    with listening(host, port) as listener, closing(Pool(load(), settings, tell)) as pool:
        url = url_of(listener, host)
        server = Server(
            application(pool),
            settings,
            lambda: tell(f"serving {', '.join(pool.models)} on {url}"),
            timeout_graceful_shutdown=math.ceil(min(settings.deadline, 1e9) + settings.grace),
        )
        server.run([listener])


def url_of(listener: socket.socket, host: str) -> str:
    """Return the address of a service that listens on a host."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises `ServiceError` if it cannot."""
    try:
        # refuses an empty host, which create_server takes as all interfaces
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family = min(address[0] for address in addresses)  # IPv4 if there is a choice
        listener = socket.create_server((host, port), family=family)
    except (socket.gaierror, UnicodeError, TypeError):
        raise ServiceError(f"{host}, port {port}: address not found") from None
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise ServiceError(f"{host}, port {port}: {reason}") from None
    # connections inherit this; asyncio sets it only if the socket names its protocol
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def application(pool: Pool) -> FastAPI:
    """Make the application with all paths."""
    app = FastAPI(title="bbparse", version=__version__, docs_url=None, redoc_url=None)

    for raised in (Refused, HTTPException, RequestValidationError, ValidationError):
        app.add_exception_handler(raised, refusal)

    @app.exception_handler(ClientDisconnect)
    async def left(request: Request, error: Exception) -> Response:
        return Response(status_code=499)  # which nobody sees

    _add_parsing(app, pool)
    _add_udpipe(app, pool)
    _add_recommender(app, pool)

    @app.get("/health", tags=["service"], summary="Check the service")
    async def health() -> Response:
        return JSONResponse({"status": "ok", "version": __version__, **pool.facts()})

    add_files(app, (files("bbparse.apps.serve") / "page").iterdir())
    document = app.openapi
    app.openapi = lambda: with_bodies(document(), ("/v1/parse", "/v1/explain"))
    return app


def _add_parsing(app: FastAPI, pool: Pool) -> None:
    """Add the paths that parse and explain."""
    content = {kind: {"schema": {"type": "string"}} for kind in sorted(_KINDS.values())}

    @app.post(
        "/v1/parse",
        summary="Parse text, CoNLL-U or words",
        tags=["parse"],
        response_class=PlainTextResponse,
        responses={200: {"content": content}},
    )
    async def parse(request: Request, options: Annotated[Options, Query()]) -> Response:
        """Answer in JSON lines, CoNLL-U or drawn trees.

        If the deadline ends the work on some sentences, the last line of the answer says so.
        """
        fields = await _fields(request, options)
        kind = _KINDS[fields["format"]]
        return Response(await pool.answer("parse", fields), media_type=f"{kind}; charset=utf-8")

    page = {"tags": ["parse"], "response_class": HTMLResponse}
    summary = "Explain why a tree is the best, as a page"

    @app.post("/v1/explain", summary=summary, **page)
    async def explain(request: Request, options: Annotated[Options, Query()]) -> Response:
        return HTMLResponse(await pool.answer("explain", await _fields(request, options)))

    @app.get("/v1/explain", summary=summary, **page)
    async def explain_text(options: Annotated[TextOptions, Query()]) -> Response:
        return HTMLResponse(await pool.answer("explain", options.model_dump()))


def _add_udpipe(app: FastAPI, pool: Pool) -> None:
    """Add the paths of UDPipe's REST service."""

    @app.get("/process", tags=["UDPipe"], summary="Process data as UDPipe's REST service does")
    @app.post("/process", tags=["UDPipe"], summary="Process data as UDPipe's REST service does")
    async def process(request: Request) -> Response:
        """Take the parameters of UDPipe: data, model, tokenizer, tagger, parser, input, output."""
        parameters = _parameters(request.url.query, "query")
        parameters |= _form(await request.body(), request.headers.get("content-type", ""))
        udpipe.check(parameters)
        model = pool.model_of(parameters.get("model", ""))
        result = await pool.answer("process", {"model": model, "udpipe": parameters})
        thanks = ["https://universaldependencies.org"]
        response = {"model": model, "acknowledgements": thanks, "result": result}
        return JSONResponse(response, headers=_ANYONE)

    @app.get("/models", tags=["UDPipe"], summary="List the models and the steps of each")
    async def models() -> Response:
        response = {"models": pool.models, "default_model": next(iter(pool.models))}
        return JSONResponse(response, headers=_ANYONE)


def _add_recommender(app: FastAPI, pool: Pool) -> None:
    """Add the paths for INCEpTION."""

    @app.post("/inception/predict", tags=["INCEpTION"], summary="Suggest arcs")
    @app.post("/inception/{model}/predict", tags=["INCEpTION"], summary="Suggest arcs")
    async def predict(body: inception.Predict, model: str = "") -> Response:
        """Add an arc for each word without one, the best around those that the document has."""
        fields = {"model": model, "inception": body.model_dump(by_alias=True)}
        return JSONResponse({"document": await pool.answer("inception", fields)})

    @app.post("/inception/train", tags=["INCEpTION"], summary="Learn nothing")
    @app.post("/inception/{model}/train", tags=["INCEpTION"], summary="Learn nothing")
    async def train(body: inception.Train, model: str = "") -> Response:
        """Accept documents, and neither store them nor learn from them."""
        text = f"nothing is stored or learned: {pool.model_of(model)} does not change"
        return JSONResponse({"trained": False, "message": text})


def add_files(app: FastAPI, files: Iterable[Traversable], prefix: str = "") -> None:
    """Add files as paths; ``page.html`` is the path without a name."""

    for file in files:
        ending = file.name.rpartition(".")[2]
        kind = f"text/{'javascript' if ending == 'js' else ending}; charset=utf-8"
        response = Response(file.read_bytes(), media_type=kind, headers=SAFE_HEADERS)
        path = f"{prefix}/{'' if file.name == 'page.html' else file.name}"
        app.add_route(path, lambda _, file=response: file, include_in_schema=False)


async def _fields(request: Request, options: Options) -> dict[str, Any]:
    """Return the fields of a request: options in its query, or all of them in a JSON body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == "application/json":
        for name in request.query_params:
            raise Refused(400, f"found {name} in the query, expected all options in the JSON body")
        fields = ParseRequest.model_validate_json(body).model_dump()
        inputs = [name for name in ("text", "conllu", "words") if fields[name] is not None]
        if len(inputs) != 1:
            found = " and ".join(inputs) or "none"
            raise Refused(400, f"found {found}, expected one of text, conllu, words")
        return fields
    if kind not in ("text/plain", "text/x-conllu", "application/conllu"):
        expected = "text/plain, text/x-conllu or application/json"
        raise Refused(415, f"the body is of type {kind!r}, expected {expected}")
    field = "text" if kind == "text/plain" else "conllu"
    return {**options.model_dump(), field: _decoded(body)}


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            400, f"byte {error.start + 1} of the body is 0x{body[error.start]:02x}, expected UTF-8"
        ) from None


def _parameters(text: str, where: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict"))
    except ValueError:
        raise Refused(400, f"the {where} is malformed: expected UTF-8, percent-encoded") from None


def _form(body: bytes, kind: str) -> dict[str, str]:
    """Return the fields of a form."""
    if not body:
        return {}
    if kind.startswith("multipart/form-data"):
        message = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        parts: Any = message.get_payload() if message.is_multipart() else ()
        return {
            str(part.get_param("name", header="Content-Disposition")): _decoded(
                part.get_payload(decode=True) or b""
            )
            for part in parts
        }
    if kind.startswith("application/x-www-form-urlencoded"):
        return _parameters(_decoded(body), "form")
    raise Refused(400, f"Unsupported payload Content-Type '{kind}'.")


async def refusal(request: Request, error: Exception) -> Response:
    """Return an error in the format of its path: plain text as UDPipe does, or JSON."""
    headers: dict[str, str] = {}
    if isinstance(error, RequestValidationError | ValidationError):
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        status, text = 400, f"{field}: {first['msg']}" if field else str(first["msg"])
    elif isinstance(error, HTTPException):
        status, text, headers = error.status_code, str(error.detail), dict(error.headers or {})
    else:
        refused = cast(Refused, error)
        status, text = refused.status, refused.text
        headers = {"Retry-After": str(refused.after)} if refused.after else {}
    if request.url.path in ("/process", "/models"):
        return PlainTextResponse(text, status, headers | _ANYONE)
    return JSONResponse({"error": text}, status, headers)


class Limited:
    """An application with a limit on the size of bodies, which waits for none at the end."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes
        self.ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        size = 0

        async def limited() -> Message:
            nonlocal size
            message = await self._in_time(receive())
            size += len(message.get("body", b""))
            if size > self.max_bytes:
                # who only reads an answer after sending everything would not see it
                with suppress(TimeoutError):
                    async with asyncio.timeout(_DRAIN_SECONDS):
                        while message.get("more_body"):
                            message = await self._in_time(receive())
                text = f"the body has more than {self.max_bytes:,} bytes: send less at a time"
                raise HTTPException(413, text, {"Connection": "close"})
            return message

        await self.app(scope, limited, send)

    async def _in_time(self, received: Awaitable[Message]) -> Message:
        """Return what comes from a client, or refuse the request if the service ends before."""
        tasks = asyncio.ensure_future(received), asyncio.ensure_future(self.ending.wait())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                return tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()
        raise HTTPException(503, "the service is ending", {"Connection": "close"})


class Server(uvicorn.Server):
    """HTTP server with graceful shutdown, which reports when it is ready."""

    def __init__(
        self, app: FastAPI, settings: Settings, ready: Callable[[], object], **options: Any
    ) -> None:
        self._limited = Limited(app, settings.max_bytes)
        super().__init__(
            uvicorn.Config(
                self._limited,
                http="h11",
                ws="none",
                lifespan="off",
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_keep_alive=30,
                limit_concurrency=1000,
                **options,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what has come as a whole, and end."""
        self._limited.ending.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals without raising them again at the end."""
        with stopped_by(lambda number: self.handle_exit(number, None)):
            yield
