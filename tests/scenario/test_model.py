from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from edgefw.scenario.load import dump, load, names, validate
from edgefw.scenario.model import Scenario

BASE = [
    "delays=[{type: latency, latency: 1s}, {type: adversary, strategy: burst, period: 4}]",
    "events=[{type: ramp, at: 5 rounds, start: 1s, stop: 2s, step: 1s, interval: 1s}]",
]
MATTERS = [
    "seed=8",
    "network.agents=9",
    "network.topology=line",
    "network.rows=2",
    "network.cols=4",
    "network.p=0.5",
    "network.degree=3",
    "network.edges=[[0, 1]]",
    "data.source=mnist",
    "data.partition=by_class",
    "data.alpha=0.25",
    "data.samples=99",
    "data.drift=0.5",
    "problem.loss=squared",
    "problem.set=simplex",
    "problem.radius=25",
    "problem.batch=3",
    "algorithm.name=distributed-dgd",
    "algorithm.horizon=201",
    "algorithm.schedule=theorem",
    "algorithm.oracle=ogd",
    "algorithm.stop_after=5",
    "algorithm.sub_iterations=7",
    "algorithm.rate=0.5",
    "algorithm.noise=fresh",
    "algorithm.delay_bound=1",
    "clock=rounds",
    "pace=251ms",
    "delays=[]",
    "events=[]",
    "devices.compute=1us",
    "devices.others=[{agents: [3], compute: 1us}]",
    "peers.on_loss=reroute",
    "peers.timeout=31s",
    "limits.link=9",
    "limits.all=9",
    "limits.megabytes=9",
    "precision=float64",
    "delays.0.latency=1.001s",
    "delays.0.jitter=1us",
    "delays.0={type: latency, trace: [1s]}",
    "delays.0.distribution=constant",
    "delays.0.correlation=0.5",
    "delays.0.seed=0",
    "delays.0.agents=[1]",
    "delays.0.probability=0.999",
    "delays.0.at=1 rounds",
    "delays.0.duration=1s",
    "algorithm.params={beta: 0.9}",
    "problem.loss_params={delta: 1}",
    "problem.set_params={p: 3}",
    "data.params={sensors: 3}",
    "data.order=given",
    "data.target=y",
    "data.targets=real",
    "data.scale=0.5",
    "data.scaling=unit_norm",
    "data.features=20",
    "data.classes=3",
    "data.noise=0.1",
    "delays.1.strategy=starve",
    "delays.1.period=5",
    "delays.1.period=4s",
    "delays.1={type: adversary, strategy: largest, period: 4, share: 0.5}",
    "delays.0.apply_to=pending",
    "events.0.start=2s",
    "events.0.stop=3s",
    "events.0.step=2s",
    "events.0.interval=2s",
    "events.0.type=drop",
]


def digest(*overrides: str) -> str:
    if "events.0.type=drop" in overrides:
        overrides = ("events=[{type: drop, at: 5 rounds}]",)
    if "clock=rounds" in overrides:
        return load("default", ["delays=[]", "events=[]", *overrides]).digest
    return load("default", [*BASE, *overrides]).digest


@pytest.mark.parametrize("override", MATTERS)
def test_the_digest_changes_with_whatever_can_change_a_result(override: str) -> None:
    before = load("default", ["delays=[]", "events=[]"]).digest if override == "clock=rounds" else digest()
    assert digest(override) != before


def test_the_digest_is_that_of_the_run_not_of_its_name() -> None:
    assert digest("name=other") == digest("resume=continue") == digest()
    assert digest("checkpoints.every=2") == digest()
    assert digest("delays.0.name=slow") == digest("events.0.name=climb") == digest()
    assert re.fullmatch("[0-9a-f]{32}", digest())


def test_a_field_that_came_later_and_is_left_out_keeps_the_digest() -> None:
    assert load("default").digest == "7060412d2b1b7df97c6097f2b9d6ccd9"
    assert load("paper-centralized").digest == "2ca616c315eec26682bcc99d13ffe3ba"


def test_no_field_is_forgotten_above() -> None:
    changed = {
        override.partition("=")[0] for override in [*MATTERS, "name=x", "resume=x", "checkpoints.every=x"]
    }
    fields = set()
    for name, field in Scenario.model_fields.items():
        section = field.annotation
        inner = section.model_fields if isinstance(section, type) and issubclass(section, BaseModel) else {}
        fields |= {f"{name}.{each}" for each in inner} or {name}
    assert fields <= changed


