"""The network whose rounds are measured: how many agents, which graph, how large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.scenario.load import load

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

FEATURES, CLASSES, STEPS = 784, 10, 32  # of the published experiments: dimension 7,840, K = 32


@dataclass(frozen=True)
class BenchNetwork:
    """Agents on a graph, at the published dimension unless it is said otherwise."""

    agents: int = 10
    topology: str = "cycle"
    features: int = FEATURES
    steps: int = STEPS  # K
    warm_up: int = 4  # rounds before those that are measured
    rounds: int = 20

    def scenario(self, rounds: int) -> Scenario:
        """Return a scenario that plays so many rounds, as fast as they go, with feedback by rounds."""
        return load(
            {
                "name": "bench",
                "seed": 1,
                "network": {"agents": self.agents, "topology": self.topology},
                "data": {"source": "synthetic", "features": self.features, "classes": CLASSES},
                "problem": {"loss": "multinomial", "set": "l1_per_class", "radius": 24, "batch": 2},
                "algorithm": {
                    "name": "de2mfw",
                    "horizon": 1000,
                    "sub_iterations": self.steps,
                    "stop_after": rounds,
                },
                "clock": "rounds",
                "pace": "asap",
            }
        )

    @property
    def words(self) -> str:
        """What it is, for a title."""
        return (
            f"{self.agents} agents, {self.topology}, dimension {self.features * CLASSES:,}, K = {self.steps}"
        )
