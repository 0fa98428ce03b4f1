"""The best fixed point, searched for by a process of the lowest priority: rounds never wait for it.

The process speaks JSON, a line a message. It begins with the whole horizon and tells every certificate that
is a good deal tighter than the one before. At the end of the run it is asked for the rounds played, with the
loss that regret is measured from, and searches on until the gap is at most 1 % of the regret, or time is up.
It ends when its standard input closes: with its observer, however that ends.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from edgefw import best
from edgefw.scenario.load import load
from edgefw.scenario.setup import Setup, first_rounds, resolve
from edgefw.services.observer.scoring import Certificate, fixed_point_losses

if TYPE_CHECKING:
    from edgefw.core.comparator import Enough
    from edgefw.core.regret import Comparator
    from edgefw.problem.feasible.base import Real

NICE = "EDGEFW_COMPARATOR_NICE"  # how nice to be: on a machine that is never idle, 19 gets nowhere
LEAST = 0.01  # of the comparator's loss: a regret below that is not worth a longer search
TARGETS = (0.3, 0.1, 0.03, 0.01)  # of the comparator's loss: how tight the certificates on the way are


@dataclass(frozen=True)
class Request:
    """The rounds played, the loss that regret is measured from, and the time there is."""

    rounds: int
    worst_loss: float
    seconds: float

    def to_line(self) -> bytes:
        """Return the request as a line."""
        return json.dumps(vars(self)).encode() + b"\n"


def main(scenario_path: str) -> None:
    """Be the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the observer, which then asks for the end
    os.nice(_niceness())
    requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    search = _Search(resolve(load(scenario_path)), requests)
    with threadpool_limits(1):  # more of them spin while they wait for a core that others use
        search.whole_horizon()
        search.answer_all()


def _niceness() -> int:
    """Return how nice this process is to be: as nice as can be, if it is not told."""
    text = os.environ.get(NICE, "19")
    if text not in {str(value) for value in range(20)}:
        sys.exit(f"edgefw: {NICE} is {text!r}: it has to be a number from 0 to 19")
    return int(text)


def _listen(requests: queue.SimpleQueue[Request | None]) -> None:
    try:
        for line in sys.stdin:
            requests.put(Request(**json.loads(line)))
    finally:
        requests.put(None)  # also after a line that an observer left half written as it died


class _Search:
    """What has been found so far, and the requests that cut a search short."""

    def __init__(self, setup: Setup, requests: queue.SimpleQueue[Request | None]) -> None:
        self._setup, self._requests = setup, requests
        self._point: Real | None = None
        self._said: Comparator | None = None

    def whole_horizon(self) -> None:
        """Search on nobody's request, until there is one."""
        for share in TARGETS:
            if not self._requests.empty():
                return
            self._find(self._setup, _within(share), final=False)

    def answer_all(self) -> None:
        """Answer requests until there will be none; a new one cuts the search for the last short."""
        while (request := self._requests.get()) is not None:
            self._answer(request)

    def _answer(self, request: Request) -> None:
        deadline = time.monotonic() + request.seconds

        def enough(found: Comparator) -> bool:
            regret = max(request.worst_loss - found.value, LEAST * found.value)
            return found.gap <= best.SHARE * regret or time.monotonic() > deadline

        self._find(first_rounds(self._setup, request.rounds), enough, final=True)

    def _find(self, setup: Setup, enough: Enough, *, final: bool) -> None:
        solution = best.find(setup, lambda c: enough(c) or not self._requests.empty(), self._point)
        self._point = solution.point
        if not self._requests.empty():
            return  # cut short: whoever has asked wants another answer
        if final or solution.comparator != self._said:
            self._said = solution.comparator
            _say(Certificate(solution.comparator, fixed_point_losses(setup, solution.point), final))


def _within(share: float) -> Enough:
    return lambda found: found.gap <= share * found.value


def _say(certificate: Certificate) -> None:
    found = certificate.comparator
    line = {"value": found.value, "gap": found.gap, "losses": certificate.losses.tolist()}
    print(json.dumps(line | {"final": certificate.final}), flush=True)  # noqa: T201 - the observer reads it


if __name__ == "__main__":
    main(sys.argv[1])
