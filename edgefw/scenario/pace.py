"""The length of a round, as a scenario writes it: a duration, or "asap"."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from edgefw.delays.units import TIME, above_zero, format_duration, parse_duration

SLACK = 1.1  # times the pace asked for: rounds that take longer in the mean have missed it
SETTLED = 5  # rounds of which a mean says something


def parse_pace(value: object) -> float | str:
    """Return "asap", or the seconds of a round."""
    if value == "asap":
        return "asap"
    try:
        return above_zero(parse_duration(value))
    except ValueError as error:
        raise ValueError(f"{error} (or asap, as fast as it goes)") from None


Pace = Annotated[
    Literal["asap"] | float,
    PlainValidator(parse_pace),
    PlainSerializer(lambda pace: pace if pace == "asap" else format_duration(pace)),
    WithJsonSchema({"anyOf": [{"const": "asap"}, TIME]}),
]
"""The length of a round in seconds, or "asap"."""


def timing(pace: float | str, rounds: int, wall_seconds: float, missed_ticks: int) -> dict[str, Any]:
    """Return what a summary says of the pace of a run; `wall_seconds` are from its first play to its last.

    >>> timing(0.25, 41, 20.0, 120)
    {'pace_asked': 0.25, 'pace_reached': 0.5, 'pace_kept': False, 'missed_ticks': 120}
    """
    asked = None if isinstance(pace, str) else pace
    reached = wall_seconds / (rounds - 1) if rounds > 1 else None
    kept = None if asked is None or reached is None else reached <= SLACK * asked
    ticks = None if asked is None else missed_ticks
    return {"pace_asked": asked, "pace_reached": reached, "pace_kept": kept, "missed_ticks": ticks}


def missed(asked: float, reached: float, rounds: int) -> bool:
    """Whether a mean over so many rounds shows that the pace is missed; one of 0 (asap) never is."""
    return asked > 0 and rounds >= SETTLED and reached > SLACK * asked


def warning(asked: float, reached: float) -> str:
    """Return what a missed pace means, and what to do, in one line."""
    wanted, found = (format_duration(round(seconds, 3)) for seconds in (asked, reached))
    return (
        f"pace missed: rounds take {found}, {wanted} was asked for, so what is given in seconds falls on "
        f"earlier rounds than planned (30s: round {int(30 / reached) + 1}, not {int(30 / asked) + 1}): "
        "raise pace, run fewer agents, or write rounds"
    )
