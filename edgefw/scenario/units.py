"""Durations as people write them: "750ms", "2s", "1.5m"."""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"\s*(-?\d+(?:\.\d*)?|-?\.\d+)\s*(us|ms|s|m|h)\s*")


def parse_duration(text: object) -> float:
    """Return the seconds that `text` stands for.

    >>> parse_duration("750ms")
    0.75
    """
    if isinstance(text, float) and math.isfinite(text):  # an already parsed value, set from Python
        seconds = text
    elif isinstance(text, str) and (match := _PATTERN.fullmatch(text)):
        seconds = float(match[1]) * _SECONDS[match[2]]
    elif text == 0:
        seconds = 0.0
    else:
        raise ValueError(f"{text!r} is not a duration: write a number and a unit, such as 750ms, 2s or 1.5m")
    if seconds < 0:
        raise ValueError(f"{text!r} is negative: a duration is zero or more")
    return seconds


def format_duration(seconds: float) -> str:
    """Return the shortest usual way to write `seconds`; `parse_duration` gives the same number back.

    >>> format_duration(0.75), format_duration(2.0)
    ('750ms', '2s')
    """
    milliseconds = round(seconds * 1e3, 6)
    if seconds < 1 and milliseconds / 1e3 == seconds:
        return f"{milliseconds:g}ms" if seconds else "0s"
    return f"{seconds!r}s".replace(".0s", "s")


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?(us|ms|s|m|h)$", "examples": ["750ms", "2s"]}),
]
"""Seconds in Python, a string such as "750ms" in a file."""
