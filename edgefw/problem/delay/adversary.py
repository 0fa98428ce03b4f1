"""Feedback delayed on purpose: by someone who chooses the order, not by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgefw.errors import InputError, unknown
from edgefw.problem.delay.faults import Fault
from edgefw.problem.delay.units import NEVER, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rule = Callable[[NDArray[np.int64], NDArray[np.int64], int, int], NDArray[np.int64]]


def _burst(s: NDArray[np.int64], due: NDArray[np.int64], period: int, T: int) -> NDArray[np.int64]:
    del s, T
    return _period_end(due, period)


def _newest_first(s: NDArray[np.int64], due: NDArray[np.int64], period: int, T: int) -> NDArray[np.int64]:
    # A mirror at the period's end, not a sorted queue: each release is known when the feedback is submitted.
    del s, T
    return 2 * _period_end(due, period) - due


def _until_end(s: NDArray[np.int64], due: NDArray[np.int64], period: int, T: int) -> NDArray[np.int64]:
    del s, period
    return np.maximum(due, T)


def _starve(s: NDArray[np.int64], due: NDArray[np.int64], period: int, T: int) -> NDArray[np.int64]:
    del T
    return np.where((s - 1) % period == 0, due, NEVER)


def _period_end(due: NDArray[np.int64], period: int) -> NDArray[np.int64]:
    return -(-due // period) * period


STRATEGIES: dict[str, Rule] = {
    "burst": _burst,
    "newest_first": _newest_first,
    "until_end": _until_end,
    "starve": _starve,
}


@dataclass(frozen=True)
class Adversary(Fault):
    """Holds feedback that would otherwise be due in round `due`; periods are rounds 1..period and so on.

    - burst: held to the end of the period it is due in, where all is released together.
    - newest_first: what is due in a period is released from its end on in reverse order of due round, as many
      rounds after the end as it was due before it (one a round where one a round was due).
    - until_end: everything comes in round T.
    - starve: the first feedback of each period comes, the others never do.
    """

    type: ClassVar[str] = "adversary"

    strategy: str
    period: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strategy not in STRATEGIES:
            raise unknown("strategy", self.strategy, STRATEGIES)
        if self.strategy == "until_end":
            if self.period is not None:
                raise InputError(
                    f"strategy 'until_end' has no period, but `period` is {self.period}: leave it out"
                )
        elif self.period is None:
            raise InputError(f"strategy {self.strategy!r} needs its period: period: 10, in rounds")
        else:
            check_whole("period", self.period, least=1)

    def release(
        self, rounds: range, due: NDArray[np.int64], met: NDArray[np.bool_], T: int
    ) -> NDArray[np.int64]:
        """Return the arrival rounds (len(rounds),) of feedback that would be due in `due`."""
        s = np.array(rounds, dtype=np.int64)
        comes = due < NEVER  # what never comes is nobody's to hold, and twice NEVER is no int64
        held = STRATEGIES[self.strategy](s, np.where(comes, due, 1), self.period or 1, T)
        return np.where(met & comes, held, due)
