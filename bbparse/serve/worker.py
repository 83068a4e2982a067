"""A worker: a process that has the models and does one job after the other."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import IO, Any

from bbparse.errors import BBParseError
from bbparse.parsing.parser import Parser
from bbparse.serve import wire
from bbparse.serve.settings import Refused
from bbparse.serve.work import Job, pieces


def work(
    parsers: Mapping[str, Parser],
    address: str,
    generation: int,
    others: Sequence[socket.socket] = (),
) -> None:
    """Serve the queue at an address until it closes the connection.

    Parameters
    ----------
    parsers : {name: Parser}
    address : str
        Path of a socket.
    generation : int
        Of the models, which the queue is told.
    others : sequence of socket
        Of the first process, whose end shows only if nobody else has hold of them.
    """
    for one in others:
        one.close()
    os.setsid()  # Ctrl-C is for the first process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    warnings.simplefilter("ignore")  # of texts in other languages: nobody reads it here
    with (
        suppress(OSError),  # the other side has ended
        socket.socket(socket.AF_UNIX) as connection,
    ):
        connection.connect(address)
        with connection.makefile("rb") as stream:
            hello = {"pid": os.getpid(), "generation": generation}
            connection.sendall(wire.json_frame(wire.HELLO, hello))
            while (received := wire.read_frame(stream)) is not None:
                if received[0] == wire.JOB:
                    _answer(parsers, Job.parsed(received[1]), connection, stream)


def _answer(
    parsers: Mapping[str, Parser], job: Job, connection: socket.socket, stream: IO[bytes]
) -> None:
    refused: dict[str, Any] = {}
    try:
        with closing(pieces(parsers, job)) as found:
            for number, piece in enumerate(found):
                if number >= job.skip:
                    connection.sendall(wire.frame(wire.PIECE, piece))
                if select.select([connection], [], [], 0)[0]:
                    break  # STOP, as nothing else comes here
    except Refused as error:
        refused = {"status": error.status, "text": error.text}
    except BBParseError as error:
        refused = {"status": 400, "text": " ".join(str(error).split())}
    except MemoryError:
        refused = {"status": 413, "text": "too much for the memory of the service: send less"}
    except OSError:
        raise
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        refused = {"status": 500, "text": f"internal error: {type(error).__name__}"}
    if refused:
        connection.sendall(wire.json_frame(wire.NO, refused))
    else:
        done = {"sentences": job.sentences, "words": job.n_words}
        connection.sendall(wire.json_frame(wire.END, done))
