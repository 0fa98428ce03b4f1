"""What the admin endpoint needs of the broker, and how it shows it."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from edgefw.delays.body import fault_body
from edgefw.delays.drawn import trace_of
from edgefw.delays.units import format_duration
from edgefw.services.broker.admin.answers import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prometheus_client import CollectorRegistry

    from edgefw.delays.entry import Entry
    from edgefw.delays.plan import Moment, Plan
    from edgefw.services.broker.admin.events import Events

SHOWN_TRACE = 20  # values of a trace that are shown with a link: it may have thousands, and be on every link

LONG = 200  # values of a trace that are worked on beside everything else, in a thread
MOST_TEXTS = 4000  # faults that are kept as text


@dataclass(frozen=True)
class LinkState:
    """One agent's link. Delays are seconds under the wall clock, else rounds; None or infinite: not known."""

    agent: int
    enabled: bool
    connected: bool  # its subscription stands (wall clock), or it has asked before (rounds clock)
    pending: int  # feedback that is not due yet
    due: int  # ... that is released and not acknowledged
    oldest_age: float | None  # seconds since the oldest that is held was accepted; None if there is none
    accepted: int
    delivered: int
    requested_delay: float | None  # of the feedback that was accepted last
    next_due: float | None  # seconds until the next release, or the round that it comes with
    faults: tuple[Entry, ...]  # in force on this link


class Control(Protocol):
    """The broker, as far as the endpoint is concerned."""

    @property
    def plan(self) -> Plan:
        """The plan in force."""

    @property
    def events(self) -> Events:
        """Changes and releases as they come."""

    @property
    def registry(self) -> CollectorRegistry:
        """The broker's metrics."""

    @property
    def ready(self) -> bool:
        """Whether agents are served."""

    def link(self, agent: int) -> LinkState:
        """Return the link of an agent that is there."""

    async def apply(self, kind: str, edit: Callable[[Plan, Moment], Plan]) -> Plan:
        """Put an edited plan in force and return it; an error of the edit changes nothing."""


def link_view(link: LinkState, clock: str) -> dict[str, Any]:
    """Return a link as it is shown, but for its faults."""
    amount = _rounds if clock == "rounds" else _time
    return {
        "agent": link.agent,
        "enabled": link.enabled,
        "connected": link.connected,
        "pending": link.pending,
        "due": link.due,
        "oldest_age": _time(link.oldest_age),
        "accepted": link.accepted,
        "delivered": link.delivered,
        "requested_delay": amount(link.requested_delay),
        "next_due": amount(link.next_due),
    }


class Shown:
    """Faults as JSON. Each is made once for as long as it is there: it may be shown with every link."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, int | None], tuple[Entry, bytes]] = {}

    async def plan(self, plan: Plan) -> bytes:
        """Return all faults of a plan, made with breaks: delivery does not wait for a long one."""
        texts = [_with(agents, await self._body(entry)) for entry, agents in plan.shared()]
        return b"[%s]" % b",".join(texts)

    async def on_link(self, entries: Sequence[Entry]) -> bytes:
        """Return the faults on a link; of a trace its first values."""
        texts = [_with(_agents(entry), await self._body(entry, SHOWN_TRACE)) for entry in entries]
        return b"[%s]" % b",".join(texts)

    async def one(self, entry: Entry) -> bytes:
        """Return a fault."""
        return _with(_agents(entry), await self._body(entry))

    async def _body(self, entry: Entry, longest: int | None = None) -> bytes:
        """Return a fault without its agents, its trace perhaps cut to its `longest`."""
        known = self._texts.get((id(entry), longest)) or await self._make(entry, longest)
        return known[1]

    async def _make(self, entry: Entry, longest: int | None) -> tuple[Entry, bytes]:
        if longest is None and len(trace_of(entry.fault)) > LONG:
            body = await asyncio.to_thread(fault_body, entry)
        else:
            body = fault_body(entry, longest)
            await asyncio.sleep(0)
        if len(self._texts) > MOST_TEXTS:
            self._texts.clear()
        made = entry, encoded(body)  # with the entry, or its id could be another's
        self._texts[id(entry), longest] = made
        return made


def _agents(entry: Entry) -> list[int] | None:
    return None if entry.agent is None else [entry.agent]


def _with(agents: list[int] | None, body: bytes) -> bytes:
    """Return the text of a fault with that of its agents before it."""
    return b'{"agents":%s,%s' % (encoded("all" if agents is None else agents), body[1:])


def _time(seconds: float | None) -> str | None:
    """Return seconds as people write them, to the microsecond; one that is past is none."""
    if seconds is None or not math.isfinite(seconds):
        return None
    return format_duration(round(max(seconds, 0.0), 6))


def _rounds(amount: float | None) -> int | None:
    return None if amount is None or not math.isfinite(amount) else int(amount)
