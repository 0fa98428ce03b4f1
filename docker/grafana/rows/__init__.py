"""What the dashboard shows, row by row. Every query returns data from the first rounds of a run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rows import agents, broker, faults, learning, overview, runtime

if TYPE_CHECKING:
    from panels import Panel


def rows() -> dict[str, list[Panel]]:
    """Return the panels of every row, by the row's title."""
    return {
        "Overview": overview.panels(),
        "Learning": learning.panels(),
        "Broker": broker.panels(),
        "Agents": agents.panels(),
        "Faults of the network": faults.panels(),
        "Runtime": runtime.panels(),
    }
