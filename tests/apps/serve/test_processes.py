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

from bbparse.apps.serve.http import serve
from bbparse.apps.serve.schema import Settings
from bbparse.runtime.errors import BBParseError, ServiceError
from tests.apps.serve.conftest import Running, running


def until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_workers_that_die_are_started_again(tmp_path: Path) -> None:
    with running(tmp_path, workers=2) as service, ThreadPoolExecutor(1) as pool:
        other = pool.submit(service.odd, "wait wait")
        until(lambda: service.ask("/health").json["busy"] == 1)
        (service.folder / "die").touch()
        found = service.odd("The cat slept .", "They die .")
        assert found.status == 500 and found.json["error"].startswith("a worker died")
        assert service.told().startswith("a worker process died")
        assert service.odd("The cat slept .", "They die .").status == 200
        assert service.ask("/health").json["workers"] == 2
        assert other.result().status == 200


def test_what_will_not_end_is_given_up(tmp_path: Path) -> None:
    with running(tmp_path, grace=0.3) as service, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(service.odd, "wait " * 4, deadline=0.3)
        until(lambda: service.ask("/health").json["busy"] == 1)
        late = [service.odd("slept", deadline=0.3) for _ in range(3)][-1]
        assert slow.result().status == 504
        assert late.status in (503, 504)
        assert service.text("It slept.").status == 200


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


def test_a_stop_waits_for_no_client(tmp_path: Path) -> None:
    with running(tmp_path, workers=1, deadline=60) as service:
        host, port = service.place.split(":")
        client = socket.create_connection((host, int(port)), 30)
        head = b"POST /v1/parse HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
        client.sendall(head + b"Content-Length: 100\r\n\r\nhalf of it")
        assert service.ask("/health").status == 200  # the half has come
        os.kill(service.process.pid, signal.SIGTERM)
        assert client.makefile("rb").read().startswith(b"HTTP/1.1 503 ")
        service.process.join(30)
        assert service.process.exitcode == 0


def test_an_address_that_cannot_be_had(service: Running) -> None:
    host, _, port = service.place.partition(":")

    def never() -> Any:
        raise AssertionError

    for where, text in (
        ((host, int(port)), f"{host}, port {port}: address already in use"),
        (("no.such.host.invalid", 0), "no.such.host.invalid, port 0: address not found"),
        (("", 0), "^, port 0: address not found"),  # not all interfaces
        (("no\0host", 0), "address not found"),
    ):
        with pytest.raises(ServiceError, match=text):
            serve(never, *where, Settings(), print)
    assert issubclass(ServiceError, BBParseError)


def test_sentences_with_too_many_parts_are_refused(tmp_path: Path) -> None:
    with running(tmp_path, max_parts=5000) as service:
        answers = [
            service.ask("/v1/parse", {"words": [["a", "cat"] * n], "prune": 0, "valid": "none"})
            for n in (2, 20)
        ]
    assert [answer.status for answer in answers] == [200, 400]
    assert "too many parts for memory; prune more" in answers[1].text
