from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgefw.errors import InputError
from edgefw.problem.delay import (
    Adversary,
    Blackout,
    Drop,
    Fault,
    Latency,
    Ramp,
    Rounds,
    Stream,
)

if TYPE_CHECKING:
    from collections.abc import Callable

STREAM = Stream(3, 1, 1)


def test_faults_are_values() -> None:
    fault = Rounds(501, agents=(3, 4))
    assert fault == Rounds(501, agents=(3, 4))
    assert hash(fault) == hash(dataclasses.replace(fault))
    assert dataclasses.replace(fault, rounds=2).amount.base == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        fault.rounds = 7  # type: ignore[misc]


def test_lists_from_a_file_become_tuples() -> None:
    fault = Latency(agents=[2, 0], window=[1, 5], trace=[0.5, 1.0])  # type: ignore[arg-type]
    assert fault.agents == (2, 0)
    assert fault.window == (1, 5)
    assert fault.trace == (0.5, 1.0)
    assert hash(fault)


def test_agents_of_a_fault() -> None:
    assert Drop().concerns(7)
    assert Drop(agents=(7,)).concerns(7)
    assert not Drop(agents=(7,)).concerns(6)
    assert not Drop(agents=()).concerns(0)


def test_a_window_is_half_open_and_may_have_no_end() -> None:
    def met(fault: Fault) -> list[int]:
        return (np.flatnonzero(fault.meets(STREAM, range(1, 8))) + 1).tolist()

    assert met(Drop()) == [1, 2, 3, 4, 5, 6, 7]
    assert met(Drop(window=(3, 5))) == [3, 4]
    assert met(Drop(window=(6, None))) == [6, 7]


def test_probability_is_the_share_of_messages_met() -> None:
    assert Drop(probability=0.3).meets(STREAM, range(1, 20_001)).mean() == pytest.approx(0.3, abs=0.015)
    assert not Drop(probability=0).meets(STREAM, range(1, 20_001)).any()
    met = Drop(probability=0.5, window=(101, 201)).meets(STREAM, range(1, 301))
    assert not met[:100].any()
    assert 20 < met[100:200].sum() < 80
    assert not met[200:].any()
    assert Blackout(window=(1, 2), probability=1).meets(STREAM, range(1, 2001)).all()


def test_latency_without_a_distribution_is_uniform_where_there_is_jitter() -> None:
    seconds = Latency(0.8, jitter=0.2).seconds(STREAM, range(1, 5001))
    assert 0.6 <= seconds.min() < 0.602
    assert 0.998 < seconds.max() <= 1.0
    assert set(Latency(0.8).seconds(STREAM, range(1, 99)).tolist()) == {0.8}


def test_rounds_count_from_one() -> None:
    assert Rounds(501).added(STREAM, range(1, 3)).tolist() == [500, 500]
    assert Rounds().added(STREAM, range(1, 3)).tolist() == [0, 0]
    assert Rounds(trace=(1, 4)).added(STREAM, range(1, 5)).tolist() == [0, 3, 0, 3]
    assert set((Rounds.between(2, 4).added(STREAM, range(1, 200)) + 1).tolist()) == {2, 3, 4}


def test_a_ramp_climbs_falls_and_stays() -> None:
    up = Ramp(1, 6, step=2, interval=3)
    assert up.added(range(1, 14)).tolist() == [0, 0, 0, 2, 2, 2, 4, 4, 4, 5, 5, 5, 5]
    down = Ramp(6, 1, step=2, interval=3)
    assert down.added(range(1, 14)).tolist() == [5, 5, 5, 3, 3, 3, 1, 1, 1, 0, 0, 0, 0]
    assert Ramp(4, 4, step=1, interval=1).added(range(1, 4)).tolist() == [3, 3, 3]
    huge = Ramp(1, 2**53, step=2**53, interval=1e-300).added(range(1, 3))
    assert huge.tolist() == [0, 2**53 - 1]


