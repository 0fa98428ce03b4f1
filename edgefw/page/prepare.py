"""What a page needs and takes long to make: figures and the network's drawing, as JSON.

Bokeh alone takes a second to be loaded: a service that has rounds to score leaves this to a helper.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

MISSING = "it needs Bokeh, which is not installed: pip install 'edgefw[ui]'"


def installed() -> bool:
    """Whether the page can be drawn."""
    return find_spec("bokeh") is not None


def prepared(scenario: Scenario) -> dict[str, Any]:
    """Return the figures of a run, without numbers, and the drawing of its network."""
    from edgefw.page.figures import THEMES, charts, document  # noqa: PLC0415 - slow to load
    from edgefw.page.network import drawing  # noqa: PLC0415
    from edgefw.scenario.setup import graph_of  # noqa: PLC0415

    found = document(scenario.clock)
    return {
        "document": found.to_json(deferred=False),
        "roots": {root.name: root.id for root in found.roots},
        "charts": [{"name": chart.name, "title": chart.title} for chart in charts(scenario.clock)],
        "themes": THEMES,
        "network": drawing(graph_of(scenario), scenario.network.topology, scenario.seed),
    }


def prepared_line(scenario: Scenario) -> str:
    """Return it as a line of JSON."""
    return json.dumps(prepared(scenario), separators=(",", ":"))
