from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.scenario.load import describe, dump, load, names, what_to_watch
from edgefw.scenario.model import Scenario

TIMES = st.sampled_from(["250ms", "1s", "1.5m", "333us", "0.1234567s", "7h"])


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_every_ready_made_scenario_loads_under_its_own_name_and_says_what_it_is_about() -> None:
    assert {"default", "paper-distributed", "paper-centralized"} <= set(names())
    for name in names():
        assert load(name).name == name
        assert len(describe(name)) > 20
        assert len(what_to_watch(name)) > 20
        assert "#" not in what_to_watch(name)


DIGESTS = {  # a scenario that is there stays what it is
    "adversary": "f2cee157f3d2533c1584c71b62541606",
    "heavy-tail": "946d50de425b7c83da3f32e9a10c0102",
    "one-slow-device": "ebdd9ff43a1fd9c497f3f73d6772c0f1",
    "ring-blackout": "41f6faab1e9937bb0412c5b0460a5b2e",
    "uneven-data": "140420614212561a6b1ddcb7a95588eb",
    "default": "7060412d2b1b7df97c6097f2b9d6ccd9",
}


def test_the_gallery_has_what_teaches_something_and_keeps_what_it_had() -> None:
    assert {"drift", "partition-and-heal", "thirty-on-a-grid", "uneven-data", *DIGESTS} <= set(names())
    assert {name: load(name).digest for name in DIGESTS} == DIGESTS


def test_a_file_is_read_and_what_it_leaves_out_has_a_default(tmp_path: Path) -> None:
    path = write(tmp_path, "network: {agents: 3}\nalgorithm: {rate: 1e-3}\n")
    scenario = load(path)
    assert (scenario.network.agents, scenario.network.topology) == (3, "cycle")
    assert scenario.algorithm.rate == 0.001  # a text to YAML 1.1, a number to people
    assert load(write(tmp_path, "")) == Scenario()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("network: [1,\n", "not valid YAML in line 2: "),
        ("network:\n\tagents: 2\n", "not valid YAML in line 2: found character '\\t'"),
        ("network: {agents: 2}\nnetwork: {agents: 3}\n", "in line 2: 'network' is given twice"),
        ("network: {agents: 2, agents: 3}\n", "in line 1: 'agents' is given twice"),
        ("- 1\n", "a scenario is a mapping of fields such as network, data, algorithm"),
        ("hello", "a scenario is a mapping of fields"),
        ("a: *b", "found undefined alias 'b'"),
        ("? [a]\n: 3\n", "found unhashable key"),
        ("name: 2024-13-45", "not valid YAML: month must be in 1..12"),
        ("!!python/object:os.system {}", "could not determine a constructor"),
        ("\x07", "not valid YAML: special characters are not allowed"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_scenario_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown scenario 'defualt': did you mean 'default'\? \(valid: "):
        load("defualt")
    with pytest.raises(InputError, match=r"unknown scenario '': valid: adversary, default"):
        load("")
    with pytest.raises(InputError, match=r"there is no file .*/no\.yaml: give a scenario file or one of "):
        load(str(tmp_path / "no.yaml"))
    with pytest.raises(
        InputError, match=r"is a folder \(a run .*/scenario\.yaml\): give a scenario file or one"
    ):
        load(str(tmp_path))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(InputError, match=r"bytes\.yaml is not text: give a scenario file or one of "):
        load(str(tmp_path / "bytes.yaml"))


def test_overrides_set_any_field_in_turn(tmp_path: Path) -> None:
    path = write(tmp_path, "delays: [{type: latency, latency: 1s}]\ndata:\n")
    scenario = load(
        path,
        [
            "network.agents=3",
            "delays.0.latency=800ms",
            "delays.0.agents=[0, 2]",
            "events=[{type: drop, at: 5 rounds}]",
            "events.0.probability=0.25",
            "data.source=synthetic",
            "name=first",
            "name=second",
        ],
    )
    assert scenario.name == "second"
    assert scenario.network.agents == 3
    assert scenario.data.source == "synthetic"
    assert scenario.delays[0].model_dump()["latency"] == "800ms"
    assert scenario.delays[0].agents == [0, 2]
    assert scenario.events[0].probability == 0.25


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("network.agents", "write it as field=value, such as network.agents=30"),
        ("=3", "write it as field=value"),
        ("a..b=3", "write it as field=value"),
        (".a=3", "write it as field=value"),
        ("network.agents.x=3", "network.agents is 8, which has no field 'x' to set"),
        ("seed.x.y=3", "seed is 7, which has no field 'x' to set"),
        (
            "delays.2={type: drop}",
            "there is no delays.2: there are delays.0 to delays.1; to add one give the",
        ),
        ("delays.7.latency=3s", "there is no delays.7: there are delays.0 to delays.1"),
        ("delays.-1.latency=3s", "there is no delays.-1: there are delays.0 to delays.1"),
        ("delays.x.latency=3s", "there is no delays.x: there are delays.0 to delays.1"),
        (
            "events.0.at=3",
            "there is no events.0: events is empty; to add one give the whole list, events=[...]",
        ),
        ("network.agents=[1", "'[1' is not valid YAML"),
        ("name=2024-13-45", "'2024-13-45' is not valid YAML"),
    ],
)
def test_an_override_that_cannot_be_applied_is_refused(override: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        load("default", [override])
    assert str(caught.value).startswith(f"--set {override}: {words}")


def test_an_override_is_checked_like_the_file() -> None:
    with pytest.raises(InputError, match=r"^default: network\.agents is 0: it must be above 0$"):
        load("default", ["network.agents=0"])


@pytest.mark.parametrize("name", ["1e3", "null", "true", "007", "1.5", "2024-01-01", "0x1F", "1_0", "on"])
def test_a_name_that_looks_like_something_else_stays_a_name(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, dump(Scenario(name=name)))
    assert load(path).name == name


def faults(agents: int, *, clock: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return faults that are valid under a clock."""
    worded = st.integers(0, 500).map("{} rounds".format)
    when = st.integers(0, 500) if clock == "rounds" else st.one_of(worded, TIMES)
    common: dict[str, st.SearchStrategy[Any]] = {
        "agents": st.one_of(
            st.just("all"),
            st.lists(st.integers(0, agents - 1), max_size=3),
            st.fixed_dictionaries({"draw": st.integers(0, agents)}, optional={"replacement": st.booleans()}),
        ),
        "probability": st.floats(0, 1),
        "apply_to": st.just("new"),
        "at": when,
        "duration": st.integers(1, 500) if clock == "rounds" else TIMES,
    }
    amount = st.integers(1, 40) if clock == "rounds" else TIMES
    kind = "rounds" if clock == "rounds" else "latency"
    drawn: dict[str, st.SearchStrategy[Any]] = {
        "distribution": st.sampled_from([None, "uniform", "normal", "exponential", "lognormal", "pareto"]),
        "correlation": st.floats(0, 1),
        "seed": st.one_of(st.none(), st.integers(0, 2**53)),
        "jitter": amount,
    }
    ramp = {"start": amount, "stop": amount, "step": amount, "interval": amount}
    adversary = {
        "strategy": st.sampled_from(["burst", "newest_first", "starve"]),
        "period": st.integers(1, 9),
    }
    largest = {
        "strategy": st.just("largest"),
        "period": st.integers(1, 9) if clock == "rounds" else st.one_of(st.integers(1, 9), TIMES),
        "share": st.floats(0, 1, exclude_min=True),
    }
    return st.one_of(
        st.fixed_dictionaries({"type": st.just(kind), kind: amount}, optional={**common, **drawn}),
        st.fixed_dictionaries({"type": st.sampled_from(["drop", "blackout"])}, optional=common),
        st.fixed_dictionaries({"type": st.just("ramp"), **ramp}, optional=common),
        st.fixed_dictionaries({"type": st.just("adversary"), **adversary}, optional=common),
        st.fixed_dictionaries({"type": st.just("adversary"), **largest}, optional=common),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a valid document."""
    agents, clock = draw(st.integers(1, 5)), draw(st.sampled_from(["rounds", "wall"]))
    number = st.floats(1e-6, 1e6)
    sections = {
        "name": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True),
        "seed": st.integers(0, 2**63 - 1),
        "data": st.fixed_dictionaries({}, optional={"source": st.text(max_size=9), "alpha": number}),
        "problem": st.fixed_dictionaries({}, optional={"radius": number, "batch": st.integers(1, 99)}),
        "algorithm": st.fixed_dictionaries(
            {}, optional={"rate": st.floats(1e-300, 1e9), "horizon": st.integers(1, 10**9)}
        ),
        "pace": st.one_of(st.just("asap"), TIMES),
        "delays": st.lists(faults(agents, clock=clock), max_size=3),
        "peers": st.fixed_dictionaries({"timeout": TIMES}),
        "resume": st.sampled_from(["anew", "continue"]),
    }
    edges = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).map(list), max_size=3)
    network = {"agents": agents, **draw(st.fixed_dictionaries({}, optional={"edges": edges}))}
    return {"clock": clock, "network": network, **draw(st.fixed_dictionaries({}, optional=sections))}


