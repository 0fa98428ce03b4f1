"""Free ports on loopback, kept for a run from before its services start until they have ended.

A port is kept by a socket that is bound to it and does not listen. Linux lets a service listen there all the
same, as gRPC and asyncio say SO_REUSEADDR like the keeper, and gives the port to nobody who asks for any free
one. So there is no moment between choosing a port and using it in which another process could get it.
"""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.services.config import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPBACK = "127.0.0.1"
ADMIN_PORT = 7070  # where `edgefw delay` looks for the broker's admin endpoint, if it is not told


@dataclass(frozen=True)
class Places:
    """Where every service of a run listens."""

    broker: Place
    observer: Place
    agents: tuple[Place, ...]
    admin: int  # the port of the broker's admin endpoint, on its host


@contextmanager
def loopback_places(agents: int, admin_port: int | None = None) -> Iterator[Places]:
    """Keep free ports for a broker, an observer and `agents` agents while the block runs.

    The broker's admin endpoint gets the port that is asked for, else ADMIN_PORT, else (it is taken) any.
    """
    with ExitStack() as keepers:

        def place() -> Place:
            ports = [_keep(keepers) for _ in range(2)]
            return Place(LOOPBACK, ports[0], ports[1])

        admin = _admin(keepers, admin_port)
        yield Places(place(), place(), tuple(place() for _ in range(agents)), admin)


def _admin(keepers: ExitStack, asked: int | None) -> int:
    port = ADMIN_PORT if asked is None else asked
    if not _listens(port):
        try:
            _claim(keepers, port)
            return _keep(keepers, port)
        except OSError:
            pass  # kept by another run, or not ours to use
    if asked is not None:
        raise InputError(f"--admin-port {asked}: it is taken; end what uses it, or leave the option out")
    return _keep(keepers)


def _listens(port: int) -> bool:
    """Whether somebody listens there: a keeper's socket could be bound beside it, a service could not."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def _claim(keepers: ExitStack, port: int) -> None:
    """Be the only run to keep a port that was asked for: two keepers could be bound to it side by side."""
    claim = keepers.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    claim.bind(f"\0edgefw-port-{port}")  # a name that is in no folder, and goes with the process


def _keep(keepers: ExitStack, port: int = 0) -> int:
    keeper = keepers.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind((LOOPBACK, port))
    bound: int = keeper.getsockname()[1]
    return bound
