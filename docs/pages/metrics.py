"""The page on metrics: made from what the services export, the dashboards and the alerts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from edgefw.telemetry.metrics import AgentMetrics, BrokerMetrics, ObserverMetrics, new_registry, strangers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client import CollectorRegistry

DOCKER = Path(__file__).parents[2] / "docker"

HEAD = """\
# Metrics

Every service answers `GET /metrics` on its metrics port, in Prometheus' text format. Units are base units:
seconds, bytes, rounds. This page is made from `edgefw/telemetry/metrics.py`, the dashboard and the alerts by
`make docs`.

- A *gauge* is a number that goes up and down. A *counter* only grows; ask for its `rate`. A *histogram* has
  the series `..._bucket`, `..._sum` and `..._count`.
- In containers Prometheus adds `instance` (the service's name, `agent-3`) and `job` (its role, `agent`).
- *Panels* are those of the Grafana dashboard, *alerts* those of Prometheus (`docker/prometheus/rules`).
- Without containers the broker's are also at its admin endpoint: `curl 127.0.0.1:7070/metrics`.

```promql
edgefw_agent_regret / scalar(sqrt(avg(edgefw_agent_total_delay_rounds)))           # regret / sqrt(B)
histogram_quantile(0.99, sum by (le) (rate(edgefw_broker_lateness_seconds_bucket[1m])))
edgefw_network_pace_reached_seconds > 1.1 * edgefw_network_pace_asked_seconds      # too slow a machine
```
"""

LABELS = {
    "agent": "the number of an agent, from 0; of a change of the plan also `all` or `several`",
    "peer": "the number of the neighbour at the other end of a stream",
    "direction": "`sent` or `received`",
    "state": "`pending`: held back; `due`: released, and not yet acknowledged",
    "scope": "`link`: of one agent; `all`: of all together",
    "reason": "a word for why something was refused",
    "what": "how the plan was changed: `add`, `change`, `remove`, `replace`, `reset`, `enable`, `disable`, "
    "or `ended` (a fault whose time was over)",
    "fault": "the type of the fault, `link` (a whole link) or `several`",
    "role": "`agent`, `broker` or `observer`",
    "version": "that of the program",
}

SERVICES: dict[str, tuple[str, Callable[[CollectorRegistry], object]]] = {
    "agent": ("The agent", lambda registry: AgentMetrics(registry, 0)),
    "broker": ("The broker", BrokerMetrics),
    "observer": ("The observer, about the whole network", ObserverMetrics),
}


@dataclass(frozen=True)
class Family:
    """A metric, whatever the values of its labels."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def page() -> str:
    """Return the page."""
    families = {role: _families(role) for role in SERVICES}
    common = [each for each in families["agent"] if each in families["broker"]]
    panels, alerts = list(_panels()), list(_alerts())
    parts = [HEAD]
    for role, (title, _) in SERVICES.items():
        own = [each for each in families[role] if each not in common]
        parts.append("\n".join([f"## {title}", "", *_table(own, panels, alerts)]))
    parts.append("\n".join(["## Every service", "", *_table(common, panels, alerts)]))
    parts.append(_labels(label for own in families.values() for each in own for label in each.labels))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _families(role: str) -> list[Family]:
    registry = new_registry(role)
    strangers(registry)
    SERVICES[role][1](registry)
    found = []
    for collector in registry._collector_to_names:  # noqa: SLF001 - a metric without values is nowhere else
        labels = tuple(getattr(collector, "_labelnames", ()))
        for family in collector.collect():
            ends = {"counter": "_total", "info": "_info"}.get(family.type, "")
            if family.type == "info":
                labels = tuple(sorted(family.samples[0].labels))
            found.append(Family(family.name + ends, family.type, labels, family.documentation))
    return found


def _table(families: Iterable[Family], panels: Uses, alerts: Uses) -> list[str]:
    lines = ["| metric | type | labels | meaning | panels | alerts |", "|---|---|---|---|---|---|"]
    for each in families:
        labels = ", ".join(f"`{label}`" for label in each.labels)
        shown, told = ("; ".join(_using(each.name, uses)) for uses in (panels, alerts))
        lines.append(f"| `{each.name}` | {each.kind} | {labels} | {each.text} | {shown} | {told} |")
    return lines


def _labels(used: Iterable[str]) -> str:
    lines = [f"| `{label}` | {LABELS[label]} |" for label in dict.fromkeys(used)]
    return "\n".join(["## Labels", "", "| label | meaning |", "|---|---|", *lines])


Uses = list[tuple[str, str]]
"""What uses metrics: its title, and an expression of it."""


def _using(name: str, uses: Uses) -> list[str]:
    pattern = re.compile(rf"\b{name}(_bucket|_sum|_count)?\b")
    return list(dict.fromkeys(title for title, expression in uses if pattern.search(expression)))


def _panels() -> Iterator[tuple[str, str]]:
    for path in sorted((DOCKER / "grafana" / "dashboards").glob("*.json")):
        board: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                yield panel["title"], target["expr"]
        for mark in board["annotations"]["list"]:
            yield f"the mark *{mark['name']}*", mark["target"]["expr"]


def _alerts() -> Iterator[tuple[str, str]]:
    """Yield every alert, with the expressions that were recorded for it written out."""
    files = [
        path.read_text(encoding="utf-8") for path in sorted((DOCKER / "prometheus" / "rules").glob("*.yml"))
    ]
    rules = [rule for text in files for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    recorded = {rule["record"]: rule["expr"] for rule in rules if "record" in rule}
    for rule in rules:
        if "alert" in rule:
            yield f"`{rule['alert']}`", _written_out(rule["expr"], recorded)


def _written_out(expression: str, recorded: dict[str, str]) -> str:
    """Return an expression without what it reads by a recorded name."""
    while names := [name for name in recorded if name in expression]:
        for name in names:
            expression = expression.replace(name, f"({recorded[name]})")
    return expression
