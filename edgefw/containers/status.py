"""How the containers of a run are: health, processor, memory, and how far each agent has come."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from docker.errors import APIError

from edgefw.telemetry.status import SHOWN, Status, learning

if TYPE_CHECKING:
    from edgefw.containers.engine import Containers, Member

# Runs in the observer's container, which reaches everyone: metrics need no port on the host, no Prometheus.
_ASK = """
import json, urllib.request as r
from concurrent.futures import ThreadPoolExecutor
straight = r.build_opener(r.ProxyHandler({}))
def get(place, path):
    try:
        return straight.open(f"http://{place}{path}", timeout=2).read().decode()
    except OSError:
        return ""
me = "127.0.0.1:9464"
places = [target for group in json.loads(get(me, "/targets") or "[]") for target in group["targets"]]
places = [me, *places]
with ThreadPoolExecutor(16) as pool:
    print(json.dumps(dict(zip(places, pool.map(lambda place: get(place, "/metrics"), places)))))
"""


def status(containers: Containers) -> list[Status]:
    """Return how every container is."""
    members = containers.members()
    with ThreadPoolExecutor(len(members) + 1) as pool:
        asked = pool.submit(_learning, members)
        usages = list(pool.map(_usage, members))
    told = asked.result()
    return [
        Status(
            member.name,
            member.state,
            member.health,
            None if usage is None else _cores(usage),
            None if usage is None else _memory(usage),
            told.get(member.name, {}),
            containers.project,
        )
        for member, usage in zip(members, usages, strict=True)
    ]


def _usage(member: Member) -> dict[str, Any] | None:
    """Return what a container uses; the engine looks twice, about a second apart."""
    if not member.running:
        return None
    try:
        usage: dict[str, Any] = member.container.stats(stream=False)
    except APIError:  # it has ended meanwhile
        return None
    return usage


def _cores(usage: dict[str, Any]) -> float | None:
    before, after = usage["precpu_stats"], usage["cpu_stats"]
    used = after["cpu_usage"]["total_usage"] - before["cpu_usage"]["total_usage"]
    system = after.get("system_cpu_usage", 0) - before.get("system_cpu_usage", 0)
    return used / system * after.get("online_cpus", 1) if system > 0 else None


def _memory(usage: dict[str, Any]) -> int:
    """Return what the processes use: the page cache does not count."""
    memory = usage.get("memory_stats", {})
    details = memory.get("stats", {})
    return int(memory.get("usage", 0)) - int(details.get("inactive_file", details.get("cache", 0)))


def _learning(members: list[Member]) -> dict[str, dict[str, float | None]]:
    observer = next((member for member in members if member.name == "observer" and member.running), None)
    if observer is None:
        return {}
    code, output = observer.container.exec_run(["python", "-I", "-S", "-c", _ASK], stderr=False)
    if code:
        return {}
    return {
        "observer" if place.startswith("127.") else place.partition(":")[0]: _numbers(text)
        for place, text in json.loads(output).items()
    }


def _numbers(metrics: str) -> dict[str, float | None]:
    r"""Return the numbers that are shown, of a service's metrics.

    >>> _numbers('edgefw_agent_round{agent="3"} 12.0\nedgefw_agent_regret{agent="3"} NaN')
    {'round': 12.0, 'regret': None}
    """
    told = [line for line in metrics.splitlines() if line.partition("{")[0].partition(" ")[0] in SHOWN]
    return learning(
        (line.partition("{")[0].partition(" ")[0], float(line.rsplit(" ", 1)[1])) for line in told
    )