def test_a_ramps_time_runs_from_its_window() -> None:
    ramp = Ramp(2, 9, step=1, interval=1, window=(3, 6))
    assert ramp.added(range(1, 8)).tolist() == [1, 1, 1, 2, 3, 4, 5]
    assert ramp.meets(STREAM, range(1, 8)).tolist() == [False, False, True, True, True, False, False]


def test_a_ramp_in_seconds_climbs_with_time() -> None:
    ramp = Ramp(0, 1, step=0.5, interval=0.3, unit="seconds")
    assert ramp.seconds(range(1, 9), 0.1).tolist() == [0, 0, 0, 0.5, 0.5, 0.5, 1, 1]


def test_any_rounds_in_any_order_are_met_and_delayed_alike() -> None:
    rounds = np.array([700, 3, 90_000, 3, 4])
    some = Latency(1.0, jitter=0.5, distribution="normal", correlation=0.7, probability=0.6, window=(4, None))
    alone = [range(s, s + 1) for s in rounds.tolist()]
    assert some.meets(STREAM, rounds).tolist() == [bool(some.meets(STREAM, s)[0]) for s in alone]
    assert some.seconds(STREAM, rounds).tolist() == [float(some.seconds(STREAM, s)[0]) for s in alone]
    traced = Rounds(trace=(5, 2, 9))
    assert traced.added(STREAM, rounds).tolist() == [4, 8, 8, 8, 4]


def test_an_adversary_releases_by_the_clock_as_it_does_in_rounds() -> None:
    rounds = np.arange(1, 30)
    for strategy in ("burst", "newest_first"):
        counted = Adversary(strategy, 7).release(rounds, start=0, end=99)
        clock = Adversary(strategy, 1.75, "seconds").release(50 + rounds * 0.25, start=50.0, end=math.inf)
        assert ((clock - 50) / 0.25).tolist() == counted.tolist()


def test_an_adversary_by_the_clock_is_never_early() -> None:
    due = 1e5 + np.arange(1, 2000) * 0.1  # most of them multiples of the period but for rounding
    held = Adversary("burst", 0.1, "seconds").release(due, start=1e5, end=math.inf)
    assert (held >= due).all()
    assert (held <= due + 1e-8).all()


def test_until_the_end_nobody_knows_when() -> None:
    due = np.array([3.0, math.inf])
    assert Adversary("until_end").release(due, start=0, end=math.inf).tolist() == [math.inf] * 2
    assert Adversary("until_end").release(due, start=0, end=-math.inf).tolist() == [3.0, math.inf]


def test_the_largest_are_those_of_high_rank() -> None:
    fault, ranks = Adversary("largest", 5, share=0.4), np.array([0.0, 0.59, 0.6, 1.0])
    assert fault.aims(STREAM, range(1, 5), ranks).tolist() == [False, False, True, True]
    assert fault.release(np.array([1, 6]), start=0, end=99).tolist() == [5, 10]
    assert Adversary("burst", 5).aims(STREAM, range(1, 5), ranks).all()
    unknown = fault.aims(STREAM, range(1, 20_001), None)
    assert unknown.mean() == pytest.approx(0.4, abs=0.015)


