"""Measure the service: speed against this process, hostile clients, killed workers.

    python bench/serve.py MODEL DEV [--sentences N] [--requests N] [--hostile N] [--workers W]

Starts ``bbparse serve`` on a free local port. A batch of CoNLL-U takes turns with the same batch in
this process, by processor time of all processes; so do single sentences, by the clock. Then 1, 8
and 64 clients send sentences one by one; hostile requests are mixed with good ones; and workers are
killed under load. Every answer must equal that of this process. Linux only. Writes
bench/results/serve.json and .md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from measure import arguments, markdown, read_sample, write_result

from bbparse.apps.serve.work import Job, pieces
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence, format_sentence

PARSE = ("/v1/parse?format=conllu", "text/x-conllu")
TICK = os.sysconf("SC_CLK_TCK")


class Service:
    """The service in processes of its own."""

    def __init__(self, model: str, *options: str) -> None:
        command = [sys.executable, "-m", "bbparse", "serve", "--model", f"model={model}"]
        command += ["--port", "0", *options]
        # to a file: what a service says into a pipe that nobody reads stops it in the end
        self.told = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen(command, stderr=self.told)
        line = ""
        while "http://" not in line:
            time.sleep(0.1)
            line = Path(self.told.name).read_text(encoding="utf-8").rstrip()
        self.port = int(line.rpartition(":")[2])

    def pids(self) -> list[int]:
        """Of all its processes; the first one is the parent of the others."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [self.process.pid, *(int(pid) for path in tasks for pid in path.read_text().split())]

    def processor(self) -> float:
        """Seconds of processor time."""
        fields = [Path(f"/proc/{pid}/stat").read_text().split() for pid in self.pids()]
        return sum(int(f[13]) + int(f[14]) for f in fields) / TICK

    def memory(self) -> dict[str, float]:
        """MB that the first process and the largest worker have for themselves."""
        private: list[float] = []
        for pid in self.pids():
            rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            private.append(sum(int(r.split()[1]) for r in rows if r.startswith("Private")) / 1024)
        return {"first": private[0], "workers": max(private[1:])}


@contextmanager
def serving(model: str, *options: str) -> Iterator[Service]:
    """A service while it is needed; it has to end well."""
    service = Service(model, *options)
    try:
        yield service
    finally:
        service.process.terminate()
        status = service.process.wait()
    if status:
        raise SystemExit(f"the service ended with {status}")


def request(path: str, kind: str, body: bytes) -> bytes:
    """A request, ready to be sent."""
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {kind}\r\n"
    return head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


