from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from edgefw.errors import WireError
from edgefw.problem.delay import NEVER, Adversary, ArrivalBook, Blackout, DelayPlan, Drop, Rounds
from edgefw.services.broker.hold import Hold, RoundsHold, WallHold

AGENTS, ROUNDS = 3, 8


@dataclass
class Table:
    """Due times as a dictionary: seconds added for (agent, round), None where it never comes."""

    added: dict[tuple[int, int], float | None]

    def due(self, agent: int, s: int, submitted: float, start: float) -> float | None:
        assert start <= submitted
        added = self.added.get((agent, s), 0.0)
        return None if added is None else submitted + added


def wall(added: dict[tuple[int, int], float | None] | None = None) -> WallHold:
    return WallHold(AGENTS, ROUNDS, Table(added or {}))


def rounds(*faults: Rounds | Drop | Blackout | Adversary, agents: int = 1, T: int = ROUNDS) -> RoundsHold:
    return RoundsHold(agents, T, DelayPlan(faults, agents=agents, seed=3))


def payload(agent: int, s: int) -> bytes:
    return bytes([agent, s]) * 3


def put(hold: Hold, s: int, now: float = 0.0, agent: int = 0) -> None:
    hold.submit(agent, s, payload(agent, s), 1.0, now)


class WallClock(RuleBasedStateMachine):
    """Agents submit, streams break, agents acknowledge: nothing comes early, twice after that, or never."""

    @initialize(
        added=st.dictionaries(
            st.tuples(st.integers(0, AGENTS - 1), st.integers(1, ROUNDS)),
            st.one_of(st.none(), st.integers(0, 9).map(float)),
        )
    )
    def begin(self, added: dict[tuple[int, int], float | None]) -> None:
        self.added, self.hold, self.now = added, wall(added), 0.0
        self.due: dict[tuple[int, int], float] = {}  # submitted and not yet released
        self.submitted: set[tuple[int, int]] = set()
        self.open: list[tuple[int, int]] = []  # released and not yet acknowledged, in that order
        self.done: set[tuple[int, int]] = set()

    @rule(agent=st.integers(0, AGENTS - 1), s=st.integers(1, ROUNDS))
    def submit(self, agent: int, s: int) -> None:
        key, added = (agent, s), self.added.get((agent, s), 0.0)
        taken = self.hold.submit(agent, s, payload(agent, s), 1.0, self.now)
        assert (taken.dropped, taken.requested_delay) == (added is None, added or 0.0)
        assert taken.new == (key not in self.submitted)
        if taken.new and added is not None:
            self.due[key] = self.now + added
        self.submitted.add(key)

    @rule(seconds=st.integers(0, 4))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        expected = sorted((due, key) for key, due in self.due.items() if due <= self.now)
        released = self.hold.release(self.now)
        assert [(held.due, (held.agent, held.round)) for held in released] == expected
        assert all(held.payload == payload(held.agent, held.round) for held in released)
        for _, key in expected:
            del self.due[key]
            self.open.append(key)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        agent = data.draw(st.sampled_from(self.open))[0]
        mine = [s for i, s in self.open if i == agent]
        some = data.draw(st.lists(st.sampled_from(mine), min_size=1))
        before = [s for i, s in self.done if i == agent]
        assert self.hold.acknowledge(agent, [*some, *before]) == len(set(some))
        self.done |= {(agent, s) for s in some}
        self.open = [key for key in self.open if key not in self.done]

    @rule(agent=st.integers(0, AGENTS - 1))
    def subscribe_again(self, agent: int) -> None:
        again = [held.round for held in self.hold.unacknowledged(agent)]
        assert again == [s for i, s in self.open if i == agent]

    @invariant()
    def counted(self) -> None:
        assert self.hold.next_due() == min(self.due.values(), default=None)
        for agent, link in enumerate(self.hold.links):
            assert link.pending == sum(i == agent for i, _ in self.due)
            assert len(link.released) == sum(i == agent for i, _ in self.open)


TestWallClock = WallClock.TestCase
TestWallClock.settings = settings(deadline=None, max_examples=80, stateful_step_count=30)


FAULTS = st.lists(
    st.one_of(
        st.builds(Rounds, st.integers(1, 6), jitter=st.integers(0, 3)),
        st.builds(Drop, probability=st.sampled_from([0.3, 1.0])),
        st.builds(Blackout, window=st.integers(1, 5).map(lambda a: (a, a + 3))),
        st.builds(Adversary, st.sampled_from(["burst", "newest_first"]), st.integers(1, 4)),
    ),
    max_size=3,
)