@given(scenarios())
@settings(deadline=None, max_examples=60)
def test_a_scenario_that_was_written_is_read_back_the_same(document: dict[str, Any]) -> None:
    scenario = Scenario.model_validate(document)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(dump(scenario), encoding="utf-8")
        again = load(str(path))
    assert again == scenario
    assert again.digest == scenario.digest
    assert dump(again) == dump(scenario)


def test_a_scenario_is_made_of_a_mapping_a_path_or_another_scenario(tmp_path: Path) -> None:
    document = {"clock": "rounds", "network": {"agents": 3}, "delays": [{"type": "rounds", "rounds": 2}]}
    mine = load(document, {"network.agents": 5, "delays.0.rounds": 4, "name": "mine"})
    assert (mine.name, mine.network.agents, document["network"]) == ("mine", 5, {"agents": 3})
    path = tmp_path / "mine.yaml"
    path.write_text(dump(mine))
    assert load(path) == mine == load(mine)
    assert load(mine, {"seed": 8}) == load(path, ["seed=8"]) != mine


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"network.agents": 0}, "the scenario: network.agents is 0: it must be above 0"),
        ({"network.agents.x": 3}, "network.agents.x=3: network.agents is 2, which has no field 'x' to set"),
        ({"": 3}, "=3: write it as field=value, such as network.agents=30"),
    ],
)
def test_an_override_of_a_mapping_that_cannot_be_applied_is_refused(
    overrides: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        load({"network": {"agents": 2}}, overrides)
    assert str(caught.value) == said
