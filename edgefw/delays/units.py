"""Amounts of delay: durations as people write them ("750ms", "2s", "1.5m"), rounds, and one as the other."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import AfterValidator, BeforeValidator, PlainSerializer, PlainValidator, WithJsonSchema

from edgefw.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEVER = 2**62
"""The delay of feedback that never comes: s + NEVER - 1 still fits int64 for every round s."""

LONGEST = 2**53
"""The largest delay that is not NEVER: heavy tails are cut here, where float64 still counts in ones."""

SLACK = 1e-9
"""In units of a round: 0.3 s / 0.1 s is 2.9999999999999996, and means 3."""

MOST_ROUNDS = 10**12
"""Of an amount in rounds: sums of them are still counted in ones."""

_SECONDS = {"us": "1e-6", "ms": "1e-3", "s": "1", "m": "60", "h": "3600"}
_PATTERN = re.compile(r"\s*(-?\d+(?:\.\d*)?|-?\.\d+)\s*(us|ms|s|m|h)\s*", re.ASCII)
_ROUNDS = re.compile(r"\s*(\d{1,15})\s*rounds?\s*", re.ASCII)
_HOW = "write a number and a unit, such as 750ms, 2s or 1.5m"


def as_written(value: object) -> str:
    """Return a value as it stands in a file; a large one only by its kind.

    >>> as_written(None), as_written("5"), as_written(5), as_written([0, "a"])
    ('null', "'5'", '5', "[0, 'a']")
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "a mapping"
    return f"a list of {len(value)}" if isinstance(value, list) and len(value) > 4 else repr(value)


def parse_duration(text: object) -> float:
    """Return the seconds that `text` stands for: the float nearest to what is written.

    >>> parse_duration("750ms")
    0.75
    """
    if text == 0 and not isinstance(text, bool):
        return 0.0
    if isinstance(text, int | float) and not isinstance(text, bool):
        raise ValueError(f"{text!r} has no unit: {_HOW}")  # noqa: TRY004 - pydantic reports these alone
    match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{as_written(text)} is not a duration: {_HOW}")
    seconds = float(Decimal(match[1]) * Decimal(_SECONDS[match[2]]))
    if seconds < 0:
        raise ValueError(f"{text!r} is negative: a duration is zero or more")
    if seconds > LONGEST:
        raise ValueError(f"{text!r} is too long: a duration is at most 2^53 seconds")
    return seconds


def format_duration(seconds: float) -> str:
    """Return `seconds` as people write them; `parse_duration` gives the same number back.

    >>> format_duration(0.75), format_duration(2.0), format_duration(90.5)
    ('750ms', '2s', '90.5s')
    """
    exact = Decimal(repr(float(seconds)))
    number, unit = (exact * 1000, "ms") if 0 < exact < 1 else (exact, "s")
    return f"{number.normalize():f}{unit}"


class WordedRounds(int):
    """A number of rounds that was written with its unit, "30 rounds": it cannot be taken for seconds."""

    __slots__ = ()


def parse_rounds_or_time(value: object) -> float:
    """Return a number of rounds (200, "200 rounds") as an int, and a time ("90s") as seconds (a float)."""
    if isinstance(value, str) and (worded := _ROUNDS.fullmatch(value)):
        value = WordedRounds(worded[1])
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= MOST_ROUNDS:
            raise ValueError(f"{value} is not a number of rounds: write 0 or more, 10^12 at most")
        return value
    if isinstance(value, str) and _PATTERN.fullmatch(value):
        return parse_duration(value)
    raise ValueError(f"{as_written(value)} is neither a number of rounds (200) nor a time (90s)")


def above_zero(amount: float) -> float:
    """Refuse an amount of nothing."""
    if amount == 0:
        raise ValueError("0 is too small: it must be above 0")
    return amount


def _written(amount: float) -> int | str:
    if isinstance(amount, WordedRounds):
        return f"{amount} rounds"
    return amount if isinstance(amount, int) else format_duration(amount)


def completed(amount: NDArray[np.float64], unit: float) -> NDArray[np.int64]:
    """Return how many whole `unit`s fit in each amount: floor(amount / unit), cut at LONGEST.

    >>> completed(np.array([0.0, 0.29, 0.3]), 0.1)
    array([0, 2, 3])
    """
    with np.errstate(over="ignore"):  # an amount that is infinite in units is cut like any other
        units = np.floor(amount / unit + SLACK)
    return np.minimum(units, LONGEST).astype(np.int64)


def nearest(amount: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest whole numbers (halves upwards), at least 1 and at most LONGEST."""
    return np.clip(np.floor(amount + 0.5), 1, LONGEST).astype(np.int64)


def in_rounds(name: str, amount: float, round_seconds: float | None) -> int:
    """Return an amount in rounds: it is one already (an int), or a time, divided by a round's."""
    if isinstance(amount, int):
        return amount
    if round_seconds is None:
        raise InputError(
            f"{name} is a time, which needs rounds of a known length: set pace=250ms, say, or write rounds",
            name,
        )
    return math.floor(amount / round_seconds + SLACK)


def in_seconds(name: str, amount: float, round_seconds: float | None) -> float:
    """Return an amount in seconds: it is one already, unless it is a number of rounds (an int)."""
    if not isinstance(amount, int):
        return amount
    if round_seconds is None:
        raise InputError(
            f"{name} is {amount} rounds, and rounds have no fixed length: "
            f"set pace (pace: 250ms), or give a time ({name}: 10s)",
            name,
        )
    return amount * round_seconds


TIME = {"type": "string", "pattern": r"^\d+(\.\d+)?(us|ms|s|m|h)$", "examples": ["750ms", "2s"]}
ROUNDS = {"type": "string", "pattern": r"^\d{1,12} rounds?$", "examples": ["30 rounds"]}


@dataclass(frozen=True)
class Counted:
    """Marks a field that counts rounds or time: what it may be under which clock.

    Under the rounds clock it is a number of rounds, `least` or more. By the wall clock it is a time; where it
    is `mixed` a number of rounds will do too; where it is `worded` it has to be called that ("30 rounds").
    """

    least: int
    mixed: bool = False
    worded: bool = False
    above_zero: bool = False


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(TIME),
]
"""Seconds in Python, a string such as "750ms" in a file."""

RoundsOrTime = Annotated[
    float,
    PlainValidator(parse_rounds_or_time),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, ROUNDS, TIME]}),
]
"""A number of rounds (an int) or a time (seconds, a float)."""

SomeRoundsOrTime = Annotated[
    RoundsOrTime,
    AfterValidator(above_zero),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, ROUNDS, TIME]}),
]
"""The same, above 0."""

When = Annotated[RoundsOrTime | None, Counted(least=0, mixed=True, worded=True)]
"""When something begins, if that is said."""

Length = Annotated[SomeRoundsOrTime | None, Counted(least=1, mixed=True, worded=True, above_zero=True)]
"""How long something lasts, if that is said."""

Period = Annotated[SomeRoundsOrTime | None, Counted(least=1, mixed=True, above_zero=True)]
"""After how long something comes again, if that is said; a bare number may also count feedback."""

Delay = Annotated[RoundsOrTime, Counted(least=1)]
"""A delay in its clock's own unit: a time, or rounds of which 1 is none."""

Step = Annotated[SomeRoundsOrTime, Counted(least=1, above_zero=True)]
"""A change of a delay, or how often it changes, in its clock's own unit."""
