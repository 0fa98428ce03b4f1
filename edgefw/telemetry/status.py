"""How a service is, wherever it runs: what `edgefw status` shows of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SHOWN: Mapping[str, str] = {
    "edgefw_agent_round": "round",
    "edgefw_agent_regret": "regret",
    "edgefw_agent_feedback_outstanding": "outstanding",
    "edgefw_agent_feedback_delay_rounds": "delay_rounds",
    "edgefw_network_round": "round",
    "edgefw_network_regret": "regret",
}
"""The metrics that are shown, and what each is called there."""


@dataclass(frozen=True)
class Status:
    """One service; `cpu` in cores, `memory` in bytes, None where it does not run."""

    name: str
    state: str
    health: str | None
    cpu: float | None
    memory: int | None
    learning: Mapping[str, float | None]
    run: str  # the folder of a run of processes, the Compose project of containers


def learning(samples: Iterable[tuple[str, float]]) -> dict[str, float | None]:
    """Return the numbers that are shown, of metrics and their values.

    >>> learning([("edgefw_agent_round", 12.0), ("edgefw_agent_regret", math.nan), ("other", 1.0)])
    {'round': 12.0, 'regret': None}
    """
    return {SHOWN[name]: None if math.isnan(value) else value for name, value in samples if name in SHOWN}
