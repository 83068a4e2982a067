"""Shards on a Ray cluster: the same bytes, whatever dies; and what is wrong with a cluster."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bbparse.apps.corpus.run import parse_corpus
from bbparse.apps.corpus.work import ParseSpec, locked
from bbparse.runtime.errors import ClusterError

Contents = Callable[[Path], dict[str, bytes]]


def test_an_address_that_does_not_answer(shards: Path, tmp_path: Path, spec: ParseSpec) -> None:
    pytest.importorskip("ray")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"--cluster {address}: does not answer: "):
            parse_corpus([f"{shards}/*"], tmp_path / "out", spec, cluster=address)
    with pytest.raises(ClusterError, match="expected auto or HOST:PORT"):
        parse_corpus([f"{shards}/*"], tmp_path / "out", spec, cluster="somewhere")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with a processor each."""
    pytest.importorskip("ray")
    utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        found = utils.Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1,
                "include_dashboard": False,
                "object_store_memory": 80 << 20,
            },
        )
        found.add_node(num_cpus=1, object_store_memory=80 << 20)
        yield found
        found.shutdown()


def test_a_worker_that_is_lost(
    cluster: Any, shards: Path, tmp_path: Path, spec: ParseSpec, contents: Contents
) -> None:
    one, out = tmp_path / "one", tmp_path / "out"
    parse_corpus([f"{shards}/*"], one, spec)
    killed: list[int] = []

    def kill() -> None:
        while len(list(out.glob("*.xz"))) < 1:
            time.sleep(0.01)
        while not killed:
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    if (process / "cmdline").read_bytes().startswith(b"ray::parse_shard"):
                        killed.append(int(process.name))
                        os.kill(killed[-1], signal.SIGKILL)
                        break

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    done = parse_corpus([f"{shards}/*"], out, spec, cluster=cluster.address)
    thread.join(60)
    assert killed and (done["parsed"], done["failed"]) == (8, 0)
    assert contents(one) == contents(out)
    # what is done is known to nodes, too
    done = parse_corpus([f"{shards}/*"], out, spec, cluster=cluster.address)
    assert (done["parsed"], done["kept"]) == (0, 8)


def test_nodes_that_differ(
    cluster: Any, shards: Path, tmp_path: Path, spec: ParseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("bbparse.apps.corpus.cluster.__version__", "0.0.7")
        with pytest.raises(ClusterError, match=r"^node .*: bbparse is .* there, but 0\.0\.7 here"):
            parse_corpus([f"{shards}/*"], out, spec, cluster=cluster.address)
    with monkeypatch.context() as patch:
        patch.setattr("bbparse.apps.corpus.cluster.LOCK", "nothing")
        with pytest.raises(ClusterError, match="output folder is not what it is here"):
            parse_corpus([f"{shards}/*"], out, spec, cluster=cluster.address)
    with locked(out):
        pass
