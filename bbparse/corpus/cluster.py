"""Workers on a Ray cluster: one for each processor of each node.

The folders of shards and outputs are on a disk that all nodes share. Only the specification, once
for each node, and names of files are sent over the network. A node is inspected before it gets
work, and compiles first, so that its workers find the code in its cache.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from bbparse import __version__
from bbparse.corpus.spec import ParseSpec
from bbparse.corpus.work import LOCK, Outcome, Task, first_new, parse_task, warm_up
from bbparse.errors import ClusterError, one_line
from bbparse.workers.pool import Ended, WorkerLost

#: Seconds after which an address counts as not answering.
PATIENCE = 10.0
#: Seconds between queries for the nodes of the cluster.
POLL_SECONDS = 5.0


def sources_digest() -> str:
    """Return a hash of the code of this bbparse, which may differ within one version."""
    folder = Path(__file__).resolve().parents[1]
    files = sorted(folder.rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _inspection() -> Callable[..., str]:
    """Return the function that inspects a node and returns its error, empty if there is none.

    A function made here goes to the node as code, which may have another bbparse or none.
    """

    def inspect(expected: dict[str, str], lock: str, word: str) -> str:
        import sys

        versions = {"Python": ".".join(map(str, sys.version_info[:2]))}
        try:
            from bbparse import __version__ as version
            from bbparse.corpus.cluster import sources_digest

            versions |= {"bbparse": version, "the code of bbparse": sources_digest()}
        except ImportError as error:
            return f"bbparse cannot be imported there ({error})"
        for name, value in expected.items():
            if versions[name] != value:
                return f"{name} is {versions[name]} there, and {value} here"
        try:
            with open(lock, encoding="utf-8") as file:
                is_shared = word in file.read()
        except OSError:
            is_shared = False
        if not is_shared:
            return f"the output folder is not what it is here ({lock}): use one that nodes share"
        return ""

    return inspect


class _Parser:
    """Ray actor that parses: a process of its own on some node."""

    def __init__(self, spec: ParseSpec) -> None:
        self.spec = spec

    def ready(self) -> None:
        """Return when the process has started, which other jobs may delay."""

    def parse(self, task: Task) -> Outcome:
        return parse_task(self.spec, task)


class RayPool:
    """Workers on all nodes of a cluster, which may come and go; see `WorkerPool`.

    Nodes compile with the beginning of the first new task. `word` stands in the lock of the output
    folder.
    """

    def __init__(self, ray: Any, spec: ParseSpec, tasks: Sequence[Task], word: str) -> None:
        self.ray = ray
        self.spec = ray.put(spec)
        self.first = first_new(spec, tasks)
        self.versions = {
            "Python": ".".join(map(str, sys.version_info[:2])),
            "bbparse": __version__,
            "the code of bbparse": sources_digest(),
        }
        self.seal = str(tasks[0].output.parent / LOCK), word
        self.nodes: set[str] = set()  # ids of the inspected nodes
        self.idle: list[tuple[Any, str]] = []  # workers and their nodes
        #: future → node, function to call with its result
        self.starting: dict[Any, tuple[str, Callable[[Any], None]]] = {}
        self.busy: dict[Any, tuple[Task, Any, str]] = {}  # future → task, worker, node
        self.last_query = -POLL_SECONDS

    def has_room(self) -> bool:
        """Return True if a worker is idle."""
        if time.monotonic() - self.last_query > POLL_SECONDS:
            self.last_query = time.monotonic()
            alive = self._alive()
            self.idle = [(worker, node) for worker, node in self.idle if node in alive]
            for node in alive.keys() - self.nodes:
                self._inspect(node, alive[node])
        return bool(self.idle)

    def take(self, task: Task) -> None:
        worker, node = self.idle.pop()
        self.busy[worker.parse.remote(task)] = task, worker, node

    def wait(self, arrival: int | None = None) -> list[Ended]:
        """Wait for a task to end, or for a node to be ready."""
        futures = [*self.starting, *self.busy]
        if not futures:
            raise ClusterError(
                "no node is left that can parse: start the cluster anew; the same command goes on"
            )
        self.ray.wait(futures, num_returns=1, timeout=POLL_SECONDS)
        # all at once: to take one at a time would go through all futures for each
        ready, _ = self.ray.wait(futures, num_returns=len(futures), timeout=0)
        found: list[Ended] = []
        for future in ready:
            try:
                result = self.ray.get(future)
            except self.ray.exceptions.RayTaskError as error:
                cause = one_line(error.cause)
                raise ClusterError(f"{type(error.cause).__name__} on a node: {cause}") from error
            except self.ray.exceptions.RayError:   # the worker or its node was lost
                result = None
                if future in self.starting:  # inspect it again if it is alive
                    self.nodes.discard(self.starting[future][0])
            if future in self.starting:
                self.starting.pop(future)[1](result)
                continue
            task, worker, node = self.busy.pop(future)
            if result is not None:
                found.append(Ended(task, result))
                self.idle.append((worker, node))
            else:
                found.append(Ended(task, error=WorkerLost()))
                self._employ(node)
        return found

    def close(self) -> None:
        """Leave the cluster, which ends the workers."""
        self.ray.shutdown()

    def _alive(self) -> dict[str, dict[str, Any]]:
        nodes = {node["NodeID"]: node for node in self.ray.nodes() if node["Alive"]}
        return {key: node for key, node in nodes.items() if node["Resources"].get("CPU", 0) >= 1}

    def _on(self, node: str, function: Any) -> Any:
        """Wrap a function or class to run on this node, on one processor."""
        strategies = self.ray.util.scheduling_strategies
        strategy = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        return self.ray.remote(num_cpus=1, scheduling_strategy=strategy)(function)

    def _inspect(self, node: str, facts: dict[str, Any]) -> None:
        """Take in a node: inspect it, let it compile, start its workers."""
        self.nodes.add(node)

        def compile_there(complaint: str | None) -> None:
            if complaint:
                raise ClusterError(f"node {facts['NodeManagerAddress']}: {complaint}")
            if self.first is None:
                start_workers(None)
            elif complaint is not None:
                warming = self._on(node, warm_up).remote(self.spec, self.first)
                self.starting[warming] = node, start_workers

        def start_workers(_: object) -> None:
            for _ in range(int(facts["Resources"]["CPU"])):
                self._employ(node)

        inspecting = self._on(node, _inspection()).remote(self.versions, *self.seal)
        self.starting[inspecting] = node, compile_there

    def _employ(self, node: str) -> None:
        """Start a worker on a node, unless the node was lost."""

        def take_on(_: object) -> None:
            if node in self.nodes:
                self.idle.append((worker, node))

        if node in self.nodes:
            worker = self._on(node, _Parser).remote(self.spec)
            self.starting[worker.ready.remote()] = node, take_on


def ray_pool(spec: ParseSpec, tasks: Sequence[Task], address: str, word: str) -> RayPool:
    """Connect to a cluster and return a pool of its workers, for one task or more.

    The address is ``auto`` for the cluster that this machine is in, or ``host:port``. Raises
    `ClusterError` if Ray is not installed or no cluster answers; the pool does if a node has
    another version of bbparse or Python, does not see the output folder, or none is left.
    """
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError:
        raise ClusterError("--cluster needs Ray: pip install 'bbparse[ray]'") from None
    _connect(ray, address)
    return RayPool(ray, spec, tasks, word)


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
    except ConnectionError:
        raise ClusterError(
            f"--cluster {address}: no cluster is running: see 'ray start', or give HOST:PORT"
        ) from None
    except Exception as error:  # its class depends on the version
        reason = one_line(error)
        raise ClusterError(f"--cluster {address}: {reason or type(error).__name__}") from error
