"""A service with two toy models: one that parses, and one that dawdles and dies when told to."""

from __future__ import annotations

import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bbparse.apps.serve.http import serve
from bbparse.apps.serve.schema import Settings
from bbparse.apps.serve.work import warm_up
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence
from tests import toy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the service forks")


class Odd(Parser):
    """Waits a second for each word *wait*, and dies of *die* while there is a file to delete."""

    folder: Path

    def tag(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            time.sleep(sentence.forms.count("wait"))
            if "die" in sentence.forms and (lives := sorted(self.folder.glob("die*"))):
                lives[0].unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            yield from super().tag([sentence])


class Answer:
    """Of HTTP."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.text.splitlines()]


def ask(place: str, path: str, body: Any = None, method: str = "", **headers: str) -> Answer:
    """An answer to GET, or to POST if there is a body; a body that is no bytes is sent as JSON."""
    if body is not None and not isinstance(body, bytes):
        body, headers = json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    connection = http.client.HTTPConnection(place, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method or ("GET" if body is None else "POST"), path, body, named)
    response = connection.getresponse()
    found = Answer(response.status, dict(response.getheaders()), response.read())
    connection.close()
    return found


class Running:
    """A service in processes of its own."""

    def __init__(self, url: str, process: Any, told: Callable[[], str], folder: Path) -> None:
        self.url, self.process, self.told, self.folder = url, process, told, folder
        self.place = urlsplit(url).netloc

    def ask(self, path: str, body: Any = None, kind: str = "", method: str = "") -> Answer:
        """An answer to a body of a kind."""
        return ask(self.place, path, body, method, **({"Content_Type": kind} if kind else {}))

    def text(self, text: str, query: str = "") -> Answer:
        """An answer to running text."""
        return self.ask(f"/v1/parse?{query}", text.encode(), "text/plain")

    def odd(self, *words: str, **more: Any) -> Answer:
        """An answer of the odd model to a sentence for each text."""
        sentences = [text.split() for text in words]
        return self.ask("/v1/parse", {"words": sentences, "model": "odd", **more})


@contextmanager
def running(folder: Path, load: Callable[[], Any] | None = None, **settings: Any) -> Iterator[Any]:
    """A service on a free port."""
    # trained and compiled here, once, and not in each process
    warm_up({"toy": toy.reader()})

    def models() -> dict[str, Parser]:
        Odd.folder = folder
        return {
            "toy-small-1": toy.reader(),
            "odd": Odd(toy.reader().model),
            **(load() if load else {}),
        }

    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=serve, args=(models, "127.0.0.1", 0, Settings(**settings), theirs.send)
    )
    process.start()
    theirs.close()
    try:
        assert ours.poll(120)
        first = ours.recv()
        yield Running(first.rpartition(" ")[2], process, ours.recv, folder)
    finally:
        process.terminate()
        process.join(20)
        alive = process.is_alive()
        process.kill()
        assert not alive


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for all tests that do not harm it."""
    with running(tmp_path_factory.mktemp("odd"), workers=2, max_bytes=100_000) as found:
        yield found
