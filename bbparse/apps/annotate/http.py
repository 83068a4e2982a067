"""The HTTP server of the page: paths, access checks, shutdown."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Annotated, Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response

from bbparse.apps.annotate.treebank import MAX_TREE, Act, Conflict, Impossible, Treebank
from bbparse.apps.annotate.view import options_view, rows, search, sentence_view
from bbparse.apps.serve import http
from bbparse.apps.serve.http import SAFE_HEADERS, add_files, refusal
from bbparse.apps.serve.schema import Refused, Settings
from bbparse.runtime.errors import OutputError

_SAFE = {**SAFE_HEADERS, "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"}
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
Endpoint = Callable[[Request], Awaitable[Response]]
TreeNumber = Annotated[int, Query(ge=0, le=MAX_TREE)]


def check_request(request: Request, port: int, token: str) -> None:
    """Raise `Refused` for a request from another page or for another host.

    On the loopback address, Host must name that address, which stops DNS rebinding. On other
    addresses, paths begin with a secret token.
    """
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    local = {f"{name}:{port}" for name in _LOCAL} | (set(_LOCAL) if port == 80 else set())
    if not token and host not in local:
        raise Refused(403, f"Host is {host!r}, expected the address of this machine")
    site = request.headers.get("sec-fetch-site", "none")
    if site not in ("none", "same-origin") or (origin and origin.partition("://")[2] != host):
        raise Refused(403, "the request comes from another page")
    first = request.url.path.split("/")[1]
    if token and not secrets.compare_digest(first.encode(), token.encode()):
        raise Refused(403, "the address lacks its token: use the one that was printed")
    kind = request.headers.get("content-type", "").partition(";")[0]
    if request.method == "POST" and kind != "application/json":
        raise Refused(415, f"the body is of type {kind!r}, expected application/json")


def application(treebank: Treebank, port: int, token: str = "") -> FastAPI:
    """Create the application; with a token, all paths begin with ``/TOKEN``."""
    app = FastAPI(title="bbparse annotate", docs_url=None, redoc_url=None, openapi_url=None)
    prefix = f"/{token}" if token else ""

    for raised in (Refused, RequestValidationError):
        app.add_exception_handler(raised, refusal)

    @app.middleware("http")
    async def guarded(request: Request, answer: Endpoint) -> Response:
        try:
            check_request(request, port, token)
        except Refused as error:
            return await refusal(request, error)
        response = await answer(request)
        response.headers.update(_SAFE)
        return response

    def index_of(number: int) -> int:
        if not 1 <= number <= len(treebank.entries):
            raise Refused(404, f"no sentence {number}: there are {len(treebank.entries)}")
        return number - 1

    @app.get(f"{prefix}/api/sentences")
    def changed(since: int = -1) -> Response:
        """List the sentences that changed after a value of ``changes``; -1: all."""
        with treebank.lock:
            found = {"rows": rows(treebank, since), "changes": treebank.changes}
        status = {"saved": treebank.is_saved, "trouble": treebank.trouble}
        return JSONResponse({**found, **status, "file": treebank.target.name})

    @app.get(f"{prefix}/api/sentences/{{number}}")
    def show(number: int, tree: TreeNumber = 0) -> Response:
        """Return a sentence, numbered from 1, with one of its trees."""
        return JSONResponse(sentence_view(treebank, index_of(number), tree))

    @app.post(f"{prefix}/api/sentences/{{number}}")
    def act(number: int, body: Act) -> Response:
        """Apply an act; 409 with the current sentence if somebody else has changed it."""
        index = index_of(number)
        try:
            treebank.act(index, body)
        except Conflict:
            view = sentence_view(treebank, index)
            return JSONResponse({"error": "changed in another window", "now": view}, 409)
        except (Impossible, OutputError) as error:
            return JSONResponse({"error": str(error)}, 422)
        return JSONResponse(sentence_view(treebank, index))

    @app.get(f"{prefix}/api/sentences/{{number}}/words/{{word}}")
    def options(number: int, word: int, tree: TreeNumber = 0) -> Response:
        """Return the likely heads of a word and the labels of its arc."""
        return JSONResponse(options_view(treebank, index_of(number), word, tree))

    @app.get(f"{prefix}/api/search")
    def find(text: str, by: Literal["form", "relation"] = "form") -> Response:
        """Return the indices of the sentences with a form or a relation."""
        return JSONResponse(search(treebank, by, text))

    page = (files("bbparse.apps.annotate") / "page").iterdir()
    add_files(app, [*page, files("bbparse.treebank.drawing") / "arcs.css"], prefix)
    return app


class Server(http.Server):
    """HTTP server with graceful shutdown; URLs carry a secret token if one is given."""

    def __init__(
        self, treebank: Treebank, listener: socket.socket, token: str, ready: Callable[[], object]
    ) -> None:
        app = application(treebank, listener.getsockname()[1], token)
        super().__init__(app, Settings(), ready, timeout_graceful_shutdown=2)
        self._treebank, self._listener = treebank, listener

    def serve_all(self) -> None:
        """Serve until a signal arrives; then save and close the treebank."""
        self._treebank.start()
        try:
            self.run([self._listener])
        finally:
            self._treebank.close()
