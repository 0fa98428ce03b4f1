"""The row of what the services cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models import units
from panels import Query, chart

from rows.queries import RATE, SERVICE

if TYPE_CHECKING:
    from panels import Panel


def panels() -> list[Panel]:
    """Return the panels of the row."""
    service = "{{instance}}"
    return [
        chart(
            "Processor",
            "Time on a core by service; 100% is one core.",
            units.PercentUnit,
            Query(f"rate(process_cpu_seconds_total{{{SERVICE}}}{RATE})", service),
        ),
        chart(
            "Memory",
            "Resident memory by service.",
            units.BytesIEC,
            Query(f"process_resident_memory_bytes{{{SERVICE}}}", service),
        ),
        chart(
            "Open files",
            "Files and sockets that a service has open; a steady climb is a leak.",
            units.NoUnit,
            Query(f"process_open_fds{{{SERVICE}}}", service),
        ),
        chart(
            "Time since start",
            "A line that falls to zero is a restart.",
            units.Seconds,
            Query(f"time() - process_start_time_seconds{{{SERVICE}}}", service),
        ),
        chart(
            "Time to scrape",
            "How long a service takes to answer Prometheus; above a second it counts as down.",
            units.Seconds,
            Query(f"scrape_duration_seconds{{{SERVICE}}}", service),
        ),
        chart(
            "Version",
            "How many services run which version.",
            units.NoUnit,
            Query("count by (version, role) (edgefw_build_info)", "{{role}} {{version}}"),
        ),
    ]