def test_equal_scenarios_written_differently_have_one_digest() -> None:
    written = validate({"pace": "0.25s", "peers": {"timeout": "0.5m"}}, source="x")
    assert written.digest == Scenario().digest


def test_rounds_played_are_the_horizon_or_fewer() -> None:
    assert load("default", ["algorithm.horizon=9"]).algorithm.rounds == 9
    assert load("default", ["algorithm.horizon=9", "algorithm.stop_after=4"]).algorithm.rounds == 4
    assert load("default", ["algorithm.horizon=9", "algorithm.stop_after=40"]).algorithm.rounds == 9


SCHEMA = json.loads(json.dumps(Scenario.model_json_schema()))


def test_the_schema_is_a_json_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def parts(schema: Any) -> list[dict[str, Any]]:
    """Return every mapping in a document but for examples."""
    if isinstance(schema, list):
        return [part for each in schema for part in parts(each)]
    if not isinstance(schema, dict):
        return []
    return [schema, *parts([each for name, each in schema.items() if name != "examples"])]


def test_the_schema_holds_together() -> None:
    for part in parts(SCHEMA):
        if isinstance(part.get("$ref"), str):
            assert part["$ref"].removeprefix("#/$defs/") in SCHEMA["$defs"]
        if isinstance(part.get("type"), str):
            assert part["type"] in {"object", "array", "string", "number", "integer", "boolean", "null"}
        if part.get("type") == "object":
            free = "properties" not in part  # parameters of a class that only its author knows
            assert part["additionalProperties"] is free
            assert set(part.get("required", ())) <= set(part.get("properties", ()))
        if isinstance(part.get("pattern"), str):
            re.compile(part["pattern"])


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value is valid under the part of JSON schema that a scenario's uses."""
    if not schema:
        return True
    if "$ref" in schema:
        return fits(SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], value)
    kinds: dict[str, Any] = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    kinds |= {"number": (int, float), "null": type(None)}
    kind = schema.get("type")
    return (
        (kind is None or (isinstance(value, kinds[kind]) and (kind == "boolean" or value is not True)))
        and value == schema.get("const", value)
        and value in schema.get("enum", [value])
        and any(fits(each, value) for each in schema.get("anyOf", [{}]))
        and sum(fits(each, value) for each in schema.get("oneOf", [{}])) == 1
        and (kind != "string" or re.search(schema.get("pattern", ""), value) is not None)
        and (kind not in {"integer", "number"} or within(schema, value))
        and (kind != "array" or all(fits(schema.get("items", {}), each) for each in value))
        and (kind != "object" or object_fits(schema, value))
    )


def within(schema: dict[str, Any], value: float) -> bool:
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    return bool(low <= value <= high and value > schema.get("exclusiveMinimum", value - 1))


def object_fits(schema: dict[str, Any], value: dict[str, Any]) -> bool:
    known = schema.get("properties", {})
    return set(schema.get("required", ())) <= set(value) <= set(known) and all(
        fits(known[key], each) for key, each in value.items()
    )


@pytest.mark.parametrize("name", names())
def test_every_ready_made_scenario_fits_the_schema(name: str) -> None:
    assert fits(SCHEMA, load(name).model_dump(mode="json"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"netwrok": {}},
        {"network": {"agents": 0}},
        {"network": {"agents": True}},
        {"network": {"topology": "ring"}},
        {"pace": 5},
        {"pace": "5 parsecs"},
        {"clock": "round"},
        {"name": "a b"},
        {"delays": [{"type": "latecy"}]},
        {"delays": [{"type": "adversary"}]},
        {"delays": [{"type": "drop", "agents": "some"}]},
        {"delays": [{"type": "drop", "apply_to": "old"}]},
        {"delays": [{"type": "drop", "name": 5}]},
        {"delays": [{"type": "adversary", "strategy": "largest", "share": 0}]},
        {"delays": [{"type": "latency", "trace": [5]}]},
        {"problem": {"radius": 0}},
    ],
    ids=str,
)
def test_the_schema_finds_mistakes_before_a_run(wrong: dict[str, Any]) -> None:
    assert fits(SCHEMA, {})
    assert fits(SCHEMA, {"delays": [{"type": "latency", "trace": "delays.csv"}]})
    assert fits(SCHEMA, {"delays": [{"type": "latency", "trace": ["5s"], "name": "slow"}]})
    assert not fits(SCHEMA, wrong)


def test_a_written_scenario_has_every_default_in_it() -> None:
    for field in Scenario.model_fields:
        assert f"\n{field}:" in f"\n{dump(Scenario())}"
