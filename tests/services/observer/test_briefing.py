from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.agent import make_agent
from edgefw.errors import InputError
from edgefw.local.folder import prepare
from edgefw.problem.stream import Stream
from edgefw.scenario.load import load, validate
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.config import AgentConfig, pack_shard, unpack_shard
from edgefw.services.emulable import check_emulable, pin
from edgefw.services.observer.briefing import agent_config, shard

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {
    "network": {"agents": 3, "topology": "line"},
    "data": {"source": "synthetic", "samples": 60},
    "algorithm": {"horizon": 20},
    "clock": "rounds",
    "pace": "asap",
}


def setup_of(**fields: object) -> Setup:
    return resolve(validate({**SMALL, **fields}, source="test"))


def told(setup: Setup, i: int) -> AgentConfig:
    """Return what agent i is told, as it comes over the wire."""
    peers = {j: f"agent-{j}:1" for j in setup.graph.neighbours(i)}
    return AgentConfig.from_json(agent_config(setup, i, "digest/run", peers, "broker:1").to_json())


@pytest.mark.parametrize(
    ("topology", "agents", "exchanges", "every", "expected"),
    [
        ("line", 8, 1, 1, 7),  # the ends may be seven exchanges apart: as many rounds
        ("line", 8, 3, 2, 3),
        ("line", 8, 4, 2, 2),
        ("cycle", 8, 1, 5, 5),
        ("star", 8, 1, 1, 2),
        ("line", 1, 1, 1, 1),
    ],
)
def test_between_two_checkpoints_no_agent_can_be_a_whole_one_ahead_of_another(
    topology: str, agents: int, exchanges: int, every: int, expected: int
) -> None:
    setup = setup_of(
        network={"agents": agents, "topology": topology},
        algorithm={"horizon": 20, "sub_iterations": exchanges},
        checkpoints={"every": every},
    )
    assert {told(setup, i).checkpoint_every for i in range(agents)} == {expected}


@settings(deadline=None, max_examples=20)
@given(
    kind=st.sampled_from(["iid", "dirichlet", "by_class"]),
    drift=st.sampled_from([0.0, 0.5]),
    batch=st.integers(1, 7),
    seed=st.integers(0, 5),
)
def test_an_agent_reads_the_setups_batches_from_its_own_samples(
    kind: str, drift: float, batch: int, seed: int
) -> None:
    data = {"source": "synthetic", "samples": 60, "partition": kind, "drift": drift}
    setup = setup_of(data=data, problem={"batch": batch}, seed=seed)
    for i in range(3):
        config, index = told(setup, i), shard(setup, i)
        packed = pack_shard(setup.dataset.features[index], setup.dataset.labels[index])
        samples = unpack_shard(bytes(packed), config)
        stream = Stream(np.arange(len(samples)), config.batch, config.spec.seed, i, in_order=config.in_order)
        for t in (*range(1, 60), 1000):  # many epochs of a shard of 20
            features, labels = setup.batch(i, t)
            index = stream.indices(t)
            np.testing.assert_array_equal(samples.rows(index, np.float32), features)
            np.testing.assert_array_equal(samples.labels[index], labels)


def test_an_agent_is_told_what_the_setup_says() -> None:
    setup = setup_of(pace="40ms", peers={"timeout": "3s"})
    config = told(setup, 1)
    assert config.spec == setup.agent_spec(1)
    make_agent(config.spec)
    assert config.peers == {0: "agent-0:1", 2: "agent-2:1"}
    assert (config.run_id, config.broker) == ("digest/run", "broker:1")
    assert (config.pace, config.peer_timeout, config.rounds, config.clock) == (0.04, 3.0, 20, "rounds")


def test_as_fast_as_it_goes_is_a_pace_of_zero() -> None:
    assert told(setup_of(), 0).pace == 0


@pytest.mark.parametrize("packed", [b"", b"PK but no more", b"x" * 100])
def test_what_is_no_shard_is_refused(packed: bytes) -> None:
    with pytest.raises(InputError, match="these are no samples of an agent"):
        unpack_shard(packed, told(setup_of(), 0))


def test_what_is_no_configuration_is_refused() -> None:
    with pytest.raises(InputError, match="this is no configuration of an agent"):
        AgentConfig.from_json("{")


def test_the_scenario_in_the_folder_names_the_data_that_were_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgefw.problem.datasets.locate", lambda _name: None)
    setup = setup_of(data={"source": "auto", "samples": 60})
    run = prepare(setup, tmp_path / "run")
    written = load(str(run.path / "scenario.yaml"))
    assert written.data.source == "synthetic"
    assert written.digest != setup.scenario.digest


def test_a_folder_of_data_is_named_by_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    setup = setup_of()
    object.__setattr__(setup.dataset, "name", "mine")
    assert pin(setup).scenario.data.source == str(tmp_path / "mine")


def test_a_folder_that_holds_a_run_is_left_alone(tmp_path: Path) -> None:
    prepare(setup_of(), tmp_path / "run")
    before = (tmp_path / "run" / "scenario.yaml").read_bytes()
    with pytest.raises(InputError, match="holds a run already"):
        prepare(setup_of(seed=1), tmp_path / "run")
    assert (tmp_path / "run" / "scenario.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"precision": "float64"}, "precision float64 is for the simulator"),
        (
            {"algorithm": {"name": "mfw"}, "network": {"agents": 1}, "clock": "wall"},
            "mfw knows no delays.*clock=rounds",
        ),
        ({"peers": {"on_loss": "reroute"}}, "peers.on_loss=wait"),
        (
            {"limits": {"link": 5}, "delays": [{"type": "rounds", "rounds": 5}]},
            "limits.link is 5, and delays reach 5 rounds: at least 6 are needed",
        ),
    ],
)
def test_what_cannot_be_emulated_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_emulable(validate({**SMALL, **fields}, source="test"))


@pytest.mark.parametrize("algorithm", ["mfw", "delmfw", "dgd", "bold-mfw"])
def test_a_lone_learner_can_be_emulated(algorithm: str) -> None:
    setup = setup_of(algorithm={"name": algorithm, "horizon": 20}, network={"agents": 1})
    check_emulable(setup.scenario)
    assert told(setup, 0).peers == {}
