"""What an agent has been told: which feedback is on its way, which has come, and how late. Pure: no clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgefw.core.messages import Feedback


class Inbox:
    """Feedback between its submission and the sweep that uses it: once, however often it comes."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # round -> when it was submitted; by round; not yet received
        self._given_up: dict[int, float] = {}  # the same, where it is not to be expected
        self._waiting: dict[int, Feedback] = {}  # received, not yet used
        self._news: list[int] = []  # given up, and not yet asked for
        self._unused = 0  # submitted and not yet used in a sweep
        self.total_delay = 0  # B_i so far: every feedback counts one for each round it is not yet used in

    @property
    def outstanding(self) -> int:
        """How many feedbacks have been submitted, have not come, and are not known to be dropped."""
        return len(self._since)

    @property
    def awaited(self) -> list[int]:
        """The rounds of the feedback that is outstanding, the oldest first."""
        return list(self._since)

    def oldest_age(self, t: int) -> int:
        """Return the delay so far, after round t, of the oldest feedback that is missing; 0 if none is."""
        return t - next(iter(self._since)) + 1 if self._since else 0

    def submitted(self, t: int, now: float) -> None:
        """Note the submission of round t, the last thing of that round."""
        self._since[t] = now
        self._unused += 1
        self.total_delay += self._unused

    def received(self, feedback: Feedback, now: float) -> float | None:
        """Note a delivery; return how long it was on its way, or None for one that has come before.

        What was lost may come after all, from a broker that was killed before it had noted the drop.
        """
        since = self._since.pop(feedback.round, self._given_up.pop(feedback.round, None))
        if since is None:
            return None
        self._waiting[feedback.round] = feedback
        return now - since

    def lost(self, t: int) -> bool:
        """Note that the feedback of round t is not to be expected any more; return whether that is news."""
        if (since := self._since.pop(t, None)) is None:
            return False
        self._given_up[t] = since
        self._news.append(t)
        return True

    def newly_lost(self) -> list[int]:
        """Take out what was lost since this was asked before."""
        news, self._news = self._news, []
        return news

    def save(self) -> dict[str, Any]:
        """Return what it has been told, between two rounds; what was not used is to come again."""
        return {
            "awaited": sorted({*self._since, *self._waiting}),
            "given up": [*self._given_up],
            "unused": self._unused,
            "total delay": self.total_delay,
        }

    def load(self, saved: dict[str, Any], now: float) -> None:
        """Go on from what was saved; how long feedback has been on its way is counted from now."""
        self._since = dict.fromkeys(saved["awaited"], now)
        self._given_up = dict.fromkeys(saved["given up"], now)
        self._unused, self.total_delay = saved["unused"], saved["total delay"]

    def take(self, t: int) -> list[Feedback]:
        """Return F_t: what has come and was not used yet, by round; nothing of a round after t."""
        taken = [self._waiting.pop(s) for s in sorted(self._waiting) if s <= t]
        self._unused -= len(taken)
        return taken
