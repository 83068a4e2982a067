"""The queue of requests by itself, with a worker of the test's own."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from bbparse.apps.serve import wire
from bbparse.apps.serve.pool import Metrics, Pool, Ticket
from bbparse.apps.serve.settings import Refused, Settings


def tickets() -> int:
    """How many requests are in memory."""
    gc.collect()
    return sum(type(one) is Ticket for one in gc.get_objects())  # asks no proxies


def test_requests_are_forgotten_when_they_are_answered_or_left(tmp_path: Path) -> None:
    async def talk() -> None:
        pool = Pool(Settings(queue=100), Metrics())
        await pool.listen(str(tmp_path / "queue"))

        pool.models = pool.announced = {"toy": ["parser"]}

        async def whole() -> bytes:
            return await pool.whole("parse", {"model": ""})

        left = [asyncio.ensure_future(whole()) for _ in range(50)]  # nobody takes them
        await asyncio.sleep(0)
        assert tickets() == 50
        for number in range(50):
            left[number].cancel()
        await asyncio.gather(*left, return_exceptions=True)
        left.clear()
        await asyncio.sleep(0.1)  # callbacks hold them until they are called
        assert tickets() == 0

        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "queue"))
        writer.write(wire.frame(wire.HELLO, {"pid": 1, "generation": 1}))

        async def work() -> None:
            for number in range(50):
                await wire.next_frame(reader)
                if number % 2:
                    writer.write(wire.frame(wire.NO, {"status": 400, "text": "no"}))
                    continue
                writer.write(wire.frame(wire.PIECE, "a tree"))
                writer.write(wire.frame(wire.END, {"sentences": 1, "words": 1}))

        working = asyncio.ensure_future(work())
        found = await asyncio.gather(*(whole() for _ in range(50)), return_exceptions=True)
        await working
        assert found.count(b"a tree") == 25
        assert sum(isinstance(one, Refused) for one in found) == 25
        found.clear()
        await asyncio.sleep(0.1)
        assert tickets() <= 1  # the last one of the worker
        writer.close()
        await pool.close()

    asyncio.run(talk())
