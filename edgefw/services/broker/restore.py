"""From what a journal kept to what the broker holds: as if it had never stopped."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from edgefw.delays.hold import Hold, RoundsHold, make_hold
from edgefw.delays.link import DONE, DROPPED, Held
from edgefw.delays.plan import plan_from_json
from edgefw.scenario.plan import scenario_plan
from edgefw.services.broker.journal import Row, State
from edgefw.services.broker.limits import limits_of
from edgefw.services.clock import loop_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgefw.delays.plan import Plan
    from edgefw.scenario.model import Scenario
    from edgefw.services.broker.journal import Journal, Restored
    from edgefw.services.broker.timeline import Timeline

log = logging.getLogger(__name__)


def make_or_restore(scenario: Scenario, journal: Journal) -> Hold:
    """Return an empty hold under the scenario's plan, or what the journal knows of a broker before."""
    plan, limits = scenario_plan(scenario), limits_of(scenario)
    plan.check_limits(limits)
    known = journal.restored
    if known is None:
        return make_hold(plan, limits)
    plans = {plan.version: plan} | {
        version: plan_from_json(text, plan.rules, journal.timeline.moment)
        for version, text in known.plans.items()
    }
    hold = make_hold(plans[max(plans)], limits)
    _fill(hold, plans, known, journal)
    known.rows.clear()  # or payloads would stay in memory when they have been delivered
    return hold


def _fill(hold: Hold, plans: Mapping[int, Plan], known: Restored, journal: Journal) -> None:
    now, timeline = loop_time(), journal.timeline
    hold.start = None if known.start is None else timeline.moment(known.start)
    for agent, floor in known.floors.items():
        hold.links[agent].restore(floor)
    for row in known.rows:
        _put_back(hold, plans, row, timeline)
    if isinstance(hold, RoundsHold):
        for agent, t in known.collected.items():
            hold.collected[agent] = t
    for link in hold.links:
        if dropped := hold.redue(link.agent, now):
            journal.note_dropped(link.agent, dropped)
        if isinstance(hold, RoundsHold):
            hold.release_again(link.agent)
    due = sum(row.state is State.SENT for row in known.rows)
    log.info("restored %d pending feedbacks (%d of them delivered before)", hold.pending, due)


def _put_back(hold: Hold, plans: Mapping[int, Plan], row: Row, timeline: Timeline) -> None:
    if row.payload is None or row.state in {State.DONE, State.DROPPED}:
        link = hold.links[row.agent]
        link.take(row.round, row.norm)
        link.forget(row.round, DROPPED if row.state is State.DROPPED else DONE)
        if row.state is State.DROPPED:
            link.refuse(row.round)
        return
    held = Held(
        row.agent,
        row.round,
        row.payload,
        row.norm,
        row.rank,
        timeline.moment(row.accepted),
        row.version,
        sent=row.state is State.SENT,
    )
    hold.restore(held, plans[row.version])
