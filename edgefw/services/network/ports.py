"""Free ports on loopback, kept for a run from before its services start until they have ended.

A port is kept by a socket that is bound to it and does not listen. Linux lets a service listen there all the
same, as gRPC and asyncio say SO_REUSEADDR like the keeper, and gives the port to nobody who asks for any free
one. So there is no moment between choosing a port and using it in which another process could get it.
"""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from edgefw.services.config import Place
from edgefw.services.network.prepare import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPBACK = "127.0.0.1"


@contextmanager
def loopback_places(agents: int) -> Iterator[Places]:
    """Keep free ports for a broker, an observer and `agents` agents while the block runs."""
    with ExitStack() as keepers:

        def place() -> Place:
            ports = [_keep(keepers) for _ in range(2)]
            return Place(LOOPBACK, *ports)

        yield Places(place(), place(), tuple(place() for _ in range(agents)))


def _keep(keepers: ExitStack) -> int:
    keeper = keepers.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind((LOOPBACK, 0))
    port: int = keeper.getsockname()[1]
    return port