class Client:
    """A connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: Any = None

    async def open(self) -> Any:
        """A reader and a writer."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        return self.streams

    async def ask(self, sent: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        reader, writer = await self.open()
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        body = await reader.readexactly(int(length))
        if b"connection: close" in head:
            self.close()
        return int(head.split()[1]), body

    def close(self) -> None:
        """Leave."""
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


def conllu(sentences: list[Sentence]) -> str:
    """Sentences without their trees."""
    return "".join(format_sentence(s, [-1] * s.n_words, last=False) for s in sentences)


class Bench:
    """A service, and what this process answers."""

    def __init__(self, service: Service, parser: Parser, sentences: list[Sentence]) -> None:
        self.service, self.parsers = service, {"model": parser}
        self.whole = conllu(sentences)
        self.single = [conllu([s]) for s in sentences]
        self.words = sum(s.n_words for s in sentences)
        self.sent = [request(*PARSE, text.encode()) for text in self.single]
        self.good = [self.here(text) for text in self.single]

    async def all(self, given: argparse.Namespace) -> dict[str, Any]:
        """All measurements."""
        result: dict[str, Any] = {"here": await self.against_here(given.repeat)}
        for count in (1, 8, 64):
            result[f"{count} client{'s' * (count > 1)}"] = await self.clients(count, given.requests)
        result["workers killed"] = await self.clients(8, given.requests, kill=5)
        return {**result, "hostile": await self.hostile(given.hostile)}

    def here(self, text: str) -> bytes:
        """The answer of this process."""
        job = Job(kind="parse", model="model", conllu=text, format="conllu")
        return "".join(pieces(self.parsers, job)).encode()

    async def against_here(self, repeat: int) -> dict[str, Any]:
        """A batch, and single sentences, in turns with this process."""
        client = Client(self.service.port)
        ratios, here_words, added = [], [], []
        batch = request(*PARSE, self.whole.encode())
        for turn in range(repeat + 1):
            started, used = time.process_time(), self.service.processor()
            expected = self.here(self.whole)
            middle = time.process_time()
            status, body = await client.ask(batch)
            assert status == 200 and body == expected
            served = self.service.processor() - used
            if turn:
                ratios.append((middle - started) / served)
                here_words.append(self.words / (middle - started))
        for i, sent in enumerate(self.sent):
            started = time.perf_counter()
            self.here(self.single[i])
            middle = time.perf_counter()
            _, body = await client.ask(sent)
            assert body == self.good[i]
            added.append((time.perf_counter() - middle) - (middle - started))
        client.close()
        return {
            "batch_ratio": median(ratios),
            "words_per_second_here": median(here_words),
            "added_ms": 1e3 * median(added),
        }

    async def clients(self, count: int, requests: int, kill: int = 0) -> dict[str, Any]:
        """So many clients at a time, and workers killed in between."""
        times: list[float] = []
        statuses: Counter[int] = Counter()
        order = iter(random.Random(count).choices(range(len(self.sent)), k=requests))

        async def one() -> None:
            client = Client(self.service.port)
            for i in order:
                started = time.perf_counter()
                status, body = await client.ask(self.sent[i])
                times.append(time.perf_counter() - started)
                statuses[status] += 1
                assert status != 200 or body == self.good[i]
                if status == 429:
                    await asyncio.sleep(0.1)
            client.close()

        async def killer() -> None:
            for k in range(1, kill + 1):
                while len(times) < requests * k // (kill + 1):
                    await asyncio.sleep(0.01)
                os.kill(self.service.pids()[-1], signal.SIGKILL)

        started = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(count)), killer())
        seconds = time.perf_counter() - started
        times.sort()
        return {
            "requests_per_second": requests / seconds,
            "median_ms": 1e3 * median(times),
            "p99_ms": 1e3 * times[int(0.99 * (len(times) - 1))],
            "answered": statuses[200] / requests,
            "killed": kill,
        }

    async def hostile(self, count: int) -> dict[str, Any]:
        """Hostile requests, 16 at a time, each tenth a good one; memory on the way."""
        rng = random.Random(1)
        plain, js = "text/plain", "application/json"
        kinds: dict[str, tuple[bytes, bool]] = {  # what is sent, whether an answer is waited for
            "broken JSON": (request("/v1/parse", js, b'{"text": "a'), True),
            "deep JSON": (request("/v1/parse", js, b"[" * 100_000), True),
            "wrong encoding": (request("/v1/parse", plain, b"caf\xe9 \xff"), True),
            "null bytes": (request("/v1/parse", plain, b"\0" * 1000), True),
            "form of bytes": (request("/process", "multipart/form-data", b"--x\r\n\r\n\xff"), True),
            "huge body": (request("/v1/parse", plain, b"a " * (1 << 20)), True),
            "endless body": (
                b"POST /v1/parse HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                b"Content-Type: text/plain\r\n\r\n" + 40 * (b"10000\r\n" + b"a" * 65536 + b"\r\n"),
                False,
            ),
            "huge head": (b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000, False),
            "no HTTP": (rng.randbytes(1000) + b"\r\n\r\n", False),
            "half a body": (request("/v1/parse", plain, b"It slept." * 50)[:-100], False),
            "leaves at once": (self.sent[0], False),
            "long sentence": (request("/v1/parse?split=lines", plain, b"a " * 5000), True),
            "k too large": (request("/v1/parse?k_best=100000", plain, b"a"), True),
            "slow head": (self.sent[0][:30], False),
            "slow body": (self.sent[0][:-5], False),
        }
        quick = [name for name in kinds if not name.startswith("slow")]
        statuses: Counter[str] = Counter()
        memory = [self.service.memory()]
        good = 0
        left = iter(range(count))

        async def one() -> None:
            nonlocal good
            kept = Client(self.service.port)
            for number in left:
                if number % 10 == 0:
                    i = rng.randrange(len(self.sent))
                    status, body = await kept.ask(self.sent[i])
                    assert status == 200 and body == self.good[i], status
                    good += 1
                if number % (count // 10) == count // 10 - 1:
                    memory.append(self.service.memory())
                name = rng.choice([*kinds] if number % 50 == 0 else quick)
                sent, waits = kinds[name]
                client = Client(self.service.port)
                try:
                    if waits:
                        status, _ = await asyncio.wait_for(client.ask(sent), 60)
                        statuses[f"{name}: {status}"] += 1
                        continue
                    _, writer = await client.open()
                    writer.write(sent)
                    if name.startswith("slow"):
                        await asyncio.sleep(2.0)
                    statuses[f"{name}: left"] += 1
                except (OSError, asyncio.IncompleteReadError):
                    statuses[f"{name}: closed"] += 1
                finally:
                    client.close()
            kept.close()

        await asyncio.gather(*(one() for _ in range(16)))
        return {
            "requests": count,
            "good": good,
            "answers": dict(sorted(statuses.items())),
            "memory_mb": memory,
        }


def main() -> None:
    """Measure and write the result."""
    given = arguments(
        __doc__, "model", "dev", sentences=300, requests=1000, hostile=10000, repeat=5, workers=1
    )
    sentences = read_sample(given.dev, given.sentences)
    with serving(given.model, "--workers", str(given.workers), "--max-size", "1") as service:
        bench = Bench(service, Parser.load(given.model), sentences)
        result = asyncio.run(bench.all(given))
    rows = [(name, row) for name, row in result.items() if "median_ms" in row]
    table = markdown(
        "",
        rows,
        """
        requests/s {requests_per_second:.0f} | median, ms {median_ms:.1f}
        | 99th percentile, ms {p99_ms:.1f} | answered {answered:.1p} %""",
    )
    here, hostile = result["here"], result["hostile"]
    memory = [sum(kinds.values()) for kinds in hostile["memory_mb"]]
    table += (
        f"\nA batch reaches {100 * here['batch_ratio']:.0f} % of the words per processor second of"
        f" the same parser without the service; a single sentence takes {here['added_ms']:.1f} ms"
        f" more. Among {hostile['requests']:,} hostile requests, all {hostile['good']:,} good ones"
        " got the answer of the parser; private memory of the processes, in MB, meanwhile: "
        + ", ".join(f"{mb:.0f}" for mb in memory)
        + ".\n"
    )
    settings = {"workers": given.workers, "sentences": len(sentences), "words": bench.words}
    write_result("serve", {"settings": settings, **result}, table, ["fastapi", "uvicorn"])


if __name__ == "__main__":
    main()
