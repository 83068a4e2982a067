"""Limits of the service, and the error for requests beyond them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the service: the options of the command, and others."""

    workers: int = 1  #: Number of processes that parse.
    queue: int = 128  #: Maximum number of requests that wait for a worker.
    deadline: float = 60.0  #: Maximum seconds for a request, from its arrival.
    max_bytes: int = 4 << 20  #: Maximum size of the body of a request.
    max_words: int = 1000  #: Maximum length of a sentence.
    max_tree_words: int = 200_000  #: Maximum length of all trees of a sentence together.
    max_parts: int = 8_000_000  #: Maximum number of candidate parts; they take some seconds.
    upload: float = 30.0  #: Seconds that a client may take to send a request.
    connections: int = 1000  #: Maximum number of open connections.
    grace: float = 5.0  #: Seconds after its deadline when a request is given up.


class Refused(Exception):
    """A request that is not answered: HTTP status, and a line that says what was expected.

    After so many seconds it may be tried again; 0: trying again does not help.
    """

    def __init__(self, status: int, text: str, after: int = 0) -> None:
        super().__init__(status, text, after)  # what pickle makes it of again
        self.status, self.text, self.after = status, text, after

    def __str__(self) -> str:
        return self.text
