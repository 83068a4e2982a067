"""Annotation: how fast each request of the page is answered, and how many clicks a treebank takes.

    python bench/annotating.py NAME=MODEL,GOLD… [--answers MODEL,FILE] [--drawn MODEL,FILE]
                               [--sentences N]

A simulated annotator makes the trees of a model equal to the gold trees, from the least sure wrong
arc on: a click for a wrong head, another for a label that is wrong then. With completion, the rest
of the tree becomes the best one around the arcs fixed so far; without, it stays as it is, and only
the label of a corrected arc is chosen anew, in the gold tree. Tags are gold. Answers are timed over
HTTP by a client that works through 1,000 sentences; the program runs in a process of its own. Key
strokes are timed in a browser (Chromium without a screen), in sentences of 36 to 44 words: from the
event to the frame that shows what it did, by the clock and by what all threads of browser and
program have run meanwhile, which other work on the machine does not change. Parts that are not
measured keep their figures in the results.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import HERE, RESULTS, machine, markdown, read_sample, write_result

from bbparse.annotate.completion import Completer
from bbparse.annotate.marks import Marks
from bbparse.errors import BBParseError
from bbparse.model import MODELS
from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence, format_sentence

sys.path.insert(0, str(HERE.parent))

from tests.serve.browser import Browser

#: Lengths that count as 40 words.
FORTY = range(36, 45)
#: Corrections of each sentence.
FIXES = 3
#: Keys that are pressed in each sentence, and what they do.
KEYS = (
    (" ", "choose a word"), ("2", "fix"), ("ArrowRight", "choose a word"), ("f", "fix"),
    ("]", "other tree"), ("]", "other tree"), ("[", "other tree"), ("x", "forbid"), ("z", "undo"),
    ("y", "redo"), ("r", "release"), ("Enter", "choose a word"), ("ArrowLeft", "choose a word"),
    ("Enter", "fix"), ("a", "accept all"), ("z", "undo"),
)  # fmt: skip
#: Script of the page: `stroke` becomes the milliseconds until the frame after a key is drawn.
TIMED = """
var stroke = null, arrived = null, pending = 0;
{ const own = load; load = (...given) => (arrived = own(...given)); }
{ const own = ask;
  ask = (...given) => { pending++; return own(...given).finally(() => pending--); }; }
