"""Fault types: what each adds, holds and takes, and what it cannot be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from delay_plans import READ, STREAM, fault, on, rules
from pydantic import ValidationError

from edgefw.delays.explain import explained
from edgefw.delays.fault import Axis, Seen
from edgefw.delays.ramp import Ramp
from edgefw.delays.registry import TYPES
from edgefw.errors import InputError

if TYPE_CHECKING:
    from edgefw.delays.draws import SomeRounds
    from edgefw.delays.fault import Fault, Window

IN_ROUNDS = Axis(in_rounds=True, start=0, end=99, round_seconds=None)
BY_CLOCK = Axis(in_rounds=False, start=50.0, end=math.inf, round_seconds=0.25)


def seen(rounds: SomeRounds, elapsed: Any = None, ranks: Any = None) -> Seen:
    since = np.zeros(len(rounds)) if elapsed is None else np.asarray(elapsed, dtype=np.float64)
    return Seen(rounds, since, ranks, STREAM)


def added(each: Fault, rounds: SomeRounds, clock: str = "rounds", elapsed: Any = None) -> list[float]:
    amounts = each.adds(seen(rounds, elapsed), clock)
    assert amounts is not None
    found: list[float] = amounts.tolist()
    return found


def test_every_type_is_registered_by_its_name() -> None:
    for name, each in TYPES.items():
        assert each.model_fields["type"].default == name
        assert each.__module__ == f"edgefw.delays.{name}"
        assert each.__doc__


def test_faults_are_values() -> None:
    late = fault("rounds", rounds=501, agents=[3, 4])
    assert late == fault("rounds", rounds=501, agents=[3, 4])
    assert late != fault("rounds", rounds=2, agents=[3, 4])
    with pytest.raises(ValidationError, match="frozen"):
        late.probability = 0.5


def met(each: Fault, rounds: range, window: Window | None = None) -> list[int]:
    there = on(rules(), each, window=window).meets(np.array(rounds))
    return (np.flatnonzero(there) + rounds.start).tolist()


def test_a_window_is_half_open_and_may_have_no_end() -> None:
    drop = fault("drop")
    assert met(drop, range(1, 8)) == [1, 2, 3, 4, 5, 6, 7]
    assert met(drop, range(1, 8), (3, 5)) == [3, 4]
    assert met(drop, range(1, 8), (6, None)) == [6, 7]


def test_probability_is_the_share_of_messages_met() -> None:
    many = range(1, 20_001)
    assert len(met(fault("drop", probability=0.3), many)) == pytest.approx(6000, abs=300)
    assert not met(fault("drop", probability=0), many)
    some = met(fault("drop", probability=0.5), range(1, 301), (101, 201))
    assert 20 < len(some) < 80
    assert set(some) <= set(range(101, 201))
    assert len(met(fault("blackout"), range(1, 2001), (1, 2))) == 2000  # it is about when feedback comes


def test_latency_without_a_distribution_is_uniform_where_there_is_jitter() -> None:
    seconds = added(fault("latency", latency="800ms", jitter="200ms"), range(1, 5001), "wall")
    assert 0.6 <= min(seconds) < 0.602
    assert 0.998 < max(seconds) <= 1.0
    assert set(added(fault("latency", latency="800ms"), range(1, 99), "wall")) == {0.8}


def test_rounds_count_from_one() -> None:
    assert added(fault("rounds", rounds=501), range(1, 3)) == [500, 500]
    assert added(fault("rounds"), range(1, 3)) == [0, 0]
    assert added(fault("rounds", trace=[1, 4]), range(1, 5)) == [0, 3, 0, 3]
    assert set(added(fault("rounds", rounds=3, jitter=1), range(1, 200))) == {1, 2, 3}


def climb(ramp: Fault, rounds: range, clock: str = "rounds", unit: float = 1.0) -> list[float]:
    return added(ramp, rounds, clock, [max(s - 1, 0) * unit for s in rounds])


def test_a_ramp_climbs_falls_and_stays() -> None:
    up = fault("ramp", start=1, stop=6, step=2, interval=3)
    assert climb(up, range(1, 14)) == [0, 0, 0, 2, 2, 2, 4, 4, 4, 5, 5, 5, 5]
    down = fault("ramp", start=6, stop=1, step=2, interval=3)
    assert climb(down, range(1, 14)) == [5, 5, 5, 3, 3, 3, 1, 1, 1, 0, 0, 0, 0]
    assert climb(fault("ramp", start=4, stop=4, step=1, interval=1), range(1, 4)) == [3, 3, 3]
    huge = Ramp.model_construct(start=1, stop=2**53, step=2**53, interval=1e-300)
    assert climb(huge, range(1, 3)) == [0, 2**53 - 1]


def test_a_ramp_in_seconds_climbs_with_time() -> None:
    ramp = fault("ramp", start="0s", stop="1s", step="500ms", interval="300ms")
    assert climb(ramp, range(1, 9), "wall", 0.1) == [0, 0, 0, 0.5, 0.5, 0.5, 1, 1]


def test_any_rounds_in_any_order_are_met_and_delayed_alike() -> None:
    rounds = np.array([700, 3, 90_000, 3, 4])
    some = fault(
        "latency", latency="1s", jitter="500ms", distribution="normal", correlation=0.7, probability=0.6
    )
    link, alone = on(rules(pace=1.0), some, window=(4, None)), [np.array([s]) for s in rounds.tolist()]
    assert link.meets(rounds).tolist() == [bool(link.meets(s)[0]) for s in alone]
    assert added(some, rounds, "wall") == [added(some, s, "wall")[0] for s in alone]
    assert added(fault("rounds", trace=[5, 2, 9]), rounds) == [4, 8, 8, 8, 4]


def adversary(strategy: str, period: int | str | None = None, **fields: Any) -> Fault:
    given = {} if period is None else {"period": period}
    return fault("adversary", strategy=strategy, **given, **fields)


def test_an_adversary_releases_by_the_clock_as_it_does_in_rounds() -> None:
    rounds = np.arange(1, 30)
    for strategy in ("burst", "newest_first"):
        counted = adversary(strategy, 7).holds(rounds, IN_ROUNDS)
        clock = adversary(strategy, "1.75s").holds(50 + rounds * 0.25, BY_CLOCK)
        assert counted is not None
        assert clock is not None
        assert ((clock - 50) / 0.25).tolist() == counted.tolist()


def test_an_adversary_by_the_clock_is_never_early() -> None:
    due = 1e5 + np.arange(1, 2000) * 0.1  # most of them multiples of the period but for rounding
    held = adversary("burst", "100ms").holds(due, BY_CLOCK._replace(start=1e5))
    assert held is not None
    assert (held >= due).all()
    assert (held <= due + 1e-8).all()


def test_until_the_end_nobody_knows_when() -> None:
    due = np.array([3.0, math.inf])
    for end, expected in ((math.inf, [math.inf] * 2), (-math.inf, [3.0, math.inf])):
        held = adversary("until_end").holds(due, Axis(in_rounds=False, start=0, end=end, round_seconds=None))
        assert held is not None
        assert held.tolist() == expected
    assert adversary("until_end").waits_for_end
    assert not adversary("burst", 5).waits_for_end


def test_the_largest_are_those_of_high_rank() -> None:
    largest, ranks = adversary("largest", 5, share=0.4), np.array([0.0, 0.59, 0.6, 1.0])
    aimed = largest.aims(seen(range(1, 5), ranks=ranks))
    assert aimed is not None
    assert aimed.tolist() == [False, False, True, True]
    held = largest.holds(np.array([1, 6]), IN_ROUNDS)
    assert held is not None
    assert held.tolist() == [5, 10]
    assert adversary("burst", 5).aims(seen(range(1, 5), ranks=ranks)) is None  # all of them
    unknown = largest.aims(seen(range(1, 20_001)))
    assert unknown is not None
    assert unknown.mean() == pytest.approx(0.4, abs=0.015)


def test_starvation_takes_all_but_the_first() -> None:
    taken = adversary("starve", 3).takes(seen(range(1, 8)))
    assert taken is not None
    assert taken.tolist() == [False, True, True, False, True, True, False]
    assert adversary("burst", 3).takes(seen(range(1, 8))) is None


def test_what_a_type_does_not_do_is_nothing() -> None:
    some = seen(range(1, 4))
    assert fault("drop").adds(some, "wall") is None
    assert fault("drop").holds(np.array([1.0]), BY_CLOCK) is None
    assert fault("blackout").takes(some) is None
    assert fault("latency", latency="1s").aims(some) is None


def checked(body: dict[str, Any], clock: str) -> None:
    try:
        READ.validate_python(body).check(clock)
    except ValidationError as error:
        raise explained(error) from None


RAMP = {"type": "ramp", "start": 1, "stop": 5, "step": 1, "interval": 1}
BURST = {"type": "adversary", "strategy": "burst", "period": 5}
TIMES = {**RAMP, "start": "1s", "stop": "5s", "step": "1s", "interval": "1s"}


@pytest.mark.parametrize(
    ("clock", "body", "message"),
    [
        ("wall", {"type": "latency", "latency": "-3s"}, "latency: '-3s' is negative"),
        ("wall", {"type": "latency", "latency": "1s", "jitter": "-1s"}, "jitter: '-1s' is negative"),
        ("wall", {"type": "latency", "distribution": "unifrom"}, "distribution: .* did you mean 'uniform'"),
        ("wall", {"type": "latency", "correlation": -0.1}, "correlation is -0.1: it must be at least 0"),
        (
            "wall",
            {"type": "latency", "jitter": "1s", "distribution": "constant"},
            "jitter is 1.0, and distribution 'constant' has none",
        ),
        ("wall", {"type": "latency", "trace": ["1s", "-2s"]}, "trace.1: '-2s' is negative"),
        ("wall", {"type": "latency", "trace": ["1s", math.nan]}, "trace.1: nan has no unit"),
        ("wall", {"type": "latency", "trace": ["1s", 2]}, "trace.1: 2 has no unit"),
        ("rounds", {"type": "rounds", "rounds": 0}, "rounds is 0: it must be above 0"),
        ("rounds", {"type": "rounds", "rounds": 2**60}, r"rounds is \d+: it must be at most \d+"),
        ("rounds", {"type": "rounds", "jitter": 10**400}, r"jitter is \d+: it must be at most \d+"),
        ("rounds", {"type": "rounds", "trace": [1, 0]}, "trace.1 is 0: it must be above 0"),
        ("rounds", {"type": "rounds", "trace": [1, 2**60]}, r"trace.1 is \d+: it must be at most \d+"),
        ("rounds", {"type": "latency", "latency": "1s"}, "type is latency, a delay in time, and clock is"),
        ("wall", {"type": "rounds", "rounds": 3}, "type is rounds, a delay in rounds, and clock is wall"),
        ("rounds", {"type": "drop", "probability": 1.5}, "probability is 1.5: it must be at most 1"),
        ("rounds", {"type": "drop", "agents": [-1]}, "agents.0 is -1: it must be at least 0"),
        ("rounds", {"type": "drop", "duration": 0}, "duration: 0 is too small"),
        ("rounds", {"type": "drop", "at": -1}, "at: -1 is not a number of rounds"),
        ("wall", {**TIMES, "start": "-1s"}, "start: '-1s' is negative"),
        ("wall", {**TIMES, "interval": 3}, "interval is 3 rounds, and clock is wall: write a time"),
        ("rounds", {**RAMP, "stop": 0}, "stop is 0: a delay in rounds is at least 1"),
        ("rounds", {**RAMP, "step": 0}, "step: 0 is too small: it must be above 0"),
        ("rounds", {**RAMP, "interval": -2}, "interval: -2 is not a number of rounds"),
        ("rounds", {**RAMP, "start": "1s"}, "start is the time 1s, and clock is rounds"),
        ("rounds", {**BURST, "strategy": "brust"}, "strategy: .* did you mean 'burst'"),
        ("rounds", {"type": "adversary", "strategy": "burst"}, "period is missing: .*period: 10, in rounds"),
        ("wall", {"type": "adversary", "strategy": "burst"}, r"period is missing: .*period: 5s"),
        ("wall", {"type": "adversary", "strategy": "starve"}, "period is missing: .*period: 10, in rounds"),
        ("rounds", {**BURST, "strategy": "starve", "period": 0}, "period: 0 is too small"),
        ("rounds", {**BURST, "strategy": "until_end"}, "period is given, and strategy 'until_end' has none"),
        ("rounds", {**BURST, "period": 2.5}, "period: 2.5 is neither a number of rounds"),
        ("wall", {**BURST, "period": "0s"}, "period: 0 is too small"),
        ("wall", {**BURST, "strategy": "starve", "period": "2s"}, "period is the time 2s, and strategy"),
        ("rounds", {**BURST, "strategy": "largest", "share": 0}, "share is 0: it must be above 0"),
        ("rounds", {**BURST, "strategy": "largest", "share": 1.5}, "share is 1.5: it must be at most 1"),
        ("rounds", {**BURST, "share": 0.5}, "share is 0.5, and strategy 'burst' has none"),
    ],
)
def test_wrong_faults_are_refused_in_one_line(clock: str, body: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}") as caught:
        checked(body, clock)
    assert "\n" not in str(caught.value)
    assert caught.value.field
    assert str(caught.value).startswith(caught.value.field)


def test_what_goes_together_is_taken_under_its_clock() -> None:
    for clock, body in (("wall", TIMES), ("rounds", RAMP), ("rounds", BURST), ("wall", {"type": "drop"})):
        checked(body, clock)
