"""Faults as the admin endpoint shows them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from edgefw.delays.body import fault_body
from edgefw.delays.drawn import trace_of
from edgefw.http.answers import encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.delays.entry import PlanEntry
    from edgefw.delays.plan import Plan
    from edgefw.services.machine import Machine

SHOWN_TRACE = 20  # values of a trace that are shown with a link: it may have thousands, and be on every link
LONG = 200  # values of a trace that are worked on aside from everything else
MOST_TEXTS = 4000  # faults that are kept as text


class Shown:
    """Faults as JSON. The text of a fault is made once and kept: it may be shown with every link."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._texts: dict[tuple[int, int | None], tuple[PlanEntry, bytes]] = {}

    async def plan(self, plan: Plan) -> bytes:
        """Return all faults of a plan, made with breaks: delivery does not wait for a long one."""
        texts = [await self._text(entry, agents) for entry, agents in plan.shared]
        return b"[%s]" % b",".join(texts)

    async def on_link(self, entries: Sequence[PlanEntry]) -> bytes:
        """Return the faults on a link; of a trace its first values."""
        texts = [await self.one(entry, SHOWN_TRACE) for entry in entries]
        return b"[%s]" % b",".join(texts)

    async def one(self, entry: PlanEntry, longest: int | None = None) -> bytes:
        """Return a fault, its trace perhaps cut to its `longest`."""
        return await self._text(entry, None if entry.agent is None else [entry.agent], longest)

    async def _text(self, entry: PlanEntry, agents: list[int] | None, longest: int | None = None) -> bytes:
        """Return a fault with its agents first: what follows is the same on every link, and is kept."""
        known = self._texts.get((id(entry), longest)) or await self._make(entry, longest)
        return b'{"agents":%s,%s' % (encoded("all" if agents is None else agents), known[1][1:])

    async def _make(self, entry: PlanEntry, longest: int | None) -> tuple[PlanEntry, bytes]:
        if longest is None and len(trace_of(entry.fault)) > LONG:
            body = await self._machine.aside(fault_body, entry)
        else:
            body = fault_body(entry, longest)
            await asyncio.sleep(0)
        if len(self._texts) > MOST_TEXTS:
            self._texts.clear()
        made = entry, encoded(body)  # with the entry, or its id could be another's
        self._texts[id(entry), longest] = made
        return made
