"""Protocol between the queue and a worker: frames of a kind, a length and a text in UTF-8.

worker → queue   HELLO {pid, generation} · then for each job PIECE* and END {words, …} or NO {…}
queue → worker   JOB {…} · STOP: nobody waits for the answer
"""

from __future__ import annotations

import asyncio
import json
import struct
from typing import IO, Any

HELLO, JOB, STOP, PIECE, END, NO = b"H", b"J", b"S", b"P", b"E", b"N"

_HEAD = struct.Struct("<cI")


def frame(kind: bytes, value: str | dict[str, Any] = "") -> bytes:
    """Return a frame with a text, or with a value as JSON, ready to be sent."""
    text = value if isinstance(value, str) else json.dumps(value)
    data = text.encode("utf-8", "surrogatepass")
    return _HEAD.pack(kind, len(data)) + data


async def next_frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return kind and text of the next frame; `IncompleteReadError` at the end."""
    kind, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    return kind, await reader.readexactly(length)


def read_frame(stream: IO[bytes]) -> tuple[bytes, bytes] | None:
    """Return kind and text of the next frame of a blocking stream; None at the end."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    data = stream.read(length)
    return (kind, data) if len(data) == length else None
