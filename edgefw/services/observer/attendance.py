"""Who belongs to an observer's runs: where each one's metrics are, and since when it is away.

A member is there while a call of it is under way: an agent's stream of reports stands for as long as the
agent does. The broker asks again and again, so it is never away for long. Whoever has come once stays a
target of Prometheus, which then finds that it does not answer.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BROKER = None
Who = int | None
"""An agent, or the broker."""


class Attendance:
    """The broker and agents 0..n-1, for as long as the observer lives; `now` is its clock, in seconds."""

    def __init__(self, n: int, now: Callable[[], float]) -> None:
        self.everyone: tuple[Who, ...] = (BROKER, *range(n))
        self._now = now
        self._since = dict.fromkeys(self.everyone, now())
        self._calls: Counter[Who] = Counter()
        self._metrics: dict[Who, str] = {}  # where each one's metrics are

    @contextmanager
    def call(self, who: Who) -> Iterator[None]:
        """Count a member as there for the length of a call."""
        self._calls[who] += 1
        try:
            yield
        finally:
            self._calls[who] -= 1
            self._since[who] = self._now()

    def away(self, who: Who) -> float:
        """Return for how many seconds a member has not been there."""
        return 0.0 if self._calls[who] else self._now() - self._since[who]

    def found_at(self, who: Who, metrics: str) -> None:
        """Note where the metrics of a member are, host:port."""
        self._metrics[who] = metrics

    def targets(self) -> list[dict[str, Any]]:
        """Return where the metrics of all that ever came are, as Prometheus' HTTP discovery takes it."""
        return [
            {"targets": [place], "labels": {"job": "broker" if who is BROKER else "agent"}}
            for who, place in self._metrics.items()
        ]


def name(who: Who) -> str:
    """Return what a member is called.

    >>> name(3), name(BROKER)
    ('agent 3', 'the broker')
    """
    return "the broker" if who is BROKER else f"agent {who}"