@settings(deadline=None, max_examples=100)
@given(FAULTS, st.lists(st.integers(1, 3), min_size=ROUNDS, max_size=ROUNDS))
def test_collecting_gives_the_simulators_arrivals_however_often_a_round_is_asked_for(
    faults: list[Rounds | Drop | Blackout | Adversary], times: list[int]
) -> None:
    plan = DelayPlan(tuple(faults), agents=2, seed=3)
    table, hold = plan.table(ROUNDS), RoundsHold(2, ROUNDS, plan)
    book = ArrivalBook(table)
    for t in range(1, ROUNDS + 1):
        for agent in range(2):
            for _ in range(times[t - 1]):  # an answer that was lost on the way is asked for again
                taken = hold.submit(agent, t, payload(agent, t), 1.0, float(t))
                assert taken.dropped == (table[agent, t - 1] == NEVER)
                assert taken.dropped or taken.requested_delay == table[agent, t - 1]
                came = hold.collect(agent, t).deliveries
                assert tuple(sorted(held.round for held in came)) == book.at(t).get(agent, ())
                assert all(held.payload == payload(agent, held.round) for held in came)


def test_a_later_round_acknowledges_the_one_before() -> None:
    hold = rounds(Rounds(2))
    for s in (1, 2, 3):
        put(hold, s)
    assert [held.round for held in hold.collect(0, 2).deliveries] == [1]
    assert hold.collect(0, 2).acknowledged == 0
    arrived = hold.collect(0, 3)
    assert ([held.round for held in arrived.deliveries], arrived.acknowledged) == ([2], 1)
    assert (hold.links[0].pending, len(hold.links[0].released)) == (1, 1)


def test_a_skipped_round_loses_nothing() -> None:
    hold = rounds()
    for s in (1, 2, 3):
        put(hold, s)
    assert [held.round for held in hold.collect(0, 3).deliveries] == [1, 2, 3]


def test_a_round_that_is_over_or_not_submitted_cannot_be_collected() -> None:
    hold = rounds()
    put(hold, 1)
    put(hold, 3)
    with pytest.raises(WireError, match="agent 0 asks for round 3 and has not submitted round 2"):
        hold.collect(0, 3)
    with pytest.raises(WireError, match="agent 0 asks for round 2 and has not submitted round 2"):
        hold.collect(0, 2)
    put(hold, 2)
    hold.collect(0, 3)
    with pytest.raises(WireError, match="asks for round 1 and has asked for round 3") as refusal:
        hold.collect(0, 1)
    assert refusal.value.reason == "order"


@pytest.mark.parametrize("hold", [wall({(0, 1): 5.0}), rounds(Rounds(3))], ids=["wall", "rounds"])
def test_a_repeated_submission_is_acknowledged_and_kept_once(hold: Hold) -> None:
    first = hold.submit(0, 1, b"abc", 1.0, 0.0)
    again = hold.submit(0, 1, b"abc", 1.0, 4.0)
    assert again == first._replace(new=False)
    assert len(hold.links[0].held) == hold.links[0].count == 1
    with pytest.raises(WireError, match="agent 0 submitted round 1 before, with another payload") as refusal:
        hold.submit(0, 1, b"abd", 1.0, 4.0)
    assert refusal.value.reason == "conflict"


def test_a_submission_is_remembered_after_its_feedback_has_gone() -> None:
    hold = wall({(0, 2): 5.0})
    put(hold, 2)
    assert hold.release(5.0)[0].round == 2
    assert hold.acknowledge(0, [2]) == 1
    taken = hold.submit(0, 2, payload(0, 2), 1.0, 9.0)
    assert (taken.requested_delay, taken.new) == (5.0, False)
    assert (hold.links[0].held, hold.release(99.0), hold.next_due()) == ({}, [], None)


def test_what_is_dropped_is_not_kept() -> None:
    hold = wall({(1, 4): None})
    for again in (False, True):
        assert hold.submit(1, 4, b"x", 1.0, 0.0) == (0.0, True, not again)
    assert (hold.links[1].held, hold.next_due(), hold.release(math.inf)) == ({}, None, [])


def test_only_what_was_delivered_can_be_acknowledged_and_all_of_it_or_nothing() -> None:
    hold = wall({(0, 2): 5.0, (0, 3): None})
    for s in (1, 2, 3):
        put(hold, s)
    hold.release(0.0)
    for wrong in (2, 3, 4, 99):  # pending, dropped, not submitted, no such round
        with pytest.raises(WireError, match=f"acknowledges round {wrong}, which was never delivered"):
            hold.acknowledge(0, [1, wrong])
    assert [held.round for held in hold.unacknowledged(0)] == [1]


def test_the_run_starts_with_its_first_submission() -> None:
    hold = wall()
    assert hold.start is None
    put(hold, 1, now=17.0)
    put(hold, 2, now=18.0)
    assert hold.start == 17.0


def test_age_and_completeness() -> None:
    hold = wall()
    assert hold.links[0].oldest is None
    for s in range(1, ROUNDS + 1):
        for agent in range(AGENTS):
            assert not hold.complete
            put(hold, s, now=10.0 + s, agent=agent)
    assert hold.complete
    hold.release(11.0)
    hold.acknowledge(0, [1])
    assert [link.oldest for link in hold.links] == [12.0, 11.0, 11.0]
