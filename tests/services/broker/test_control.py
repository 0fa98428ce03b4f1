"""Changes of the plan while the broker runs: what is in force is on disk, and none of them undoes another."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest
from loopback_broker import broker, run, scenario
from prometheus_client import CollectorRegistry
from told_journal import ToldJournal
from waiting import eventually
from work import steps

from edgefw.delays import edits
from edgefw.delays.body import read_fault
from edgefw.errors import JournalFullError, UnknownError
from edgefw.services.broker.account import Account
from edgefw.services.broker.control import RETRY, Control
from edgefw.services.broker.restore import make_or_restore
from edgefw.services.broker.timeline import SECOND
from edgefw.telemetry.metrics import BrokerMetrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopback_broker import Client
    from told_clock import Clock

    from edgefw.delays.entry import Moment
    from edgefw.delays.plan import Plan
    from edgefw.services.broker.events import BrokerEvent
    from edgefw.services.broker.steering import LinkState

    Edit = Callable[[Plan, Moment], Plan]

SLOW: dict[str, Any] = {"type": "latency", "latency": "1h", "apply_to": "pending"}


def adding(name: str, **body: Any) -> Edit:
    def edit(plan: Plan, moment: Moment) -> Plan:
        fault = read_fault({**SLOW, **body}, plan.rules).fault
        return edits.add(plan, moment, None, fault, name)

    return edit


def removing(name: str) -> Edit:
    return lambda plan, _: edits.remove(plan, None, name)


def names(client: Client) -> list[str]:
    return [entry.name for entry in client.control.plan.entries]


async def begin(client: Client, edit: Edit) -> asyncio.Task[Plan]:
    """Start a change that waits for the disk."""
    task = asyncio.create_task(client.control.apply("change", edit))
    for _ in range(3):
        await asyncio.sleep(0)
    return task


def test_changes_on_their_way_to_the_disk_build_on_one_another_and_none_is_in_force_before() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            journal.prompt = False
            both = [await begin(client, adding(name)) for name in ("a", "b")]
            assert (names(client), client.control.plan.version) == ([], 1)
            journal.commit()
            assert [plan.version for plan in await asyncio.gather(*both)] == [2, 3]
            assert (names(client), client.control.plan.version) == (["a", "b"], 3)
            assert client.sample("plan_changes_total") == 2
            labels = {"what": "change", "fault": "latency", "agent": "all"}
            now = journal.timeline.real(asyncio.get_running_loop().time()) / SECOND
            assert client.sample("plan_changed_timestamp_seconds", **labels) == pytest.approx(now)

    run(test())


def test_a_change_that_comes_to_its_turn_after_one_that_builds_on_it_does_not_undo_it() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            kept: list[asyncio.Future[None]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
            order = iter(kept)
            journal.keep_plan = lambda *_: next(order)  # type: ignore[method-assign]
            both = [await begin(client, adding(name)) for name in ("a", "b")]
            for future in reversed(kept):
                future.set_result(None)
            await asyncio.gather(*both)
            assert (names(client), client.control.plan.version) == (["a", "b"], 3)

    run(test())


def test_a_change_that_cannot_be_kept_takes_those_that_build_on_it_along() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            journal.prompt = False
            both = [await begin(client, adding(name)) for name in ("a", "b")]
            journal.full = True
            journal.commit()
            for task in both:
                with pytest.raises(JournalFullError):
                    await task
            assert (names(client), client.control.plan.version) == ([], 1)
            journal.full, journal.prompt = False, True
            plan = await client.control.apply("change", adding("c"))
            assert plan.version > 3  # no version means two plans
            assert names(client) == ["c"]

    run(test())


def test_an_edit_that_is_refused_changes_nothing() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            await client.control.apply("change", adding("a"))
            before = client.control.plan
            with pytest.raises(UnknownError):
                await client.control.apply("change", removing("b"))
            assert client.control.plan is before
            assert await client.control.apply("change", lambda plan, _: plan) is before
            assert client.sample("plan_changes_total") == 1

    run(test())


def test_a_fault_may_be_over_while_its_removal_is_on_its_way_to_the_disk(clock: Clock) -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            await client.control.apply("change", adding("short", duration="60ms"))
            await client.submit(1)
            journal.prompt = False
            removal = await begin(client, removing("short"))
            clock.advance(0.061)
            await eventually(lambda: client.hold.pending == 0)  # it is over: the broker would remove it, too
            assert names(client) == ["short"]
            journal.commit()
            await removal
            assert names(client) == []

    clock.run(test())


def test_a_fault_that_ends_does_not_undo_a_change_on_its_way_to_the_disk(clock: Clock) -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            await client.control.apply("change", adding("short", duration="60ms"))
            await client.submit(1)
            journal.prompt = False
            change = await begin(client, adding("long"))
            clock.advance(0.061)
            await eventually(lambda: client.hold.pending == 0)  # it has let go of the feedback: it is over
            assert names(client) == ["short"]  # not kept, so not in force
            journal.prompt = True
            journal.commit()
            await change
            await eventually(lambda: names(client) == ["long"])

    clock.run(test())


def test_a_fault_that_ends_while_the_disk_is_full_lets_go_at_once_and_is_removed_later(clock: Clock) -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            await client.control.apply("change", adding("short", duration="60ms"))
            await client.submit(1)
            stream = await client.subscribe()
            journal.full = True
            clock.advance(0.061)
            assert (await stream.next()).round == 1
            assert names(client) == ["short"]
            journal.full = False
            clock.advance(RETRY)
            await eventually(lambda: names(client) == [])
            await client.submit(2)
            assert (await stream.next()).round == 2
        assert {row.version for row in journal.rows()} <= journal.crashed().plans.keys()

    clock.run(test())


def test_what_was_due_before_a_change_is_not_held_by_it() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            await client.submit(1)
            await client.control.apply("change", adding("slow"))
            await client.submit(2)
            assert (await (await client.subscribe()).next()).round == 1
            assert (client.hold.links[0].pending, len(client.hold.links[0].released)) == (1, 1)

    run(test())


def test_a_fault_that_begins_later_holds_what_is_pending_then(clock: Clock) -> None:
    late = {"type": "latency", "latency": "400ms"}

    async def test() -> None:
        async with broker(scenario("wall", late)) as client:
            await client.submit(1)
            await client.control.apply("change", adding("slow", at="100ms"))
            assert client.control.link(0).next_due == pytest.approx(0.4)
            clock.advance(0.101)
            await eventually(lambda: client.control.link(0).next_due > 3000)  # type: ignore[operator]

    clock.run(test())


def test_changes_and_releases_are_told_to_who_listens(clock: Clock) -> None:
    async def test() -> None:
        async with broker(scenario()) as client, client.control.events.subscribe() as listener:
            await client.control.apply("add", adding("a", type="latency", latency="50ms"))
            await client.submit(1)
            told: list[BrokerEvent] = await listener.take(1.0) or []
            clock.advance(0.051)
            told += await listener.take(1.0) or []
            assert [(event.kind, event.data) for event in told] == [
                ("change", {"what": "add", "version": 2, "before": 1}),
                ("release", {"agent": 0, "round": 1, "requested_delay": told[1].data["requested_delay"]}),
            ]
            assert told[1].data["requested_delay"] == pytest.approx(0.05)

    clock.run(test())


def test_a_link_is_shown_as_it_is() -> None:
    slow = {"type": "latency", "trace": ["0s", "1h"], "agents": [1]}

    async def test() -> None:
        async with broker(scenario("wall", slow)) as client:
            empty = client.control.link(1)
            assert (empty.pending, empty.due, empty.accepted, empty.delivered) == (0, 0, 0, 0)
            assert (empty.oldest_age, empty.requested_delay, empty.next_due) == (None, None, None)
            assert (empty.enabled, empty.connected) == (True, False)
            stream = await client.subscribe(1)
            for s in (1, 2, 3):
                await client.submit(s, agent=1)
            assert (await stream.next()).round == 1
            await stream.acknowledge(1)
            await eventually(lambda: client.control.link(1).delivered == 1)
            await client.control.apply("disable", lambda plan, _: edits.enable(plan, 1, enabled=False))
            link = client.control.link(1)
            assert (link.agent, link.pending, link.due, link.accepted) == (1, 1, 1, 3)
            assert (link.enabled, link.connected, link.next_due) == (False, True, math.inf)
            assert [entry.name for entry in link.faults] == ["delays-0"]
            assert client.control.link(0).faults == ()
        async with broker(scenario("rounds", {"type": "rounds", "rounds": 3})) as client:
            await client.submit(1)
            assert (client.control.link(0).connected, client.control.link(0).next_due) == (False, 3)
            await client.collect(1)
            assert client.control.link(0).connected

    run(test())


def test_by_rounds_a_posted_fault_ends_with_its_last_round() -> None:
    async def test() -> None:
        async with broker(scenario("rounds", agents=1)) as client:
            await client.submit(1)
            late = {"type": "rounds", "rounds": 3, "duration": 2}
            await client.control.apply(
                "add",
                lambda plan, moment: edits.add(
                    plan, moment, None, read_fault(late, plan.rules).fault, "late"
                ),
            )
            got = {1: await client.collect(1)}
            for t in range(2, 8):
                await client.submit(t)
                got[t] = await client.collect(t)
            assert got == {1: [1], 2: [], 3: [], 4: [2, 4], 5: [3, 5], 6: [6], 7: [7]}
            await eventually(lambda: names(client) == [])

    run(test())


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_looking_at_a_link_takes_no_longer_where_more_is_pending(clock: str) -> None:
    """What the admin endpoint shows must not hold up delivery: 100,000 feedbacks may be pending."""
    slow = {"type": "latency", "latency": "1h"} if clock == "wall" else {"type": "rounds", "rounds": 2000}

    async def test() -> None:
        registry, plan = CollectorRegistry(), scenario(clock, slow, rounds=2000)
        journal = ToldJournal()
        hold = make_or_restore(plan, journal)
        account = Account(journal.timeline, None)
        control = Control(hold, journal, BrokerMetrics(registry), registry, account)
        work = []
        for s in range(1, 1001):
            hold.submit(0, s, b"x", 1.0, float(s))
            if s in {10, 1000}:
                shown: list[LinkState] = []
                work.append(steps(lambda: shown.append(control.link(0))))  # noqa: B023 - called at once
                assert (shown[0].pending, shown[0].next_due is None) == (s, False)
        assert work[1] <= work[0]

    asyncio.run(test())
