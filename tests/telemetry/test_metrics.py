"""What services export: names and units that Prometheus' conventions ask for, one registry a service."""

from __future__ import annotations

import math
import re
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from edgefw.delays.change import Change
from edgefw.telemetry.metrics import AgentMetrics, BrokerMetrics, ObserverMetrics, new_registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import Metric

ROLES: dict[str, Callable[[CollectorRegistry], object]] = {
    "agent": lambda registry: AgentMetrics(registry, 3),
    "broker": BrokerMetrics,
    "observer": ObserverMetrics,
}
PREFIX = {"agent": "edgefw_agent_", "broker": "edgefw_broker_", "observer": "edgefw_network_"}
UNITS = re.compile(r"_(ms|milliseconds|minutes|hours|kilobytes|megabytes|percent)$")
each_role = pytest.mark.parametrize("role", ROLES)


def families(role: str) -> list[Metric]:
    """Return what a service of that role exports, as somebody who scrapes it reads it."""
    registry = CollectorRegistry()
    ROLES[role](registry)
    return list(text_string_to_metric_families(generate_latest(registry).decode()))


@each_role
def test_names_say_whose_they_are_and_are_in_base_units(role: str) -> None:
    found = families(role)
    assert len(found) > 10
    for family in found:
        assert family.name.startswith(PREFIX[role])
        assert not UNITS.search(family.name)
        assert len(family.documentation) > 10
        assert family.documentation.endswith(".")


@each_role
def test_counters_and_only_they_end_in_total(role: str) -> None:
    registry = CollectorRegistry()
    ROLES[role](registry)
    declared = {family.name: family.type for family in registry.collect()}
    assert set(declared.values()) <= {"counter", "gauge", "histogram"}
    assert not [name for name, kind in declared.items() if kind != "counter" and name.endswith("_total")]


def test_every_series_of_an_agent_names_it_and_its_neighbours_apart() -> None:
    registry = CollectorRegistry()
    metrics = AgentMetrics(registry, 3)
    metrics.frame(4, "sent", 100)
    metrics.frame(4, "sent", 20)
    metrics.frame(2, "received", 7)
    metrics.peer_up(4, up=True)
    metrics.waiting(4, 1.5)
    metrics.wait(4, 0.2)
    metrics.rejected("stranger", "digest")
    metrics.unusable("shape")
    assert {sample.labels["agent"] for family in registry.collect() for sample in family.samples} == {"3"}

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"edgefw_agent_{name}", {"agent": "3", **labels})

    assert value("peer_bytes_total", peer="4", direction="sent") == 120
    assert value("peer_frames_total", peer="4", direction="sent") == 2
    assert value("peer_bytes_total", peer="2", direction="received") == 7
    assert value("peer_up", peer="4") == 1
    assert value("waiting_seconds", peer="4") == 1.5
    assert value("exchange_wait_seconds_sum", peer="4") == pytest.approx(0.2)
    assert value("exchange_wait_seconds_count", peer="4") == 1
    assert value("exchange_wait_seconds_bucket", peer="4", le="0.1") == 0
    assert value("exchange_wait_seconds_bucket", peer="4", le="0.25") == 1
    assert value("peer_rejected_total", peer="stranger", reason="digest") == 1
    assert value("feedback_rejected_total", reason="shape") == 1


def test_a_regret_that_is_not_known_is_not_zero() -> None:
    registry = CollectorRegistry()
    AgentMetrics(registry, 0)
    regret = registry.get_sample_value("edgefw_agent_regret", {"agent": "0"})
    assert regret is not None
    assert math.isnan(regret)


def test_a_registry_says_what_runs_and_knows_no_other() -> None:
    first, second = new_registry("broker"), new_registry("agent")
    BrokerMetrics(first)
    built = {"version": version("edgefw"), "role": "broker"}
    assert first.get_sample_value("edgefw_build_info", built) == 1
    resident = second.get_sample_value("process_resident_memory_bytes")
    assert resident is not None
    assert resident > 1_000_000
    assert not [family.name for family in second.collect() if family.name.startswith("edgefw_broker")]


def test_the_last_ways_in_which_the_plan_was_changed_are_shown_with_their_times() -> None:
    registry = CollectorRegistry()
    metrics = BrokerMetrics(registry)
    for agent in range(100):
        metrics.plan_changed(Change("add", "latency", str(agent)), 1000.0 + agent)
    metrics.plan_changed(Change("add", "latency", "99"), 2000.0)
    assert registry.get_sample_value("edgefw_broker_plan_changes_total") == 101

    def when(agent: int) -> float | None:
        labels = {"what": "add", "fault": "latency", "agent": str(agent)}
        return registry.get_sample_value("edgefw_broker_plan_changed_timestamp_seconds", labels)

    assert [when(agent) for agent in (0, 67, 68, 98, 99)] == [None, None, 1068, 1098, 2000]


def test_a_stream_that_is_set_up_again_is_counted_again() -> None:
    registry = CollectorRegistry()
    metrics = AgentMetrics(registry, 3)
    for up in (False, True, False, True):
        metrics.peer_up(4, up=up)
    connects = registry.get_sample_value("edgefw_agent_peer_connects_total", {"agent": "3", "peer": "4"})
    assert connects == 2
