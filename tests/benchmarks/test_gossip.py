"""Rounds of real services beside bare streams, with a network that is as small as can be."""

from __future__ import annotations

import numpy as np
import pytest

from edgefw.benchmarks import gossip
from edgefw.benchmarks.setting import CLASSES, BenchNetwork
from edgefw.transport.frames import Received

SMALL = BenchNetwork(agents=3, features=20, steps=2, warm_up=2, rounds=2)


def test_our_messages_are_the_frames_of_a_round_and_theirs_are_dense() -> None:
    frames = [Received(data) for data in gossip._frames(SMALL)]
    assert [(frame.t, frame.k) for frame in frames] == [(2, 1), (2, 2)]
    decoded = frames[1].decode(0, (CLASSES, 20))
    assert decoded.tracker is not None  # feedback of the first round has come
    assert np.count_nonzero(decoded.iterate)
    assert [len(message) for message in gossip._dense(SMALL)] == [4 * 20 * CLASSES] * 4


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_floors_and_ours_are_measured_with_real_processes() -> None:
    told: list[int] = []
    result = gossip.measure(SMALL, 1, lambda done, _of: told.append(done))
    assert told == [1, 2, 3]
    assert [thing.name for thing in result.measured] == [gossip.DENSE, gossip.FRAMES, gossip.OURS]
    # Of so few rounds, what ours take is lost in what starting takes; the floors leave that out themselves.
    assert all(cost.wall > 0 for thing in result.measured[:2] for cost in thing.costs)
    assert all(cost.cpu > 0 for thing in result.measured for cost in thing.costs)
    assert [ratio.floor for ratio in result.ratios] == [gossip.DENSE, gossip.FRAMES]
    assert {"agents_cpu_seconds", "comparator_cpu_seconds", "own_share_of_cpu"} <= result.figures.keys()
