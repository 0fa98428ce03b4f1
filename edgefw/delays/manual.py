"""What fault types there are, for people: made from the types themselves.

`python -m edgefw.delays.manual > docs/faults.md` writes the page.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from edgefw.delays.amount import Amount
from edgefw.delays.fault import Fault, counted_fields
from edgefw.delays.registry import TYPES
from edgefw.errors import InputError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

HEAD = """\
# Fault types

What can be done to feedback on its way. The same words are written in a scenario file (`delays`, `events`),
sent to the broker's admin endpoint, and set by `edgefw delay set AGENT --type TYPE FIELD=VALUE ...`. Several
faults on a link add up. This page is made from `edgefw/delays` by `make docs/faults.md`.

A time is a number and a unit (`750ms`, `2s`, `1.5m`). Under the rounds clock delays are numbers of rounds,
and a delay of 1 is none: feedback of round s comes in round s + delay - 1.
"""


def page() -> str:
    """Return the page, in Markdown."""
    common = {name: field for name, field in Fault.model_fields.items() if name != "type"}
    every = ["## Every type", "", *_table(Fault, common)]
    parts = [HEAD, "\n".join(every), *(_section(name) for name in TYPES), _laws()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def summary() -> str:
    """Return every type with its fields in a few lines, for a terminal."""
    lines = ["fault types, and what each has of its own; docs/faults.md says more:"]
    for name, type_ in TYPES.items():
        lines.append(f"  {name:<17}{_first_line(type_)}")
        lines += [f"{'':<19}{field:<14}{about.description or ''}" for field, about in _own(name).items()]
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


def _section(name: str) -> str:
    type_ = TYPES[name]
    clocks = " and ".join(type_.clocks)
    lines = [f"## `{name}`", "", inspect.getdoc(type_) or "", "", f"Clock: {clocks}.", ""]
    if own := _own(name):
        lines += [*_table(type_, own), ""]
    lines += ["```yaml", *(f"- {_flow(each)}{_remark(type_, each)}" for each in type_.examples), "```"]
    return "\n".join(lines)


def _own(name: str) -> dict[str, FieldInfo]:
    """Return the fields of a type, the one that it is named after first."""
    return dict(sorted(TYPES[name].own_fields().items(), key=lambda field: field[0] != name))


def _remark(type_: type[Fault], example: dict[str, Any]) -> str:
    """Return under which clock an example may be written, where that is not every clock of its type."""
    clocks = clocks_of(type_, example)
    return "" if len(clocks) == len(type_.clocks) else f"  # clock: {', '.join(clocks)}"


def _table(type_: type[Fault], fields: dict[str, FieldInfo]) -> list[str]:
    schemas = type_.model_json_schema()["properties"]
    defaults = type_.model_construct().model_dump(mode="json", exclude_none=True)
    lines = []
    for name, field in fields.items():
        default = _default(field, defaults.get(name))
        lines.append(f"| `{name}` | {_kind(type_, name, schemas[name])} | {default} | {field.description} |")
    return ["| field | written as | if left out | |", "|---|---|---|---|", *lines]


def _default(field: FieldInfo, default: Any) -> str:
    if field.is_required():
        return "needed"
    return "" if default is None else f"`{default}`"


def _kind(type_: type[Fault], name: str, schema: dict[str, Any]) -> str:
    """Return what may be written in a field."""
    if (counted := counted_fields(type_).get(name)) is not None:
        times = "a time or rounds" if counted.mixed else "a time"
        return f"{times}; rounds clock: rounds, {counted.least} or more"
    return " or ".join(_words(schema))


def _words(schema: dict[str, Any]) -> list[str]:
    """Return what a schema allows, in words.

    >>> _words({"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["a", "b"]}, {"type": "null"}]})
    ['a whole number, 1 or more', '`a`, `b`']
    """
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        return [word for kind in kinds for word in _words(kind)]
    if "$ref" in schema:
        return ["`{draw: 2, replacement: true}`"]
    if choices := schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return [", ".join(f"`{choice}`" for choice in choices)]
    if schema["type"] == "array":
        return [f"a list ({' or '.join(_words(schema['items']))})"]
    if schema["type"] == "string":
        return ["a time" if "examples" in schema else schema.get("description", "a name")]
    return [] if schema["type"] == "null" else [_NAMES[schema["type"]] + _bounds(schema)]


def _bounds(schema: dict[str, Any]) -> str:
    """Return what a number may be."""
    if schema["type"] == "boolean":
        return ""
    least, above, most = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    words = f", {least} or more" if above is None else f", above {above}"
    return words if most is None or most > 1 else f"{words}, {most} at most"


_NAMES = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}


def _laws() -> str:
    return "\n".join(["## Distributions", "", inspect.getdoc(Amount) or ""])


def _first_line(type_: type[Fault]) -> str:
    return (inspect.getdoc(type_) or "").splitlines()[0]


def _flow(example: dict[str, Any]) -> str:
    """Return an example as a line of YAML.

    >>> _flow({"type": "drop", "agents": [0, 3]})
    '{type: drop, agents: [0, 3]}'
    """
    return json.dumps(example).replace('"', "")


def _as_options(example: dict[str, Any]) -> str:
    fields = [f"{name}={_flow(value)}" for name, value in example.items() if name not in {"type", "agents"}]
    return " ".join(["--type", str(example["type"]), *fields])


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - it is redirected into a file
