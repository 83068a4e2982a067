"""What the service allows, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the service, those that the command has options for, and others."""

    workers: int = 1  #: Processes that parse.
    queue: int = 128  #: Requests that may wait for them.
    deadline: float = 60.0  #: Seconds that a request may take from when it is there.
    max_bytes: int = 4 << 20  #: Of the body of a request.
    max_words: int = 1000  #: Of a sentence,
    max_tree_words: int = 200_000  #: of all its trees together,
    max_parts: int = 8_000_000  #: and its candidate parts: what takes some seconds.
    upload: float = 30.0  #: Seconds that a client may take to send a request,
    stall: float = 10.0  #: or to take what was sent, some 64 kB.
    connections: int = 1000  #: Open ones.
    grace: float = 5.0  #: Seconds after its deadline when a request is given up.
    patience: float = 55.0  #: Seconds after that when the worker is killed.

    def of_jobs(self) -> dict[str, int]:
        """Limits that workers look at."""
        return {"max_words": self.max_words, "max_tree_words": self.max_tree_words}

    @property
    def all_bytes(self) -> int:
        """Of all bodies that are held at a time."""
        return 16 * self.max_bytes


class Refused(Exception):
    """A request that is not answered: with a status of HTTP, a line that says what was found and
    expected, and the seconds after which to try again (0: does not help)."""

    def __init__(self, status: int, text: str, after: int = 0) -> None:
        super().__init__(text)
        self.status, self.text, self.after = status, text, after
