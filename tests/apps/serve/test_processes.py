"""Workers that die, models loaded anew, full queues, slow clients, and the end."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bbparse.apps.serve.service import serve
from bbparse.apps.serve.settings import Settings
from bbparse.runtime.errors import BBParseError, ModelError, ServiceError
from tests import toy
from tests.apps.serve.conftest import Running, running


def until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def connected(service: Running, text: bytes) -> socket.socket:
    host, _, port = service.place.partition(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall(text)
    return connection


def head(length: int, kind: str = "text/plain") -> bytes:
    return (
        f"POST /v1/parse HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def test_a_request_whose_worker_dies_is_refused_and_others_go_on(tmp_path: Path) -> None:
    with running(tmp_path, workers=2) as service, ThreadPoolExecutor(1) as pool:
        other = pool.submit(service.odd, "wait slept .")
        until(lambda: service.ask("/health").json["busy"] == 1)
        (service.folder / "die").touch()
        found = service.odd("The cat slept .", "They die .")
        assert (found.status, found.json["error"]) == (500, "the worker died of the request")
        assert service.told().startswith("a worker died")
        assert other.result().status == 200
        assert service.odd("The cat slept .", "They die .").status == 200
        assert "bbparse_worker_deaths_total 1.0" in service.ask("/metrics").text
        assert service.ask("/health").json["workers"] == 2


def test_what_will_not_end_is_ended(tmp_path: Path) -> None:
    with running(tmp_path, grace=0.3) as service:
        started = time.monotonic()
        found = service.odd("wait " * 20, deadline=0.3)
        assert found.status == 504 and "would not end" in found.json["error"]
        assert service.text("It slept.").status == 200
        assert time.monotonic() - started < 15


def test_a_full_queue(tmp_path: Path) -> None:
    with running(tmp_path, queue=1) as service, ThreadPoolExecutor(3) as pool:
        first = pool.submit(service.odd, "wait wait")
        until(lambda: service.ask("/health").json["busy"] == 1)
        second = pool.submit(service.odd, "slept")
        until(lambda: service.ask("/health").json["waiting"] == 1)
        third = service.odd("slept")
        assert (third.status, third.json) == (429, {"error": "1 requests are waiting already"})
        assert int(third.headers["retry-after"]) >= 1
        assert first.result().status == second.result().status == 200


def test_models_are_loaded_anew(tmp_path: Path) -> None:
    flag = tmp_path / "more"

    def load() -> dict[str, Any]:
        if flag.exists() and flag.read_text() == "bad":
            raise ModelError("bad.model: no model")
        return {"new": toy.reader()} if flag.exists() else {}

    with running(tmp_path, load, workers=2) as service, ThreadPoolExecutor(8) as pool:
        assert service.text("It slept.", "model=new").status == 400
        slow = pool.submit(service.odd, "It wait .")
        until(lambda: service.ask("/health").json["busy"] == 1)
        answers = [pool.submit(service.text, "It slept.") for _ in range(30)]
        flag.touch()
        os.kill(service.process.pid, signal.SIGHUP)
        answers += [pool.submit(service.text, "It slept.") for _ in range(30)]
        assert service.told() == "loaded toy-small-1, odd, new anew"
        until(lambda: service.ask("/health").json["generation"] == 2)
        assert {answer.result().status for answer in answers} == {200}
        assert slow.result().status == 200
        assert service.text("It slept.", "model=new").status == 200
        until(lambda: service.ask("/health").json["workers"] == 2)
        flag.write_text("bad")
        assert service.ask("/v1/models/reload", method="POST").status == 202
        assert service.told() == "the models stay as they were: bad.model: no model"
        assert service.text("It slept.", "model=new").status == 200


def test_a_stop_waits_for_requests(tmp_path: Path) -> None:
    with running(tmp_path) as service, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(service.odd, "The cat wait wait .")
        until(lambda: service.ask("/health").json["busy"] == 1)
        os.kill(service.process.pid, signal.SIGTERM)
        with pytest.raises(OSError):
            until(lambda: service.ask("/health") is None)
        assert slow.result().status == 200
        service.process.join(20)
        assert service.process.exitcode == 0


def test_a_body_that_comes_slowly(tmp_path: Path) -> None:
    with running(tmp_path, upload=0.5) as service:
        with connected(service, head(5) + b"It") as slow:
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")
        assert service.text("It slept.").status == 200


def test_an_address_that_cannot_be_had(service: Running) -> None:
    host, _, port = service.place.partition(":")

    def never() -> Any:
        raise AssertionError

    for where, text in (
        ((host, int(port)), f"{host}, port {port}: address already in use"),
        (("no.such.host.invalid", 0), "no.such.host.invalid: there is no such address"),
    ):
        with pytest.raises(ServiceError, match=text):
            serve(never, *where, Settings(), print)
    assert issubclass(ServiceError, BBParseError)
