"""The committed dashboards as data: panels, and their queries as Grafana would send them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Dashboard = dict[str, Any]
    Panel = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "docker" / "grafana" / "dashboards"

# What Grafana fills in by default: all agents, and at a scrape each second a rate over four of them.
DEFAULTS = {"agent": ".*", "__interval": "1s", "__rate_interval": "4s", "__range": "15m"}
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::\w+)?\}|(?P<plain>\w+))|\[\[(?P<old>\w+)(?::\w+)?\]\]")


def dashboards() -> dict[str, Dashboard]:
    """Return every committed dashboard by the name of its file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def panels(dashboard: Dashboard) -> Iterator[Panel]:
    """Yield the panels that show something, those in collapsed rows included."""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels", [])
        else:
            yield panel


def queries(dashboard: Dashboard, values: Mapping[str, str] | None = None) -> Iterator[tuple[Panel, str]]:
    """Yield every query of every panel, with its variables filled in (`values` over the defaults)."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield panel, filled(target["expr"], values)


def marks(dashboard: Dashboard, values: Mapping[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name and the query of every annotation."""
    for annotation in dashboard["annotations"]["list"]:
        yield annotation["name"], filled(annotation["target"]["expr"], values)


def filled(expression: str, values: Mapping[str, str] | None = None) -> str:
    """Return an expression with its variables filled in; KeyError names one that has no value.

    >>> filled('rate(a_total{agent=~"$agent"}[$__rate_interval])', {"agent": "3"})
    'rate(a_total{agent=~"3"}[4s])'
    """
    known = {**DEFAULTS, **(values or {})}
    return _VARIABLE.sub(lambda found: known[found[found.lastgroup or 0]], expression)
