"""How fast devices are: what computing costs in time, for all of them and for some."""

from __future__ import annotations

from pydantic import Field, NonNegativeInt

from edgefw.delays.agents import check_agents
from edgefw.delays.strict import Strict
from edgefw.delays.units import Duration
from edgefw.errors import InputError


class OtherDevices(Strict):
    """Some devices that are unlike the rest."""

    agents: list[NonNegativeInt]
    compute: Duration


class Devices(Strict):
    """How fast devices compute; `simulate`, which counts in rounds, takes no notice of it."""

    compute: Duration = Field(
        default=0.0,
        description="How long an agent computes at least in every exchange of a round, of which there are K. "
        "A machine that is slower takes longer; on virtual time computing takes exactly this. Neighbours "
        "wait meanwhile. Under the rounds clock it changes no play.",
        examples=["2ms"],
    )
    others: list[OtherDevices] = Field(
        default_factory=list,
        description="Agents whose compute is another one, such as a slow device.",
        examples=[[{"agents": [3], "compute": "20ms"}]],
    )

    def compute_of(self, agent: int) -> float:
        """Return the seconds that an agent computes at least in every exchange."""
        own = (other.compute for other in self.others if agent in other.agents)
        return next(own, self.compute)

    def check(self, n: int) -> None:
        """Refuse agents that are not there, or that are told twice what they are like."""
        seen: set[int] = set()
        for position, other in enumerate(self.others):
            place = f"devices.others.{position}"
            try:
                check_agents(other.agents, n)
            except InputError as error:
                raise error.within(place) from None
            for agent in other.agents:
                if agent in seen:
                    raise InputError(f"{place}.agents names agent {agent} once more: name each agent once")
                seen.add(agent)
