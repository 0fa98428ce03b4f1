"""A loss, a feasible set, a fault type and a data set of another package, in a run and in its record."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from admin_stand_in import rules
from agreeing import run_as_simulated
from strangers import Huber, Range, Weibull

import edgefw
from edgefw import best
from edgefw.delays.body import read_fault
from edgefw.errors import InputError
from edgefw.scenario.extensions import origins
from edgefw.scenario.load import dump, load, validate
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from pathlib import Path

FIELDS: dict[str, Any] = {
    "data.source": "strangers:Sensors",
    "data.params": {"sensors": 5},
    "data.samples": 120,
    **dict.fromkeys(("data.features", "data.classes")),  # it has its own
    "problem.loss": "strangers:Huber",
    "problem.loss_params": {"delta": 0.5},
    "problem.set": "strangers:Range",
    "problem.set_params": {"low": -1.0},
    "problem.radius": 2.0,
    "delays": [{"type": "strangers:Weibull", "scale": 3}],
    "network.agents": 4,
    "clock": "rounds",
    "pace": "asap",
    "algorithm.horizon": 30,
    "algorithm.stop_after": 8,
}


def scenario(**fields: Any) -> edgefw.Scenario:
    return load("default", {**FIELDS, **fields})


def test_a_setup_is_made_of_them() -> None:
    setup = resolve(scenario())
    assert isinstance(setup.loss, Huber)
    assert isinstance(setup.feasible, Range)
    assert (setup.dataset.name, setup.dataset.features.shape) == ("strangers:Sensors", (120, 5))
    assert isinstance(setup.scenario.delays[0], Weibull)
    assert setup.delays.max() > 3
    assert setup.feasible.contains(setup.feasible.lmo(setup.feasible.start() + 1))


def test_what_is_written_is_read_again() -> None:
    made = scenario()
    again = validate(yaml.safe_load(dump(made)), source="again")
    assert again == made
    assert again.digest == made.digest
    other = {"type": "strangers:Weibull", "scale": 4}
    assert scenario(delays=[other]).digest != made.digest


def test_the_record_names_every_one_of_them() -> None:
    found = origins(scenario())
    assert list(found) == ["problem.loss", "problem.set", "data.source", "delays.0.type"]
    assert all(len(origin.sha256) == 64 for origin in found.values())
    assert not origins(load("default"))


def test_the_simulator_and_the_services_run_them_and_verify_agrees(tmp_path: Path) -> None:
    folder, _ = run_as_simulated(tmp_path / "run", FIELDS)
    assert len(json.loads(folder.meta()["extensions"])) == 4


def test_best_points_of_other_parameters_are_kept_apart() -> None:
    fields: tuple[dict[str, Any], ...] = (
        {},
        {"problem.loss_params": {"delta": 0.4}},
        {"problem.set_params": {"low": 0.0}},
    )
    paths = {best._path(resolve(scenario(**each))) for each in fields}
    assert len(paths) == 3


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("problem.loss", "strangers:Nothing", "is no loss: derive it from edgefw.problem.loss.Loss"),
        ("problem.loss", "strangers:Half", "Half misses residual: write them"),
        ("problem.loss", "hubber", "unknown loss 'hubber'"),
        (
            "problem.set",
            "strangers:Huber",
            "Huber is no feasible set: derive it from edgefw.problem.feasible",
        ),
        ("problem.set", "no_such:Set", "there is no module no_such"),
        ("problem.loss_params", {"dleta": 1}, "unknown parameter of Huber 'dleta': did you mean 'delta'"),
        ("problem.set_params", {"high": 1}, "problem.set_params: unknown parameter of Range 'high'"),
        ("data.params", {"sensrs": 1}, "data.params: unknown parameter of Sensors 'sensrs'"),
        ("data.source", "strangers:Nothing", "Nothing is no data source: derive it from edgefw.problem"),
        ("data.source", "strangers:Empty", "load returns 7: it has to return a Dataset"),
        ("data.source", "no_such:Data", "there is no module no_such"),
        (
            "delays",
            [{"type": "strangers:Nothing"}],
            "delays.0: fault type 'strangers:Nothing': Nothing is no",
        ),
        ("delays", [{"type": "strangers:Typed"}], "Typed has a field type of its own: leave it out"),
        ("delays", [{"type": "no_such:Fault"}], "delays.0: fault type 'no_such:Fault': there is no module"),
        (
            "delays",
            [{"type": "strangers:Weibull"}],
            "delays.0.scale is missing: type strangers:Weibull needs it",
        ),
        (
            "delays",
            [{"type": "strangers:Weibull", "scale": 3, "shap": 2}],
            "delays.0.shap: unknown field: did you mean 'shape'?",
        ),
        (
            "delays",
            [{"type": "strangers:Weibull", "scale": "3s"}],
            "delays.0.scale is the time 3s, and clock is rounds",
        ),
        (
            "delays",
            [{"type": "latancy"}],
            "delays.0.type: unknown fault type 'latancy': did you mean 'latency'",
        ),
    ],
)
def test_a_mistake_is_said_in_one_line_with_its_field(field: str, value: Any, line: str) -> None:
    change = {"data.params": {}, field: value} if field == "data.source" else {field: value}
    with pytest.raises(InputError) as caught:
        resolve(scenario(**change))
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_is_imported_because_a_call_names_it() -> None:
    with pytest.raises(InputError, match=r"type is 'wave:Wave_read': a class of another package is taken"):
        read_fault({"type": "wave:Wave_read"}, rules("rounds"))
    assert "wave" not in sys.modules


def test_a_type_that_the_scenario_has_can_be_posted() -> None:
    scenario()
    posted = read_fault({"type": "strangers:Weibull", "attributes": {"scale": 9}}, rules("rounds"))
    assert isinstance(posted.fault, Weibull)
    assert posted.fault.scale == 9
