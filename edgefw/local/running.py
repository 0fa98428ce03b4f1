"""The runs of processes that go on on this machine, found by the command lines of their services.

Nobody keeps a list of them, so none can be wrong: what a killed run leaves behind is not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.http.guard import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROC = Path("/proc")
_KINDS = ("observer", "broker", "agent")


@dataclass(frozen=True)
class Service:
    """A process of a run: its options as they were given, without their dashes."""

    pid: int
    kind: str
    options: Mapping[str, str]

    @property
    def name(self) -> str:
        """What it is called: broker, agent-3."""
        return f"agent-{self.options['agent']}" if self.kind == "agent" else self.kind

    @property
    def observer(self) -> str:
        """Where the observer of its run listens."""
        return self.options["listen" if self.kind == "observer" else "join"]


@dataclass(frozen=True)
class Running:
    """A run that goes on: its folder, where its broker's admin endpoint is, and its services."""

    folder: Path
    admin: str | None
    services: tuple[Service, ...]


def running(proc: Path | None = None) -> list[Running]:
    """Return the runs whose observer is there, the oldest first; those in containers are not among them."""
    found = sorted(_services(proc or PROC), key=lambda service: service.pid)
    return [
        _run(observer, [service for service in found if service.observer == observer.observer])
        for observer in found
        if observer.kind == "observer" and "out" in observer.options
    ]


def _run(observer: Service, services: list[Service]) -> Running:
    broker = next((service for service in services if service.kind == "broker"), None)
    ordered = sorted(services, key=lambda s: (_KINDS.index(s.kind), int(s.options.get("agent", 0))))
    admin = None if broker is None else broker.options.get("admin")
    return Running(Path(observer.options["out"]), admin, tuple(ordered))


def _services(proc: Path) -> Iterator[Service]:
    for path in proc.glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").rstrip("\0").split("\0")
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue
        if words[1:3] == ["-m", "edgefw"] and len(words) > 3 and words[3] in _KINDS:
            service = Service(int(path.parent.name), words[3], _options(words[4:]))
            if is_loopback(service.options.get("listen", "").rpartition(":")[0]) and (
                service.kind == "observer" or "join" in service.options
            ):
                yield service


def _options(words: list[str]) -> dict[str, str]:
    """Return options that have a value.

    >>> _options(["--agent", "3", "--stay", "--join", "127.0.0.1:4711"])
    {'agent': '3', 'join': '127.0.0.1:4711'}
    """
    pairs = zip(words, [*words[1:], "--"], strict=True)
    return {name[2:]: value for name, value in pairs if name.startswith("--") and not value.startswith("--")}
