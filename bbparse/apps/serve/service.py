"""Run the service: sockets, models, workers, HTTP."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from contextlib import closing

from bbparse.apps.serve.http import Server, application
from bbparse.apps.serve.pool import Load, Metrics, Pool
from bbparse.apps.serve.settings import Settings
from bbparse.runtime.errors import ServiceError


def serve(
    load: Load, host: str, port: int, settings: Settings, tell: Callable[[str], None]
) -> None:
    """Answer requests until SIGTERM or SIGINT; SIGHUP reloads the models.

    The first model that `load` returns is the default. Port 0 stands for any free port. `tell` is
    called with lines for the person who started the service. `ServiceError` if it cannot listen
    there.
    """
    with listening(host, port) as listener, closing(Pool(load, settings, Metrics(), tell)) as pool:
        url = url_of(listener, host)
        server = Server(
            application(pool), settings, pool.metrics,
            lambda: tell(f"serving {', '.join(pool.models)} on {url}"),
            timeout_graceful_shutdown=math.ceil(settings.deadline + settings.grace),
        )  # fmt: skip
        server.on_reload = pool.reload
        server.run([listener])


def url_of(listener: socket.socket, host: str) -> str:
    """Return the address of a service that listens on a host."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises `ServiceError` if it cannot."""
    where = f"{host}, port {port}"
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        family, kind, protocol, _, address = info
    except (OSError, UnicodeError):
        raise ServiceError(f"{host}: there is no such address") from None
    # naming the protocol makes asyncio send without delay
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)  # now: bind alone succeeds twice
    except OSError as error:
        listener.close()
        raise ServiceError(f"{where}: {(error.strerror or str(error)).lower()}") from None
    return listener
