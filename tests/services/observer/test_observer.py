"""The observer over real streams: scores, summary, certificate, order, early stop, an observer that dies."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import playback
import psutil
import pytest
from threadpoolctl import threadpool_limits
from waiting import eventually

from edgefw import best
from edgefw.delays.book import unused
from edgefw.experiments import runner
from edgefw.scenario.setup import Setup, first_rounds, resolve
from edgefw.services.observer import comparing
from edgefw.services.observer import service as observer
from edgefw.services.observer.scoring import consensus_distance
from edgefw.simulator import in_lockstep
from edgefw.transport.observer_client import ObserverClient
from edgefw.verification.arrivals import NO_ACCOUNT
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from playback import Played

    from edgefw.core.messages import Score
    from edgefw.records import RunFolder
    from edgefw.services.config import Place


def summary_of(folder: RunFolder) -> Any:
    return json.loads((folder.path / "summary.json").read_text())


def observe_run(folder: RunFolder, setup: Setup, rounds: Sequence[Sequence[Played]]) -> list[list[Any]]:
    async def run() -> list[list[Any]]:
        async with playback.observing(folder) as observer:
            answers = await playback.report_network(observer.place.address, setup, rounds)
            await observer.ended()
            return answers

    return asyncio.run(run())


def test_a_run_is_scored_summed_up_and_found_identical_by_verify(tmp_path: Path) -> None:
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    rounds = playback.play_all(setup)
    answers = observe_run(folder, setup, rounds)

    losses = np.array([played.global_loss for played in in_lockstep(setup)])
    assert [[answer.global_loss for answer in one] for one in answers] == losses.T.tolist()
    for i, one in enumerate(answers):
        assert [answer.round for answer in one] == list(range(1, setup.rounds + 1))
        assert one[-1].cumulative_loss == pytest.approx(losses[:, i].sum(), abs=1e-9)

    outcome = runner.run(setup)
    expected = vars(runner.summarise(setup, outcome, runner.best_point(setup, outcome).comparator))
    found = summary_of(folder)
    assert found["mode"] == "up"
    for key in ("total_loss", "network_regret", "comparator_loss", "comparator_gap", "total_delay"):
        assert found[key] == pytest.approx(expected[key], abs=1e-6), key
    for key in ("name", "digest", "algorithm", "seed", "data", "agents", "rounds", "rate", "rate_reason"):
        assert found[key] == expected[key], key
    meta = folder.meta()
    assert (float(meta["rate"]), meta["rate_reason"]) == (setup.zeta, setup.rate.reason)
    assert found["unused"] == unused(setup.delays).sum()
    for mine, agent in zip(found["per_agent"], expected["per_agent"], strict=True):
        assert mine == pytest.approx(vars(agent), abs=1e-6)
    assert found["messages"] == expected["messages"]
    assert found["bytes"] == found["messages"] * setup.frame_bytes
    assert found["wire_bytes"] == 100 * setup.rounds * setup.n
    assert found["comparator_gap"] <= 0.01 * found["network_regret"]

    verdict = verify(read(folder))
    assert (verdict.refusal, verdict.unchecked) == (None, (NO_ACCOUNT,))  # there was no broker to give one
    assert verdict.identical == verdict.plays == setup.rounds * setup.n


def test_reports_may_come_in_any_order_among_agents_and_again(tmp_path: Path) -> None:
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    rounds, run_id = playback.play_all(setup), playback.run_id(setup)

    async def run() -> list[Any]:
        async with playback.observing(folder, stay=True) as observer:
            address = observer.place.address
            async with grpc.aio.insecure_channel(address) as channel:
                ahead = await playback.Reporter(channel, 3, run_id).open()
                await ahead.report(*(playback.play_report(played[3]) for played in rounds))
                others = (playback.report_all(address, run_id, i, rounds) for i in (2, 0, 1))
                await asyncio.gather(*others)
                first = await ahead.answers(len(rounds))
                again = await playback.report_all(address, run_id, 3, rounds)
            assert [a.global_loss for a in first] == [a.global_loss for a in again]
            return again

    again = asyncio.run(run())
    assert [row.global_loss for row in folder.rows() if row.agent == 3] == [a.global_loss for a in again]
    assert len(folder.rows()) == setup.rounds * setup.n


def test_a_certificate_is_told_to_agents_that_stay_and_the_metrics_follow(tmp_path: Path) -> None:
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    rounds, run_id = playback.play_all(setup), playback.run_id(setup)

    async def run() -> Any:
        async with (
            playback.observing(folder, stay=True) as observer,
            grpc.aio.insecure_channel(observer.place.address) as channel,
        ):
            before = await playback.metrics_of(observer.place)
            reporters = [await playback.Reporter(channel, i, run_id).open() for i in range(setup.n)]
            for played in rounds:
                for i, reporter in enumerate(reporters):
                    await reporter.report(playback.play_report(played[i]))
            answers = [(await reporter.answers(len(rounds) + 1))[-1] for reporter in reporters]
            return before, answers, await playback.metrics_of(observer.place)

    before, answers, metrics = asyncio.run(run())
    assert before["edgefw_network_round"] == 0
    assert np.isnan(before["edgefw_network_regret"]) or before["edgefw_network_regret"] <= 0
    found, points = summary_of(folder), [played.play.point for played in rounds[-1]]
    assert metrics["edgefw_network_round"] == setup.rounds
    assert metrics["edgefw_network_total_loss"] == pytest.approx(found["total_loss"], abs=1e-9)
    assert metrics["edgefw_network_loss"] == max(a.global_loss for a in answers)
    assert metrics["edgefw_network_regret"] == pytest.approx(found["network_regret"], abs=1e-4)
    assert metrics["edgefw_network_comparator_gap"] == found["comparator_gap"]
    assert metrics["edgefw_network_consensus_distance"] == consensus_distance(points) > 0
    assert metrics["edgefw_network_infeasible_plays_total"] == 0
    for answer, agent in zip(answers, summary_of(folder)["per_agent"], strict=True):
        assert answer.round == setup.rounds
        assert answer.regret == pytest.approx(agent["regret"], abs=1e-4)
        assert answer.gap == summary_of(folder)["comparator_gap"]


def test_before_the_end_the_regret_is_at_least_what_is_told_and_no_gap_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, observer.__name__)
    setup, half = resolve(playback.scenario(algorithm={"horizon": 40})), 20
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    rounds = playback.play_all(setup)

    def is_tight() -> bool:
        """Whether the last certificate on the way has come: what is told does not change of itself then."""
        told: list[Any] = [record.args for record in caplog.records if record.msg.startswith("fixed point")]
        return any(gap <= comparing.TARGETS[-1] * value for _, value, gap in told)

    async def run() -> tuple[dict[str, float], list[Any], list[Any]]:
        async with playback.observing(folder, stay=True) as running:
            await eventually(is_tight, "the last certificate on the way has come")
            address = running.place.address
            first = await playback.report_network(address, setup, rounds[:half])
            metrics = await playback.metrics_of(running.place)
            rest = await playback.report_network(address, setup, rounds[half:])
            return metrics, [one[-1] for one in first], [one[-1] for one in rest]

    metrics, middle, end = asyncio.run(run())
    assert (metrics["edgefw_network_round"], metrics["edgefw_network_comparator_rounds"]) == (
        half,
        setup.rounds,
    )
    assert metrics["edgefw_network_regret"] == max(answer.regret for answer in middle)
    for answers, played, told in ((middle, half, False), (end, setup.rounds, True)):
        with threadpool_limits(1):
            best_point = best.find(first_rounds(setup, played), lambda c: c.gap <= 0.1).comparator
        for answer in answers:
            least, most = (answer.cumulative_loss - best_point.value + gap for gap in (0.0, best_point.gap))
            assert answer.regret <= most + 1e-4
            assert answer.HasField("gap") == told
            assert not told or least <= answer.regret + answer.gap + 1e-4


def test_a_run_that_is_stopped_is_scored_against_the_best_point_of_what_was_played(tmp_path: Path) -> None:
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    rounds, run_id = playback.play_all(setup)[:7], playback.run_id(setup)

    async def run() -> None:
        async with playback.observing(folder) as observer:
            address = observer.place.address
            async with grpc.aio.insecure_channel(address) as channel:
                ahead = await playback.Reporter(channel, 0, run_id).open()
                await ahead.report(*(playback.play_report(played[0]) for played in rounds))
                others = (playback.report_all(address, run_id, i, rounds[:5]) for i in (1, 2, 3))
                await asyncio.gather(*others)
                observer.stop.set()
                await observer.ended()

    asyncio.run(run())
    found, short = summary_of(folder), first_rounds(setup, 5)
    outcome = runner.run(short)
    expected = runner.summarise(short, outcome, runner.best_point(short, outcome).comparator)
    assert found["rounds"] == 5
    assert found["total_loss"] == pytest.approx(expected.total_loss, abs=1e-6)
    assert found["total_delay"] == expected.total_delay
    assert expected.comparator_loss is not None
    assert expected.comparator_gap is not None
    assert found["comparator_loss"] - found["comparator_gap"] <= expected.comparator_loss + 1e-9
    assert expected.comparator_loss - expected.comparator_gap <= found["comparator_loss"] + 1e-9
    verdict = verify(read(folder))
    assert (verdict.identical, verdict.plays, verdict.mismatch) == (20, 20, None)


def test_an_observer_stopped_before_the_first_round_still_writes_a_summary(tmp_path: Path) -> None:
    folder = playback.new_folder(tmp_path / "run", playback.scenario())

    async def run() -> None:
        async with playback.observing(folder):
            pass

    asyncio.run(run())
    found = summary_of(folder)
    assert (found["rounds"], found["total_loss"], found["network_regret"]) == (0, 0.0, None)


def start(folder: RunFolder, place: Any) -> subprocess.Popen[bytes]:
    words = ["--scenario", folder.scenario_path, "--out", folder.path, "--listen", place.address]
    command = ["observer", *map(str, words), "--metrics-port", str(place.metrics_port)]
    return subprocess.Popen([sys.executable, "-m", "edgefw", *command])


@pytest.fixture
def place() -> Iterator[Place]:
    with playback.kept_place() as kept:
        yield kept


def test_an_observer_that_was_killed_leaves_its_rows_and_another_goes_on(
    tmp_path: Path, place: Place
) -> None:
    setup = resolve(playback.scenario(algorithm={"horizon": 60}))  # over 50: one round is kept whole
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    rounds = playback.play_all(setup)
    first = start(folder, place)

    async def report_until_killed() -> None:
        await playback.listening(place)
        await playback.report_network(place.address, setup, rounds[:55])

    try:
        asyncio.run(report_until_killed())
        helpers = psutil.Process(first.pid).children()
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait(playback.DEADLINE)
    assert len(helpers) == 2  # one looks for the comparator, one would draw the page's figures
    assert not psutil.wait_procs(helpers, playback.DEADLINE)[1]  # they do not outlive their observer
    assert len(folder.rows()) == 55 * setup.n  # every answer that came is on record
    verdict = verify(read(folder))
    assert verdict.identical == verdict.plays == 55 * setup.n
    assert [row.round for row in folder.rows() if row.point is not None] == [50] * setup.n

    second = start(folder, place)
    scores: list[list[Score]] = [[] for _ in range(setup.n)]

    async def report_the_rest() -> None:
        clients = [
            ObserverClient(place.address, i, playback.run_id(setup), scores[i].append) for i in range(setup.n)
        ]
        for i, client in enumerate(clients):
            for played in rounds[54:]:  # one of them has been recorded already
                mine = played[i]
                client.report(
                    mine.play.t,
                    mine.play.point,
                    local_loss=mine.local_loss,
                    arrivals=mine.arrivals,
                    outstanding=mine.outstanding,
                    messages=mine.messages,
                    sent_bytes=100 * mine.play.t,
                )
        running = [asyncio.create_task(client.run()) for client in clients]
        async with asyncio.timeout(playback.DEADLINE):
            await asyncio.gather(*(client.settled() for client in clients))
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    try:
        asyncio.run(report_the_rest())
        assert second.wait(playback.DEADLINE) == 0
    finally:
        second.kill()
        second.wait(playback.DEADLINE)
    assert [score.round for score in scores[0]] == list(range(55, 61))
    found = summary_of(folder)
    losses = np.array([played.global_loss for played in in_lockstep(setup)])
    assert found["total_loss"] == pytest.approx(losses.max(axis=1).sum(), abs=1e-6)
    assert found["messages"] == sum(mine.messages for mine in rounds[-1])
    assert verify(read(folder)).identical == 60 * setup.n
