"""Label matchers and forms of PromQL that several rows use."""

from __future__ import annotations

from panels import Query

AGENT = 'agent=~"$agent"'
SERVICE = 'instance=~"agent-($agent)|broker|observer"'
ROLES = 'job=~"agent|broker|observer"'
RATE = "[$__rate_interval]"


def of_agents(name: str) -> Query:
    """Return a gauge of the selected agents."""
    return Query(f"edgefw_agent_{name}{{{AGENT}}}")


def mean(histogram: str) -> Query:
    """Return the mean of a histogram of the selected agents, by agent."""
    return Query(f"rate({histogram}_sum{{{AGENT}}}{RATE}) / rate({histogram}_count{{{AGENT}}}{RATE})")


def quantiles(histogram: str, levels: tuple[float, ...], matcher: str = "") -> list[Query]:
    """Return quantiles of a histogram over all of its series."""
    selector = f"{histogram}_bucket{{{matcher}}}" if matcher else f"{histogram}_bucket"
    rate = f"sum by (le) (rate({selector}{RATE}))"
    return [Query(f"histogram_quantile({level}, {rate})", f"{level:.0%}") for level in levels]
