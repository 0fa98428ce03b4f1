"""What the terminal shows of a run: the latest numbers of every service. Pure: it is told what they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgefw.services.network.scrape import Sample

_AGENT, _NETWORK = "edgefw_agent_", "edgefw_network_"
_QUEUE = "edgefw_broker_queue_depth"
AGENT_NAMES = frozenset(
    _AGENT + name
    for name in (
        "round",
        "local_loss",
        "global_loss",
        "regret",
        "feedback_outstanding",
        "feedback_delay_rounds",
        "feedback_requested_delay",
        "feedback_observed_delay_seconds",
    )
)
BROKER_NAMES = frozenset([_QUEUE])
OBSERVER_NAMES = frozenset(
    _NETWORK + name
    for name in ("round", "loss", "total_loss", "regret", "comparator_gap", "comparator_rounds")
)


@dataclass
class Board:
    """The latest numbers of a run, by agent and of the whole network; NaN where none is known."""

    title: str
    rounds: int
    clock: str
    agents: int
    _by_agent: dict[int, dict[str, float]] = field(default_factory=dict)
    _network: dict[str, float] = field(default_factory=dict)

    def take(self, samples: Iterable[Sample]) -> None:
        """Take in what a service exports."""
        queued: dict[int, float] = {}
        for sample in samples:
            agent = int(sample.labels.get("agent", 0))
            if sample.name == _QUEUE:
                queued[agent] = queued.get(agent, 0.0) + sample.value
            elif sample.name.startswith(_AGENT):
                self._of(agent)[sample.name.removeprefix(_AGENT)] = sample.value
            else:
                self._network[sample.name.removeprefix(_NETWORK)] = sample.value
        for agent, depth in queued.items():
            self._of(agent)["queue"] = depth

    def agent(self, i: int, name: str) -> float:
        """Return a number of agent i by the end of its metric's name, or `queue`: what the broker holds."""
        return self._of(i).get(name, math.nan)

    def network(self, name: str) -> float:
        """Return a number of the whole network, by the end of its metric's name."""
        return self._network.get(name, math.nan)

    @property
    def compared(self) -> bool:
        """Whether there is a fixed point to measure regret against: the regret is at least what is shown."""
        return self.network("comparator_rounds") > 0

    @property
    def certified(self) -> bool:
        """Whether the regret is also at most what is shown and the gap: the rounds compared are played."""
        return self.compared and self.network("comparator_rounds") == self.network("round")

    @property
    def round(self) -> int:
        """The last round that all agents have played, as far as is known."""
        played = [self.agent(i, "round") for i in range(self.agents)]
        slowest = min((0.0 if math.isnan(t) else t for t in played), default=0.0)
        scored = self.network("round")
        return int(max(slowest, 0.0 if math.isnan(scored) else scored))

    def _of(self, agent: int) -> dict[str, float]:
        return self._by_agent.setdefault(agent, {})
