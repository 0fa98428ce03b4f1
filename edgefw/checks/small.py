"""Networks so small that a whole run takes milliseconds, and a driver that shows every play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, Play, observe
from edgefw.delays.book import ArrivalBook
from edgefw.problem.dataset import Dataset
from edgefw.scenario.model import Scenario
from edgefw.scenario.setup import Setup, resolve
from edgefw.simulator import arrived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from edgefw.core.algorithm import Agent

    Observe = Callable[[int, Feedback], Feedback]

DELAYS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "constant": [{"type": "rounds", "rounds": 4}],
    "uniform": [{"type": "rounds", "rounds": 4, "jitter": 3}],
    "out of order": [{"type": "rounds", "rounds": 8, "jitter": 7}],
    "newest first": [{"type": "adversary", "strategy": "newest_first", "period": 5}],
    "heavy tail": [{"type": "rounds", "rounds": 2, "jitter": 2, "distribution": "pareto"}],
    "empty rounds": [{"type": "drop", "probability": 0.8}],
    "never": [{"type": "drop"}],
    "one agent never": [{"type": "drop", "agents": [0]}],
    "bursts": [{"type": "adversary", "strategy": "burst", "period": 6}],
    "blackout": [{"type": "blackout", "at": 4, "duration": 7}],
    "until the end": [{"type": "adversary", "strategy": "until_end"}],
    "starvation": [{"type": "adversary", "strategy": "starve", "period": 4, "agents": [0]}],
}


def dataset(features: int = 7) -> Dataset:
    """Return 210 samples of three overlapping classes: prototypes in [0, 1]^m and as much noise."""
    classes, samples = 3, 210
    random = np.random.default_rng(20)
    labels = random.integers(classes, size=samples)
    rows = random.random((classes, features))[labels] + random.normal(0, 0.4, (samples, features))
    return Dataset("tiny", rows.astype(np.float32), labels, classes, 1.0)


DATA = dataset()


def setup(
    *,
    agents: int = 6,
    rounds: int = 14,
    seed: int = 5,
    precision: str = "float64",
    network: dict[str, Any] | None = None,
    problem: dict[str, Any] | None = None,
    algorithm: dict[str, Any] | None = None,
    delays: list[dict[str, Any]] | None = None,
    data: Dataset = DATA,
) -> Setup:
    """Return a resolved small scenario; rate 1 lets a handful of rounds outweigh the noise."""
    document = {
        "seed": seed,
        "clock": "rounds",
        "precision": precision,
        "network": {"agents": agents, **(network or {})},
        "problem": {"radius": 4.0, **(problem or {})},
        "algorithm": {"horizon": rounds, "rate": 1.0, **(algorithm or {})},
        "delays": delays or [],
    }
    return resolve(Scenario.model_validate(document), data)


def plays(
    given: Setup,
    agents: Sequence[Agent] | None = None,
    *,
    sweeps: int | None = None,
    seen: Observe | None = None,
) -> Iterator[list[Play]]:
    """Drive the agents of `core` and yield the plays of every round; `seen` may exchange a feedback.

    The book ends with round T: sweep T+1 takes what arrives in round T, and nothing is left for a later one.
    """
    network = agents or given.agents()
    book, pending = ArrivalBook(given.delays), dict[tuple[int, int], Feedback]()
    for t in range(1, (sweeps or given.rounds) + 1):
        arrivals = {i: [pending.pop((i, s)) for s in rounds] for i, rounds in arrived(book, t - 1).items()}
        played = sweep(network, t, arrivals)
        yield played
        for i, play in enumerate(played):
            feedback = observe(given.loss, play, *given.batch(i, t))[1]
            pending[i, t] = seen(i, feedback) if seen else feedback
