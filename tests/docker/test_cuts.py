"""Containers cut off and connected again, on a real engine."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from containers import Project, running

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.xdist_group("machine"), pytest.mark.slow]

AGENTS = 5
FIELDS = (
    "name=cuts",
    f"network.agents={AGENTS}",
    "data.source=synthetic",
    "data.samples=500",
    "algorithm.horizon=100000",
    "algorithm.sub_iterations=4",
    "pace=200ms",
)


@pytest.fixture(scope="module")
def run() -> Iterator[Project]:
    with running("cuts", FIELDS) as found:
        yield found


def _name_of(run: Project, who: str, of: str) -> str:
    """Return the address that one service finds another at."""
    ask = f"import socket; print(socket.gethostbyname({of!r}))"
    return run.compose("exec", "-T", who, "python", "-c", ask).strip()


def test_what_is_healed_has_its_old_address_and_its_names(run: Project) -> None:
    before = run.addresses()
    assert all(map(socket.inet_aton, before.values()))
    for words in (("cut", "1"), ("cut", "2"), ("heal", "2"), ("heal", "1")):
        run.edgefw("chaos", *words)
    assert run.addresses() == before
    for name in ("agent-1", f"{run.name}-agent-1-1"):
        assert _name_of(run, "agent-0", name) == before["agent-1"]
    routes = run.compose("exec", "-T", "agent-1", "cat", "/proc/net/route")
    assert routes == run.compose("exec", "-T", "agent-0", "cat", "/proc/net/route"), "it has no way out"
