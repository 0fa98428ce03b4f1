"""JSON schemas of faults, derived from their models: exact enough that what they allow is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from edgefw.delays.units import MOST_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.delays.units import Counted

Schema = dict[str, Any]

TIME: Schema = {
    "type": "string",
    "pattern": r"^([0-9]{1,15}(\.[0-9]+)?(us|ms|s)|[0-9]{1,9}(\.[0-9]+)?(m|h))$",
    "examples": ["750ms", "2s"],
}
SOME_TIME: Schema = {
    "type": "string",
    "pattern": r"^([1-9][0-9]{0,14}(\.[0-9]+)?(us|ms|s)|[1-9][0-9]{0,8}(\.[0-9]+)?(m|h)"
    r"|0\.[0-9]*[1-9][0-9]*(us|ms|s|m|h))$",
    "examples": ["30s", "1.5m"],
}
WORDED_ROUNDS: Schema = {"type": "string", "pattern": "^[1-9][0-9]{0,11} rounds$", "examples": ["30 rounds"]}
DURATION: Schema = {"anyOf": [TIME, {"type": "integer", "const": 0}]}


class Variant(NamedTuple):
    """One way to write a type's own fields: their schemas, and which are needed."""

    properties: dict[str, Schema]
    required: Sequence[str] = ()


def whole(least: int, most: int = MOST_ROUNDS) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": least, "maximum": most}


def not_null(schema: Schema) -> Schema:
    """Return the schema of a field that is left out rather than null.

    >>> not_null({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "title": "Seed"})
    {'type': 'integer', 'title': 'Seed'}
    """
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == len(schema.get("anyOf", ())):
        return schema
    rest = {name: value for name, value in schema.items() if name not in {"anyOf", "default"}}
    return (kinds[0] if len(kinds) == 1 else {"anyOf": kinds}) | rest


def counted_schema(counted: Counted, clock: str) -> Schema:
    """Return the schema of a field that counts rounds or time."""
    if clock == "rounds":
        return whole(counted.least)
    if counted.mixed:
        rounds = WORDED_ROUNDS if counted.worded else whole(counted.least)
        return {"anyOf": [SOME_TIME if counted.above_zero else TIME, rounds]}
    return SOME_TIME if counted.above_zero else DURATION
