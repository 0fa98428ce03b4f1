"""The fault that a command line of `edgefw delay set` asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from edgefw.delays.drawn import Distribution
from edgefw.delays.fault import Fault
from edgefw.delays.manual import summary
from edgefw.delays.registry import TYPES
from edgefw.errors import InputError, unknown
from edgefw.scenario.load import parse_value
from edgefw.scenario.trace import read_trace, resolve_trace

if TYPE_CHECKING:
    import argparse

_ELSEWHERE = ("type", "name", "agents")  # fields that the command line has other words for
_OPTIONS = ("jitter", "distribution", "correlation", "seed", "probability", "apply_to", "duration")
_AMOUNTS = {"jitter": "--jitter", "duration": "--for"}


def types() -> str:
    """Return what there is to choose from, for the help of the command."""
    return f"{summary()}\n\ndistributions: {', '.join(get_args(Distribution))}"


def wanted_fault(arguments: argparse.Namespace, clock: str) -> dict[str, Any]:
    """Return the fault that is asked for, as the endpoint takes it.

    A user gives an amount, a file of amounts, or a type and its fields; and options for any of these.
    """
    amount, trace, fields = arguments.amount, arguments.trace, arguments.fields
    if sum(each is not None for each in (amount, trace, fields)) != 1:
        raise InputError(
            "say how much in one way: an amount such as 750ms, or --trace FILE, or --type TYPE FIELD=VALUE"
        )
    type_ = "rounds" if clock == "rounds" else "latency"
    if fields is not None:
        fault = _read(fields)
    elif trace is not None:
        fault = {"type": type_, "trace": read_trace(trace, type_)}
    else:
        fault = {"type": type_, type_: _amount(amount, clock, "AMOUNT")}
    for name in _OPTIONS:
        if (value := getattr(arguments, name)) is not None:
            fault[name] = _amount(value, clock, _AMOUNTS[name]) if name in _AMOUNTS else value
    common = {name: value for name, value in fault.items() if name in Fault.model_fields}
    return {**common, "attributes": {name: value for name, value in fault.items() if name not in common}}


def _read(fields: list[str]) -> dict[str, Any]:
    """Return a fault of a type whose fields are each written as field=value.

    >>> _read(["adversary", "strategy=burst", "period=20"])
    {'type': 'adversary', 'strategy': 'burst', 'period': 20}
    """
    type_, *rest = fields
    kind = TYPES[type_]
    own = [name for name in kind.model_fields if name not in _ELSEWHERE]
    found: dict[str, Any] = {"type": type_}
    for written in rest:
        name, equals, text = written.partition("=")
        if not equals:
            raise InputError(f"--type {type_} {written}: write it as field=value, such as {own[-1]}=...")
        if name not in own:
            raise unknown(f"field of {type_}", name, own)
        found[name] = parse_value(text, f"--type {type_} {written}")
    resolved: dict[str, Any] = resolve_trace(found, Path())
    return resolved


def _amount(text: str, clock: str, what: str) -> int | str:
    """Return an amount as the endpoint takes it: rounds are numbers, times are texts."""
    bare = text.removesuffix("rounds").strip() if clock == "rounds" else text
    number = int(bare) if bare.isascii() and bare.isdecimal() else None
    if clock == "rounds" and number is None:
        raise InputError(
            f"{what} is {text!r} and the run's clock is rounds: write a number of rounds, such as 20"
        )
    if clock == "wall" and number is not None:
        rounds = f", or rounds ('{text} rounds')" if what == "--for" else ""
        raise InputError(
            f"{what} is {text!r} and the run's clock is wall: write a time, such as 750ms or 2s{rounds}"
        )
    return text if number is None else number
