"""Agents at work, with a real broker and real streams: what they learn from, show, report and survive."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from agents_in_process import ROUNDS, agents, emulate, hold_of, make_setup
from told_journal import ToldJournal
from waiting import eventually

from edgefw.core.account import UNANSWERED
from edgefw.delays import edits
from edgefw.delays.body import read_fault
from edgefw.delays.hold import RoundsHold, Taken, WallHold
from edgefw.errors import RunOverError
from edgefw.transport.codec import decode_feedback
from edgefw.transport.observer_client import ObserverClient

if TYPE_CHECKING:
    from agents_in_process import Agents

    from edgefw.delays.entry import Moment
    from edgefw.delays.plan import Plan
    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.setup import Setup

BAD = 3  # the round whose feedback a garbling broker spoils


class GarblesByRounds(RoundsHold):
    def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
        return super().submit(agent, round_, b"?" if round_ == BAD else payload, norm, now)


class GarblesByTime(WallHold):
    def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
        return super().submit(agent, round_, b"?" if round_ == BAD else payload, norm, now)


def lone(**fields: Any) -> Setup:
    """Return a network of one agent."""
    document = {"network": {"agents": 1}, "algorithm": algorithm("delmfw"), "delays": []}
    return make_setup(**(document | fields))


def algorithm(name: str) -> dict[str, Any]:
    return {"name": name, "horizon": 9, "stop_after": ROUNDS, "rate": 5.0}


def by_time(**fields: Any) -> dict[str, Any]:
    return {"clock": "wall", "pace": "250ms", **fields}


def test_each_play_is_reported_with_what_it_could_use_and_what_is_outstanding() -> None:
    recorder = asyncio.run(emulate(lone(delays=[{"type": "rounds", "rounds": 3}])))
    rounds = range(1, ROUNDS + 1)
    assert sorted(recorder.plays) == [(t, 0) for t in rounds]
    assert [recorder.arrivals[t, 0] for t in rounds] == [[], [], [], [1], [2], [3]]
    assert [recorder.outstanding[t, 0] for t in rounds] == [1, 2, 3, 3, 3, 3]


@pytest.mark.parametrize("clock", [{}, by_time()], ids=["rounds", "wall"])
def test_feedback_that_the_broker_drops_is_not_outstanding_and_is_counted(clock: dict[str, Any]) -> None:
    async def test() -> None:
        async with agents(lone(delays=[{"type": "drop"}], **clock)) as running:
            await running.ended()
            assert running.sample(0, "feedback_outstanding") == 0
            assert running.sample(0, "oldest_feedback_age_rounds") == 0
            assert running.sample(0, "feedback_dropped_total") == ROUNDS
            assert running.sample(0, "total_delay_rounds") == sum(range(1, ROUNDS + 1))  # as if held for ever
            assert set(map(tuple, running.recorder.arrivals.values())) == {()}

    asyncio.run(test())


async def drop_what_is_pending(running: Agents) -> None:
    def edit(plan: Plan, moment: Moment) -> Plan:
        thief = read_fault({"type": "drop", "apply_to": "pending"}, plan.rules).fault
        return edits.add(plan, moment, None, thief, "thief")

    await running.broker.control.apply("add", edit)


def test_feedback_that_is_dropped_while_it_is_held_is_not_outstanding_any_more() -> None:
    async def test() -> None:
        late = {"type": "latency", "latency": "1h"}
        async with agents(lone(**by_time(delays=[late])), stay=True) as running:
            await eventually(lambda: played(running) and running.sample(0, "feedback_outstanding") == ROUNDS)
            await drop_what_is_pending(running)
            await eventually(lambda: running.sample(0, "feedback_outstanding") == 0)
            assert running.sample(0, "oldest_feedback_age_rounds") == 0
            assert running.sample(0, "feedback_dropped_total") == ROUNDS

    asyncio.run(test())


def test_by_rounds_an_agent_hears_of_a_drop_with_the_next_round() -> None:
    async def test() -> None:
        setup, journal = lone(delays=[{"type": "rounds", "rounds": 9}]), ToldJournal()
        journal.prompt = False
        async with agents(setup, journal=journal) as running:
            for s in (1, 2, 3):
                await eventually(lambda: running.broker.hold.links[0].count == s)  # noqa: B023 - awaited here
                journal.commit()
            await eventually(lambda: running.broker.hold.links[0].count == 4)
            journal.prompt = True
            await drop_what_is_pending(running)
            await running.ended()
            assert [running.recorder.outstanding[t, 0] for t in (1, 2, 3, 4, ROUNDS)] == [1, 2, 3, 4, 0]
            assert running.sample(0, "feedback_outstanding") == 0
            assert running.sample(0, "feedback_dropped_total") == ROUNDS

    asyncio.run(test())


@pytest.mark.parametrize(
    ("clock", "kind"), [({}, GarblesByRounds), (by_time(), GarblesByTime)], ids=["rounds", "wall"]
)
def test_feedback_that_cannot_be_decoded_is_lost_counted_and_the_agent_goes_on(
    clock: dict[str, Any], kind: type[RoundsHold | WallHold]
) -> None:
    async def test() -> None:
        setup = lone(**clock)
        async with agents(setup, hold_of(setup, kind), stay=True) as running:
            await eventually(lambda: running.sample(0, "feedback_outstanding") == 0 and played(running))
            assert running.sample(0, "feedback_rejected_total", reason="payload") == 1
            assert running.sample(0, "feedback_dropped_total") == 0
            used = [s for rounds in running.recorder.arrivals.values() for s in rounds]
            assert BAD not in used
            if setup.scenario.clock == "rounds":
                assert sorted(used) == [1, 2, 4, 5]
            else:  # it was acknowledged: the broker does not send it again and again
                await eventually(lambda: running.broker.sample("delivered_total", agent="0") == ROUNDS)

    asyncio.run(test())


def test_the_last_play_is_reported_when_the_broker_has_all_feedback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is on record, nobody would submit again what the broker could not keep."""

    async def test() -> None:
        journal, reported, report = ToldJournal(), dict[int, int](), ObserverClient.report

        def noting(client: ObserverClient, t: int, point: Real, **words: Any) -> None:
            reported[t] = len(journal.rows())
            report(client, t, point, **words)

        monkeypatch.setattr(ObserverClient, "report", noting)
        journal.prompt = False
        async with agents(lone(**by_time()), journal=journal) as running:
            await eventually(lambda: running.broker.hold.links[0].count == UNANSWERED)
            journal.commit()
            await eventually(lambda: running.broker.sample("delivered_total", agent="0") == ROUNDS)
            assert running.sample(0, "feedback_outstanding") == 0
            journal.commit()
            await running.ended()
        assert reported[ROUNDS - 1] < ROUNDS  # others do not wait
        assert reported[ROUNDS] == ROUNDS
        assert running.recorder.outstanding[ROUNDS, 0] >= 1  # as it was when the round had been played

    asyncio.run(test())


