"""A broker that was started again, under the rounds clock: every round brings what it would have brought."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback_broker import broker, run, scenario
from told_journal import ToldJournal

from edgefw.delays import edits
from edgefw.delays.book import ArrivalBook
from edgefw.delays.hold import RoundsHold
from edgefw.scenario.plan import delay_plan
from edgefw.services.broker.journal import Accepted
from edgefw.services.broker.restore import make_or_restore

if TYPE_CHECKING:
    from pathlib import Path

    from told_clock import Clock

    from edgefw.scenario.model import Scenario

AGENTS, T = 2, 8
FAULTS: list[dict[str, Any]] = [
    {"type": "rounds", "rounds": 3},
    {"type": "rounds", "rounds": 4, "jitter": 3, "agents": [0]},
    {"type": "rounds", "rounds": 3, "apply_to": "pending", "at": 3, "duration": 3},
    {"type": "blackout", "at": 3, "duration": 3},
    {"type": "drop", "probability": 0.4},
    {"type": "adversary", "strategy": "burst", "period": 3},
    {"type": "adversary", "strategy": "newest_first", "period": 3},
    {"type": "adversary", "strategy": "until_end", "agents": [1]},
]


class ByHand:
    """A broker's hold and its journal, driven as its calls drive them."""

    def __init__(self, plan: Scenario) -> None:
        self.plan = plan
        self.journal = ToldJournal()
        self.hold = self._hold()

    def _hold(self) -> RoundsHold:
        hold = make_or_restore(self.plan, self.journal)
        assert isinstance(hold, RoundsHold)
        return hold

    def submit(self, agent: int, s: int) -> None:
        taken = self.hold.submit(agent, s, payload(agent, s), 1.0, float(s))
        if taken.new:
            real = self.journal.timeline.real(float(s))
            record = (agent, s, payload(agent, s), 1.0, taken.rank, real, self.hold.plan.version)
            self.journal.keep(Accepted(*record, taken.dropped))

    def collect(self, agent: int, t: int) -> list[int]:
        arrived = self.hold.collect(agent, t)
        self.journal.note_collected(agent, t)
        self.journal.note_done(agent, arrived.acknowledged)
        rounds = [held.round for held in arrived.deliveries]
        assert all(held.payload == payload(agent, held.round) for held in arrived.deliveries)
        self.journal.note_sent(agent, rounds)
        return sorted(rounds)

    def crash(self, *, noted: bool) -> None:
        if noted:
            self.journal.commit()
        self.journal = ToldJournal(self.journal.crashed())
        self.hold = self._hold()


def payload(agent: int, s: int) -> bytes:
    return b"%d of %d" % (s, agent)


class Check:
    """What an agent has got so far, and what it gets must be."""

    def __init__(self, book: ArrivalBook, *, exact: bool) -> None:
        self._book, self._exact = book, exact
        self._seen = defaultdict[int, set[int]](set)

    def got(self, agent: int, t: int, came: list[int]) -> None:
        expected = set(self._book.at(t).get(agent, ()))
        assert expected <= set(came) <= expected | self._seen[agent]  # what came before may come again
        assert not self._exact or came == sorted(expected)

    def over(self, t: int) -> None:
        for agent in range(AGENTS):
            self._seen[agent] |= set(self._book.at(t).get(agent, ()))


@settings(deadline=None, max_examples=120)
@given(
    st.lists(st.sampled_from(FAULTS), max_size=3, unique_by=str),
    st.lists(st.sampled_from([None, True, False]), min_size=3 * T, max_size=3 * T),
)
def test_every_round_brings_the_simulators_arrivals_whenever_the_broker_crashes(
    faults: list[dict[str, Any]], crashes: list[bool | None]
) -> None:
    plan = scenario("rounds", *faults, agents=AGENTS, rounds=T, seed=3)
    no_note_is_lost = False not in crashes
    check = Check(ArrivalBook(delay_plan(plan).table()), exact=no_note_is_lost)
    moments = iter(crashes)

    async def test() -> None:
        by_hand = ByHand(plan)

        def perhaps_crash() -> None:
            if (noted := next(moments)) is not None:
                by_hand.crash(noted=noted)

        for t in range(1, T + 1):
            for _ in range(2):  # every answer may be lost on the way
                for agent in range(AGENTS):
                    by_hand.submit(agent, t)
                perhaps_crash()
            for agent in range(AGENTS):
                check.got(agent, t, by_hand.collect(agent, t))
            perhaps_crash()
            for agent in range(AGENTS):
                check.got(agent, t, by_hand.collect(agent, t))
            check.over(t)

    asyncio.run(test())


