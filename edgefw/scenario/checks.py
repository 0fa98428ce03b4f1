"""What a fault may say under which clock, and that names differ: an InputError says what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.scenario.faults import Adversary, AnyFault, Blackout, Latency, Ramp, Rounds, amounts, applies_to
from edgefw.scenario.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.scenario.model import Scenario


def check_names(delays: Sequence[AnyFault], events: Sequence[AnyFault]) -> None:
    """Refuse two faults of one name; one without is called by its place."""
    seen: dict[str, str] = {}
    for where, faults in (("delays", delays), ("events", events)):
        for position, fault in enumerate(faults):
            place, name = f"{where}.{position}", fault.name or f"{where}-{position}"
            if name in seen:
                raise InputError(f"{place} and {seen[name]} are both named {name!r}: give one another name")
            seen[name] = place


def check_clock(place: str, fault: AnyFault, clock: str) -> None:
    """Refuse what a fault, which stands at `place`, cannot say under a clock."""
    if isinstance(fault, Adversary):
        _check_starving(place, fault)
    if clock == "rounds":
        _check_rounds(place, fault)
    else:
        _check_times(place, fault)
        _check_pending(place, fault)


def check_simulable(scenario: Scenario) -> None:
    """Refuse what the emulator can do and the simulator cannot."""
    for where in ("delays", "events"):
        for position, fault in enumerate(getattr(scenario, where)):
            if isinstance(fault, Adversary) and fault.strategy == "largest":
                raise InputError(
                    f"{where}.{position}.strategy is largest, which looks at the norms of feedback: "
                    "only the emulator has them, run it with `edgefw up`"
                )


def _check_starving(place: str, fault: Adversary) -> None:
    if fault.strategy == "starve" and isinstance(fault.period, float):
        raise InputError(
            f"{place}.period is the time {format_duration(fault.period)}, and strategy starve counts "
            "feedback: write a number, such as 10 to let one in ten through"
        )


def _check_rounds(place: str, fault: AnyFault) -> None:
    """Refuse times under the rounds clock."""
    if isinstance(fault, Latency):
        raise InputError(
            f"{place}.type is latency, a delay in time, and clock is rounds: "
            "use type rounds, or set clock=wall"
        )
    for name, value in amounts(fault):
        if isinstance(value, float):
            raise InputError(
                f"{place}.{name} is the time {format_duration(value)}, and clock is rounds: "
                "write a number of rounds, or set clock=wall"
            )


def _check_times(place: str, fault: AnyFault) -> None:
    """Refuse delays in rounds under the wall clock; when a fault begins and ends may be either."""
    if isinstance(fault, Rounds):
        raise InputError(
            f"{place}.type is rounds, a delay in rounds, and clock is wall: "
            "use type latency, or set clock=rounds"
        )
    for name, value in amounts(fault) if isinstance(fault, Ramp) else ():
        if isinstance(value, int) and value and name not in {"at", "duration"}:
            raise InputError(
                f"{place}.{name} is {value} rounds, and clock is wall: "
                "write a time, such as 2s, or set clock=rounds"
            )


def _check_pending(place: str, fault: AnyFault) -> None:
    """Refuse a window in rounds for what acts on held feedback by the wall clock: it is held by no round.

    A blackout is about times of release, which the pace finds for its rounds.
    """
    if applies_to(fault) != "pending" or isinstance(fault, Blackout):
        return
    for name in ("at", "duration"):
        value = getattr(fault, name)
        if isinstance(value, int):
            raise InputError(
                f"{place}.{name} is {value} rounds, and what applies to pending feedback counts time by the "
                "wall clock: write a time, such as 10s, or apply_to: new"
            )