addEventListener("keydown", (event) => {
  stroke = (async () => {
    await queue; await arrived;
    await new Promise(requestAnimationFrame);
    await new Promise((done) => {
      const channel = new MessageChannel();  // its message comes after the frame
      channel.port1.onmessage = done; channel.port2.postMessage(0);
    });
    return performance.now() - event.timeStamp;
  })();
});
"""


def clicks(completer: Completer, gold: Sentence) -> dict[str, float]:
    """What it takes to correct the tree of a sentence."""
    wanted = list(zip(gold.heads, gold.deprels))
    first = completer.best(gold, Marks())[0]
    found = list(zip(first.heads, first.labels))
    heads = [m for m, (one, other) in enumerate(zip(found, wanted)) if one[0] != other[0]]
    relabelled = completer.parser.labels(gold, np.array([-1, *gold.heads], np.int32))
    labels = [
        m for m, (one, other) in enumerate(zip(found, wanted))
        if (relabelled[m] if m in heads else one[1]) != other[1]
    ]  # fmt: skip
    unchanged = sum(one[1] != other[1] for one, other in zip(found, wanted))
    marks, tree, n_heads, n_labels, n_spoilt = Marks(), first, 0, 0, 0
    while True:
        now = list(zip(tree.heads, tree.labels))
        wrong = [m for m, (one, other) in enumerate(zip(now, wanted)) if one != other]
        if not wrong:
            break
        m = min(wrong, key=lambda m: (tree.sure[m], m))
        is_head = now[m][0] != wanted[m][0]
        n_heads, n_labels = n_heads + is_head, n_labels + (not is_head)
        n_spoilt += found[m] == wanted[m]
        marks = marks.with_fixed({m + 1: (wanted[m][0], "" if is_head else wanted[m][1])})
        tree = completer.best(gold, marks)[0]
    return {
        "words": gold.n_words, "heads_without": len(heads), "labels_without": len(labels),
        "labels_left_alone": unchanged, "heads_with": n_heads, "labels_with": n_labels,
        "spoilt": n_spoilt,
    }  # fmt: skip


def simulated(model: str, path: str, sentences: int | None) -> dict[str, Any]:
    """Means over the sentences of a treebank."""
    completer = Completer(Parser.load(MODELS.path(model)))
    rows, left_out = [], 0
    for gold in read_sample(path, sentences):
        try:
            rows.append(clicks(completer, gold))
        except BBParseError as error:  # gold heads that are no tree with one root
            print(error, file=sys.stderr)
            left_out += 1
    mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    without = mean["heads_without"] + mean["labels_without"]
    with_it = mean["heads_with"] + mean["labels_with"]
    differences = [
        row["heads_with"] + row["labels_with"] - row["heads_without"] - row["labels_without"]
        for row in rows
    ]
    counts = {
        "fewer": float(np.mean(np.array(differences) < 0)),
        "more": float(np.mean(np.array(differences) > 0)),
    }
    return {
        "sentences": len(rows), "left_out": left_out, **mean, "without": without, "with": with_it,
        **counts,
    }  # fmt: skip


class Client:
    """A page without a browser: one connection, and the milliseconds of each kind of request."""

    def __init__(self, address: str) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=60)
        self.times: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def ask(self, kind: str, words: int, path: str, act: Any = None) -> Any:
        """An answer; what is refused counts, too."""
        body = None if act is None else json.dumps(act)
        started = time.perf_counter()
        method = "GET" if act is None else "POST"
        self.connection.request(method, path, body, {"Content-Type": "application/json"})
        data = self.connection.getresponse().read()
        self.times[kind].append((words, 1e3 * (time.perf_counter() - started)))
        return json.loads(data)


def work_through(client: Client, treebank: list[Sentence]) -> None:
    """Correct the least sure arcs of each sentence, look at other trees, undo, and accept."""
    for index, gold in enumerate(treebank):
        n, path = gold.n_words, f"/api/sentences/{index}"
        view = client.ask("open", n, path)
        for _ in range(FIXES):
            open_words = [m for m, cell in enumerate(view["cells"], start=1) if not cell["fixed"]]
            if not open_words:
                break
            m = min(open_words, key=lambda m: view["cells"][m - 1]["sure"])
            client.ask("choose a word", n, f"{path}/words/{m}")
            act = {"kind": "fix", "word": m, "head": gold.heads[m - 1]}
            answer = client.ask("fix", n, path, {**act, "revision": view["revision"]})
            view = answer if "cells" in answer else view
        client.ask("next tree", n, f"{path}?tree=1")
        for kind in ("undo", "redo"):
            answer = client.ask(kind, n, path, {"kind": kind, "revision": view["revision"]})
            view = answer if "cells" in answer else view
        act = {"kind": "cell", "word": 1, "column": "feats", "value": "Typo=Yes"}
        view = client.ask("edit", n, path, {**act, "revision": view["revision"]})
        client.ask("accept all", n, path, {"kind": "accept", "revision": view["revision"]})


@contextmanager
def served(model: str, treebank: list[Sentence]) -> Iterator[tuple[str, int]]:
    """Annotate a treebank without heads; yields the address and the process."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "open.conllu"
        file.write_text(
            "".join(
                format_sentence(gold, [-1] * gold.n_words, ["_"] * gold.n_words)
                for gold in treebank
            )
        )
        command = [sys.executable, "-m", "bbparse", "annotate", file, "--model", model]
        process = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        line = ""
        while "://" not in line:
            line = process.stderr.readline()
        try:
            yield "http://" + line.partition("://")[2].strip().rstrip("/"), process.pid
        finally:
            process.terminate()
            process.wait()


def wait_for_all(client: Client) -> None:
    """Wait until all sentences are parsed."""
    while any(row["sure"] is None for row in client.ask("list", 0, "/api/sentences")["rows"]):
        time.sleep(1.0)


def processor_ms(processes: list[int]) -> float:
    """Milliseconds that all threads of some processes have run."""
    spent = 0
    for process in processes:
        for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
            with suppress(OSError):  # it has just ended
                spent += int(thread.read_text().split()[0])
    return spent / 1e6


def descendants(process: int) -> list[int]:
    """A process and all that it has started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def strokes(
    browser: Browser, url: str, server: int, sentences: int
) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of the key strokes of each kind: by the clock, and of all processors."""
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    browser.screen(1300, 900)
    browser.call("Page.navigate", url=url)
    browser.wait("typeof rows !== 'undefined' && rows.length && view")
    browser.run(TIMED)
    processes = [server, *descendants(browser.process.pid)]
    for index in range(sentences):
        browser.run(f"open({index})")
        for key, kind in KEYS:
            browser.wait("!pending")
            before = processor_ms(processes)
            browser.key(key)
            ms = browser.run("stroke")
            times[kind].append((ms, processor_ms(processes) - before))
    assert not browser.errors, browser.errors
    return times


