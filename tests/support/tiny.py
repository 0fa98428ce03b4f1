"""Networks so small that a whole run takes milliseconds: those of the shipped checks, and more to draw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgefw.checks.small import DATA, DELAYS, dataset, plays, setup
from edgefw.delays.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgefw.core.algorithm import Agent
    from edgefw.scenario.setup import Setup

__all__ = ["DATA", "DELAYS", "TOPOLOGIES", "dataset", "delay_tables", "networks", "plays", "points", "setup"]

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
    return replace(plain, delays=draw(delay_tables(plain.n, plain.rounds)))
