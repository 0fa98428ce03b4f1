"""The fault that a command line of `edgefw delay set` asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, get_args

from edgefw.delays.amount import Distribution
from edgefw.delays.fault import Fault
from edgefw.delays.manual import summary
from edgefw.delays.registry import TYPES
from edgefw.errors import InputError, unknown
from edgefw.scenario.load import parse_value
from edgefw.scenario.trace import read_trace, resolve_trace

_ELSEWHERE = ("type", "name", "agents")  # fields that the command line has other words for


def types() -> str:
    """Return what there is to choose from, for the help of the command."""
    return f"{summary()}\n\ndistributions: {', '.join(get_args(Distribution))}"


class Wanted(NamedTuple):
    """What a user says: an amount, a file of amounts, or a type and its fields; and options for any."""

    amount: str | None
    trace: str | None
    fields: list[str] | None
    options: dict[str, Any]

    def body(self, clock: str) -> dict[str, Any]:
        """Return the fault as the endpoint takes it."""
        if sum(each is not None for each in (self.amount, self.trace, self.fields)) != 1:
            raise InputError(
                "say how much in one way: an amount such as 750ms, or --trace FILE, "
                "or --type TYPE FIELD=VALUE"
            )
        flat = _read(self.fields) if self.fields else self._late(clock)
        flat |= _options(self.options, clock)
        common = {name: value for name, value in flat.items() if name in Fault.model_fields}
        own = {name: value for name, value in flat.items() if name not in common}
        return {**common, "attributes": own}

    def _late(self, clock: str) -> dict[str, Any]:
        """Return the usual fault: feedback is late by a time, or by rounds."""
        type_ = "rounds" if clock == "rounds" else "latency"
        if self.trace is not None:
            return {"type": type_, "trace": read_trace(self.trace, type_)}
        return {"type": type_, type_: _amount(self.amount or "", clock, "AMOUNT")}


def _read(fields: list[str]) -> dict[str, Any]:
    """Return a fault of a type whose fields are each written as field=value.

    >>> _read(["adversary", "strategy=burst", "period=20"])
    {'type': 'adversary', 'strategy': 'burst', 'period': 20}
    """
    type_, *rest = fields
    if type_ not in TYPES:
        raise unknown("fault type", type_, TYPES)
    known = [name for name in TYPES[type_].model_fields if name not in _ELSEWHERE]
    found: dict[str, Any] = {"type": type_}
    for written in rest:
        name, equals, text = written.partition("=")
        if not equals:
            raise InputError(f"--type {type_} {written}: write it as field=value, such as {known[-1]}=...")
        if name not in known:
            raise unknown(f"field of {type_}", name, known)
        found[name] = parse_value(text, f"--type {type_} {written}")
    resolved: dict[str, Any] = resolve_trace(found, Path())
    return resolved


def _options(options: dict[str, Any], clock: str) -> dict[str, Any]:
    amounts = {"jitter": "--jitter", "duration": "--for"}
    return {
        name: _amount(value, clock, amounts[name]) if name in amounts else value
        for name, value in options.items()
    }


def _amount(text: str, clock: str, what: str) -> int | str:
    """Return an amount as the endpoint takes it: rounds are numbers, times are texts."""
    number = int(text) if text.isascii() and text.isdecimal() else None
    if clock == "rounds" and number is None:
        raise InputError(
            f"{what} is {text!r} and the run's clock is rounds: write a number of rounds, such as 20"
        )
    if clock == "wall" and number is not None and what != "--for":
        raise InputError(f"{what} is {text!r} and the run's clock is wall: write a time, such as 750ms or 2s")
    return text if number is None else number
