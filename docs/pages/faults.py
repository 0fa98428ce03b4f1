"""The page on fault types: made from the types themselves."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from edgefw.delays.drawn import Drawn
from edgefw.delays.fault import Fault, counted_fields
from edgefw.delays.manual import clocks_of, flow, own_fields
from edgefw.delays.registry import TYPES
from pages.words import words

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

HEAD = """\
# Fault types

What can be done to feedback on its way. The same words are written in a scenario file (`delays`, `events`),
sent to the broker's admin endpoint, and set by `edgefw delay set AGENT --type TYPE FIELD=VALUE ...`. Several
faults on a link add up. This page is made from `edgefw/delays` by `make docs`.

A time is a number and a unit (`750ms`, `2s`, `1.5m`). Under the rounds clock delays are numbers of rounds,
and a delay of 1 is none: feedback of round s comes in round s + delay - 1.
"""


def page() -> str:
    """Return the page, in Markdown."""
    common = {name: field for name, field in Fault.model_fields.items() if name != "type"}
    every = ["## Every type", "", *_table(Fault, common)]
    parts = [HEAD, "\n".join(every), *(_section(name) for name in TYPES), _laws()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _section(name: str) -> str:
    type_ = TYPES[name]
    clocks = " and ".join(type_.clocks)
    lines = [f"## `{name}`", "", inspect.getdoc(type_) or "", "", f"Clock: {clocks}.", ""]
    if own := own_fields(name):
        lines += [*_table(type_, own), ""]
    lines += ["```yaml", *(f"- {flow(each)}{_remark(type_, each)}" for each in type_.examples), "```"]
    return "\n".join(lines)


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
    return " or ".join(words(schema))


def _laws() -> str:
    return "\n".join(["## Distributions", "", inspect.getdoc(Drawn) or ""])
