"""What a run was: the content of summary.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.regret import Comparator, cumulative_loss, network_regret, total_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class AgentSummary:
    """What a run was for one agent; `regret` is None where no comparator was asked for."""

    agent: int  # i, from 0
    cumulative_loss: float  # the sum over t of F_t(x_t^i)
    regret: float | None  # that, less comparator_loss
    total_delay: int  # B_i


@dataclass(frozen=True)
class Summary:
    """What a run was: the content of summary.json. Regret lies in [regret, regret + comparator_gap]."""

    name: str  # of the scenario
    digest: str  # of the scenario: what was asked for, names left out
    mode: str  # simulate (arrays) or up (services)
    algorithm: str  # its name
    seed: int  # of all that is drawn
    data: str  # the data set that was used
    agents: int  # n
    rate: float  # zeta, or the gradient step
    rate_reason: str  # where it comes from: given, or derived from what the scenario declares
    rounds: int  # that were played
    total_loss: float  # the sum over t of max_i F_t(x_t^i): a sum of maxima
    network_regret: float | None  # the largest of the agents' regrets: a maximum of sums
    comparator_loss: float | None  # of the best fixed point that was found, over the rounds played
    comparator_gap: float | None  # how much less the best fixed point may lose at most
    total_delay: float  # B, the mean over agents
    unused: int  # feedbacks of rounds before the last that no play has used
    messages: int  # frames sent from agent to agent
    bytes: int  # that the arrays in these messages take: messages times the size of a frame's arrays
    wire_bytes: int | None  # that were written to the network for them, encoded; None: simulated
    wall_seconds: float  # from the first play to the last; of a simulated run, how long it took
    pace_asked: float | None  # seconds a round; None: as fast as it goes, or simulated
    pace_reached: float | None  # seconds that a round took, the mean over the run
    pace_kept: bool | None  # false: what is given in seconds fell on other rounds than planned
    missed_ticks: int | None  # rounds of agents that began after their tick; None: no pace, or simulated
    per_agent: tuple[AgentSummary, ...]  # one for every agent

    def to_json(self) -> str:
        """Return the summary as it stands in the run folder."""
        return json.dumps(asdict(self), indent=2) + "\n"


LATER = frozenset({"pace_asked", "pace_reached", "pace_kept", "missed_ticks", "wire_bytes"})
"""Fields of a summary that the first runs did not have: they are read as null."""


def score(
    losses: NDArray[np.float64], total_delay: Sequence[int], comparator: Comparator | None
) -> dict[str, Any]:
    """Return the fields of a summary that follow from the global losses (rounds, n)."""
    cumulative = cumulative_loss(losses)
    regrets = [None if comparator is None else float(c - comparator.value) for c in cumulative]
    per_agent = zip(range(len(cumulative)), cumulative, regrets, total_delay, strict=True)
    return {
        "total_loss": total_loss(losses),
        "network_regret": None if comparator is None else network_regret(losses, comparator),
        "comparator_loss": None if comparator is None else comparator.value,
        "comparator_gap": None if comparator is None else comparator.gap,
        "total_delay": float(np.mean(total_delay)),
        "per_agent": tuple(AgentSummary(i, float(c), r, int(b)) for i, c, r, b in per_agent),
    }
