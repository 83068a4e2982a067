"""Requests of the page, and those that are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import toy
from tests.apps.annotate.conftest import TEXT, Opened, Served, completer

Serve = Callable[..., Served]
ACT = {"kind": "fix", "revision": 0, "word": 6, "head": 2}


def test_a_session(served: Serve, opened: Opened) -> None:
    service = served()
    listed = service.ask("/api/sentences").json
    assert [row["words"] for row in listed["rows"]] == [4, 3, 7]
    view = service.ask("/api/sentences/3").json
    assert view["svg"].count("data-mod") == 7 and view["revision"] == 0
    after = service.ask("/api/sentences/3", ACT).json
    assert after["cells"][5]["head"] == 2 and after["revision"] == 1 and after["undo"] == 1
    late = service.ask("/api/sentences/3", {**ACT, "head": 4})
    assert late.status == 409 and late.json["now"]["cells"] == after["cells"]
    options = service.ask("/api/sentences/3/words/6").json
    assert options["heads"] and options["labels"][0][1] >= options["labels"][1][1]
    other = service.ask("/api/sentences/3?tree=3").json
    assert other["tree"] <= 3 and other["revision"] == 1
    assert service.ask("/api/search?text=cat").json == [2]
    refused = service.ask("/api/sentences/3", {"kind": "redo", "revision": 1})
    assert refused.status == 422 and refused.json == {"error": "nothing to redo"}
    assert service.ask("/api/sentences/4").status == 404
    assert service.ask("/api/nothing").status == 404
    for body in ({"kind": "sing", "revision": 1}, {"kind": "fix"}, [1], {**ACT, "word": "x"}):
        assert service.ask("/api/sentences/3", body).status == 400
    for values in ({"kind": "accept", "tree": -1}, {"label": "\ud800"}, {"label": "x" * 300_000}):
        refused = service.ask("/api/sentences/3", {**ACT, "revision": 1, **values})
        assert refused.status == 422 and " found " in refused.json["error"]
    service.close()  # saved, too
    assert opened.text != TEXT and opened.text == service.treebank.entries[0].text + "".join(
        entry.text for entry in service.treebank.entries[1:]
    )


def test_the_page_takes_nothing_from_elsewhere(served: Serve) -> None:
    service = served()
    for path in ("", "page.js", "drawing.js", "page.css"):
        answer = service.ask(f"/{path}")
        assert answer.status == 200
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert "innerHTML" not in answer.text
        assert "://" not in answer.text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},  # a name that was bound to this address
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:{port}"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_other_pages_are_refused(served: Serve, headers: dict[str, str]) -> None:
    service = served()
    port = service.place.partition(":")[2]
    headers = {name: value.format(port=port) for name, value in headers.items()}
    assert service.ask("/api/sentences", **headers).status == 403
    assert service.ask("/api/sentences/3", ACT, **headers).status == 403
    own = {"Origin": f"http://{service.place}", "Sec_Fetch_Site": "same-origin"}
    assert service.ask("/api/sentences/3", ACT, **own).status == 200


def test_another_address_has_a_token(served: Serve) -> None:
    service = served("secret")
    for path in ("/", "/api/sentences", "/secre/api/sentences", "/secret2/", "/x/page.js"):
        answer = service.ask(path)
        assert answer.status == 403 and "token" in answer.json["error"]
    assert service.ask("/secret/").status == 200
    answer = service.ask("/secret/api/sentences", Host="annotation.example:8081")
    assert len(answer.json["rows"]) == 3
    evil = {"Host": "annotation.example:8081", "Origin": "http://evil.example"}
    assert service.ask("/secret/api/sentences", **evil).status == 403


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGTERM, 2)]
)
def test_the_command(opened: Opened, tmp_path: Path, number: int, status: int) -> None:
    """Its status is 2 if it cannot save, here since another program has changed the file."""
    model = tmp_path / "toy.model"
    completer().parser.save(model)
    command = [sys.executable, "-m", "bbparse", "annotate", opened.path, "--model", model]
    process = subprocess.Popen(
        [*command, "--port", "0"], stderr=subprocess.PIPE, text=True, cwd=toy.DATA.parent.parent
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("bbparse: on http://127.0.0.1:"), line
    service = Served.__new__(Served)
    service.place = line.partition("://")[2].strip().rstrip("/")
    if status:
        opened.path.write_text(TEXT + "\n", encoding="utf-8")
    assert service.ask("/api/sentences/3", ACT).status == 200
    os.kill(process.pid, number)
    assert process.wait(30) == status
    lines = process.stderr.read().splitlines()
    if status:
        assert lines[-1].startswith(f"bbparse: error: {opened.path}: another program has changed")
        assert opened.text == TEXT + "\n"
    else:
        assert "\t2\t" in opened.text.splitlines()[-2] and opened.text != TEXT
