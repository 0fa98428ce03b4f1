"""`blackout`: everything that is due in a window is released when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from edgefw.delays.fault import ApplyTo, Fault

if TYPE_CHECKING:
    from edgefw.delays.fault import Rules, Window


class Blackout(Fault):
    """Everything that is due in the window is released when it ends."""

    acts_on_by_default: ClassVar[ApplyTo] = "pending"
    about_releases: ClassVar[bool] = True

    type: Literal["blackout"] = "blackout"

    def most(self, rules: Rules, window: Window | None) -> int:
        """Return how long it lasts: to the end of the run where it says no end."""
        first, last = window or (1, None)
        return rules.rounds if last is None else last - first

    def declared(self, rules: Rules, window: Window | None) -> float:  # noqa: ARG002 - its window is in rounds
        """Return how long it lasts, nothing where it says no end."""
        first, last = window or (1, None)
        return 0.0 if last is None else last - first
