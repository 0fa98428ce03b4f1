from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgefw.errors import DataError, InputError
from edgefw.problem.dataset import Dataset
from edgefw.problem.synthetic import synthetic
from edgefw.scenario.load import load, names
from edgefw.scenario.setup import first_rounds, resolve
from edgefw.services.emulable import check_emulable
from edgefw.simulator import simulate

TINY = synthetic(1200, features=9, classes=3, seed=0)


@pytest.mark.parametrize("name", names())
def test_every_ready_made_scenario_plays_its_first_rounds(name: str) -> None:
    scenario = load(name, ["algorithm.stop_after=3"])
    check_emulable(load(name))
    setup = resolve(scenario, TINY)
    trace = simulate(setup)
    assert trace.global_loss.shape == (3, scenario.network.agents)
    assert np.isfinite(trace.global_loss).all()
    assert setup.delays.shape == (scenario.network.agents, 3)
    algorithm = scenario.algorithm
    assert len(setup.steps) >= (algorithm.sub_iterations or np.sqrt(algorithm.horizon) - 1.5)  # K stays


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["network.topology=edges"], "network.topology 'edges' needs the list of edges"),
        (
            ["network.topology=edges", "network.agents=4", "delays=[]", "network.edges=[[0, 1], [2, 3]]"],
            "network.edges: the graph is not connected: agents [2, 3] cannot be reached from agent 0",
        ),
        (["network.topology=edges", "network.edges=[[0, 9]]"], "network.edges: edge [0, 9] names an agent"),
        (["network.topology=grid", "network.rows=3"], "network: a grid of 3 x 2 does not hold 8 agents"),
        (["network.topology=random_regular", "network.degree=77"], "network.degree is 77: with 8 agents"),
        (["network.topology=erdos_renyi", "network.p=0"], "network: none of 1000 random graphs"),
        (["data.samples=4", "data.source=synthetic"], "network.agents: 8 agents cannot share 4 samples"),
        (
            ["problem.batch=151"],
            "batch 151 is larger than agent 0's shard of 150 samples: lower problem.batch",
        ),
        (["data.source=mnits"], "data.source: unknown data source 'mnits': did you mean 'mnist'?"),
        (["data.source=/nowhere/x"], "data.source '/nowhere/x' is not a folder"),
        (["pace=asap"], "pace is asap and delays.0 counts in time, which needs rounds of a known length"),
        (
            ["delays.1.distribution=trace"],
            "default: delays.1.trace is missing: distribution 'trace' needs its values",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_field_that_says_so(overrides: list[str], words: str) -> None:
    wants_data = any(override.startswith("data.") for override in overrides)
    with pytest.raises(InputError) as caught:
        resolve(load("default", overrides), None if wants_data else TINY)
    assert str(caught.value).startswith(words)
    if words.startswith(("network", "data")):  # the others are about more than one field
        assert caught.value.field == words.partition(" ")[0].removesuffix(":")


def test_bad_data_stay_bad_data() -> None:
    with pytest.raises(DataError, match="is not a folder"):
        resolve(load("default", ["data.source=/nowhere/x"]))


def test_features_that_are_not_finite_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.ones((400, 5), dtype=np.float32)
    features[7, 2] = np.nan

    def damaged(*_: Any, **__: Any) -> Dataset:
        return Dataset("sensors", features, np.zeros(400, dtype=np.int64), 2, 1.0)

    monkeypatch.setattr("edgefw.scenario.setup.load", damaged)
    with pytest.raises(DataError, match=r"'sensors' has a feature that is not finite in sample 7: remove it"):
        resolve(load("default"))


def test_the_first_rounds_of_a_setup_are_those_of_the_whole() -> None:
    setup = resolve(load("default", ["algorithm.horizon=30"]), TINY)
    short = first_rounds(setup, 6)
    assert short.rounds == 6
    assert len(short.steps) == len(setup.steps)
    np.testing.assert_array_equal(simulate(short).global_loss, simulate(setup).global_loss[:6])


def test_the_noise_and_the_rate_are_those_of_the_setting() -> None:
    network = resolve(load("default", ["algorithm.horizon=100"]), TINY)
    assert (network.noise, network.zeta) == ("fixed", 0.1)
    alone = load("paper-centralized", ["algorithm.horizon=100", "delays.0.rounds=25", "delays.0.jitter=0"])
    setup = resolve(alone, TINY)
    assert setup.noise == "fresh"
    assert setup.zeta == pytest.approx(1 / np.sqrt(25 * 100))
    given_rate = load("default", ["algorithm.rate=0.75", "algorithm.noise=fresh"])
    assert (resolve(given_rate, TINY).zeta, resolve(given_rate, TINY).noise) == (0.75, "fresh")


def test_the_theorems_schedule_follows_the_total_delay() -> None:
    def zeta(latency: str) -> float:
        overrides = ["algorithm.schedule=theorem", "algorithm.horizon=40", f"delays.1.latency={latency}"]
        return resolve(load("default", overrides), TINY).zeta

    assert zeta("10s") < zeta("0s")
