"""Networks so small that a whole run takes milliseconds, and a driver that shows every play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, Play, observe
from edgefw.delays.book import ArrivalBook
from edgefw.delays.units import NEVER
from edgefw.problem.dataset import Dataset
from edgefw.scenario.model import Scenario
from edgefw.scenario.setup import Setup, resolve, with_delays
from edgefw.simulator import arrived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from edgefw.core.algorithm import Agent

    Observe = Callable[[int, Feedback], Feedback]

TOPOLOGIES: dict[str, dict[str, Any]] = {
    "one agent": {"topology": "complete", "agents": 1},
    "complete": {"topology": "complete"},
    "cycle": {"topology": "cycle"},
    "line": {"topology": "line"},
    "star": {"topology": "star"},
    "grid": {"topology": "grid", "rows": 2, "cols": 3},
    "erdos_renyi": {"topology": "erdos_renyi", "p": 0.5},
    "random_regular": {"topology": "random_regular", "degree": 3},
    "small_world": {"topology": "small_world", "degree": 4, "p": 0.3},
    "edges": {"topology": "edges", "edges": [[5, 0], [0, 1], [1, 2], [2, 0], [3, 5], [4, 3]]},
}

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


def dataset(*, classes: int = 3, features: int = 7, samples: int = 210) -> Dataset:
    """Return overlapping classes: prototypes in [0, 1]^m and as much noise."""
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


def points(given: Setup, agents: Sequence[Agent] | None = None) -> NDArray[np.floating[Any]]:
    """Return all plays of a run, (rounds, n, C, m)."""
    return np.stack([[play.point for play in played] for played in plays(given, agents)])


def delay_tables(n: int, rounds: int) -> st.SearchStrategy[NDArray[np.int64]]:
    """Return tables of delays (n, rounds), some of them beyond the end or never."""
    delays = st.one_of(st.just(1), st.integers(1, rounds + 2), st.just(NEVER))
    return arrays(np.int64, (n, rounds), elements=delays, fill=st.nothing())


@st.composite
def networks(draw: st.DrawFn, *, precision: str = "float64", name: str = "de2mfw") -> Setup:
    """Draw a topology, an oracle, a noise, a seed and a table of delays."""
    plain = setup(
        network=draw(st.sampled_from(list(TOPOLOGIES.values()))),
        algorithm={
            "name": name,
            "oracle": draw(st.sampled_from(["ftpl", "ogd"])),
            "noise": draw(st.sampled_from(["fixed", "fresh"])),
        },
        seed=draw(st.integers(0, 50)),
        rounds=draw(st.integers(1, 9)),
        precision=precision,
    )
    return with_delays(plain, draw(delay_tables(plain.n, plain.rounds)))
