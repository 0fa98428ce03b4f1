from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from edgefw.services.broker.timeline import SECOND, Timeline, timeline_again, timeline_now
from edgefw.services.machine import Clocks, boot_id

moments = st.floats(-1e8, 1e8)
offsets = st.integers(10**18, 3 * 10**18)
realtimes = st.integers(10**18, 3 * 10**18)


def clocks(monotonic: float, real: int, boot: str | None) -> Clocks:
    return Clocks(lambda: int(monotonic * SECOND), lambda: real, lambda: boot)


@given(offsets, moments)
def test_a_moment_comes_back_no_earlier_and_hardly_later(offset: int, moment: float) -> None:
    timeline = Timeline(offset, "boot")
    again = timeline.moment(timeline.real(moment))
    assert moment <= again <= moment + 2e-9 + 1e-15 * abs(moment)


@given(offsets, realtimes)
def test_real_time_comes_back_no_earlier(offset: int, real: int) -> None:
    timeline = Timeline(offset, "boot")
    assert real <= timeline.real(timeline.moment(real)) <= real + 1000


@given(offsets, st.lists(moments, min_size=2))
def test_order_is_kept(offset: int, some: list[float]) -> None:
    timeline = Timeline(offset, "boot")
    real = [timeline.real(moment) for moment in sorted(some)]
    assert all(a <= b for a, b in pairwise(real))
    assert all(timeline.moment(a) <= timeline.moment(b) for a, b in pairwise(real))


def test_setting_the_clock_moves_nothing_within_a_boot() -> None:
    stored = timeline_now(clocks(100.0, 10**18, "one"))
    again = timeline_again(stored, clocks(160.0, 10**18 - 3600 * SECOND, "one"))
    assert again == stored
    assert again.real(160.0) - stored.real(100.0) == 60 * SECOND


def test_after_a_boot_real_time_goes_on() -> None:
    stored = timeline_now(clocks(100.0, 10**18, "one"))
    due = stored.real(130.0)
    again = timeline_again(stored, clocks(5.0, 10**18 + 20 * SECOND, "two"))
    assert again.boot == "two"
    assert again.moment(due) == 15.0  # 10 s are left
    assert again.moment(stored.real(80.0)) < 0


def test_an_unknown_boot_is_another_boot() -> None:
    stored = timeline_now(clocks(100.0, 10**18, None))
    assert timeline_again(stored, clocks(160.0, 10**18, None)).moment(10**18) == 160.0


def test_the_real_clocks_agree() -> None:
    timeline = timeline_now(Clocks())
    assert abs(timeline.real(time.monotonic()) - time.time_ns()) < 10 * SECOND
    assert timeline.boot == boot_id()
