"""The worked example: an algorithm of a package beside edgefw, in the simulator and over the services."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from edgefw_momentum import Momentum
from emulated import Emulated
from together import run_together

import edgefw
from edgefw.core.agent import ALGORITHMS, algorithm
from edgefw.errors import InputError
from edgefw.scenario.setup import resolve
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgefw.core.messages import Feedback
    from edgefw.records import RunFolder

FOLDER = Path(__file__).parents[2] / "examples" / "momentum"
SCENARIO = str(FOLDER / "momentum.yaml")
SHORT = {"algorithm.stop_after": 8, "delays": "[{agents: [2], type: rounds, rounds: 3}]"}


@pytest.fixture
def over_memory(tmp_path: Path) -> RunFolder:
    return run_together(tmp_path / "run", SCENARIO, {"pace": "asap", **SHORT})


def extensions(folder: RunFolder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(folder.meta()["extensions"])
    return found


def test_it_is_about_forty_lines() -> None:
    assert len((FOLDER / "edgefw_momentum.py").read_text(encoding="utf-8").splitlines()) <= 50


def test_without_momentum_it_is_distributed_gradient_descent() -> None:
    ours = {"name": "edgefw_momentum:Momentum", "params": {"beta": 0.0}}
    delays = tiny.DELAYS["uniform"]
    plain = tiny.points(tiny.setup(algorithm={"name": "distributed-dgd"}, delays=delays))
    np.testing.assert_allclose(tiny.points(tiny.setup(algorithm=ours, delays=delays)), plain, rtol=1e-12)


def test_with_it_the_sum_of_a_round_is_used_in_later_ones_too() -> None:
    ours = {"name": "edgefw_momentum:Momentum", "params": {"beta": 0.5}, "rate": 0.1}
    setup = tiny.setup(agents=1, algorithm=ours, problem={"set": "l2_ball", "radius": 1e6}, rounds=5)
    gradients: list[Any] = []

    def seen(_: int, feedback: Feedback) -> Feedback:
        gradients.append(feedback.gradient(0))
        return feedback

    v = x = np.zeros(setup.feasible.shape)
    for t, (play,) in enumerate(tiny.plays(setup, seen=seen)):
        v = 0.5 * v + (gradients[t - 1] if t else 0)
        x = x - 0.1 * v
        np.testing.assert_allclose(play.point, x, rtol=1e-12)


def test_the_simulator_runs_its_scenario_and_it_learns(tmp_path: Path) -> None:
    run = edgefw.simulate(SCENARIO, out=tmp_path / "run")
    assert run.summary.algorithm == "edgefw_momentum:Momentum"
    assert run.loss[-20:].mean() < 0.8 * run.loss[:5].mean()
    assert run.summary.messages == 2 * 6 * 200, "one exchange a round on each of six edges"


def test_services_over_the_memory_transport_run_it_and_verify_agrees(over_memory: RunFolder) -> None:
    verdict = verify(read(over_memory))
    assert verdict.passed, verdict
    assert verdict.identical == verdict.plays == 4 * 8
    assert verdict.other_build is None
    kept = extensions(over_memory)["algorithm.name"]
    assert kept["place"] == "edgefw_momentum:Momentum"
    assert len(kept["sha256"]) == 64


def test_verify_says_that_it_has_another_version_of_the_class(over_memory: RunFolder, tmp_path: Path) -> None:
    other = (FOLDER / "edgefw_momentum.py").read_text(encoding="utf-8")
    (tmp_path / "edgefw_momentum.py").write_text(other.replace("self._beta * self._v", "0.9 * self._v"))
    with in_place_of_the_example(tmp_path):
        verdict = verify(read(over_memory))
    assert verdict.other_build is not None
    assert "algorithm.name edgefw_momentum:Momentum, sources" in verdict.other_build
    assert verdict.mismatch is not None
    assert verify(read(over_memory)).passed


@contextmanager
def in_place_of_the_example(folder: Path) -> Iterator[None]:
    """Let a module of the example's name in this folder be found in its place."""
    kept, before = sys.modules.pop("edgefw_momentum"), dict(ALGORITHMS._found)
    ALGORITHMS._found.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield
    sys.modules["edgefw_momentum"] = kept
    ALGORITHMS._found.clear()
    ALGORITHMS._found.update(before)


def test_processes_run_it_and_verify_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    run = Emulated(tmp_path, scenario=SCENARIO, fields=SHORT)
    try:
        run.run()
        assert run.edgefw("verify", str(run.path)).startswith("32 of 32 plays are identical")
    finally:
        run.close()


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ({"bta": 0.5}, "algorithm.params: unknown parameter of Momentum 'bta': did you mean 'beta'?"),
        ({"beta": 1.0}, "algorithm.params.beta is 1.0: it must be at least 0 and below 1"),
    ],
)
def test_wrong_parameters_are_said_before_anything_runs(params: dict[str, float], line: str) -> None:
    scenario = edgefw.scenario(SCENARIO, {"algorithm.params": params})
    with pytest.raises(InputError) as caught:
        resolve(scenario)
    assert str(caught.value).startswith(line)


def test_it_needs_no_more_than_it_says() -> None:
    record = algorithm("edgefw_momentum:Momentum")
    assert record.kind is Momentum
    assert (record.distributed, record.exchanges(9), record.queries(9)) == (True, 1, 1)