def drawn(model: str, path: str, sentences: int | None) -> dict[str, Any]:
    """Percentiles of the milliseconds from a key stroke to its frame, at some 40 words."""
    treebank = [gold for gold in read_sample(path, None) if gold.n_words in FORTY][:sentences]
    with served(model, treebank) as (url, server), TemporaryDirectory() as folder:
        wait_for_all(Client(url.partition("://")[2]))
        browser = Browser(Path(folder))
        try:
            times = strokes(browser, url, server, len(treebank))
            version = browser.call("Browser.getVersion")["product"]
        finally:
            browser.close()
    kinds = {"all keys": [pair for row in times.values() for pair in row], **times}
    found = {
        kind: {
            "strokes": len(row), **_percentiles([ms for ms, _ in row]),
            "processor": _percentiles([ms for _, ms in row]),
        }
        for kind, row in kinds.items()
    }  # fmt: skip
    load = machine()["load"]
    return {"sentences": len(treebank), "browser": version, "load": load, "kinds": found}


def answers(model: str, path: str, sentences: int) -> dict[str, Any]:
    """Percentiles of the milliseconds until a request is answered."""
    treebank = read_sample(path, sentences)
    with served(model, treebank) as (url, _):
        client = Client(url.partition("://")[2])
        wait_for_all(client)
        work_through(client, treebank)
    client.times.pop("list")
    everything = [row for rows in client.times.values() for row in rows]
    kinds = {"all requests": everything, **client.times}
    found = {}
    for kind, rows in kinds.items():
        of_forty = [ms for words, ms in rows if words in FORTY]
        found[kind] = {
            "requests": len(rows), **_percentiles([ms for _, ms in rows]),
            "forty": {"requests": len(of_forty), **_percentiles(of_forty)},
        }  # fmt: skip
    return {"sentences": len(treebank), "kinds": found}


def _percentiles(times: list[float]) -> dict[str, float]:
    names = {"median": 50, "p99": 99, "most": 100}
    return {name: float(np.percentile(times or [0.0], at)) for name, at in names.items()}


def main() -> None:
    """Measure, and write the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("treebanks", nargs="*", metavar="NAME=MODEL,GOLD")
    arguments.add_argument("--answers", metavar="MODEL,FILE")
    arguments.add_argument("--drawn", metavar="MODEL,FILE")
    arguments.add_argument("--sentences", type=int, help="to draw from each treebank")
    given = arguments.parse_args()
    file = RESULTS / "annotating.json"
    result: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    text = ""
    if given.treebanks:
        named = (text.partition("=")[::2] for text in given.treebanks)
        result["clicks"] = {
            name: simulated(*where.split(","), given.sentences) for name, where in named
        }
    if given.answers:
        result["machine"] = machine("fastapi", "uvicorn")
        result["answers"] = answers(*given.answers.split(","), given.sentences or 1000)
    if given.drawn:
        result["drawn"] = drawn(*given.drawn.split(","), given.sentences)
    if "clicks" in result:
        text += markdown(
            "clicks a sentence", result["clicks"].items(),
            (
                ("sentences", lambda row: f"{row['sentences']:,}"),
                ("words", lambda row: f"{row['words']:.1f}"),
                ("without completion", lambda row: f"{row['without']:.2f}"),
                ("with", lambda row: f"{row['with']:.2f}"),
                ("heads: without", lambda row: f"{row['heads_without']:.2f}"),
                ("with", lambda row: f"{row['heads_with']:.2f}"),
                ("labels: without", lambda row: f"{row['labels_without']:.2f}"),
                ("with", lambda row: f"{row['labels_with']:.2f}"),
            ),
        )  # fmt: skip
    if "answers" in result:
        text += "\n" * bool(text) + markdown(
            "ms until the answer", result["answers"]["kinds"].items(),
            (
                ("requests", lambda row: f"{row['requests']:,}"),
                ("median", lambda row: f"{row['median']:.1f}"),
                ("99th percentile", lambda row: f"{row['p99']:.1f}"),
                ("40 words: requests", lambda row: f"{row['forty']['requests']:,}"),
                ("median", lambda row: f"{row['forty']['median']:.1f}"),
                ("99th percentile", lambda row: f"{row['forty']['p99']:.1f}"),
            ),
        )  # fmt: skip
    if "drawn" in result:
        text += "\n" * bool(text) + markdown(
            "ms until the frame, 36 to 44 words", result["drawn"]["kinds"].items(),
            (
                ("key strokes", lambda row: f"{row['strokes']:,}"),
                ("median", lambda row: f"{row['median']:.1f}"),
                ("99th percentile", lambda row: f"{row['p99']:.1f}"),
                ("processors: median", lambda row: f"{row['processor']['median']:.1f}"),
                ("99th percentile", lambda row: f"{row['processor']['p99']:.1f}"),
            ),
        )  # fmt: skip
    print(text)
    write_result("annotating", result, text)


if __name__ == "__main__":
    main()
