"""The best fixed point, searched for by a helper of the lowest priority: rounds never wait for it.

The helper speaks JSON, a line a message. It begins with the whole horizon and tells every certificate that
is a good deal tighter than the one before. At the end of the run it is asked for the rounds played, with the
loss that regret is measured from, and searches on until the gap is at most 1 % of the regret, or time is up.

Of a whole run it always goes the same way to the same point, whenever it is asked, and also if it was killed
and has begun once more: a step that a request cuts short is done again from its beginning.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from edgefw import best
from edgefw.scenario.load import load
from edgefw.scenario.setup import Setup, first_rounds, resolve
from edgefw.services.machine import be_helper
from edgefw.services.observer.scoring import Certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.core.comparator import Enough
    from edgefw.core.regret import Comparator
    from edgefw.problem.feasible.base import Real

NICE = "EDGEFW_COMPARATOR_NICE"  # how nice to be: on a machine that is never idle, 19 gets nowhere
LEAST = 0.01  # of the comparator's loss: a regret below that is not worth a longer search
TARGETS = (0.3, 0.1, 0.03, 0.01)  # of the comparator's loss: how tight the certificates on the way are


class _CutShortError(Exception):
    """A step is not done to its end."""


@dataclass(frozen=True)
class Request:
    """The rounds played, the loss that regret is measured from, and the time there is."""

    rounds: int
    worst_loss: float
    seconds: float

    def to_line(self) -> str:
        """Return the request as a line."""
        return json.dumps(vars(self))


class Search:
    """The helper's program, and what it has found so far; a request that waits cuts a search short."""

    def __init__(self, scenario_path: str, asked: Callable[[], bool], now: Callable[[], float]) -> None:
        self._setup, self._asked, self._now = resolve(load(scenario_path)), asked, now
        self._point: Real | None = None
        self._said: Comparator | None = None
        self._shares = deque(TARGETS)  # those to come

    def begin(self) -> Iterator[str]:
        """Search over the whole horizon, until there is a request."""
        return self._approach(self._asked)

    def answer(self, request: str) -> Iterator[str]:
        """Search over the rounds played."""
        asked = Request(**json.loads(request))
        deadline = self._now() + asked.seconds

        def enough(found: Comparator) -> bool:
            regret = max(asked.worst_loss - found.value, LEAST * found.value)
            return found.gap <= best.SHARE * regret or self._now() > deadline

        if asked.rounds == self._setup.rounds:
            yield from self._approach(lambda: self._asked() or self._now() > deadline)
        yield from self._find(first_rounds(self._setup, asked.rounds), enough, final=True)

    def _approach(self, over: Callable[[], bool]) -> Iterator[str]:
        """Search on over the whole horizon, a share after the other, until it is over."""

        def within(found: Comparator) -> bool:
            if over():
                raise _CutShortError
            return found.gap <= self._shares[0] * found.value

        with suppress(_CutShortError):
            while self._shares and not over():
                yield from self._find(self._setup, within, final=False)
                self._shares.popleft()

    def _find(self, setup: Setup, enough: Enough, *, final: bool) -> Iterator[str]:
        solution = best.find(setup, lambda c: enough(c) or self._asked(), self._point)
        self._point = solution.point
        if self._asked():
            return  # cut short: whoever has asked wants another answer
        if final or solution.comparator != self._said:
            self._said = solution.comparator
            yield Certificate(solution.comparator, best.losses(setup, solution.point), final).to_line()


def main(scenario_path: str) -> None:
    """Be the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the observer, which then asks for the end
    nice = _niceness()
    with threadpool_limits(1):  # more of them spin while they wait for a core that others use
        be_helper(partial(Search, scenario_path), nice)


def _niceness() -> int:
    """Return the niceness of this process: the one it is told, else the largest there is."""
    text = os.environ.get(NICE, "19")
    if text not in {str(value) for value in range(20)}:
        sys.exit(f"edgefw: {NICE} is {text!r}: it has to be a number from 0 to 19")
    return int(text)


if __name__ == "__main__":
    main(sys.argv[1])
