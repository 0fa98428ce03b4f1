"""What can be done to feedback on its way: one frozen class for each type that a delay plan knows.

The classes are plain descriptions plus pure functions of the round: nothing here remembers what it did.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgefw.errors import InputError, unknown
from edgefw.problem.delay.distribution import Amount
from edgefw.problem.delay.units import (
    NEVER,
    check_delay,
    check_fraction,
    check_number,
    check_whole,
    completed,
    nearest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgefw.problem.delay.draws import SomeRounds, Stream

Window = tuple[int, int | None]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What every fault has.

    - agents: whose links it is on; None = all of them.
    - probability: the chance that it meets a given message.
    - window: in force for feedback submitted in rounds start..stop-1; stop None = no end; None = always.
    - salt: two faults with the same salt draw the same numbers; None = the plan gives each its own.
    - pending: in force for all that is held in the window's rounds instead, and for no longer than that.
    """

    type: ClassVar[str] = ""

    agents: tuple[int, ...] | None = None
    probability: float = 1.0
    window: Window | None = None
    salt: int | None = None
    pending: bool = False

    def __post_init__(self) -> None:
        check_fraction("probability", self.probability)
        if self.agents is not None:
            object.__setattr__(self, "agents", tuple(self.agents))  # a list from a file
            for agent in self.agents:
                check_whole("agents", agent, least=0)
        if self.window is not None:
            object.__setattr__(self, "window", _window(self.window))
        if self.salt is not None:
            check_whole("salt", self.salt, least=0)

    def declared(self, round_seconds: float) -> float:  # noqa: ARG002 - a fault that says nothing
        """Return how many rounds it says that it adds to a delay, 0 where it says none.

        Nothing drawn is looked at: this is what may be known before a run. Drops, adversaries, traces and
        blackouts without end say nothing that could be reckoned with.
        """
        return 0.0

    def concerns(self, agent: int) -> bool:
        """Whether the fault is on this agent's link."""
        return self.agents is None or agent in self.agents

    def gate(self, stream: Stream, rounds: SomeRounds) -> NDArray[np.bool_]:
        """Return which of these rounds' feedback (len(rounds),) chance lets it act on."""
        if self.probability == 1:
            return np.ones(len(rounds), dtype=np.bool_)
        return stream.gates(rounds) < self.probability

    def meets(self, stream: Stream, rounds: SomeRounds) -> NDArray[np.bool_]:
        """Return which of these rounds' feedback (len(rounds),) it acts on: in its window, and by chance."""
        met = self.gate(stream, rounds)
        if self.window is not None:
            met &= _inside(np.asarray(rounds, dtype=np.int64), self.window)
        return met


@dataclass(frozen=True, kw_only=True)
class _Drawn(Fault):
    """A fault whose amount is drawn: see `Amount` for jitter, distribution, correlation and trace."""

    jitter: float = 0.0
    distribution: str | None = None
    correlation: float = 0.0
    trace: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "trace", tuple(self.trace))

    def _amount(self, base: float, name: str, least: int) -> Amount:
        return Amount(base, self.jitter, self.distribution, self.correlation, self.trace, name, least)


@dataclass(frozen=True)
class Latency(_Drawn):
    """Feedback comes `latency` seconds late."""

    type: ClassVar[str] = "latency"

    latency: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.amount  # a wrong value is refused where it is written, not where it is first used

    def declared(self, round_seconds: float) -> float:
        """Return latency + jitter: the most of a uniform one; others have no most, but this as their size."""
        return (self.latency + self.jitter) / round_seconds

    @cached_property
    def amount(self) -> Amount:
        """The drawn seconds."""
        return self._amount(self.latency, "latency", 0)

    def seconds(self, stream: Stream, rounds: SomeRounds) -> NDArray[np.float64]:
        """Return the seconds (len(rounds),) added to each round's feedback that it acts on."""
        return self.amount.values(stream, rounds)


