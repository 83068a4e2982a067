"""Shards on a Ray cluster, which distributes tasks over the processors of its nodes.

The folders of shards and outputs are on a disk that all nodes share. Only the parser, once for each
node, and names of files are sent over the network. Ray repeats the tasks of workers and nodes that
are lost. Each process checks first that its node has the same version and output folder.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Generator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from bbparse import __version__
from bbparse.apps.corpus.work import LOCK, Outcome, ParseSpec, Task, lost, parse_task
from bbparse.runtime.errors import BBParseError, ClusterError, one_line

#: Seconds after which an address counts as not answering.
PATIENCE = 10.0


@lru_cache(maxsize=1)
def _loaded(spec: bytes) -> ParseSpec:
    """Return the model and the settings; a process loads them once."""
    loaded: ParseSpec = pickle.loads(spec)
    return loaded


def parse_shard(version: str, lock: str, word: str, inputs: list[Any]) -> Outcome:
    """Parse a shard on a node; `ClusterError` if the node differs from this machine.

    The inputs are in a list, which Ray does not look into: they are read after the checks.
    """
    import ray

    where = f"node {ray.util.get_node_ip_address()}"
    if version != __version__:
        raise ClusterError(f"{where}: bbparse is {__version__} there, but {version} here")
    if not Path(lock).is_file() or word not in Path(lock).read_text(encoding="utf-8"):
        raise ClusterError(
            f"{where}: the output folder is not what it is here ({lock}): use one that nodes share"
        )
    spec, task = ray.get(inputs)
    return parse_task(_loaded(spec), task)


def work_on_cluster(
    spec: ParseSpec, tasks: Sequence[Task], address: str, word: str
) -> Generator[Outcome, None, None]:
    """Connect to a cluster, and yield the outcomes of tasks as they end.

    The address is ``auto`` or ``host:port``; `word` stands in the lock of the output folder.
    """
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise ClusterError("--cluster needs Ray: pip install '.[ray]' in the checkout") from None
    _connect(ray, address)
    try:
        remote = ray.remote(num_cpus=1, max_retries=2)(parse_shard)
        lock = str(tasks[0].output.parent / LOCK)
        shared = ray.put(pickle.dumps(spec))
        busy = {
            remote.remote(__version__, lock, word, [shared, ray.put(task)]): task for task in tasks
        }
        while busy:
            ray.wait(list(busy), num_returns=1)
            # all at once: to take one at a time would go through all futures for each
            ready, _ = ray.wait(list(busy), num_returns=len(busy), timeout=0)
            for future in ready:
                task = busy.pop(future)
                try:
                    outcome = ray.get(future)
                except ray.exceptions.RayTaskError as error:
                    if isinstance(error.cause, BBParseError):
                        raise error.cause from None
                    kind, cause = type(error.cause).__name__, one_line(error.cause)
                    raise ClusterError(f"{kind} on a node: {cause}") from error
                except ray.exceptions.RayError:
                    outcome = lost(task)
                yield outcome
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    host, colon, port = address.rpartition(":")
    if address != "auto":
        if not (colon and port.isdigit()):
            raise ClusterError(f"--cluster {address}: expected auto or HOST:PORT")
        try:  # Ray would wait for minutes
            socket.create_connection((host.removeprefix("ray://"), int(port)), PATIENCE).close()
        except OSError as error:
            raise ClusterError(f"--cluster {address}: does not answer: {error}") from None
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # its class depends on the version
        reason = one_line(error)
        raise ClusterError(f"--cluster {address}: {reason or type(error).__name__}") from error
