"""JSON schemas of the faults that a run takes: made from the fault types, for its clock and its agents.

They are exact enough that what they allow is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from edgefw.delays.fault import Fault, counted_fields
from edgefw.delays.plan import MOST_FAULTS
from edgefw.delays.registry import TYPES
from edgefw.delays.schema import SOME_TIME, TIME, counted_schema, whole
from edgefw.delays.strict import NAME
from edgefw.services.broker.admin import models

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from edgefw.delays.fault import Rules

    Schema = dict[str, Any]

_STATIC = (models.LinkPatch, models.PlanBody, models.PlanShown, models.LinksShown, models.Refusal)
REF = "#/components/schemas/{model}"


def components(rules: Rules) -> dict[str, Schema]:
    """Return all schemas by name."""
    faults = _Faults(rules)
    _, document = models_json_schema([(model, "serialization") for model in _STATIC], ref_template=REF)
    found: dict[str, Schema] = document["$defs"]
    body = found["PlanBody"]["properties"]
    body["faults"] |= {"items": faults.taken(agents=True), "maxItems": MOST_FAULTS}
    body["disabled"] |= {"items": faults.agent, "maxItems": MOST_FAULTS}
    return found | {"Fault": faults.taken(agents=False), "FaultPatch": faults.patch()}


def closed(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Return the schema of an object with these fields and no others."""
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


class _Faults:
    """Schemas of faults under one clock."""

    def __init__(self, rules: Rules) -> None:
        self._clock, self.agent = rules.clock, whole(0, rules.agents - 1)
        self._types = {name: each for name, each in TYPES.at_hand().items() if rules.clock in each.clocks}
        # For each type its own fields, and which of them are needed, in one or more ways.
        self._variants = {name: each.variants(rules.clock) for name, each in self._types.items()}
        self._probability: Schema = Fault.model_json_schema()["properties"]["probability"]

    def taken(self, *, agents: bool) -> Schema:
        """Return the schema of a fault in a body; `agents` where it says whose links it is on."""
        choices = []
        for type_, variants in self._variants.items():
            nested = {"anyOf": [closed(p, r) for p, r in variants]} if len(variants) > 1 else None
            attributes = nested or closed(*variants[0])
            needs = ["type", "attributes"] if variants[0][1] else ["type"]
            common = self._common(type_, agents=agents)
            found = [closed({**common, "attributes": attributes}, needs)]
            found += [closed({**common, **p}, ["type", *r]) for p, r in variants if r]
            choices += [schema | self._pending(type_) for schema in found]
        text = "nested: a type's own fields stand in attributes; or flat, as in a scenario file"
        return {"anyOf": choices, "description": text}

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
        nullable = {name: {"anyOf": [schema, {"type": "null"}]} for name, schema in common.items()}
        own: dict[str, Schema] = {name: {} for each in self._variants.values() for p, _ in each for name in p}
        nested = closed({**nullable, "attributes": {"type": ["object", "null"]}})
        text = (
            "merged into the fault (RFC 7396), nested or flat: null removes; the result must be a valid fault"
        )
        return {"anyOf": [nested, closed({**common, **own})], "description": text}

    def _common(self, type_: str | None, *, agents: bool) -> dict[str, Schema]:
        """Return the schemas of what every fault has, in words of somebody who posts one."""
        counted = counted_fields(Fault)
        when, length = (counted_schema(counted[name], self._clock) for name in ("at", "duration"))
        common: dict[str, Schema] = {
            "name": {
                "type": "string",
                "pattern": NAME,
                "description": "its type's, perhaps numbered, if left out",
            },
            "type": {"type": "string"} if type_ is None else {"const": type_},
            "probability": self._probability,
            "apply_to": {
                "enum": ["new", "pending"],
                "description": "new: feedback that comes while it is there; pending: all that is held then",
            },
            "at": when | {"description": "begins then, counted from the run's start; at once if left out"},
            "duration": length
            | {"description": "counted by the broker, from now (or from `at`); no end if left out"},
        }
        return {"agents": self._agents(), **common} if agents else common

    def _agents(self) -> Schema:
        listed = {"type": "array", "items": self.agent, "minItems": 1, "maxItems": MOST_FAULTS}
        return {
            "anyOf": [{"const": "all"}, listed],
            "description": "whose links: all (the default), or a list",
        }
