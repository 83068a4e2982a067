"""Workers on a Ray cluster: as many tasks at a time on a node as it has processors.

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
from bbparse.apps.corpus.spec import ParseSpec
from bbparse.apps.corpus.work import LOCK, Task, first_new, parse_task
from bbparse.runtime.errors import ClusterError, one_line
from bbparse.runtime.pool import Ended, WorkerLost

#: Seconds after which an address counts as not answering.
PATIENCE = 10.0
#: Seconds between queries for the nodes of the cluster.
POLL_SECONDS = 5.0


def sources_digest() -> str:
    """Return a hash of the code of this bbparse, which may differ within one version."""
    folder = Path(__file__).resolve().parents[2]
    files = sorted(folder.rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _preparation() -> Callable[..., str]:
    """Return the function that prepares a node and returns what is wrong with it, if anything.

    A function made here goes to the node as code, which may have another bbparse or none. So the
    specification is in a list, which Ray does not look into: it is read when bbparse is there.
    """

    def prepare(
        expected: dict[str, str], lock: str, word: str, spec: list[Any], first: Path | None
    ) -> str:
        import sys

        import ray

        versions = {"Python": ".".join(map(str, sys.version_info[:2]))}
        try:
            from bbparse import __version__ as version
            from bbparse.apps.corpus.cluster import sources_digest
            from bbparse.apps.corpus.work import warm_up

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
        if first is not None:
            warm_up(ray.get(spec[0]), first)
        return ""

    return prepare


class RayPool:
    """Workers on all nodes of a cluster, which may come and go; see `WorkerPool`.

    Nodes compile with the beginning of the first new task. `word` stands in the lock of the output
    folder.
    """

    def __init__(self, ray: Any, spec: ParseSpec, tasks: Sequence[Task], word: str) -> None:
        self.ray = ray
        self.spec = ray.put(spec)
        remote = ray.remote(num_cpus=1, max_retries=0)  # lost tasks come back to the caller
        self.prepare, self.parse = remote(_preparation()), remote(parse_task)
        versions = {
            "Python": ".".join(map(str, sys.version_info[:2])),
            "bbparse": __version__,
            "the code of bbparse": sources_digest(),
        }
        lock = str(tasks[0].output.parent / LOCK)
        self.expected = versions, lock, word, [self.spec], first_new(spec, tasks)
        self.free: dict[str, int] = {}  # node that is ready → processors without a task
        self.starting: dict[Any, dict[str, Any]] = {}  # future → facts about its node
        self.busy: dict[Any, tuple[Task, str]] = {}  # future → task, node
        self.last_query = -POLL_SECONDS

    def has_room(self) -> bool:
        """Return True if a processor is free."""
        if time.monotonic() - self.last_query > POLL_SECONDS:
            self.last_query = time.monotonic()
            alive = {x["NodeID"]: x for x in self.ray.nodes() if _processors(x)}
            self.free = {node: count for node, count in self.free.items() if node in alive}
            known = {*self.free, *(facts["NodeID"] for facts in self.starting.values())}
            for node in alive.keys() - known:
                self.starting[self._start(node, self.prepare, *self.expected)] = alive[node]
        return any(self.free.values())

    def take(self, task: Task) -> None:
        node = max(self.free, key=lambda node: self.free[node])
        self.free[node] -= 1
        self.busy[self._start(node, self.parse, self.spec, task)] = task, node

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
            result = self._result(future)
            if future in self.starting:
                facts = self.starting.pop(future)
                if result:
                    raise ClusterError(f"node {facts['NodeManagerAddress']}: {result}")
                if result is not None:
                    self.free[facts["NodeID"]] = _processors(facts)
                continue
            task, node = self.busy.pop(future)
            if result is None:  # the node has to be prepared again, if it is still there
                self.free.pop(node, None)
                self.last_query = -POLL_SECONDS
                found.append(Ended(task, error=WorkerLost()))
            else:
                if node in self.free:
                    self.free[node] += 1
                found.append(Ended(task, result))
        return found

    def close(self) -> None:
        """Leave the cluster, which ends the workers."""
        self.ray.shutdown()

    def _start(self, node: str, function: Any, *arguments: Any) -> Any:
        """Call a function on a node; return the future of its result."""
        strategies = self.ray.util.scheduling_strategies
        strategy = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        return function.options(scheduling_strategy=strategy).remote(*arguments)

    def _result(self, future: Any) -> Any:
        """Return a result; None if the worker or its node was lost."""
        try:
            return self.ray.get(future)
        except self.ray.exceptions.RayTaskError as error:
            cause = one_line(error.cause)
            raise ClusterError(f"{type(error.cause).__name__} on a node: {cause}") from error
        except self.ray.exceptions.RayError:
            return None


def _processors(facts: dict[str, Any]) -> int:
    """Return the number of processors of a node; 0 if it is lost."""
    return int(facts["Resources"].get("CPU", 0)) if facts["Alive"] else 0


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
