"""The delay plan: every fault on every link, as the table of delays that they add up to.

Theory of operation. The feedback of round s is submitted just after the play of round s and arrives at round
s + delay - 1, so that without a fault the delay is 1. On a link:

1. what adds up is added: delay = 1 + sum of (rounds - 1) + floor(sum of seconds / length of a round);
2. blackouts move arrivals that fall into their windows to the windows' ends, until none does;
3. adversaries, in the plan's order, see when feedback would arrive and choose when it does; a blackout holds
   what they let go inside its window, too;
4. feedback that any of them, or a drop, takes away is gone, whatever the others say.

Everything is a function of (seed, agent, round): one round alone and the whole table give the same delay. The
broker asks the same questions of the same code, in `link`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import InputError
from edgefw.problem.delay.acting import OnLink
from edgefw.problem.delay.arrivals import arrivals
from edgefw.problem.delay.draws import Stream
from edgefw.problem.delay.faults import Fault, Latency, Ramp
from edgefw.problem.delay.units import LONGEST, NEVER, SLACK, check_number, check_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class DelayPlan:
    """The faults on the links of agents 0..agents-1.

    >>> from edgefw.problem.delay import Drop, Rounds
    >>> plan = DelayPlan((Rounds(3, agents=(1,)), Drop(window=(2, 3))), agents=2, seed=0)
    >>> np.where(plan.table(4) == NEVER, 0, plan.table(4))
    array([[1, 0, 1, 1],
           [3, 0, 3, 3]])
    """

    faults: tuple[Fault, ...]
    agents: int
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "faults", tuple(self.faults))
        check_whole("agents", self.agents, least=1)
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}: it must be 0 or more")
        for fault in self.faults:
            _check_agents(fault, self.agents)

    def stream(self, position: int, agent: int) -> Stream:
        """Return the numbers that fault `position` draws for an agent.

        Salts that were given are even, those that come from the position odd: they never meet.
        """
        salt = self.faults[position].salt
        return Stream(self.seed, agent, 2 * position + 1 if salt is None else 2 * salt)

    def delays(
        self, agent: int, rounds: range, *, T: int, round_seconds: float | None = None
    ) -> NDArray[np.int64]:
        """Return the delays (len(rounds),) of one agent's feedback of consecutive rounds, in a run of T."""
        _check_round_seconds([fault for fault in self.faults if fault.concerns(agent)], round_seconds)
        s = np.array(rounds, dtype=np.int64)
        own, later = self.link(agent, pending=False), self.link(agent, pending=True)
        arrival, lost = arrivals(own, later, s, T=T, round_seconds=round_seconds)
        return np.where(lost | (arrival >= NEVER), NEVER, arrival - s + 1)

    def declared(self, agent: int, round_seconds: float | None = None) -> int:
        """Return the delay in rounds, at least 1, that the faults on an agent's link say they add up to.

        >>> from edgefw.problem.delay import Drop, Rounds
        >>> DelayPlan((Rounds(12, jitter=9), Drop()), agents=1, seed=0).declared(0)
        21
        """
        length = 1.0 if round_seconds is None else round_seconds
        added = sum(fault.declared(length) for fault in self.faults if fault.concerns(agent))
        return 1 + math.floor(min(added + SLACK, LONGEST))

    def link(self, agent: int, *, pending: bool) -> list[OnLink]:
        """Return the faults on an agent's link that act on what is pending, or those that do not."""
        return [
            OnLink(fault, self.stream(position, agent))
            for position, fault in enumerate(self.faults)
            if fault.concerns(agent) and fault.pending == pending
        ]

    def table(self, T: int, round_seconds: float | None = None) -> NDArray[np.int64]:
        """Return the delays (agents, T): column s-1 is the delay of the feedback of round s.

        `round_seconds` is the length of a round; a plan with latencies needs it.
        """
        check_whole("horizon", T, least=1)
        _check_round_seconds(self.faults, round_seconds)
        every = range(1, T + 1)
        return np.stack([self.delays(i, every, T=T, round_seconds=round_seconds) for i in range(self.agents)])


def delayed_agents(n: int, f: int, rng: np.random.Generator, *, with_replacement: bool) -> tuple[int, ...]:
    """Return the distinct agents, sorted, among f draws from 0..n-1.

    The paper's runs drew with replacement (f = 20 of 30 is then about 15 agents); its text reads without.
    """
    check_whole("f", f, least=0)
    if f > n and not with_replacement:
        raise InputError(f"f is {f}: there are only {n} agents to delay")
    return tuple(sorted(set(rng.choice(n, size=f, replace=with_replacement).tolist())))


def _check_agents(fault: Fault, n: int) -> None:
    for agent in fault.agents or ():
        if agent >= n:
            raise InputError(f"a {fault.type} fault names agent {agent}: agents are 0..{n - 1}")


def _check_round_seconds(faults: Sequence[Fault], round_seconds: float | None) -> None:
    if round_seconds is not None:
        check_number("round_seconds", round_seconds)
        if round_seconds <= 0:
            raise InputError(f"a round of {round_seconds} seconds has no length: set `pace` above 0")
        return
    for fault in faults:
        if isinstance(fault, Latency) or (isinstance(fault, Ramp) and fault.unit == "seconds"):
            raise InputError(
                f"a {fault.type} in seconds needs rounds of a known length: "
                "set `pace` (pace: 250ms), or give the delay in `rounds`"
            )
