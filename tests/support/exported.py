"""What the services export, asked of their own registries."""

from __future__ import annotations

from functools import cache

from edgefw.telemetry.metrics import AgentMetrics, BrokerMetrics, ObserverMetrics, new_registry, strangers

TARGET_LABELS = frozenset({"instance", "job"})  # Prometheus adds them to every series
MADE_BY_PROMETHEUS = {
    "up": TARGET_LABELS,
    "scrape_duration_seconds": TARGET_LABELS,
    "ALERTS": frozenset({"alertname", "alertstate", "severity"}),
}


@cache
def exported() -> dict[str, frozenset[str]]:
    """Return the labels of every series that can be had of a run, by its name."""
    labels: dict[str, set[str]] = {}
    registries = {role: new_registry(role) for role in ("agent", "broker", "observer")}
    AgentMetrics(registries["agent"], 0)
    BrokerMetrics(registries["broker"])
    ObserverMetrics(registries["observer"])
    for registry in registries.values():
        strangers(registry)
        for collector, names in registry._collector_to_names.items():
            for name in names:
                labels.setdefault(name, set()).update(getattr(collector, "_labelnames", ()))
        for metric in registry.collect():
            for sample in metric.samples:
                labels.setdefault(sample.name, set()).update(sample.labels)
    found = {name: frozenset(own) | TARGET_LABELS | _bucket(name) for name, own in labels.items()}
    return found | MADE_BY_PROMETHEUS


def _bucket(name: str) -> frozenset[str]:
    return frozenset({"le"}) if name.endswith("_bucket") else frozenset()
