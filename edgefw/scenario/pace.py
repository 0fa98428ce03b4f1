"""The length of a round, as a scenario writes it: a duration, or "asap"."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from edgefw.delays.units import TIME, above_zero, format_duration, parse_duration


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
