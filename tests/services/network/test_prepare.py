from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.agent import make_agent
from edgefw.errors import InputError
from edgefw.problem.stream import Stream
from edgefw.scenario.load import load, validate
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.config import AgentConfig, Place, load_shard
from edgefw.services.network.prepare import Places, check_emulable, config_path, pin, prepare, shard_path

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {
    "network": {"agents": 3, "topology": "line"},
    "data": {"source": "synthetic", "samples": 60},
    "algorithm": {"horizon": 20},
    "clock": "rounds",
    "pace": "asap",
}
PLACES = Places(
    Place("127.0.0.1", 1, 2),
    Place("127.0.0.1", 3, 4),
    tuple(Place("127.0.0.1", 10 + 2 * i, 11 + 2 * i) for i in range(3)),
)


def setup_of(**fields: object) -> Setup:
    return resolve(validate({**SMALL, **fields}, source="test"))


@settings(deadline=None, max_examples=20)
@given(
    kind=st.sampled_from(["iid", "dirichlet", "by_class"]),
    drift=st.sampled_from([0.0, 0.5]),
    batch=st.integers(1, 7),
    seed=st.integers(0, 5),
)
def test_an_agent_reads_the_setups_batches_from_its_own_files(
    tmp_path_factory: pytest.TempPathFactory, kind: str, drift: float, batch: int, seed: int
) -> None:
    data = {"source": "synthetic", "samples": 60, "partition": kind, "drift": drift}
    setup = setup_of(data=data, problem={"batch": batch}, seed=seed)
    path = tmp_path_factory.mktemp("run") / "run"
    prepare(setup, path, PLACES)
    for i in range(3):
        config = AgentConfig.read(config_path(path, i))
        shard = load_shard(shard_path(path, i), config)
        places = np.arange(len(shard))
        stream = Stream(places, config.batch, config.spec.seed, i, in_order=config.in_order)
        for t in (*range(1, 60), 1000):  # many epochs of a shard of 20
            features, labels = setup.batch(i, t)
            index = stream.indices(t)
            np.testing.assert_array_equal(shard.rows(index, np.float32), features)
            np.testing.assert_array_equal(shard.labels[index], labels)


def test_an_agent_is_told_what_the_setup_says(tmp_path: Path) -> None:
    setup = setup_of(pace="40ms", peers={"timeout": "3s"})
    prepare(setup, tmp_path / "run", PLACES)
    config = AgentConfig.read(config_path(tmp_path / "run", 1))
    assert config.spec == setup.agent_spec(1)
    make_agent(config.spec)
    assert config.peers == {0: "127.0.0.1:10", 2: "127.0.0.1:14"}
    assert (config.broker, config.observer) == ("127.0.0.1:1", "127.0.0.1:3")
    assert config.listen == PLACES.agents[1]
    assert (config.pace, config.peer_timeout, config.rounds, config.clock) == (0.04, 3.0, 20, "rounds")


def test_as_fast_as_it_goes_is_a_pace_of_zero(tmp_path: Path) -> None:
    prepare(setup_of(), tmp_path / "run", PLACES)
    assert json.loads(config_path(tmp_path / "run", 0).read_text())["pace"] == 0


def test_the_scenario_in_the_folder_names_the_data_that_were_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgefw.problem.datasets.locate", lambda _name: None)
    setup = setup_of(data={"source": "auto", "samples": 60})
    run = prepare(setup, tmp_path / "run", PLACES)
    written = load(str(run.path / "scenario.yaml"))
    assert written.data.source == "synthetic"
    digests = {AgentConfig.read(config_path(run.path, i)).digest for i in range(3)}
    assert digests == {written.digest}
    assert written.digest != setup.scenario.digest


def test_a_folder_of_data_is_named_by_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    setup = setup_of()
    object.__setattr__(setup.dataset, "name", "mine")
    assert pin(setup).scenario.data.source == str(tmp_path / "mine")


def test_a_folder_that_holds_a_run_is_left_alone(tmp_path: Path) -> None:
    prepare(setup_of(), tmp_path / "run", PLACES)
    before = config_path(tmp_path / "run", 0).read_bytes()
    with pytest.raises(InputError, match="holds a run already"):
        prepare(setup_of(seed=1), tmp_path / "run", PLACES)
    assert config_path(tmp_path / "run", 0).read_bytes() == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"precision": "float64"}, "precision float64 is for the simulator"),
        (
            {"algorithm": {"name": "mfw"}, "network": {"agents": 1}, "clock": "wall"},
            "mfw knows no delays.*clock=rounds",
        ),
        ({"peers": {"on_loss": "reroute"}}, "peers.on_loss=wait"),
        ({"resume": "continue"}, "resume=anew"),
    ],
)
def test_what_cannot_be_emulated_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_emulable(validate({**SMALL, **fields}, source="test"))


@pytest.mark.parametrize("algorithm", ["mfw", "delmfw", "dgd", "bold-mfw"])
def test_a_lone_learner_can_be_emulated(tmp_path: Path, algorithm: str) -> None:
    setup = setup_of(algorithm={"name": algorithm, "horizon": 20}, network={"agents": 1})
    prepare(setup, tmp_path / "run", PLACES)
    assert AgentConfig.read(config_path(tmp_path / "run", 0)).peers == {}