def test_what_was_sent_is_sent_again_whatever_the_plan_has_become() -> None:
    plan = scenario("rounds", agents=1, rounds=T)

    async def test() -> None:
        journal = ToldJournal()
        async with broker(plan, journal=journal) as client:
            await client.submit(1)
            await client.submit(2)
            assert await client.collect(2) == [1, 2]
            await client.post({"type": "rounds", "rounds": 4, "apply_to": "pending", "at": 1})
            await client.submit(3)
            assert await client.collect(2) == [1, 2]
        async with broker(plan, journal=ToldJournal(journal.crashed())) as client:
            assert await client.collect(2) == [1, 2]
            for t in range(3, 8):
                await client.submit(t)
                assert await client.collect(t) == ([t - 3] if t >= 6 else [])

    run(test())


def test_an_answer_that_a_crash_has_cut_short_is_given_again() -> None:
    plan = scenario("rounds", {"type": "rounds", "trace": [3, 2, 1]}, agents=1, rounds=T)

    async def test() -> None:
        journal = ToldJournal()
        async with broker(plan, journal=journal) as client:
            for t in (1, 2, 3):
                await client.submit(t)
            assert await client.collect(3) == [1, 2, 3]
            journal.commit()
        async with broker(plan, journal=ToldJournal(journal.crashed())) as client:
            assert await client.collect(3) == [1, 2, 3]
            assert client.sample("redelivered_total", agent="0") == 3
            await client.submit(4)
            assert await client.collect(4) == []  # which acknowledges them
            assert client.sample("delivered_total", agent="0") == 3

    run(test())


def test_what_a_drop_takes_at_the_restart_is_gone_for_good(clock: Clock) -> None:
    late = {"type": "latency", "latency": "200ms"}
    drop = {"type": "drop", "apply_to": "pending", "at": "50ms", "name": "thief"}
    plan = scenario("wall", late, drop, agents=1, rounds=T)

    async def test() -> None:
        journal = ToldJournal()
        async with broker(plan, journal=journal) as client:
            await client.submit(1)
            left = journal.crashed()
        clock.advance(0.1)  # the drop begins while no broker is there
        again = ToldJournal(left)
        async with broker(plan, journal=again) as client:
            assert (client.hold.pending, client.hold.links[0].lost) == (0, 1)
            await client.control.apply("remove", lambda plan, _: edits.remove(plan, None, "thief"))
        async with broker(plan, journal=ToldJournal(again.crashed())) as client:
            assert client.hold.pending == 0
            assert not (await client.submit(1)).requested_delay  # it was taken, and is not taken again
            assert client.hold.pending == 0

    clock.run(test())


@pytest.mark.parametrize("by", ["wall", "rounds"])
def test_a_broker_that_was_stopped_goes_on_from_its_journal(tmp_path: Path, clock: Clock, by: str) -> None:
    late = {"type": "rounds", "rounds": 3} if by == "rounds" else {"type": "latency", "latency": "300ms"}
    plan = scenario(by, late, agents=2, rounds=T)

    async def test() -> None:
        async with broker(plan, folder=tmp_path) as client:
            for s in (1, 2):
                await client.submit(s)
                clock.advance(0.01)
            await client.submit(1, agent=1)
        async with broker(plan, folder=tmp_path) as client:
            assert [link.pending for link in client.hold.links] == [2, 1]
            assert (await client.submit(2)).requested_delay == pytest.approx(3 if by == "rounds" else 0.3)
            await client.submit(3)
            if by == "rounds":
                assert await client.collect(3) == [1]
            else:
                stream = await client.subscribe()
                clock.advance(0.301)
                got = [await stream.next() for _ in range(3)]
                assert [each.payload for each in got] == [b"feedback %d of 0" % s for s in (1, 2, 3)]

    clock.run(test())


def test_what_was_restored_does_not_stay_in_memory_beside_what_is_held() -> None:
    async def test() -> None:
        known = ToldJournal()
        known.keep(Accepted(0, 1, b"payload", 1.0, 0.0, 0, 1, dropped=False))
        journal = ToldJournal(known.crashed())
        hold = make_or_restore(scenario("rounds", agents=1), journal)
        assert hold.links[0].held[1].payload == b"payload"
        assert journal.restored is not None
        assert journal.restored.rows == []

    asyncio.run(test())
