"""Every mistake in one line: the field as the user writes it, the value, what is allowed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from edgefw.errors import InputError
from edgefw.scenario.load import validate

LATENCY = "{type: latency, latency: 1s}"

MISTAKES = [
    # unknown fields, with the nearest
    ("netwrok: {}", "netwrok: unknown field: did you mean 'network'?"),
    ("network: {agent: 3}", "network.agent: unknown field: did you mean 'agents'?"),
    ("agents: 3", "agents: unknown field: did you mean 'network.agents'?"),
    ("rounds: 3", "rounds: unknown field; allowed: name, seed, network,"),  # also the name of a fault type
    ("delays: [{type: latency, latencey: 1s}]", "delays.0.latencey: unknown field: did you mean 'latency'?"),
    (
        "delays: [{type: drop, agents: {drw: 3}}]",
        "delays.0.agents.drw: unknown field: did you mean 'draw'? (and 1 more)",
    ),
    ("peers: {xyz: 3}", "peers.xyz: unknown field; allowed: on_loss, timeout"),
    ("5: 3", "5: unknown field; allowed: name, seed, network,"),
    # names, with the nearest
    ("algorithm: {name: de2mwf}", "algorithm.name: unknown algorithm 'de2mwf': did you mean 'de2mfw'?"),
    ("network: {topology: cicle}", "network.topology: unknown topology 'cicle': did you mean 'cycle'?"),
    ("problem: {set: l1_perclass}", "problem.set: unknown feasible set 'l1_perclass': did you mean"),
    ("clock: round", "clock: unknown clock 'round': did you mean 'rounds'? (valid: wall, rounds)"),
    ("clock: 5", "clock is 5: it must be one of wall, rounds"),
    ("clock: null", "clock is null: it must be one of wall, rounds"),
    ("peers: {on_loss: wiat}", "peers.on_loss: unknown on_loss 'wiat': did you mean 'wait'?"),
    (
        "delays: [{type: latecy}]",
        "delays.0.type: unknown fault type 'latecy': did you mean 'latency'? (valid: latency, rounds, ",
    ),
    ("delays: [{type: null}]", "delays.0.type is null: it must be one of latency, rounds,"),
    ("delays: [{latency: 1s}]", "delays.0.type is missing: give one of latency, rounds, blackout, ramp,"),
    (
        "delays: [{type: latency, distribution: unifrom}]",
        "delays.0.distribution: unknown distribution 'unifrom': did you mean 'uniform'?",
    ),
    (
        "events: [{type: adversary, at: 3, strategy: bursts}]",
        "events.0.strategy: unknown strategy 'bursts': did you mean 'burst'?",
    ),
    # types: nothing is taken for what it is not
    ("problem: {batch: true}", "problem.batch is true: it must be a whole number"),
    ("problem: {batch: 2.5}", "problem.batch is 2.5: it must be a whole number"),
    ("problem: {batch: '2'}", "problem.batch is '2': it must be a whole number"),
    ("problem: {batch: null}", "problem.batch is null: it must be a whole number"),
    ("problem: {radius: big}", "problem.radius is 'big': it must be a number"),
    ("problem: {radius: true}", "problem.radius is true: it must be a number"),
    ("name: 5", "name is 5: it must be text, in quotes if it looks like a number"),
    ("network: 5", "network is 5: it must be a mapping of agents, topology, rows,"),
    ("data: null", "data is null: it must be a mapping of source, partition,"),
    ("delays: 5", "delays is 5: it must be a list, such as [...]"),
    ("delays: {type: drop}", "delays is a mapping: it must be a list, such as [...]"),
    ("delays: [5]", "delays.0 is 5: a fault is a mapping, such as {type: drop}"),
    ("network: {edges: [[0]]}", "network.edges.0 is [0]: an edge is a pair of agents, such as [0, 1]"),
    ("network: {edges: [[0, 1, 2]]}", "network.edges.0 is [0, 1, 2]: an edge is a pair of agents"),
    ("network: {edges: [3]}", "network.edges.0 is 3: an edge is a pair of agents"),
    ("network: {edges: [[0, x]]}", "network.edges.0.1 is 'x': it must be a whole number"),
    (
        "delays: [{type: drop, agents: {draw: 1, replacement: 7}}]",
        "delays.0.agents.replacement is 7: it must be true or false",
    ),
    # ranges
    ("problem: {radius: 0}", "problem.radius is 0: it must be above 0"),
    ("problem: {radius: -24.5}", "problem.radius is -24.5: it must be above 0"),
    ("problem: {radius: .nan}", "problem.radius is nan: it must be a finite number"),
    ("problem: {radius: 1.0e+12}", "problem.radius is 1000000000000.0: it must be at most 1000000000"),
    ("algorithm: {rate: .inf}", "algorithm.rate is inf: it must be a finite number"),
    ("algorithm: {stop_after: 0}", "algorithm.stop_after is 0: it must be above 0"),
    ("data: {drift: 3}", "data.drift is 3: it must be at most 1"),
    ("seed: -1", "seed is -1: it must be at least 0"),
    ("seed: 9223372036854775808", "seed is 9223372036854775808: it must be below 9223372036854775808"),
    ("network: {agents: 99999999999}", "network.agents is 99999999999: it must be at most 10000"),
    ("delays: [{type: drop, probability: 2}]", "delays.0.probability is 2: it must be at most 1"),
    ("delays: [{type: rounds, rounds: -5}]", "delays.0.rounds is -5: it must be above 0"),
    ("delays: [{type: drop, agents: [-1]}]", "delays.0.agents.0 is -1: it must be at least 0"),
    ("delays: [{type: drop, agents: {draw: -1}}]", "delays.0.agents.draw is -1: it must be at least 0"),
    # durations, and amounts that are rounds or durations: one message, not one for each branch
    ("pace: 5", "pace: 5 has no unit: write a number and a unit, such as 750ms, 2s or 1.5m (or asap,"),
    ("pace: fast", "pace: 'fast' is not a duration"),
    ("pace: 0s", "pace: 0 is too small: it must be above 0 (or asap"),
    ("peers: {timeout: 5}", "peers.timeout: 5 has no unit"),
    ("delays: [{type: latency, latency: -800ms}]", "delays.0.latency: '-800ms' is negative: a duration is"),
    ("delays: [{type: latency, latency: 1.5}]", "delays.0.latency: 1.5 has no unit"),
    ("delays: [{type: latency, trace: [1s, 2]}]", "delays.0.trace.1: 2 has no unit"),
    ("delays: [{type: drop, at: soon}]", "delays.0.at: 'soon' is neither a number of rounds (200) nor a"),
    ("delays: [{type: drop, at: -5}]", "delays.0.at: -5 is not a number of rounds: write 0 or more"),
    ("delays: [{type: drop, at: -5s}]", "delays.0.at: '-5s' is negative"),
    ("delays: [{type: drop, duration: 0}]", "delays.0.duration: 0 is too small: it must be above 0"),
    ("delays: [{type: drop, duration: 0s}]", "delays.0.duration: 0 is too small: it must be above 0"),
    (
        "delays: [{type: drop, agents: some}]",
        "delays.0.agents is 'some': write all, a list such as [0, 3], or {draw: 2} for two at random",
    ),
    ("delays: [{type: drop, agents: 3}]", "delays.0.agents is 3: write all, a list such as [0, 3]"),
    # what is missing
    ("delays: [{type: adversary}]", "delays.0.strategy is missing: type adversary needs it"),
    ("delays: [{type: drop, agents: {}}]", "delays.0.agents.draw is missing: delays.0.agents needs it"),
    ("events: [{type: ramp, at: 3}]", "events.0.start is missing: type ramp needs it (and 3 more)"),
    ("events: [{type: drop}]", "events.0.at is missing: say when the event begins, as a time (90s) or a"),
    # what does not go together
    (
        "algorithm: {name: dofw}",
        "algorithm.name is dofw, which is centralized, and network.agents is 8: set network.agents=1, or",
    ),
    (
        f"{{algorithm: {{name: mfw}}, network: {{agents: 1}}, delays: [{LATENCY}]}}",
        "algorithm.name is mfw, which knows no delays, and there are 1: set algorithm.name=delmfw, or",
    ),
    ("delays: [{type: drop, agents: [0, 8]}]", "delays.0.agents names agent 8: agents are 0 to 7"),
    (
        "delays: [{type: drop, agents: {draw: 9}}]",
        "delays.0.agents.draw is 9: there are only 8 agents, unless replacement is true",
    ),
    (
        f"{{clock: rounds, delays: [{LATENCY}]}}",
        "delays.0.type is latency, a delay in time, and clock is rounds: use type rounds, or set clock=wall",
    ),
    (
        "delays: [{type: drop}, {type: rounds, rounds: 3}]",
        "delays.1.type is rounds, a delay in rounds, and clock is wall: use type latency, or set",
    ),
    (
        "{clock: rounds, events: [{type: blackout, at: 90s}]}",
        "events.0.at is the time 90s, and clock is rounds: write a number of rounds, or set clock=wall",
    ),
    (
        "{clock: rounds, delays: [{type: drop, duration: 250ms}]}",
        "delays.0.duration is the time 250ms, and clock is rounds",
    ),
    (
        "delays: [{type: ramp, start: 0, stop: 5s, step: 1s, interval: 3}]",
        "delays.0.interval is 3 rounds, and clock is wall: write a time, such as 2s, or set clock=rounds",
    ),
    (
        "delays: [{type: drop, name: a b}]",
        "delays.0.name: 'a b' cannot name a fault: use up to 64 letters, digits, '.', '_' and '-'",
    ),
    (
        "delays: [{type: drop, name: x}, {type: drop}, {type: drop, name: x}]",
        "delays.2 and delays.0 are both named 'x': give one another name",
    ),
    (
        "{delays: [{type: drop}], events: [{type: drop, at: 3, name: delays-0}]}",
        "events.0 and delays.0 are both named 'delays-0': give one another name",
    ),
    ("delays: [{type: drop, name: 5}]", "delays.0.name is 5: it must be text, in quotes if it looks like a"),
    (
        "events: [{type: drop, at: 30}]",
        "events.0.at is 30, which has no unit, and clock is wall: write a time (30s) or rounds (30 rounds)",
    ),
    (
        "delays: [{type: drop, duration: 4}]",
        "delays.0.duration is 4, which has no unit, and clock is wall: write a time (4s) or rounds",
    ),
    (
        "delays: [{type: drop, apply_to: old}]",
        "delays.0.apply_to: unknown apply_to 'old': valid: new, pending",
    ),
    (
        "delays: [{type: drop, apply_to: pending, at: 5 rounds}]",
        "delays.0.at is 5 rounds, and what applies to pending feedback counts time by the wall clock: write",
    ),
    (
        "delays: [{type: drop, apply_to: pending, duration: 5 rounds}]",
        "delays.0.duration is 5 rounds, and what applies to pending feedback counts time by the wall clock",
    ),
    (
        "delays: [{type: adversary, strategy: starve, period: 3s}]",
        "delays.0.period is the time 3s, and strategy starve counts feedback: write a number, such as 10 to",
    ),
    (
        "{clock: rounds, delays: [{type: adversary, strategy: burst, period: 3s}]}",
        "delays.0.period is the time 3s, and clock is rounds: write a number of rounds, or set clock=wall",
    ),
    (
        "delays: [{type: adversary, strategy: burst, period: 0}]",
        "delays.0.period: 0 is too small: it must be",
    ),
    (
        "delays: [{type: adversary, strategy: burst, period: soon}]",
        "delays.0.period: 'soon' is neither a number of rounds (200) nor a time (90s)",
    ),
    ("delays: [{type: adversary, strategy: largest, share: 0}]", "delays.0.share is 0: it must be above 0"),
    ("delays: [{type: adversary, strategy: largest, share: 2}]", "delays.0.share is 2: it must be at most 1"),
    ("delays: [{type: latency, trace: 5}]", "delays.0.trace is 5: it must be a list, such as [...]"),
    ("name: a b", "name: 'a b' cannot name a folder: use up to 64 letters, digits, '.', '_' and '-'"),
    ("name: ../x", "name: '../x' cannot name a folder"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake_is_one_line_that_names_field_value_and_what_is_allowed(text: str, words: str) -> None:
    document: Any = yaml.safe_load(text)
    with pytest.raises(InputError) as caught:
        validate(document, source="my.yaml")
    message = str(caught.value)
    assert message.startswith(f"my.yaml: {words}")
    assert "\n" not in message
    assert "input should" not in message.lower()  # pydantic's words


def test_a_name_ends_where_it_seems_to() -> None:
    with pytest.raises(InputError, match="cannot name a folder"):
        validate({"name": "a\n"}, source="x")


def test_zero_has_no_unit_and_needs_none() -> None:
    ramp = {"type": "ramp", "start": 0, "stop": "5s", "step": "1s", "interval": "2s"}
    scenario = validate({"delays": [{"type": "latency", "latency": 0}, ramp]}, source="x")
    assert scenario.delays[0].model_dump()["latency"] == "0s"
