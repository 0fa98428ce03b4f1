"""What the terminal shows of a run: the latest numbers of every service. Pure: it is told what they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from edgefw.scenario.pace import missed, warning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgefw.local.scrape import Sample

_AGENT, _NETWORK = "edgefw_agent_", "edgefw_network_"
_DEPTH = "edgefw_broker_queue_depth"
QUEUE = "queue"  # what the broker holds of an agent, by state, added up


class BoardColumn(NamedTuple):
    """A number of an agent that is shown: the end of its metric's name (or QUEUE), and how."""

    name: str
    title: str  # {unit}: rounds or seconds, by the run's clock
    digits: int = 2


SHOWN = (
    BoardColumn("round", "round", 0),
    BoardColumn("local_loss", "local\nloss"),
    BoardColumn("global_loss", "global\nloss"),
    BoardColumn("regret", "regret\n>="),
    BoardColumn("feedback_outstanding", "on its\nway", 0),
    BoardColumn(QUEUE, "queue", 0),
    BoardColumn("feedback_delay_rounds", "delay\nrounds", 0),
    BoardColumn("feedback_requested_delay", "requested\n{unit}"),
    BoardColumn("feedback_observed_delay_seconds", "observed\ns"),
)
AGENT_NAMES = frozenset(_AGENT + shown.name for shown in SHOWN if shown.name != QUEUE)
BROKER_NAMES = frozenset([_DEPTH])
OBSERVER_NAMES = frozenset(
    _NETWORK + name
    for name in (
        *("round", "loss", "total_loss", "regret", "comparator_gap", "comparator_rounds"),
        *("pace_asked_seconds", "pace_reached_seconds"),
    )
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
            if sample.name == _DEPTH:
                queued[agent] = queued.get(agent, 0.0) + sample.value
            elif sample.name.startswith(_AGENT):
                self._of(agent)[sample.name.removeprefix(_AGENT)] = sample.value
            else:
                self._network[sample.name.removeprefix(_NETWORK)] = sample.value
        for agent, depth in queued.items():
            self._of(agent)[QUEUE] = depth

    def agent(self, i: int, name: str) -> float:
        """Return a number of agent i by the end of its metric's name, or QUEUE."""
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
    def pace_warning(self) -> str | None:
        """What it means that rounds take longer than they were to; None where they do not."""
        asked, reached = self.network("pace_asked_seconds"), self.network("pace_reached_seconds")
        return warning(asked, reached) if missed(asked, reached, self.round) else None

    @property
    def unit(self) -> str:
        """What requested delays are counted in."""
        return "rounds" if self.clock == "rounds" else "s"

    @property
    def round(self) -> int:
        """The last round that all agents have played, as far as is known."""
        played = [self.agent(i, "round") for i in range(self.agents)]
        slowest = min((0.0 if math.isnan(t) else t for t in played), default=0.0)
        scored = self.network("round")
        return int(max(slowest, 0.0 if math.isnan(scored) else scored))

    def foremost(self, most: int) -> list[int]:
        """Return the agents to show where there is room for so many: the latest, and the best and worst."""
        everyone = range(self.agents)
        if self.agents <= most:
            return list(everyone)
        late = sorted(everyone, key=lambda i: -self._known(i, QUEUE))
        worst = sorted(everyone, key=lambda i: -self._known(i, "global_loss"))
        turns = (i for each in zip(late, worst, reversed(worst), strict=True) for i in each)
        return sorted(list(dict.fromkeys(turns))[:most])

    def _known(self, agent: int, name: str) -> float:
        """Return a number of an agent, 0 where none is known: NaN cannot be sorted."""
        value = self.agent(agent, name)
        return 0.0 if math.isnan(value) else value

    def _of(self, agent: int) -> dict[str, float]:
        return self._by_agent.setdefault(agent, {})
