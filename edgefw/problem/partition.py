"""Who holds which samples: the data set divided over the agents.

A partition is n index arrays, disjoint, covering all samples, whose sizes differ by at most one. Equal sizes
matter in a stream: agents that use up b samples a round should start their data anew at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgefw.errors import InputError, known
from edgefw.problem.seeding import rng

Shards = list[NDArray[np.int64]]
Kind = Callable[[NDArray[np.integer], int, float, np.random.Generator], Shards]


def partition(
    labels: NDArray[np.integer], n: int, *, kind: str = "iid", alpha: float = 0.5, seed: int
) -> list[NDArray[np.int64]]:
    """Divide the samples 0..N-1, whose `labels` have shape (N,), over n agents.

    `iid`: shuffled, so every agent sees the same mix. `dirichlet`: every agent draws its own mix of classes
    from Dirichlet(alpha); a small alpha gives few classes an agent, a large one approaches iid. `by_class`:
    sorted by class (or real target) and cut into n pieces. `in_turn`: agent i gets samples i, i + n, ...

    >>> shards = partition(np.array([1, 0, 1, 0]), 2, kind="by_class", seed=0)
    >>> [sorted(shard.tolist()) for shard in shards]
    [[1, 3], [0, 2]]
    """
    divide = known("partition", kind, KINDS)
    if n < 1:
        raise InputError(f"cannot divide samples over {n} agents: use at least 1")
    if n > len(labels):
        raise InputError(
            f"{n} agents cannot share {len(labels)} samples: use fewer agents or a larger data set"
        )
    if not (math.isfinite(alpha) and alpha > 0):
        raise InputError(f"Dirichlet alpha {alpha} is not usable: it must be positive and finite")
    if kind == "dirichlet" and labels.dtype.kind == "f":
        raise InputError("partition dirichlet mixes classes, and these are real targets: use iid or by_class")
    return divide(labels, n, alpha, rng(seed, "partition", kind))


def _iid(labels: NDArray[np.integer], n: int, _alpha: float, random: np.random.Generator) -> Shards:
    """Deal a shuffled deck: agent i gets every n-th sample."""
    order = random.permutation(len(labels))
    return [order[i::n] for i in range(n)]


def _by_class(labels: NDArray[np.integer], n: int, _alpha: float, random: np.random.Generator) -> Shards:
    """Cut the samples, sorted by class and shuffled within each, into n runs."""
    order = random.permutation(len(labels))
    return np.array_split(order[np.argsort(labels[order], kind="stable")], n)


def _dirichlet(labels: NDArray[np.integer], n: int, alpha: float, random: np.random.Generator) -> Shards:
    """Fill every agent's shard after its own mix of classes, from what the agents before it left.

    Agents choose in random order: the last ones, who get the leftovers, are not always the same.
    """
    classes, inverse = np.unique(labels, return_inverse=True)
    piles = [random.permutation(np.flatnonzero(inverse == c)) for c in range(len(classes))]
    left = np.array([len(pile) for pile in piles])
    shards: Shards = [np.empty(0, np.int64)] * n
    sizes = [len(block) for block in np.array_split(np.arange(len(labels)), n)]
    for agent in random.permutation(n):
        mix = random.dirichlet(np.full(len(classes), alpha))
        take = _draw(sizes[agent], mix, left, random)
        parts = [pile[rest - count : rest] for pile, rest, count in zip(piles, left, take, strict=True)]
        shards[agent] = np.concatenate(parts)
        left = left - take
    return shards


def _draw(
    size: int, mix: NDArray[np.float64], left: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many samples of each class to take, `size` in all and at most `left` of each.

    A class is drawn with weight mix * left, so that equal mixes (alpha to infinity) follow the class
    frequencies. Every pass ends the draw or empties a class.
    """
    take = np.zeros_like(left)
    while (missing := size - int(take.sum())) > 0:
        rest = left - take
        weight = mix * rest
        if not weight.sum() > 0:  # all that the mix wanted is gone
            weight = rest.astype(np.float64)
        take += np.minimum(random.multinomial(missing, weight / weight.sum()), rest)
    return take


def _in_turn(labels: NDArray[np.integer], n: int, _alpha: float, _random: np.random.Generator) -> Shards:
    """Deal the samples as they come: in a round all agents are at the same place of a time series."""
    return [np.arange(i, len(labels), n) for i in range(n)]


KINDS: dict[str, Kind] = {"iid": _iid, "dirichlet": _dirichlet, "by_class": _by_class, "in_turn": _in_turn}
