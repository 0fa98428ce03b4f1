"""A fault as the admin endpoint writes and reads it.

The nested form has what every fault has beside `attributes`, which are its type's own:
{"name": "slow", "type": "latency", "attributes": {"latency": "750ms"}, "duration": "30s"}. The flat form of a
scenario file, without `attributes`, is read too. Both are held to the scenario's own rules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from edgefw.errors import InputError
from edgefw.scenario.explain import explain
from edgefw.scenario.faults import LONGEST_TRACE, TYPES, AnyFault, Draw, applies_to
from edgefw.scenario.model import Scenario
from edgefw.scenario.units import as_written
from edgefw.services.broker.plan import Entry
from edgefw.services.broker.refusals import WrongError

if TYPE_CHECKING:
    from edgefw.services.broker.plan import Rules

COMMON = ("agents", "name", "type", "probability", "apply_to", "at", "duration")
"""What stands beside `attributes`."""

ATTRIBUTES = frozenset(name for each in TYPES.values() for name in each.model_fields).difference(COMMON)
"""What stands in `attributes` of some type."""

BASES = ("latency", "rounds")
"""Types with a field of the same name, which jitter varies."""

MOST_FIELDS = 32
"""Of a fault: one that is wrong a million times is refused before a million mistakes are listed."""

_PLACE = "delays.0"  # where the scenario's rules find the fault


class Posted(NamedTuple):
    """A fault that was read: `agents` None is all of them, `name` None leaves the name to the plan."""

    name: str | None
    agents: tuple[int, ...] | None
    fault: AnyFault


def fault_body(entry: Entry, longest: int | None = None) -> dict[str, Any]:
    """Return an entry in the nested form; `read_fault` reads it back. A trace may be cut to its `longest`."""
    fault = entry.fault
    trace = getattr(fault, "trace", None)
    if trace is not None and longest is not None:
        fault = fault.model_copy(update={"trace": trace[:longest]})
    written = fault.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    attributes = {name: value for name, value in written.items() if name not in COMMON}
    if fault.type in BASES and "trace" not in attributes:
        attributes = (
            fault.model_dump(mode="json", include={str(fault.type)}) | attributes
        )  # also if it is none
    body = {
        "name": entry.name,
        "type": fault.type,
        "attributes": attributes,
        "probability": fault.probability,
        "apply_to": entry.apply_to,
    }
    return body | {name: written[name] for name in ("at", "duration") if name in written}


def read_fault(body: Any, rules: Rules) -> Posted:
    """Return the fault that a body describes; a WrongError says what a run with these rules cannot use."""
    flat, nested = _flatten(body)
    for name, value in flat.items():
        _check_size(field_path(name, nested=nested), value)
    _check_base(flat, nested=nested)
    document = {"clock": rules.clock, "network": {"agents": rules.agents}, "delays": [flat]}
    try:
        fault = Scenario.model_validate(document).delays[0]
    except ValidationError as error:
        raise _wrong(error, nested=nested) from None
    if isinstance(fault.agents, Draw):
        raise WrongError(
            "agents", 'agents must be "all" or a list such as [0, 3]: only a scenario draws them'
        )
    if fault.agents == []:
        raise WrongError("agents", 'agents is []: name one at least, or write "all"')
    agents = None if fault.agents == "all" else tuple(dict.fromkeys(fault.agents))
    plain = fault.model_copy(update={"agents": "all", "name": None, "apply_to": applies_to(fault)})
    _check_together(plain, rules, nested=nested)
    return Posted(fault.name, agents, plain)


def field_path(name: str, *, nested: bool) -> str:
    """Return where a field of a fault stands in its body.

    >>> field_path("jitter", nested=True), field_path("type", nested=True), field_path("jitter", nested=False)
    ('attributes.jitter', 'type', 'jitter')
    """
    return f"attributes.{name}" if nested and name.partition(".")[0] not in COMMON else name


def read_patch(body: Any) -> dict[str, Any]:
    """Return a patch of a fault in the nested form; its values are for whoever reads the result."""
    if not isinstance(body, dict):
        raise WrongError("", f"the body is {as_written(body)}: it must be an object")
    patch = body
    if "attributes" not in body and (own := body.keys() - set(COMMON)):
        patch = {name: value for name, value in body.items() if name not in own}
        patch["attributes"] = {name: value for name, value in body.items() if name in own}
    for name in ("agents", "name"):
        if name in patch:
            raise WrongError(name, f"{name}: unknown field; a fault keeps it, so remove it and add another")
    attributes = patch.get("attributes")
    unknown = [name for name in patch if name not in COMMON and name != "attributes"]
    if isinstance(attributes, dict):
        unknown += [field_path(n, nested="attributes" in body) for n in attributes if n not in ATTRIBUTES]
    if unknown:  # also one that is null: it is a mistake, though nothing is there to be removed
        raise WrongError(unknown[0], f"{unknown[0]}: unknown field")
    return patch


def _flatten(body: Any) -> tuple[dict[str, Any], bool]:
    """Return a body in the flat form, and whether it was in the nested one."""
    if not isinstance(body, dict):
        raise WrongError("", f'a fault is an object such as {{"type": "drop"}}, not {as_written(body)}')
    if len(body) > MOST_FIELDS:
        raise WrongError("", f"a fault has no more than {MOST_FIELDS} fields, not {len(body)}")
    if "attributes" not in body:
        return body, False
    attributes = body["attributes"]
    if not isinstance(attributes, dict) or len(attributes) > MOST_FIELDS:
        given = as_written(attributes)
        raise WrongError("attributes", f"attributes is {given}: it must be an object of the type's fields")
    common = {name: value for name, value in body.items() if name != "attributes"}
    for name in common:
        if name not in COMMON:
            raise WrongError(name, f"{name}: unknown field; what belongs to a type stands in attributes")
    for name in attributes:
        if name in COMMON:
            raise WrongError(f"attributes.{name}", f"attributes.{name}: unknown field; it stands beside them")
    return common | attributes, True


def _check_size(field: str, value: Any) -> None:
    if value is None:
        raise WrongError(field, f"{field} is null: leave it out instead")
    if isinstance(value, list) and len(value) > LONGEST_TRACE:
        raise WrongError(field, f"{field} has {len(value)} values: at most {LONGEST_TRACE} are allowed")


def _check_base(flat: dict[str, Any], *, nested: bool) -> None:
    """Refuse a delay that does not say how much."""
    base = flat.get("type")
    if base not in BASES or base in flat or "trace" in flat:
        return
    if "jitter" in flat:
        field = field_path("jitter", nested=nested)
        raise WrongError(field, f"{field} is there and the {base} that it varies is not: give both")
    field = field_path(base, nested=nested)
    raise WrongError(field, f"{field} is missing: type {base} needs it, or a trace")


def _check_together(fault: AnyFault, rules: Rules, *, nested: bool) -> None:
    """Refuse a fault whose fields do not go together."""
    wall, posted = rules.clock == "wall", fault.at is None
    entry = Entry(
        *(None, fault.type, fault, 0),
        since=0.0 if posted and wall else None,
        since_rounds=(0,) * rules.agents if posted and not wall else None,
    )
    try:
        entry.on_link(rules, 0, 0.0)
    except InputError as error:
        field = field_path(_blamed(fault, str(error)), nested=nested)
        raise WrongError(field, f"{field}: {error}") from None


def _blamed(fault: AnyFault, message: str) -> str:
    """Return the field that a message is about: one in backticks, else the last that it names."""
    fields = TYPES[fault.type].model_fields
    words = re.findall(r"`(\w+)`", message) + re.findall(r"\w+", message)[::-1]
    return next((word for word in words if word in fields), "type")


def _wrong(error: ValidationError, *, nested: bool) -> WrongError:
    """Return what the scenario's rules found, said about the body."""
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    parts = [str(part) for part in details[0]["loc"][3:]]  # without delays, 0 and the type
    text = explain(error).removeprefix(f"{_PLACE}.")
    named = re.match(r"\w+", text)
    name = ".".join(part for part in parts if not part.startswith("[")) or (named[0] if named else "")
    field = field_path(name, nested=nested)
    return WrongError(field, field.removesuffix(name) + text)