@dataclass(frozen=True)
class Rounds(_Drawn):
    """Feedback has delay `rounds`: 1 = none, 501 = it comes 500 rounds later than it would."""

    type: ClassVar[str] = "rounds"

    rounds: float = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.amount.law == "uniform":
            self.amount.whole_range()

    @classmethod
    def between(cls, low: int, high: int, *, agents: tuple[int, ...] | None = None) -> Rounds:
        """Return delays uniform on the integers low..high.

        >>> Rounds.between(1, 10).amount.whole_range()
        (1, 10)
        """
        check_whole("low", low, least=1)
        check_whole("high", high, least=low)
        return cls((low + high) / 2, jitter=(high - low) / 2, distribution="uniform", agents=agents)

    def declared(self, round_seconds: float) -> float:  # noqa: ARG002 - they are rounds already
        """Return rounds + jitter less the round that is no delay: see `Latency`."""
        return self.rounds + self.jitter - 1

    @cached_property
    def amount(self) -> Amount:
        """The drawn rounds."""
        return self._amount(self.rounds, "rounds", 1)

    def added(self, stream: Stream, rounds: SomeRounds) -> NDArray[np.int64]:
        """Return the rounds (len(rounds),) added to each round's feedback that it acts on: delay - 1."""
        return self.amount.whole(stream, rounds) - 1


@dataclass(frozen=True)
class Ramp(Fault):
    """The delay goes from `start` to `stop` by `step` every `interval`, and stays there.

    `unit` is "rounds" (start and stop are delays, 1 = none) or "seconds", for all four. Time runs from the
    window's start, else from round 1.
    """

    type: ClassVar[str] = "ramp"

    start: float
    stop: float
    step: float
    interval: float
    unit: str = "rounds"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit not in {"rounds", "seconds"}:
            raise unknown("unit", self.unit, ["rounds", "seconds"])
        for name in ("start", "stop"):
            check_delay(name, getattr(self, name), least=1 if self.unit == "rounds" else 0)
        for name in ("step", "interval"):
            check_number(name, getattr(self, name))
            if getattr(self, name) <= 0:
                raise InputError(
                    f"`{name}` is {getattr(self, name)}: it must be above 0, also on the way down"
                )

    def declared(self, round_seconds: float) -> float:
        """Return the higher one of its ends."""
        highest = max(self.start, self.stop)
        return highest - 1 if self.unit == "rounds" else highest / round_seconds

    def level(self, elapsed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the delay after each elapsed time (in `unit`s).

        >>> Ramp(1, 5, 2, 10).level(np.array([0.0, 9.0, 10.0, 500.0]))
        array([1., 1., 3., 5.])
        """
        steps = completed(elapsed, self.interval)
        climbed = np.minimum(float(self.step) * steps, abs(self.stop - self.start))
        change: NDArray[np.float64] = np.copysign(climbed, self.stop - self.start)
        return self.start + change

    def elapsed(self, rounds: SomeRounds) -> NDArray[np.float64]:
        """Return how many rounds each round comes after the ramp's beginning, at least 0."""
        first = 1 if self.window is None else self.window[0]
        return np.maximum(np.asarray(rounds, dtype=np.float64) - first, 0.0)

    def seconds(self, rounds: SomeRounds, round_seconds: float) -> NDArray[np.float64]:
        """Return the seconds (len(rounds),) added to each round's feedback that it acts on."""
        return self.level(self.elapsed(rounds) * round_seconds)

    def added(self, rounds: SomeRounds) -> NDArray[np.int64]:
        """Return the rounds (len(rounds),) added to each round's feedback that it acts on: delay - 1."""
        return nearest(self.level(self.elapsed(rounds))) - 1


@dataclass(frozen=True)
class Drop(Fault):
    """Feedback never comes."""

    type: ClassVar[str] = "drop"


@dataclass(frozen=True)
class Blackout(Fault):
    """What is due in rounds start..stop-1 of the window is released at stop; a window without end: never."""

    type: ClassVar[str] = "blackout"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is None:
            raise InputError("a blackout needs its window: window: [start, stop], in rounds")

    def declared(self, round_seconds: float) -> float:  # noqa: ARG002 - its window is in rounds
        """Return how long it lasts."""
        start, stop = self.window or (1, None)
        return 0.0 if stop is None else stop - start

    def meets(self, stream: Stream, rounds: SomeRounds) -> NDArray[np.bool_]:
        """Return which rounds' feedback it may hold: its window is about releases, so not asked here."""
        return self.gate(stream, rounds)


def _inside(rounds: NDArray[np.int64], window: Window) -> NDArray[np.bool_]:
    start, stop = window
    return (rounds >= start) & (rounds < (NEVER if stop is None else stop))


def _window(window: Sequence[int | None]) -> Window:
    if len(window) != 2 or window[0] is None:
        raise InputError(
            f"`window` is {list(window)}: write it [start, stop], in rounds (stop: null = no end)"
        )
    start, stop = window[0], window[1]
    check_whole("window", start, least=1)
    if stop is not None:
        check_whole("window", stop, least=1)
        if stop <= start:
            raise InputError(f"`window` is {list(window)}: it is empty, the stop must come after the start")
    return start, stop
