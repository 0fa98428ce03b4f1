"""What can be seen of a broker, and done to it, while it runs: what its admin endpoint is built on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import CollectorRegistry

    from edgefw.delays.entry import Moment, PlanEntry
    from edgefw.delays.plan import Plan
    from edgefw.services.broker.events import Events


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
    faults: tuple[PlanEntry, ...]  # in force on this link


class Steering(Protocol):
    """What whoever steers a broker sees of it. `Control` implements it."""

    @property
    def run_name(self) -> str:
        """What the run is called: the name of its folder."""

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

    async def apply(self, kind: str, edit: Callable[[Plan, Moment], Plan], who: str) -> Plan:
        """Put an edited plan in force and return it. `who` asked for it.

        An error of the edit changes nothing.
        """
