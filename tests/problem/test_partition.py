from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem.partition import KINDS, partition

LABELS = np.random.default_rng(5).integers(10, size=3000)
KIND = st.sampled_from(sorted(KINDS))


def class_counts(kind: str, n: int, *, alpha: float = 0.5, seed: int = 1) -> np.ndarray[tuple[int, int]]:
    shards = partition(LABELS, n, kind=kind, alpha=alpha, seed=seed)
    return np.array([np.bincount(LABELS[shard], minlength=10) for shard in shards])


@settings(deadline=None, max_examples=80)
@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=60).map(np.array),
    data=st.data(),
    kind=KIND,
    alpha=st.floats(1e-3, 1e3),
    seed=st.integers(0, 2**64 - 1),
)
def test_shards_are_disjoint_covering_even_and_repeatable(
    labels: np.ndarray[tuple[int]], data: st.DataObject, kind: str, alpha: float, seed: int
) -> None:
    n = data.draw(st.integers(1, len(labels)))
    shards = partition(labels, n, kind=kind, alpha=alpha, seed=seed)
    again = partition(labels, n, kind=kind, alpha=alpha, seed=seed)
    assert len(shards) == n
    assert all(shard.dtype == np.int64 for shard in shards)
    assert sorted(np.concatenate(shards)) == list(range(len(labels)))
    sizes = [len(shard) for shard in shards]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert all(np.array_equal(a, b) for a, b in zip(shards, again, strict=True))


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"in_turn"}))
def test_another_seed_gives_another_partition(kind: str) -> None:
    one, two = (partition(LABELS, 7, kind=kind, seed=seed) for seed in (1, 2))
    assert any(not np.array_equal(np.sort(a), np.sort(b)) for a, b in zip(one, two, strict=True))


def test_iid_gives_everyone_every_class() -> None:
    assert class_counts("iid", 10).min() > 10  # 30 expected


def test_by_class_gives_everyone_few_classes_in_order() -> None:
    counts = class_counts("by_class", 10)
    assert (counts > 0).sum(axis=1).max() <= 3
    shards = partition(LABELS, 10, kind="by_class", seed=1)
    assert all(LABELS[a].max() <= LABELS[b].min() for a, b in pairwise(shards))


def test_dirichlet_goes_from_few_classes_to_iid() -> None:
    top = [
        np.mean(class_counts("dirichlet", 10, alpha=alpha).max(axis=1) / 300) for alpha in (0.01, 0.5, 1e6)
    ]
    assert top[0] > 0.7  # mostly one class
    assert 0.2 < top[1] < top[0]
    assert top[2] < 0.17  # 0.1 and some sampling noise
    assert class_counts("dirichlet", 10, alpha=1e6).min() > 10


def test_dirichlet_follows_the_class_frequencies_when_alpha_is_large() -> None:
    labels = np.repeat([0, 1], [900, 100])
    shards = partition(labels, 5, kind="dirichlet", alpha=1e6, seed=0)
    assert all(5 <= labels[shard].sum() <= 40 for shard in shards)  # 20 expected


def test_an_unknown_kind_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown partition 'dirichelt': did you mean 'dirichlet'"):
        partition(LABELS, 2, kind="dirichelt", seed=0)


def test_what_cannot_be_divided_is_refused() -> None:
    with pytest.raises(
        InputError, match="4 agents cannot share 3 samples: use fewer agents or a larger data set"
    ):
        partition(LABELS[:3], 4, kind="iid", seed=0)
    with pytest.raises(InputError, match="over 0 agents: use at least 1"):
        partition(LABELS, 0, kind="iid", seed=0)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_a_useless_alpha_is_refused(alpha: float) -> None:
    with pytest.raises(InputError, match="must be positive and finite"):
        partition(LABELS, 2, kind="dirichlet", alpha=alpha, seed=0)


def test_in_turn_deals_the_samples_as_they_come() -> None:
    found = partition(LABELS[:7], 3, kind="in_turn", seed=1)
    assert [shard.tolist() for shard in found] == [[0, 3, 6], [1, 4], [2, 5]]


def test_real_targets_have_no_mix_of_classes() -> None:
    targets = np.array([0.5, -1.0, 2.0, 0.1])
    with pytest.raises(InputError, match="partition dirichlet mixes classes, and these are real targets"):
        partition(targets, 2, kind="dirichlet", seed=0)
    assert [set(shard.tolist()) for shard in partition(targets, 2, kind="by_class", seed=0)] == [
        {1, 3},
        {0, 2},
    ]
