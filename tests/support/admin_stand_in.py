"""A broker as its admin endpoint sees it: a plan that is edited at once, links that hold nothing."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import uvloop
from prometheus_client import CollectorRegistry, Counter
from told_clock import ToldLoop
from waiting import PATIENCE

from edgefw.delays.body import fault_body
from edgefw.delays.entry import Moment
from edgefw.delays.fault import Rules
from edgefw.delays.link_id import feedback_links
from edgefw.delays.plan import Plan
from edgefw.services.broker.admin.app import AdminOptions, make_app, make_server
from edgefw.services.broker.events import Events
from edgefw.services.broker.steering import LinkState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from told_clock import Clock

    from edgefw.delays.entry import PlanEntry
    from edgefw.http.connection import Bounds
    from edgefw.http.guard import Guard

AGENTS = 8


def rules(clock: str = "wall", *, round_seconds: float | None = 0.25) -> Rules:
    """Return the rules of a run of 8 agents and 1000 rounds."""
    return Rules(clock, feedback_links(AGENTS), 1000, 7, round_seconds if clock == "wall" else None)


def moment(now: float = 100.0, t: int = 5) -> Moment:
    """Return a moment at which every link has submitted round t."""
    return Moment(now, (t,) * AGENTS)


def fault_view(entry: PlanEntry) -> dict[str, Any]:
    """Return a fault as it is shown, with the agents whose links it is on."""
    return {"agents": "all" if entry.agent is None else [entry.agent], **fault_body(entry)}


class StandIn:
    """A control with a clock that is told the time; `failure` is raised instead of the next change."""

    def __init__(self, clock: str = "wall") -> None:
        self.run_name = "small-1"
        self.plan = Plan(rules(clock), 1, ())
        self.events = Events()
        self.registry = CollectorRegistry()
        self.changes = Counter("changes", "Of the plan.", registry=self.registry)
        self.ready = True
        self.now = 100.0
        self.failure: Exception | None = None
        self.kinds: list[str] = []
        self.callers: list[str] = []
        self._apps: dict[Any, Guard] = {}

    def app(self, token: str | None, names: frozenset[str]) -> Guard:
        """Return the endpoint of this control."""
        if (token, names) not in self._apps:
            self._apps[token, names] = make_app(self, token=token, names=names)
        return self._apps[token, names]

    def link(self, agent: int) -> LinkState:
        return LinkState(
            agent=agent,
            enabled=agent not in self.plan.disabled,
            connected=True,
            pending=3,
            due=1,
            oldest_age=1.25,
            accepted=10,
            delivered=6,
            requested_delay=float("inf") if agent == 1 else 0.75,
            next_due=None if agent == 1 else 0.5,
            faults=tuple(entry for entry in self.plan.entries if entry.concerns(agent)),
        )

    async def apply(self, kind: str, edit: Callable[[Plan, Moment], Plan], who: str) -> Plan:
        before, plan = self.plan, edit(self.plan, moment(self.now))
        if self.failure is not None:
            raise self.failure
        await asyncio.sleep(0)
        if plan is not before:
            self.plan = plan
            self.kinds.append(kind)
            self.callers.append(who)
            self.changes.inc()
            self.events.publish("change", {"what": kind, "version": plan.version, "before": before.version})
        return plan


class Served:
    """An endpoint that is served in a thread of its own, at `url`."""

    def __init__(
        self,
        control: StandIn,
        token: str | None = None,
        bounds: Bounds | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.control, self._token, self._bounds, self._clock = control, token, bounds, clock
        self._loop: asyncio.AbstractEventLoop = (
            uvloop.new_event_loop()
            if clock is None
            else ToldLoop(lambda: clock.now)  # the first: as in a service
        )
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.url = ""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the endpoint's loop."""

        async def run() -> Any:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE)

    def advance(self, seconds: float) -> None:
        """Let time pass in the endpoint's loop, where a test has its clock."""
        assert self._clock is not None, "this endpoint goes by the real clock"
        self.call(self._clock.advance, seconds)

    def start(self) -> None:
        self._thread.start()
        options = AdminOptions("127.0.0.1", 0, self._token)
        self._server = make_server(self.control, options, self._bounds)
        port = asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result(PATIENCE)
        self.url = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def served(
    clock: str = "wall",
    token: str | None = None,
    bounds: Bounds | None = None,
    told: Clock | None = None,
) -> Iterator[Served]:
    """Serve a stand-in while the block runs; by the real clock, or by one that is told the time."""
    endpoint = Served(StandIn(clock), token, bounds, told)
    endpoint.start()
    try:
        yield endpoint
    finally:
        endpoint.stop()


def ask(
    control: StandIn,
    verb: str,
    path: str,
    body: Any = None,
    *,
    token: str | None = None,
    names: frozenset[str] = frozenset(),
    **options: Any,
) -> httpx.Response:
    """Return what the endpoint of a control answers to one request, without a network."""

    async def run() -> httpx.Response:
        transport = httpx.ASGITransport(app=control.app(token, names))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:7070") as client:
            given = options if body is None else {"json": body, **options}
            return await client.request(verb, path, **given)

    return asyncio.run(run())
