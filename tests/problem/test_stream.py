from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem import stream as module
from edgefw.problem.stream import Stream, played


class Case(NamedTuple):
    size: int
    batch: int
    seed: int
    agent: int

    def stream(self) -> Stream:
        return Stream(100 + np.arange(self.size), self.batch, self.seed, self.agent)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.integers(1, 12))
    return Case(size, draw(st.integers(1, size)), draw(st.integers(0, 99)), draw(st.integers(0, 9)))


CASES = cases()


@settings(deadline=None, max_examples=60)
@given(CASES, st.integers(1, 8))
def test_the_stream_is_the_shard_shuffled_again_and_again(case: Case, epochs: int) -> None:
    stream = case.stream()
    rounds = -(-epochs * case.size // case.batch)
    batches = [stream.indices(t) for t in range(1, rounds + 1)]
    assert all(batch.shape == (case.batch,) and batch.dtype == np.int64 for batch in batches)
    whole = np.concatenate(batches)[: epochs * case.size].reshape(epochs, case.size)
    assert (np.sort(whole, axis=1) == stream.shard).all()


@settings(deadline=None, max_examples=60)
@given(CASES, st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_a_round_is_the_same_in_any_order_of_calls(case: Case, rounds: list[int]) -> None:
    stream = case.stream()
    for t in rounds:
        assert np.array_equal(stream.indices(t), case.stream().indices(t))
    assert len(stream._orders) <= module._EPOCHS_KEPT


def test_epochs_agents_and_seeds_are_shuffled_differently() -> None:
    shard = np.arange(50)
    orders = [
        Stream(shard, 50, seed, agent).indices(t).tolist()
        for seed in (0, 1)
        for agent in (0, 1)
        for t in (1, 2)
    ]
    assert len({tuple(order) for order in [*orders, shard.tolist()]}) == 9


def test_first_batches_never_change() -> None:
    stream = Stream(np.arange(5), 2, seed=7, agent=3)
    assert [stream.indices(t).tolist() for t in (1, 2, 3)] == [[3, 0], [4, 2], [1, 3]]


def test_batches_cannot_be_changed_by_their_reader() -> None:
    stream = Stream(np.arange(3), 2, seed=0, agent=0)
    for t in (1, 2):  # within an epoch, and across two
        with pytest.raises(ValueError, match="read-only"):
            stream.indices(t)[0] = 7


def test_the_shard_is_the_streams_own() -> None:
    shard = np.arange(4)
    stream = Stream(shard, 4, seed=0, agent=0)
    shard[:] = 9
    assert sorted(stream.indices(1).tolist()) == [0, 1, 2, 3]


@settings(deadline=None, max_examples=60)
@given(CASES, st.integers(0, 40), st.booleans())
def test_played_counts_every_sample_seen(case: Case, rounds: int, overlap: bool) -> None:  # noqa: FBT001
    shards = [np.arange(case.size), np.arange(case.size) + (0 if overlap else case.size)]
    streams = [Stream(shard, case.batch, case.seed, agent) for agent, shard in enumerate(shards)]
    index, weight = played(streams, rounds)
    seen = Counter(int(s) for stream in streams for t in range(1, rounds + 1) for s in stream.indices(t))
    assert dict(zip(index.tolist(), weight.tolist(), strict=True)) == seen
    assert index.tolist() == sorted(seen)


def test_nothing_is_played_by_nobody() -> None:
    index, weight = played([], 5)
    assert len(index) == len(weight) == 0


def test_a_batch_that_does_not_fit_says_what_to_change() -> None:
    with pytest.raises(InputError) as caught:
        Stream(np.arange(50), 64, seed=0, agent=3)
    assert str(caught.value) == (
        "batch 64 is larger than agent 3's shard of 50 samples: "
        "lower problem.batch or network.agents, or use a larger data set"
    )


def test_senseless_numbers_are_refused() -> None:
    stream = Stream(np.arange(5), 2, seed=0, agent=0)
    with pytest.raises(InputError, match="batch 0 is too small"):
        Stream(np.arange(5), 0, seed=0, agent=0)
    with pytest.raises(InputError, match="no round 0: rounds are counted from 1"):
        stream.indices(0)
    with pytest.raises(InputError, match="cannot play -1 rounds"):
        played([stream], -1)
    with pytest.raises(InputError, match="different batch sizes"):
        played([stream, Stream(np.arange(5), 3, seed=0, agent=1)], 2)


def test_in_order_reads_the_shard_by_index_in_every_epoch() -> None:
    stream = Stream(np.array([30, 10, 20]), batch=2, seed=0, agent=0, in_order=True)
    assert [stream.indices(t).tolist() for t in (1, 2, 3)] == [[10, 20], [30, 10], [20, 30]]
    assert stream.counts(2).tolist() == [1, 2, 1]
