"""A fault as the admin endpoint writes and reads it.

The nested form has what every fault has beside `attributes`, which are its type's own:
{"name": "slow", "type": "latency", "attributes": {"latency": "750ms"}, "duration": "30s"}. The flat form of a
scenario file, without `attributes`, is read too. Both are held to the scenario's own rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from edgefw.delays.agents import check_agents
from edgefw.delays.drawn import LONGEST_TRACE, Drawn
from edgefw.delays.entry import PlanEntry
from edgefw.delays.explain import explained
from edgefw.delays.fault import Fault
from edgefw.delays.registry import FAULT, TYPES
from edgefw.delays.units import as_written
from edgefw.errors import InputError
from edgefw.plugins import PLACE

if TYPE_CHECKING:
    from edgefw.delays.fault import Rules
    from edgefw.delays.plan import Plan

COMMON = tuple(Fault.model_fields)
"""What stands beside `attributes`."""

MOST_FIELDS = 32
"""Of a fault: one that is wrong a million times is refused before a million mistakes are listed."""


def every_attribute() -> set[str]:
    """Return what stands in `attributes` of some type."""
    return {name for each in TYPES.at_hand().values() for name in each.own_fields()}


class Posted(NamedTuple):
    """A fault that was read: `agents` None is all of them, `name` None leaves the name to the plan."""

    name: str | None
    agents: tuple[int, ...] | None
    fault: Fault


def fault_body(entry: PlanEntry, longest: int | None = None) -> dict[str, Any]:
    """Return an entry in the nested form; `read_fault` reads it back. A trace may be cut to its `longest`."""
    fault, written, fields = entry.fault, entry.written, type(entry.fault).model_fields
    attributes = {
        name: value
        for name, value in written.items()
        if name not in COMMON and getattr(fault, name) != fields[name].get_default(call_default_factory=True)
    }
    if "trace" in attributes:
        attributes["trace"] = attributes["trace"][:longest]
    elif isinstance(fault, Drawn):
        attributes = {fault.base: written[fault.base]} | attributes  # also if it is no delay
    body = {
        "name": entry.name,
        "type": fault.type,
        "attributes": attributes,
        "probability": fault.probability,
        "apply_to": fault.acts_on,
    }
    return body | {name: written[name] for name in ("at", "duration") if name in written}


def plan_body(plan: Plan) -> list[dict[str, Any]]:
    """Return the faults of a plan in the nested form, each with the agents whose links it is on."""
    return [
        {"agents": "all" if agents is None else agents, **fault_body(entry)} for entry, agents in plan.shared
    ]


def read_fault(body: Any, rules: Rules) -> Posted:
    """Return the fault that a body describes. An InputError says what a run with these rules cannot use."""
    flat, nested = _flatten(body)
    try:
        return _read(flat, rules)
    except InputError as error:
        field = error.field or ""
        path = field_path(field, nested=nested)
        raise InputError(path.removesuffix(field) + str(error), path) from None


def _read(flat: dict[str, Any], rules: Rules) -> Posted:
    _check_given(flat)
    try:
        fault = FAULT.validate_python(flat)
    except ValidationError as error:
        raise explained(error) from None
    _check_amount(fault)
    agents = None if fault.agents == "all" else _whose(fault, rules)
    fault.check(rules.clock)
    plain = fault.model_copy(update={"agents": "all", "name": None, "apply_to": fault.acts_on})
    since = 0.0 if plain.at is None else None  # whenever it is posted
    PlanEntry(None, plain.type, plain, 0, since).check(rules)  # rounds of no fixed length?
    return Posted(fault.name, agents, plain)


def _whose(fault: Fault, rules: Rules) -> tuple[int, ...]:
    """Return the agents that a fault names, each once."""
    if not isinstance(fault.agents, list):
        raise InputError(
            'agents must be "all" or a list such as [0, 3]: only a scenario draws them', "agents"
        )
    if not fault.agents:
        raise InputError('agents is []: name one at least, or write "all"', "agents")
    check_agents(fault.agents, rules.agents)
    return tuple(dict.fromkeys(fault.agents))


def field_path(name: str, *, nested: bool) -> str:
    """Return where a field of a fault stands in its body.

    >>> field_path("jitter", nested=True), field_path("type", nested=True), field_path("jitter", nested=False)
    ('attributes.jitter', 'type', 'jitter')
    """
    return f"attributes.{name}" if nested and name.partition(".")[0] not in COMMON else name


def read_patch(body: Any) -> dict[str, Any]:
    """Return a patch of a fault in the nested form. Its values are checked when the merged fault is read."""
    if not isinstance(body, dict):
        raise InputError(f"the body is {as_written(body)}: it must be an object", "")
    patch = body
    if "attributes" not in body and (own := body.keys() - set(COMMON)):
        patch = {name: value for name, value in body.items() if name not in own}
        patch["attributes"] = {name: value for name, value in body.items() if name in own}
    for name in ("agents", "name"):
        if name in patch:
            raise InputError(f"{name}: unknown field; a fault keeps it, so remove it and add another", name)
    attributes = patch.get("attributes")
    unknown = [name for name in patch if name not in COMMON and name != "attributes"]
    if isinstance(attributes, dict):
        unknown += [
            field_path(n, nested="attributes" in body) for n in attributes if n not in every_attribute()
        ]
    if unknown:  # also one that is null: it is a mistake, though nothing is there to be removed
        raise InputError(f"{unknown[0]}: unknown field", unknown[0])
    return patch


def _flatten(body: Any) -> tuple[dict[str, Any], bool]:
    """Return a body in the flat form, and whether it was in the nested one."""
    if not isinstance(body, dict):
        raise InputError(f'a fault is an object such as {{"type": "drop"}}, not {as_written(body)}', "")
    if len(body) > MOST_FIELDS:
        raise InputError(f"a fault has no more than {MOST_FIELDS} fields, not {len(body)}", "")
    if "attributes" not in body:
        return body, False
    attributes = body["attributes"]
    if not isinstance(attributes, dict) or len(attributes) > MOST_FIELDS:
        given = as_written(attributes)
        raise InputError(f"attributes is {given}: it must be an object of the type's fields", "attributes")
    common = {name: value for name, value in body.items() if name != "attributes"}
    for name in common:
        if name not in COMMON:
            raise InputError(f"{name}: unknown field; what belongs to a type stands in attributes", name)
    for name in attributes:
        if name in COMMON:
            raise InputError(f"attributes.{name}: unknown field; it stands beside them", f"attributes.{name}")
    return common | attributes, True


def _check_given(flat: dict[str, Any]) -> None:
    """Refuse what is null, larger than anything that is meant, or has to be imported first."""
    for name, value in flat.items():
        if value is None:
            raise InputError(f"{name} is null: leave it out instead", name)
        if isinstance(value, list) and len(value) > LONGEST_TRACE:
            raise InputError(f"{name} has {len(value)} values: at most {LONGEST_TRACE} are allowed", name)
    given = flat.get("type")
    if isinstance(given, str) and PLACE.fullmatch(given) and given not in TYPES:  # a call imports nothing
        raise InputError(
            f"type is {given!r}: a class of another package is taken where the run's scenario has it, or by "
            "its entry point",
            "type",
        )


def _check_amount(fault: Fault) -> None:
    """Refuse a delay that does not say how much: a scenario's default, no delay, is nothing to post."""
    if not isinstance(fault, Drawn) or fault.model_fields_set & {fault.base, "trace"}:
        return
    if "jitter" in fault.model_fields_set:
        raise InputError(f"jitter is there and the {fault.base} that it varies is not: give both", "jitter")
    raise InputError(f"{fault.base} is missing: type {fault.base} needs it, or a trace", fault.base)
