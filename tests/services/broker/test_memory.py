"""How much memory there is: what control groups of both versions say, and what a broker makes of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from loopback_broker import broker, run, scenario

from edgefw.services.broker import limits
from edgefw.services.broker.memory import available

if TYPE_CHECKING:
    from pathlib import Path

PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
V1, V2 = "9:name=systemd:/\n4:cpu,memory:{}\n0::/\n", "0::{}\n"
LESS, LEAST = 2**20, 2**19
NONE = "9223372036854771712"  # what version 1 says where there is no limit


def group(root: Path, line: str, files: dict[str, object]) -> Path:
    """Make the files that a process in a control group finds."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(line)
    for name, content in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return root


@pytest.mark.parametrize(
    ("line", "files", "expected"),
    [
        (V2.format("/"), {"memory.max": LESS}, LESS),  # a container, as it sees itself
        (V2.format("/docker/1a"), {"memory.max": LESS}, LESS),  # ... with the path that it has outside
        (V2.format("/a/b"), {"a/memory.max": LEAST, "a/b/memory.max": LESS}, LEAST),
        (V2.format("/a/b"), {"a/memory.max": "max", "a/b/memory.max": LESS}, LESS),
        (V2.format("/a"), {"a/memory.max": "max"}, PHYSICAL),
        (V1.format("/"), {"memory/memory.limit_in_bytes": LESS}, LESS),
        (V1.format("/docker/1a"), {"memory/memory.limit_in_bytes": LESS}, LESS),
        (V1.format("/a"), {"memory/memory.limit_in_bytes": NONE}, PHYSICAL),
        (V1.format("/a:b"), {"memory/a:b/memory.limit_in_bytes": LESS}, LESS),
        (V1.format("/"), {}, PHYSICAL),
    ],
)
def test_the_least_limit_of_all_groups_counts(
    tmp_path: Path, line: str, files: dict[str, object], expected: int
) -> None:
    assert available(group(tmp_path, line, files)) == expected


def test_without_control_groups_it_is_the_machines(tmp_path: Path) -> None:
    assert available(tmp_path) == PHYSICAL
    assert 0 < available() <= PHYSICAL


def test_a_limit_that_memory_has_no_room_for_is_lowered_and_said(caplog: pytest.LogCaptureFixture) -> None:
    wanted = scenario(limits={"megabytes": 500})
    assert limits.limits_of(wanted, 4 * 2**30).bytes == 500_000_000
    assert not caplog.records
    assert limits.limits_of(wanted, 660_000_000).bytes == 250_000_000
    (record,) = caplog.records
    assert "limits.megabytes is 500, and there is memory for 250" in record.getMessage()
    assert limits.limits_of(wanted, 1000).bytes == 1_000_000


def test_the_limit_in_force_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "available", lambda: 360_000_000)

    async def test() -> None:
        async with broker(scenario("wall", {"type": "latency", "latency": "1h"})) as client:
            await client.submit(1, bytes(1000))
            assert client.sample("held_limit_bytes") == 100_000_000
            assert client.sample("held_bytes") == 1000

    run(test())
