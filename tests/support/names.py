"""A name server on loopback: names whose address changes while others use them."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_ADDRESS, _INTERNET = 1, 1  # record type A, class IN
_HEADER = struct.Struct("!6H")


class Names(asyncio.DatagramProtocol):
    """Answers every question for an address with `host`; to others it knows no answer."""

    def __init__(self, host: str) -> None:
        self.host, self.asked = host, 0
        self._transport: Any = None
        self._port = 0

    def address(self, port: int) -> str:
        """Return an address with a name that gRPC looks up here."""
        return f"dns://127.0.0.1:{self._port}/moving.test:{port}"

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.asked += 1
        number = _HEADER.unpack_from(data)[0]
        end = data.index(b"\0", _HEADER.size) + 1 + 4  # of the question: its name, type and class
        (kind,) = struct.unpack_from("!H", data, end - 4)
        answer = b""
        if kind == _ADDRESS:
            fixed = struct.pack("!HHHIH", 0xC000 | _HEADER.size, _ADDRESS, _INTERNET, 0, 4)  # valid for 0 s
            answer = fixed + socket.inet_aton(self.host)
        head = _HEADER.pack(number, 0x8580, 1, bool(answer), 0, 0)
        self._transport.sendto(head + data[_HEADER.size : end] + answer, addr)


@asynccontextmanager
async def names(host: str) -> AsyncIterator[Names]:
    """Run a name server; everyone is at `host` until it is changed."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: Names(host), ("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()
