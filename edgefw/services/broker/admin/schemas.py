"""JSON schemas of what the admin endpoint takes and gives, for a run with its clock and its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgefw.delays.drawn import LONGEST_TRACE
from edgefw.delays.fault import Fault, counted_fields
from edgefw.delays.plan import MOST_FAULTS
from edgefw.delays.registry import TYPES
from edgefw.delays.schema import SOME_TIME, TIME, Variant, counted_schema, whole
from edgefw.delays.strict import NAME
from edgefw.delays.units import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from edgefw.delays.fault import Rules

    Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}


def described(schema: Schema, text: str) -> Schema:
    """Return a schema with a description."""
    return {**schema, "description": text}


def closed(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Return the schema of an object with these fields and no others."""
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


class Faults:
    """Schemas of faults under one clock."""

    def __init__(self, rules: Rules) -> None:
        self._clock, self._agents = rules.clock, agents_schema(rules)
        self._types = {name: each for name, each in TYPES.items() if rules.clock in each.clocks}

    def taken(self, *, agents: bool) -> Schema:
        """Return the schema of a fault in a body; `agents` where it says whose links it is on."""
        choices = []
        for type_, variants in self._variants().items():
            nested = {"anyOf": [closed(p, r) for p, r in variants]} if len(variants) > 1 else None
            attributes = nested or closed(*variants[0])
            needs = ["type", "attributes"] if variants[0][1] else ["type"]
            common = self._common(type_, agents=agents)
            found = [closed({**common, "attributes": attributes}, needs)]
            found += [closed({**common, **p}, ["type", *r]) for p, r in variants if r]
            choices += [schema | self._pending(type_) for schema in found]
        text = "nested: a type's own fields stand in attributes; or flat, as in a scenario file"
        return described({"anyOf": choices}, text)

    def _pending(self, type_: str) -> Schema:
        """Return what is asked of a fault that acts on pending feedback: times alone, by the wall clock."""
        if self._clock != "wall" or self._types[type_].about_releases:
            return {}
        pending = {"properties": {"apply_to": {"const": "pending"}}, "required": ["apply_to"]}
        return {"if": pending, "then": {"properties": {"at": TIME, "duration": SOME_TIME}}}

    def patch(self) -> Schema:
        """Return the schema of a change; null removes a field."""
        common = self._common(None, agents=False)
        del common["name"]
        own: dict[str, Schema] = {
            name: {} for each in self._variants().values() for p, _ in each for name in p
        }
        nested = closed({**_nullable(common), "attributes": {"type": ["object", "null"]}})
        text = (
            "merged into the fault (RFC 7396), nested or flat: null removes; the result must be a valid fault"
        )
        return described({"anyOf": [nested, closed({**common, **own})]}, text)

    def shown(self) -> Schema:
        """Return the schema of a fault in an answer."""
        common = self._common(None, agents=True)
        types = sorted(self._variants())
        return closed(
            {**common, "type": {"enum": types}, "attributes": {"type": "object"}},
            ["agents", "name", "type", "attributes", "probability", "apply_to"],
        )

    def _common(self, type_: str | None, *, agents: bool) -> dict[str, Schema]:
        counted = counted_fields(Fault)
        when, length = (counted_schema(counted[name], self._clock) for name in ("at", "duration"))
        common = {
            "name": described(
                {"type": "string", "pattern": NAME}, "its type, perhaps with a number, if left out"
            ),
            "type": {"type": "string"} if type_ is None else {"const": type_},
            "probability": described(
                {"type": "number", "minimum": 0, "maximum": 1}, "chance that a feedback is affected (1)"
            ),
            "apply_to": described(
                {"enum": ["new", "pending"]},
                "new: feedback that comes while it is there; pending: all that is held while it is there",
            ),
            "at": described(when, "begins then, counted from the run's start; at once if left out"),
            "duration": described(
                length, "counted by the broker, from now (or from `at`); no end if left out"
            ),
        }
        return {"agents": self._agents, **common} if agents else common

    def _variants(self) -> dict[str, list[Variant]]:
        """Return, for each type, its own fields and which of them are needed, in one or more ways."""
        return {name: each.variants(self._clock) for name, each in self._types.items()}


def _nullable(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    return {name: {"anyOf": [schema, {"type": "null"}]} for name, schema in properties.items()}


def agents_schema(rules: Rules) -> Schema:
    """Return the schema of a choice of agents."""
    listed = {"type": "array", "items": whole(0, rules.agents - 1), "minItems": 1, "maxItems": MOST_FAULTS}
    return described({"anyOf": [{"const": "all"}, listed]}, "whose links: all (the default), or a list")


def components(rules: Rules) -> dict[str, Schema]:
    """Return all schemas by name."""
    faults = Faults(rules)
    disabled = {"type": "array", "items": whole(0, rules.agents - 1), "maxItems": LONGEST_TRACE}
    many = {"type": "array", "maxItems": MOST_FAULTS}
    return {
        "Error": _error(),
        "Fault": faults.taken(agents=False),
        "FaultShown": faults.shown(),
        "FaultPatch": faults.patch(),
        "Link": _link(rules),
        "LinkPatch": closed({"enabled": {"type": "boolean"}}, ["enabled"]),
        "Links": closed(
            {"clock": {"const": rules.clock}, "links": {"type": "array", "items": ref("Link")}},
            ["clock", "links"],
        ),
        "Plan": closed(
            {
                "faults": {**many, "items": faults.taken(agents=True)},
                "disabled": described(disabled, "links that hold everything; unchanged if left out"),
                "version": described(
                    whole(1, LONGEST), "refused (409) if it is not the plan's; not looked at if left out"
                ),
            },
            ["faults"],
        ),
        "PlanShown": closed(
            {
                "version": whole(1, LONGEST),
                "faults": {**many, "items": ref("FaultShown")},
                "disabled": described(disabled, "links that hold everything until they are enabled again"),
            },
            ["version", "faults", "disabled"],
        ),
    }


def ref(name: str) -> Schema:
    """Return a reference to a schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def _error() -> Schema:
    fields = {
        "error": described({"type": "string"}, "one line: what is wrong, and what to do"),
        "status": described({"type": "integer"}, "the HTTP status"),
        "field": described({"type": "string"}, "the path of what is wrong in the body, empty for the whole"),
    }
    return closed(fields, ["error", "status"])


def _link(rules: Rules) -> Schema:
    """Return the schema of a link."""
    time = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    amount = time if rules.clock == "wall" else {"anyOf": [COUNT, {"type": "null"}]}
    fields = {
        "agent": whole(0, rules.agents - 1),
        "enabled": {"type": "boolean"},
        "connected": {"type": "boolean"},
        "pending": described(COUNT, "feedback that is not due yet"),
        "due": described(COUNT, "feedback that was released and not yet acknowledged"),
        "oldest_age": described(time, "of the oldest that is held; null if there is none"),
        "accepted": COUNT,
        "delivered": COUNT,
        "requested_delay": described(amount, "of the last feedback; null if there is none, or no known end"),
        "next_due": described(amount, "time to the next release, or its round; null if there is none"),
        "faults": {"type": "array", "items": ref("FaultShown")},
    }
    return closed(fields, fields)
