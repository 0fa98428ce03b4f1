"""What fault types there are, for people: made from the types themselves. docs/pages has the page."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from edgefw.delays.registry import TYPES
from edgefw.errors import InputError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from edgefw.delays.fault import Fault


def summary() -> str:
    """Return every type with its fields in a few lines, for a terminal."""
    lines = ["fault types, and what each has of its own; docs/faults.md says more:"]
    for name, type_ in TYPES.items():
        lines.append(f"  {name:<17}{(inspect.getdoc(type_) or '').splitlines()[0]}")
        lines += [
            f"{'':<19}{field:<14}{about.description or ''}" for field, about in own_fields(name).items()
        ]
        lines.append(f"{'':<19}e.g. {_as_options(type_.examples[0])}")
    return "\n".join(lines)


def clocks_of(type_: type[Fault], example: dict[str, Any]) -> list[str]:
    """Return the clocks under which an example may be written."""
    fault, found = type_.model_validate(example), []
    for clock in type_.clocks:
        try:
            fault.check(clock)
        except InputError:
            continue
        found.append(clock)
    return found


def own_fields(name: str) -> dict[str, FieldInfo]:
    """Return the fields of a type, the one that it is named after first."""
    return dict(sorted(TYPES[name].own_fields().items(), key=lambda field: field[0] != name))


def flow(value: Any) -> str:
    """Return a value as it is written in a line of YAML.

    >>> flow({"type": "drop", "agents": [0, 3]})
    '{type: drop, agents: [0, 3]}'
    """
    return json.dumps(value).replace('"', "")


def _as_options(example: dict[str, Any]) -> str:
    fields = [f"{name}={flow(value)}" for name, value in example.items() if name not in {"type", "agents"}]
    return " ".join(["--type", str(example["type"]), *fields])
