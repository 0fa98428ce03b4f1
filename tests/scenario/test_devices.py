from __future__ import annotations

import pytest

from edgefw.errors import InputError
from edgefw.scenario.load import dump, load, parse

SLOW = "devices={compute: 2ms, others: [{agents: [3, 5], compute: 20ms}, {agents: [0], compute: 0s}]}"


def test_every_agent_computes_as_long_as_its_device_takes() -> None:
    devices = load("default", [SLOW]).devices
    assert [devices.compute_of(i) for i in range(8)] == [0.0, 0.002, 0.002, 0.02, 0.002, 0.02, 0.002, 0.002]
    assert not any(load("default").devices.compute_of(i) for i in range(8))


def test_devices_are_written_out_and_read_again() -> None:
    scenario = load("default", [SLOW])
    assert parse(dump(scenario), "again") == scenario


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("compute=3", "devices.compute: 3 has no unit: write a number and a unit"),
        ("others=[{agents: [8], compute: 1s}]", "devices.others.0.agents names agent 8: agents are 0 to 7"),
        (
            "others=[{agents: [3], compute: 1s}, {agents: [2, 3], compute: 2s}]",
            "devices.others.1.agents names agent 3 once more: name each agent once",
        ),
        ("others=[3]", "devices.others.0 is 3: it must be a mapping of agents, compute"),
        (
            "others=[{agent: [3], compute: 1s}]",
            "devices.others.0.agent: unknown field: did you mean 'agents'",
        ),
        ("others=[{agents: [3]}]", "devices.others.0.compute is missing"),
    ],
)
def test_a_mistake_is_one_line(field: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        load("default", [f"devices.{field}"])
    assert str(error.value).startswith(f"default: {words}")
