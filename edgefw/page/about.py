"""What a page says of its run beside the numbers: what it is, what can be done to its links."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from edgefw.delays.fault import Fault, counted_fields
from edgefw.delays.manual import clocks_of
from edgefw.delays.registry import TYPES
from edgefw.delays.schema import counted_schema, not_null
from edgefw.scenario.plan import round_seconds

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

COMMON = ("duration", "probability", "apply_to")  # of every fault: what a page asks for beside its own fields
SELDOM = ("seed", "trace", "correlation")  # fields that are behind a fold


def about(scenario: Scenario, *, live: bool, simulated: bool = False) -> dict[str, Any]:
    """Return what the run is; one that was simulated has no clock but its rounds."""
    network, algorithm = scenario.network, scenario.algorithm
    return {
        "name": scenario.name,
        "live": live,
        "simulated": simulated,
        "agents": network.agents,
        "topology": network.topology,
        "algorithm": algorithm.name,
        "rounds": algorithm.rounds,
        "clock": "rounds" if simulated else scenario.clock,
        "pace": None if simulated else round_seconds(scenario),
        "seed": scenario.seed,
        "faults": forms(scenario.clock),
    }


def forms(clock: str) -> list[dict[str, Any]]:
    """Return a form for every fault type that a run under this clock may have, from the types themselves."""
    return [_form(name, type_, clock) for name, type_ in TYPES.at_hand().items() if clock in type_.clocks]


def _form(name: str, type_: type[Fault], clock: str) -> dict[str, Any]:
    schemas = type_.model_json_schema()["properties"]
    fields = [(field, True) for field in sorted(type_.own_fields(), key=_order(name))]
    fields += [(field, False) for field in COMMON]
    return {
        "type": name,
        "about": (inspect.getdoc(type_) or name).splitlines()[0],
        "fields": [_field(type_, field, schemas[field], clock, own=own) for field, own in fields],
        "example": _example(type_, clock),
    }


def _order(name: str) -> Any:
    return lambda field: (field != name, field in SELDOM)


def _field(type_: type[Fault], name: str, schema: dict[str, Any], clock: str, *, own: bool) -> dict[str, Any]:
    field = type_.model_fields[name]
    counted = counted_fields(type_).get(name)
    schema = not_null(schema) if counted is None else counted_schema(counted, clock)
    return {
        "name": name,
        "own": own,
        "seldom": name in SELDOM or (not own and name != "duration"),
        "needed": field.is_required(),
        "about": field.description or "",
        "schema": _resolved(schema),
    }


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a schema that a form can ask for: choices, a number, a time, a list."""
    kinds = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    known = [
        kind for kind in kinds if "$ref" not in kind and ("type" in kind or "enum" in kind or "const" in kind)
    ]
    return {
        "kinds": sorted({kind.get("type", "string") for kind in known}) or ["string"],
        "choices": next((kind["enum"] for kind in known if "enum" in kind), None),
        "examples": next((kind["examples"] for kind in known if "examples" in kind), []),
        "minimum": next((kind["minimum"] for kind in known if "minimum" in kind), None),
        "maximum": next((kind["maximum"] for kind in known if "maximum" in kind), None),
    }


def _example(type_: type[Fault], clock: str) -> dict[str, Any]:
    """Return the first example that may be written under a clock, its own fields alone."""
    own = type_.own_fields()
    for example in type_.examples:
        if clock in clocks_of(type_, example):
            return {name: value for name, value in example.items() if name in own}
    return {}
