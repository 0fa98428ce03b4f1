"""`blackout`: everything that is due while it lasts is released when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from edgefw.delays.fault import Fault

if TYPE_CHECKING:
    from edgefw.delays.fault import Rules, Window


class Blackout(Fault):
    """Everything that is due while it lasts is released when it ends."""

    acts_on_by_default = "pending"
    about_releases = True
    examples = (
        {"type": "blackout", "at": "60s", "duration": "10s"},
        {"type": "blackout", "at": 200, "duration": 20},
    )

    type: Literal["blackout"] = "blackout"

    def most(self, rules: Rules, window: Window | None) -> int:
        """Return how long it lasts: to the end of the run where it says no end."""
        first, last = window or (1, None)
        return rules.rounds if last is None else last - first

    def declared(self, rules: Rules, window: Window | None) -> float:  # noqa: ARG002 - its window is in rounds
        """Return how long it lasts, nothing where it says no end."""
        first, last = window or (1, None)
        return 0.0 if last is None else last - first
