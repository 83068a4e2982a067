"""A calibrated toy parser, and treebanks under annotation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bbparse.apps.annotate.completion import Completer
from bbparse.apps.annotate.http import Server
from bbparse.apps.annotate.treebank import Act, Treebank
from bbparse.apps.serve.http import listening
from bbparse.models.graph.training import train_enhancer
from tests import graphs, toy
from tests.apps.serve.conftest import Answer, ask

#: All that a file can have: a byte order mark, comments, a multiword token, empty nodes, enhanced
#: graphs, odd blank lines, a head that is missing; words of another script; a complete tree.
TEXT = (
    "\ufeff# newdoc id = x\n# text = The  dog sees itself\n"
    "1\tThe\tthe\tDET\tDT\t_\t_\t_\t_\tX=1\n2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t_\t_\t_\t_\n"
    "2.1\tghost\t_\t_\t_\t_\t_\t_\t3:dep\t_\n"
    "3-4\tseesit\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "3\tsees\tsee\tVERB\tVBZ\t_\t0\troot\t0:root\t_\n4\tit\tit\tPRON\tPRP\t_\t_\t_\t_\t_\n\n\n"
    "# sent_id = heb\n1\tהכלב\t_\tNOUN\t_\t_\t2\tnsubj\t2:nsubj\t_\n"
    "2\tראה\t_\tVERB\t_\t_\t0\troot\t0:root\tFixed=Yes\n3\tחתול\t_\tNOUN\t_\t_\t2\tobj\t2:obj\t_\n\n"
    "1\tA\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t_\t_\t_\t_\n"
    "3\tslept\t_\tVERB\t_\t_\t_\t_\t_\t_\n4\ton\t_\tADP\t_\t_\t_\t_\t_\t_\n"
    "5\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n6\tbed\t_\tNOUN\t_\t_\t_\t_\t_\t_\n"
    "7\t.\t_\tPUNCT\t_\t_\t_\t_\t_\t_\n"
)


@cache
def completer() -> Completer:
    """With the toy parser."""
    parser = toy.changed(toy.reader(), notes=dict(toy.reader().model.notes))
    parser.calibrate(toy.dev_sentences())
    return Completer(parser)


class Opened:
    """Opens a file with `TEXT` again and again; the one before is closed as if it was killed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "a.conllu"
        self.path.write_text(TEXT, encoding="utf-8", newline="")
        self.open: list[Treebank] = []

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode()

    def __call__(self, output: Path | None = None, **options: Any) -> Treebank:
        self.kill()
        self.open.append(Treebank(self.path, completer(), output, **options))
        return self.open[-1]

    def kill(self) -> None:
        """Unlock the journal, and save nothing."""
        for treebank in self.open:
            treebank._journal._file.close()
        self.open.clear()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    found = Opened(tmp_path)
    yield found
    found.kill()


@pytest.fixture
def enhanced(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """The model makes graphs."""
    enhancer = train_enhancer(graphs.sentences(1, 200))
    for parser in (completer().parser, completer()._crossing):
        monkeypatch.setattr(parser.model, "enhancer", enhancer)
    return opened


def does(treebank: Treebank, index: int, kind: Any, word: int = 0, **more: Any) -> None:
    """An act on the sentence as it is now."""
    treebank.act(index, Act(kind, treebank.entries[index].revision, word, **more))


class Served:
    """A treebank behind HTTP, on a free port, in a thread of this process."""

    def __init__(self, treebank: Treebank, token: str = "") -> None:
        self.treebank = treebank
        listener = listening("127.0.0.1", 0)
        self.place = f"127.0.0.1:{listener.getsockname()[1]}"
        self.url = f"http://{self.place}/{token}"
        ready = threading.Event()
        self.server = Server(treebank, listener, token, ready.set)
        self.thread = threading.Thread(target=self.server.serve_all)
        self.thread.start()
        assert ready.wait(30)

    def ask(self, path: str, body: Any = None, **headers: str) -> Answer:
        return ask(self.place, path, body, **headers)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(30)
        assert not self.thread.is_alive()


@pytest.fixture
def served(opened: Opened) -> Iterator[Callable[..., Served]]:
    found: list[Served] = []

    def serve(token: str = "", **options: Any) -> Served:
        found.append(Served(opened(**options), token))
        return found[-1]

    yield serve
    for each in found:
        each.close()
