"""What every service does alike: start, tell that it is ready, stop when asked, end with a code."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.errors import EdgefwError
from edgefw.http.endpoint import service_routes
from edgefw.http.guard import Guard
from edgefw.http.server import HttpServer
from edgefw.services.clock import PreciseLoop
from edgefw.telemetry.logs import start_logging
from edgefw.telemetry.metrics import new_registry, strangers
from edgefw.transport.channel import GRPC
from edgefw.transport.race import race
from edgefw.transport.server import AddServicer, RpcServer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from starlette.types import ASGIApp

    from edgefw.http.endpoint import Routes, Targets
    from edgefw.services.config import Place
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

T = TypeVar("T")
Stop = asyncio.Event
Service = Callable[[Stop], Awaitable[None]]


def run_service(name: str, service: Service) -> int:
    """Run a service until it ends or is told to; return its exit code."""
    start_logging(name)
    try:
        with asyncio.Runner(loop_factory=PreciseLoop) as runner:
            runner.run(_until_stopped(service))
    except EdgefwError as error:
        log.error("%s", error)  # noqa: TRY400 - one line, no traceback: it says what to do
        return error.exit_code
    return 0


async def unless(stop: Stop, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of some work, or None if `stop` is set first: then the work is cancelled."""

    async def stopped() -> None:
        await stop.wait()

    return await race(work, stopped())


async def answering(
    role: str, listen: Place, work: Callable[[], Awaitable[T]], transport: Transport = GRPC
) -> T:
    """Do some work without which a process is not ready, and return its result.

    Meanwhile the process answers /metrics, and /healthz with `not ready`: who waits for others is not down.
    """
    http = await _serve(service_routes(new_registry(role), lambda: False), listen, transport)
    try:
        return await work()
    finally:
        await http.stop()


async def _serve(routes: Routes, listen: Place, transport: Transport) -> HttpServer:
    guard, over = Guard(routes, names=listen.names), transport.listen_http
    http = HttpServer(guard, listen.host, listen.metrics_port, listen=over)
    await http.start()
    return http


async def _until_stopped(service: Service) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _ask_to_stop, stop, number)
    await service(stop)


def _ask_to_stop(stop: Stop, number: int) -> None:
    log.info("stopping: %s", signal.Signals(number).name)
    stop.set()


class Server:
    """The server of a service and the HTTP endpoint beside it; `otherwise` answers what others do not."""

    def __init__(
        self,
        registry: CollectorRegistry,
        targets: Targets | None = None,
        transport: Transport = GRPC,
        otherwise: ASGIApp | None = None,
    ) -> None:
        self._transport, self._rpc, self._ready = transport, RpcServer(transport, strangers(registry)), False
        self._routes = service_routes(registry, lambda: self._ready, targets, otherwise)
        self._http: HttpServer | None = None

    async def start(self, listen: Place, servicer: AddServicer) -> None:
        """Listen with a servicer; `ready` comes after."""
        await self._rpc.start(listen.address, servicer)
        self._http = await _serve(self._routes, listen, self._transport)

    async def ready(self) -> None:
        """Tell everyone who asks that the service is ready."""
        self._ready = True
        await self._rpc.ready()

    async def stop(self) -> None:
        """Finish calls under way for a moment, then end."""
        self._ready = False
        await self._rpc.stop()
        if self._http is not None:
            await self._http.stop()
