"""What a page is drawn with: the figures, without numbers, and the drawing of the network, as JSON."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

MISSING = "it needs Bokeh, which is not installed: pip install 'edgefw[ui]'"
FIGURES = Path(__file__).parent / "assets" / "figures.json"  # `make figures`


def installed() -> bool:
    """Whether the page can be drawn."""
    return find_spec("bokeh") is not None


def prepared(scenario: Scenario, clock: str) -> dict[str, Any]:
    """Return the figures of a run under a clock, without numbers, and the drawing of its network."""
    from edgefw.page.network import drawing  # noqa: PLC0415 - slow to load
    from edgefw.scenario.setup import graph_of  # noqa: PLC0415

    figures: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))[clock]
    return {**figures, "network": drawing(graph_of(scenario), scenario.network.topology, scenario.seed)}


def prepared_line(scenario: Scenario) -> str:
    """Return it as a line of JSON."""
    return json.dumps(prepared(scenario, scenario.clock), separators=(",", ":"))
