"""A collected run has its folder, and what every container said while it ran."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from edgefw.containers.collect import collect
from edgefw.containers.engine import Containers, Member
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEGUN = {"first": 100, "second": 200, "third": 300}


class Container:
    """As much of a container as is asked: a volume with three runs, and a line a second."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_archive(self, path: str) -> tuple[Iterator[bytes], None]:
        """Send the folder of one run, or of all."""
        wanted = path.rpartition("/")[2]
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as archive:
            for run, begun in BEGUN.items():
                if wanted not in {run, "runs"}:
                    continue
                entry = tarfile.TarInfo(f"{run if wanted == run else f'runs/{run}'}/scenario.yaml")
                entry.mtime = begun
                archive.addfile(entry)
        return iter([content.getvalue()]), None

    def logs(self, since: float | None, until: float | None) -> bytes:
        """Return a line for each moment of a run's beginning that is in the span."""
        moments = [at for at in BEGUN.values() if (since or 0) <= at and (until is None or at < until)]
        return "".join(f"{self.name} at {at}\n" for at in moments).encode()


class Known(Containers):
    """Containers without an engine."""

    def __init__(self) -> None:
        self.project = "known"

    def members(self) -> list[Member]:
        names = ("broker", "observer", "agent-0")
        found: list[tuple[str, Any]] = [(name, Container(name)) for name in names]
        return [Member(name, "exited", None, container) for name, container in found]


@pytest.mark.parametrize(("run", "begun"), [("first", 100), ("second", 200), (None, 300)])
def test_a_run_comes_with_the_logs_of_its_own_time(tmp_path: Path, run: str | None, begun: int) -> None:
    where = collect(Known(), run, tmp_path)
    assert where == tmp_path / (run or "third")
    assert (where / "scenario.yaml").exists()
    logs = {path.name: path.read_text() for path in (where / "logs").iterdir()}
    services = ("broker", "observer", "agent-0")
    assert logs == {f"{service}.log": f"{service} at {begun}\n" for service in services}


def test_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run 'nix': there are first, second, third"):
        collect(Known(), "nix", tmp_path)
