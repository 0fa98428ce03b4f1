"""A server that sends back a word for every message, over bare gRPC streams: a floor for the broker's intake.

    python -m edgefw.benchmarks.bare_echo 127.0.0.1:4711

It keeps nothing and looks at nothing.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import grpc
import uvloop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATH = "/bare/Echo"
_SERVICE, _METHOD = PATH[1:].split("/")


async def _echo(requests: AsyncIterator[bytes], context: Any) -> None:
    async for _message in requests:
        await context.write(b"ok")


async def _serve(address: str) -> None:
    server = grpc.aio.server()
    handler = grpc.stream_stream_rpc_method_handler(_echo)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),))
    server.add_insecure_port(address)
    await server.start()
    await asyncio.Event().wait()  # until it is killed


def main() -> None:
    """Serve at the address that the first argument names."""
    uvloop.run(_serve(sys.argv[1]))


if __name__ == "__main__":
    main()
