"""What every data set has to pass: each check takes what loads it, given a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.checks.failure import require
from edgefw.checks.small import plays, setup

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.problem.dataset import Dataset

    Load = Callable[[int], Dataset]


def it_loads_the_same_again(load: Load, seed: int) -> None:
    """The same seed loads the same samples, bit for bit: services and `verify` load them again."""
    one, other = load(seed).digest, load(seed).digest
    require(one == other, f"seed {seed} loads {one[:12]} once, {other[:12]} another time")


def features_say_something(load: Load, seed: int) -> None:
    """Features differ from sample to sample, and no sample is longer than a float32 can square."""
    data = load(seed)
    require(bool((data.features != data.features[0]).any()), "all samples have the same features")
    require(data.max_norm() < 1e18, f"a sample has norm {data.max_norm():.3g}: give a smaller scale")


def labels_differ(load: Load, seed: int) -> None:
    """More than one label occurs."""
    found = len(np.unique(load(seed).labels))
    require(found > 1, "all samples have the same label: there is nothing to learn")


def a_network_learns_from_it(load: Load, seed: int) -> None:
    """A small network plays on it: shares of it can be made, losses are finite."""
    data = load(seed)
    loss = "squared" if data.is_real else "multinomial"
    given = setup(agents=2, rounds=4, data=data, problem={"loss": loss})
    for played in plays(given):
        finite = all(np.isfinite(play.point).all() for play in played)
        require(finite, "a play is not finite: give a smaller scale")


CHECKS: tuple[Callable[[Load, int], None], ...] = (
    it_loads_the_same_again,
    features_say_something,
    labels_differ,
    a_network_learns_from_it,
)