def played(running: Any) -> bool:
    return len(running.recorder.plays) == ROUNDS * len(running.services)


def test_in_a_blackout_the_oldest_missing_feedback_grows_older_round_by_round() -> None:
    async def test() -> None:
        late = {"type": "latency", "latency": "1h"}
        async with agents(lone(**by_time(delays=[late])), stay=True) as running:
            await eventually(lambda: running.sample(0, "oldest_feedback_age_rounds") == ROUNDS)
            assert running.sample(0, "feedback_outstanding") == ROUNDS
            assert running.sample(0, "feedback_delay_rounds") == 0  # none has come
            assert running.sample(0, "feedback_dropped_total") == 0

    asyncio.run(test())


def test_the_delay_of_what_came_is_that_of_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds 1 to 3 come together, in round 4."""

    async def test() -> None:
        setup = lone(delays=[{"type": "blackout", "at": 1, "duration": 3}])
        shown: list[float] = []
        async with agents(setup) as running:
            monkeypatch.setattr(running.services[0]._metrics.delay_rounds, "set", shown.append)
            await running.ended()
            assert running.recorder.arrivals[5, 0] == [1, 2, 3, 4]
            assert shown[0] == 4
            assert shown[1:] == [1] * len(shown[1:])

    asyncio.run(test())


@pytest.mark.parametrize("name", ["delmfw", "bold-mfw", "dgd"])
def test_the_norm_that_the_broker_ranks_by_is_that_of_the_gradient_at_the_play(name: str) -> None:
    async def test() -> None:
        setup = lone(algorithm=algorithm(name))
        journal = ToldJournal()
        async with agents(setup, journal=journal) as running:
            await running.ended()
        journal.commit()
        rows = {row.round: row for row in journal.rows()}
        assert len(rows) == ROUNDS
        for t in range(1, ROUNDS + 1):
            features, labels = setup.batch(0, t)
            point = running.recorder.plays[t, 0]
            at_play = setup.loss.residual(point @ features.T, labels) @ features
            assert rows[t].norm == pytest.approx(float(np.linalg.norm(at_play)), rel=1e-5)

    asyncio.run(test())


def test_what_is_submitted_are_the_gradients_at_the_queries_alone() -> None:
    async def test() -> None:
        setup = lone()
        journal = ToldJournal()
        async with agents(setup, journal=journal) as running:
            await running.ended()
        spec, b = setup.agent_spec(0), setup.scenario.problem.batch
        features, residuals = (b, spec.shape[1]), (spec.K, spec.shape[0], b)
        payloads = {row.round: row.payload for row in journal.rows() if row.payload is not None}
        assert ROUNDS in payloads
        for t, payload in payloads.items():
            decode_feedback(payload, round_=t, features=features, residuals=residuals)

    asyncio.run(test())


def test_agents_that_are_told_to_stop_end_in_the_middle_of_a_round_and_leave_nothing_behind() -> None:
    async def test() -> None:
        async with agents(make_setup()) as running:
            gone, *others = running.tasks
            gone.cancel()  # so that its neighbours wait for it
            await eventually(lambda: running.sample(1, "peer_up", peer="2") == 1)
            running.stop.set()
            await asyncio.gather(*others)
            await asyncio.wait({gone})
            left = [repr(task) for task in asyncio.all_tasks()]
            assert not [
                task for task in left if "edgefw/services/agent" in task or "edgefw/transport" in task
            ]

    asyncio.run(test())


def test_an_agent_that_stays_ends_when_it_is_told_to() -> None:
    async def test() -> None:
        async with agents(lone(), stay=True) as running:
            await eventually(lambda: played(running))
            assert not running.tasks[0].done()
            running.stop.set()
            await running.ended()

    asyncio.run(test())


def test_an_observer_of_another_run_ends_the_agents_life_in_this_one() -> None:
    async def test() -> None:
        async with agents(lone()) as running:
            running.recorder.over = True
            with pytest.raises(RunOverError, match="the observer refuses reports: this is another run"):
                await running.ended()

    asyncio.run(test())


def test_a_network_plays_all_rounds_and_counts_its_frames() -> None:
    async def test() -> None:
        setup = make_setup()
        async with agents(setup) as running:
            await running.ended()
            for i in range(setup.n):
                assert running.sample(i, "round") == ROUNDS
                counted = [
                    running.sample(i, "peer_frames_total", peer=str(j), direction=way)
                    for j in setup.graph.neighbours(i)
                    for way in ("sent", "received")
                ]
                assert counted == [ROUNDS * setup.agent_spec(i).exchanges] * 4

    asyncio.run(test())
