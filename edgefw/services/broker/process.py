"""The broker's process: its journal, its servers, and the runs that it serves one after the other."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from edgefw.scenario.load import load, parse
from edgefw.services.broker.account import Account
from edgefw.services.broker.admin.app import make_server
from edgefw.services.broker.journal import open_journal
from edgefw.services.broker.journal.opening import discard_other
from edgefw.services.broker.restore import make_or_restore
from edgefw.services.broker.service import Broker
from edgefw.services.machine import REAL
from edgefw.services.runtime import Server, Stop, answering, run_service, unless
from edgefw.telemetry.metrics import BrokerMetrics, new_registry
from edgefw.transport.account_client import AccountClient
from edgefw.transport.channel import GRPC
from edgefw.transport.joining import join
from edgefw.transport.race import watched
from edgefw.v1.broker_service_pb2_grpc import add_BrokerServiceServicer_to_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from edgefw.core.account import Entry
    from edgefw.http.server import HttpServer
    from edgefw.scenario.model import Scenario
    from edgefw.services.broker.admin.app import AdminOptions
    from edgefw.services.config import Place
    from edgefw.services.machine import Machine
    from edgefw.transport.joining import Joined
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

LAST_WORD = 2.0  # seconds that the observer gets to keep the end of the account
WATCH = 1.0  # seconds between two looks whether the observer has begun another run
COLLECT = (2000, 20, 1000)  # a look through everything holds all up for 20 ms: once in a long while will do
SWITCH = 0.0005  # seconds that the journal's thread may keep the interpreter while the event loop waits


@dataclass(frozen=True)
class BrokerOptions:
    """How a broker runs: where it listens, where it keeps what it holds (None: in memory only).

    `alone`: whether it has its process to itself, and may see to it that nothing there makes feedback late.
    """

    listen: Place
    journal: Path | None
    admin: AdminOptions | None = None
    transport: Transport = GRPC
    machine: Machine = REAL
    alone: bool = True


async def serve(
    scenario: Scenario, run_id: str, options: BrokerOptions, stop: Stop, observer: str | None = None
) -> None:
    """Serve the agents of a run until told to stop; the observer at this address gets the account of it."""
    registry = new_registry("broker")
    metrics = BrokerMetrics(registry)
    journal = open_journal(options.journal, run_id, metrics, machine=options.machine)
    try:
        async with _telling(observer, run_id, options.transport) as tell:
            account = Account(journal.timeline, tell)
            account.recall(journal.restored)
            hold = make_or_restore(scenario, journal)
            broker = Broker(run_id, hold, journal, metrics, registry, account)
            server = Server(registry, transport=options.transport)
            await _listen(broker, scenario, options, server, stop)
    finally:
        await journal.close()


@asynccontextmanager
async def _telling(
    observer: str | None, run_id: str, transport: Transport
) -> AsyncIterator[Callable[[Entry], None] | None]:
    """Tell the observer what the broker does while the block runs; its last entries get a moment longer."""
    if observer is None:
        yield None
        return
    client = AccountClient(observer, run_id, transport)
    telling = asyncio.create_task(client.run(), name="tell the account")
    try:
        yield client.add
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORD):
                await client.settled()
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def _listen(
    broker: Broker, scenario: Scenario, options: BrokerOptions, server: Server, stop: Stop
) -> None:
    admin = _admin_server(broker, options)
    await server.start(options.listen, partial(add_BrokerServiceServicer_to_server, broker))
    try:
        if admin is not None:
            await admin.start()
        await server.ready()
        broker.control.ready = True
        log.info("holding feedback of %d agents at %s", scenario.network.agents, options.listen.address)
        if options.alone:
            _favour_delivery()
        await broker.run(stop)
    finally:
        try:
            if admin is not None:
                await admin.stop()
        finally:
            await server.stop()


def _admin_server(broker: Broker, options: BrokerOptions) -> HttpServer | None:
    if options.admin is None:
        return None
    over = options.transport.listen_http
    return make_server(broker.control, options.admin, machine=options.machine, listen=over)


def _favour_delivery() -> None:
    """Keep what else goes on in the process from making feedback late."""
    gc.freeze()  # what is there by now stays: looking through it again and again is of no use
    gc.set_threshold(*COLLECT)
    sys.setswitchinterval(SWITCH)


def run(scenario: str, options: BrokerOptions) -> int:
    """Run the broker of a scenario (a file or a name) until SIGTERM; return the exit code."""

    async def service(stop: Stop) -> None:
        plan = load(scenario)
        await serve(plan, plan.digest, options, stop)

    return run_service("broker", service)


def run_joined(observer: str, advertise: str, options: BrokerOptions) -> int:
    """Run the broker of an observer's runs until SIGTERM; return the exit code."""
    return run_service("broker", partial(serve_joined, observer, advertise, options))


async def serve_joined(observer: str, advertise: str, options: BrokerOptions, stop: Stop) -> None:
    """Serve the observer's runs, one after the other, until told to stop.

    The journal of an earlier run goes when the next one begins: nobody will ask for what it holds.
    """
    place, transport = options.listen, options.transport
    admin = options.admin.found_at(advertise) if options.admin else ""
    ask = partial(join, observer, advertise, place.metrics_port, transport=transport, admin=admin)
    while (joined := await unless(stop, answering("broker", place, ask, transport))) is not None:
        if options.journal is not None:
            discard_other(options.journal, joined.run_id)
        scenario = parse(joined.configuration.decode(), "the observer's scenario")
        over = asyncio.Event()  # told to stop, or the observer has gone on to another run
        serving = serve(scenario, joined.run_id, options, over, observer)
        await watched(serving, _watch(stop, over, ask, joined.run_id))


async def _watch(
    stop: Stop, over: asyncio.Event, ask: Callable[[], Coroutine[Any, Any, Joined]], run_id: str
) -> None:
    """End the run when told to stop, or when the observer has begun another: agents wait for us there."""

    async def another_run() -> None:
        joined = await ask()
        while joined.run_id == run_id:
            await asyncio.sleep(WATCH)
            joined = await ask()

    try:
        await unless(stop, another_run())
    finally:
        over.set()