def test_starvation_takes_all_but_the_first() -> None:
    assert Adversary("starve", 3).takes(range(1, 8)).tolist() == [False, True, True, False, True, True, False]
    assert Adversary("starve", 3, "seconds").takes(range(1, 4)).tolist() == [False, True, True]
    assert not Adversary("burst", 3).takes(range(1, 8)).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Latency(-3), "delay `latency` is -3: a delay cannot be negative"),
        (lambda: Latency(1, jitter=-1), "delay `jitter` is -1: a delay cannot be negative"),
        (lambda: Latency(1, distribution="unifrom"), "did you mean 'uniform'"),
        (lambda: Latency(1, correlation=-0.1), "`correlation` is -0.1: it must lie between 0 and 1"),
        (lambda: Latency(1, jitter=1, distribution="constant"), "'constant' has no jitter"),
        (lambda: Rounds(0), "delay `rounds` is 0: a delay in rounds is at least 1"),
        (lambda: Rounds(-3), "delay `rounds` is -3: a delay cannot be negative"),
        (lambda: Rounds(trace=(1, 0)), "delay `trace` is 0: a delay in rounds is at least 1"),
        (lambda: Rounds(2.5, jitter=0.2), r"no whole number of rounds in 2.5 \+- 0.2"),
        (lambda: Rounds.between(0, 4), "`low` is 0"),
        (lambda: Rounds.between(5, 4), "`high` is 4: it must be a whole number, 5 or more"),
        (lambda: Drop(probability=1.5), "`probability` is 1.5: it must lie between 0 and 1"),
        (lambda: Drop(agents=(-1,)), "`agents` is -1: it must be a whole number, 0 or more"),
        (lambda: Drop(salt=-1), "`salt` is -1"),
        (lambda: Drop(window=(5, 5)), r"`window` is \[5, 5\]: it is empty"),
        (lambda: Drop(window=(0, 5)), "`window` is 0: it must be a whole number, 1 or more"),
        (lambda: Drop(window=(1, 2, 3)), r"`window` is \[1, 2, 3\]: write it \[start, stop\]"),  # type: ignore[arg-type]
        (Blackout, "a blackout needs its window"),
        (lambda: Ramp(-1, 5, 1, 1, unit="seconds"), "delay `start` is -1: a delay cannot be negative"),
        (lambda: Ramp(1, 0, 1, 1), "delay `stop` is 0: a delay in rounds is at least 1"),
        (lambda: Ramp(1, 5, 0, 1), "`step` is 0: it must be above 0"),
        (lambda: Ramp(1, 5, 1, -2), "`interval` is -2: it must be above 0"),
        (lambda: Ramp(1, 5, 1, 1, unit="round"), "unknown unit 'round': did you mean 'rounds'"),
        (lambda: Adversary("brust", 5), "unknown strategy 'brust': did you mean 'burst'"),
        (lambda: Adversary("burst"), "strategy 'burst' needs its period"),
        (lambda: Adversary("starve", 0), "`period` is 0: it must be a whole number, 1 or more"),
        (lambda: Adversary("until_end", 5), "strategy 'until_end' has no period"),
        (lambda: Adversary("burst", 2.5), "`period` is 2.5: it must be a whole number, 1 or more"),
        (lambda: Adversary("burst", unit="seconds"), "strategy 'burst' needs its period: period: 5s"),
        (lambda: Adversary("burst", 0.0, "seconds"), "`period` is 0.0: it must be above 0"),
        (lambda: Adversary("burst", math.inf, "seconds"), "`period` is inf: it must be a finite number"),
        (lambda: Adversary("starve", 2.5, "seconds"), "`period` is 2.5: it must be a whole number"),
        (lambda: Adversary("burst", 5, "second"), "unknown unit 'second': did you mean 'seconds'"),
        (lambda: Adversary("largest", 5, share=0), "`share` is 0: it must be above 0 and at most 1"),
        (lambda: Adversary("largest", 5, share=1.5), "`share` is 1.5: it must be above 0 and at most 1"),
        (lambda: Adversary("burst", 5, share=0.5), "`share` is 0.5 and strategy 'burst' has none"),
        (lambda: Latency(trace=(1.0, -2.0)), "delay `trace` is -2.0: a delay cannot be negative"),
        (lambda: Latency(trace=(1.0, math.nan)), "`trace` is nan: it must be a finite number"),
        (lambda: Latency(trace=(1.0, "2s")), "`trace` is '2s': it must be a finite number"),  # type: ignore[arg-type]
    ],
)
def test_wrong_faults_are_refused_in_one_line(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
