"""The helper of the page: it plays the same run without delays beside the real one.

It waits until somebody looks, and takes no time before. Then it plays as many rounds as the network does, and
catches up with those before at a small share of a core: a first look costs the run no more than any other.
"""

from __future__ import annotations

import json
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

from edgefw.services.machine import be_helper, own_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    Losses = Iterator[NDArray[np.float64]]

NICE = 10  # rounds come first
SHARE = 0.04  # of a core: what catching up takes over a while
AT_ONCE = 0.15  # seconds of a core that it may take of that in advance: something is to be seen soon
MOST_OWED = 0.8  # seconds of a core: nobody waits longer for what was slow to load than 20 s
AWAY = 5.0  # seconds without a request: nobody has looked
FREELY = "freely"


class Allowance:
    """Seconds of a core to spend: they come in at SHARE, at most AT_ONCE are kept, debts are paid first."""

    def __init__(self, now: float) -> None:
        self._seconds, self._at = AT_ONCE, now

    def left(self, now: float) -> bool:
        """Whether there is something to spend."""
        self._seconds = min(self._seconds + SHARE * (now - self._at), AT_ONCE)
        self._at = now
        return self._seconds > 0

    def spend(self, seconds: float) -> None:
        """Spend some, also more than there is."""
        self._seconds = max(self._seconds - seconds, -MOST_OWED)


class PromptPlayer:
    """Plays what `start` returns, as far as it is asked to and may; `spent` is the time it took of a core."""

    def __init__(
        self,
        start: Callable[[], Losses],
        now: Callable[[], float],
        spent: Callable[[], float] = own_seconds,
    ) -> None:
        self._start, self._now, self._spent = start, now, spent
        self._prompt: Losses | None = None
        self._played = self._asked = 0
        self._last = 0.0  # when it was asked
        self._allowance = Allowance(now())

    def begin(self) -> Iterator[str]:
        """Do nothing unasked."""
        return iter(())

    def answer(self, request: str) -> Iterator[str]:
        """Play towards a round, and say the losses of the rounds that were played now, a line of JSON.

        All that came since the last request, and of those before as many as may be: all of them, if `freely`.
        """
        rounds, _, how = request.strip().partition(" ")
        yield json.dumps(self._play(int(rounds), freely=how == FREELY))

    def _play(self, target: int, *, freely: bool) -> list[list[float]]:
        before = self._spent()
        followed = self._prompt is not None and self._now() - self._last < AWAY
        self._prompt = self._start() if self._prompt is None else self._prompt
        started = self._spent() - before
        new = target if freely else target - self._asked if followed else 0
        losses = self._take(self._prompt, new, target)
        self._allowance.spend(started)  # after a first glimpse
        self._asked, self._last = target, self._now()
        return losses

    def _take(self, prompt: Losses, new: int, target: int) -> list[list[float]]:
        """Play so many rounds as new ones, and others while there is something to spend on them."""
        losses: list[list[float]] = []
        while self._played < target and (len(losses) < new or self._allowance.left(self._now())):
            before = self._spent()
            losses.append(next(prompt).tolist())
            self._played += 1
            if len(losses) > new:
                self._allowance.spend(self._spent() - before)
        return losses


def prompt_of(scenario_path: str) -> Losses:
    """Return the losses of the rounds, had nobody been late; what that needs is loaded now."""
    from edgefw.prompt import prompt_rounds  # noqa: PLC0415
    from edgefw.scenario.load import load  # noqa: PLC0415

    return prompt_rounds(load(scenario_path))


def make_player(scenario_path: str, _asked: Callable[[], bool], now: Callable[[], float]) -> PromptPlayer:
    """Return the helper's program."""
    return PromptPlayer(partial(prompt_of, scenario_path), now)


def main(scenario_path: str) -> None:
    """Be the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the observer
    be_helper(partial(make_player, scenario_path), NICE)


if __name__ == "__main__":
    main(sys.argv[1])
