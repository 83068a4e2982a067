"""`in_order`: a parallel `map` on threads that keeps the order of its items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

#: Items that a thread may be ahead of the reader: enough to keep it busy, few enough to stream.
AHEAD = 3

T = TypeVar("T")
R = TypeVar("R")


def in_order(
    function: Callable[[T], R],
    items: Iterable[T],
    threads: int,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[R]:
    """Map a function over items on several threads; yield results in the order of the items.

    Items are read a little ahead. Threads share Python's lock, so that they save time only while
    ``function`` runs in kernels, which release it. If reading the items raises an error, the
    results of the items before it are yielded first. With one thread no pool is started, and
    nothing is read ahead. ``stop`` is called if the iteration ends early, to end running tasks.
    """
    if threads <= 1:
        yield from map(function, items)
        return
    source = iter(items)
    failure: Exception | None = None
    waiting: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        while True:
            try:
                waiting.append(pool.submit(function, next(source)))
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            if len(waiting) == AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BaseException:  # the results are not needed any more
        stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    if failure is not None:
        raise failure
