"""`edgefw delay` against an endpoint on this machine."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from admin_stand_in import AGENTS, Served, fault_view, served
from rich.console import Console
from waiting import PATIENCE, until

from edgefw import terminal
from edgefw.cli import main
from edgefw.commands import admin_client
from edgefw.delays.manual import clocks_of
from edgefw.delays.registry import TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Run = Callable[..., str]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with served() as endpoint:
        monkeypatch.setenv("EDGEFW_ADMIN", endpoint.url)
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody: a proxy is no way to this machine
        monkeypatch.delenv("EDGEFW_ADMIN_TOKEN", raising=False)
        yield endpoint


@pytest.fixture
def delay(endpoint: Served, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `edgefw delay` to its good end, and returns what it printed."""
    del endpoint

    def run(*arguments: str) -> str:
        code = main(["delay", *arguments])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `edgefw delay`, expects a code, and returns its one line."""

    def run(code: int, *arguments: str) -> str:
        try:
            found = main(["delay", *arguments])
        except SystemExit as end:  # argparse's way
            found = int(str(end.code))
        out, err = capsys.readouterr()
        assert (found, out) == (code, ""), err
        assert err.startswith("edgefw: ")
        assert err.count("\n") == 1
        return err

    return run


def faults(endpoint: Served) -> list[dict[str, Any]]:
    return [fault_view(entry) for entry in endpoint.control.plan.entries]


def test_set_adds_a_fault_and_ls_shows_it(endpoint: Served, delay: Run) -> None:
    options = ("--jitter", "200ms", "--distribution", "pareto", "--correlation", "0.3", "--seed", "4")
    more = ("--probability", "0.5", "--apply-to", "pending", "--for", "30s")
    said = delay("set", "3", "750ms", *options, *more)
    assert said.startswith("agent 3: delay: latency 750ms distribution=pareto")
    assert faults(endpoint) == [
        {
            "agents": [3],
            "name": "delay",
            "type": "latency",
            "attributes": {
                "latency": "750ms",
                "jitter": "200ms",
                "distribution": "pareto",
                "correlation": 0.3,
                "seed": 4,
            },
            "probability": 0.5,
            "apply_to": "pending",
            "duration": "30s",
        }
    ]
    assert delay("set", "all", "2s", "--name", "storm").startswith("all agents: storm (all): latency")
    table = delay("ls")
    assert "wall clock" in table
    assert table.count("storm") == AGENTS
    state = json.loads(delay("ls", "--json"))
    assert [len(link["faults"]) for link in state["links"]] == [1, 1, 1, 2, 1, 1, 1, 1]


def test_set_replaces_the_fault_of_its_name_wholly(endpoint: Served, delay: Run) -> None:
    delay("set", "3", "750ms", "--jitter", "200ms", "--probability", "0.5", "--for", "30s")
    first = endpoint.control.plan
    said = json.loads(delay("set", "3", "2s", "--json"))
    assert (said["attributes"], said["probability"], "duration" in said) == ({"latency": "2s"}, 1.0, False)
    assert endpoint.control.plan.version == first.version + 1
    assert endpoint.control.plan.entries[0].salt == first.entries[0].salt


@pytest.mark.parametrize("type_", TYPES)
def test_set_takes_every_fault_type_by_its_fields(endpoint: Served, delay: Run, type_: str) -> None:
    wall = [each for each in TYPES[type_].examples if "wall" in clocks_of(TYPES[type_], each)]
    for example in wall:
        given = {name: value for name, value in example.items() if name not in {"type", "agents"}}
        fields = [f"{name}={json.dumps(value)}" for name, value in given.items()]
        shown = json.loads(delay("set", "3", "--type", type_, *fields, "--name", type_, "--json"))
        assert (shown["type"], shown["agents"], shown["name"]) == (type_, [3], type_)
        assert given.items() <= (shown | shown["attributes"]).items()
    assert len(endpoint.control.plan.entries) == bool(wall)


def test_set_takes_options_with_a_type_and_a_trace_from_a_file(
    endpoint: Served, delay: Run, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("1s\n2s\n")
    delay(
        "set", "3", "--type", "latency", f"trace={tmp_path / 't.csv'}", "--for", "30s", "--probability", "0.5"
    )
    (fault,) = faults(endpoint)
    assert fault["attributes"] == {"trace": ["1s", "2s"]}
    assert (fault["duration"], fault["probability"]) == ("30s", 0.5)


def test_the_help_of_set_has_every_type_field_and_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["delay", "set", "--help"])
    words = capsys.readouterr().out.split()
    for name, type_ in TYPES.items():
        assert {name, *type_.own_fields()} <= set(words)
    assert "pareto," in words


def test_set_for_the_same_time_counts_anew(endpoint: Served, delay: Run) -> None:
    delay("set", "3", "750ms", "--for", "30s")
    endpoint.control.now = 120.0
    delay("set", "3", "750ms", "--for", "30s")
    assert [entry.since for entry in endpoint.control.plan.entries] == [120.0]


def test_set_takes_the_place_of_a_fault_of_another_type(endpoint: Served, delay: Run) -> None:
    ramp = {
        "type": "ramp",
        "start": "0s",
        "stop": "1s",
        "step": "1s",
        "interval": "1s",
        "at": "1s",
        "name": "delay",
    }
    with admin_client.Admin(endpoint.url, None) as admin:
        admin.call("POST", "/faults", ramp)
    delay("set", "all", "1s")
    assert [(fault["type"], fault.get("at")) for fault in faults(endpoint)] == [("latency", None)]


def test_a_number_is_rounds_under_the_rounds_clock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refused: Run
) -> None:
    with served("rounds") as endpoint:
        monkeypatch.setenv("EDGEFW_ADMIN", endpoint.url)
        assert main(["delay", "set", "3", "20", "--jitter", "5", "--for", "100"]) == 0
        assert "rounds 20" in capsys.readouterr().out
        assert faults(endpoint)[0]["attributes"] == {"rounds": 20, "jitter": 5}
        assert faults(endpoint)[0]["duration"] == 100
        assert "number of rounds" in refused(2, "set", "3", "750ms")
        assert "number of rounds" in refused(2, "set", "3", "20", "--for", "30s")


def test_a_trace_is_read_here(endpoint: Served, delay: Run, tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("delay\n100ms\n2s\n")
    delay("set", "3", "--trace", str(tmp_path / "trace.csv"))
    assert faults(endpoint)[0]["attributes"] == {"trace": ["100ms", "2s"]}


def test_clear(endpoint: Served, delay: Run) -> None:
    for arguments in (("3", "1s"), ("3", "1s", "--name", "x"), ("all", "1s"), ("4", "1s")):
        delay("set", *arguments)
    assert (
        delay("clear", "3", "x")
        == "removed 1 of 4 faults; those on all links stay (edgefw delay clear all)\n"
    )
    assert "removed 1 of 3" in delay("clear", "3")
    assert "removed 0 of 2" in delay("clear", "3")
    assert [fault["agents"] for fault in faults(endpoint)] == ["all", [4]]
    assert delay("clear", "all") == "removed 1 of 2 faults\n"
    with admin_client.Admin(endpoint.url, None) as admin:
        admin.call("PATCH", "/links/2", {"enabled": False})
    assert "removed 1 of 1 fault; disabled links stay disabled: 2" in delay("clear")
    assert json.loads(delay("clear", "--json"))["faults"] == []
    assert "disabled" in delay("ls")


def test_clear_leaves_what_other_agents_have_of_the_same_fault(
    endpoint: Served, delay: Run, tmp_path: Path
) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("[{type: drop, agents: [1, 2, 3]}, {type: blackout}]")
    assert "the plan has 4 faults now" in delay("plan", str(file))
    assert "removed 1 of 4 faults; those on all links stay" in delay("clear", "2")
    assert [fault["agents"] for fault in faults(endpoint)] == [[1], [3], "all"]
    assert "removed 1 of 3 faults" in delay("clear", "all")
    assert "removed 1 of 2 faults" in delay("clear", "3", "drop")


def test_a_link_is_disabled_until_it_is_enabled_and_a_reset_or_a_plan_says_so(
    endpoint: Served, delay: Run, refused: Run, tmp_path: Path
) -> None:
    assert "holds everything until edgefw delay enable 3" in delay("disable", "3")
    assert endpoint.control.plan.disabled == {3}
    word = "disabled links stay disabled: 3 (edgefw delay enable 3)"
    assert word in " ".join(delay("clear").split())
    file = tmp_path / "plan.yaml"
    file.write_text("faults: []")
    assert word in " ".join(delay("plan", str(file)).split())
    assert json.loads(delay("enable", "3", "--json"))["enabled"] is True
    assert "stay" not in delay("clear")
    assert "one by one" in refused(2, "enable", "all")


def test_the_port_is_that_which_compose_publishes(
    endpoint: Served, delay: Run, refused: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDGEFW_ADMIN")
    monkeypatch.setenv("EDGEFW_ADMIN_PORT", endpoint.url.rpartition(":")[2])
    assert "wall clock" in delay("ls")
    monkeypatch.setenv("EDGEFW_ADMIN_PORT", "x")
    assert "EDGEFW_ADMIN_PORT is 'x': it must be a port, such as 7070" in refused(2, "ls")
    monkeypatch.setenv("EDGEFW_ADMIN", endpoint.url)  # says more
    assert "wall clock" in delay("ls")


def test_the_plan_is_shown_and_put_back(endpoint: Served, delay: Run, tmp_path: Path) -> None:
    delay("set", "3", "750ms")
    delay("set", "all", "2s", "--for", "30s")
    file = tmp_path / "plan.yaml"
    file.write_text(delay("plan"))
    assert [fault["agents"] for fault in yaml.safe_load(file.read_text())["faults"]] == [[3], "all"]
    before = endpoint.control.plan
    assert delay("plan", str(file)) == "the plan has 2 faults now (version 3)\n"
    assert endpoint.control.plan is before
    delay("clear")
    assert json.loads(delay("plan", str(file), "--json"))["version"] == 5
    assert len(faults(endpoint)) == 2
    (tmp_path / "plan.json").write_text(delay("plan", "--json"))
    delay("clear")
    delay("plan", str(tmp_path / "plan.json"))  # its version is an old one by now
    assert len(faults(endpoint)) == 2


LISTED = "[{type: latency, trace: trace.txt, agents: [3]}, {type: drop, duration: null}]"
DOCUMENT = """
faults: [{type: latency, attributes: {trace: trace.txt}, agents: [3]}, {type: drop}]
disabled: [2]
"""
SCENARIO = """
name: x
network: {agents: 3}
delays: [{type: latency, trace: trace.txt, agents: [3]}]
events: [{type: drop, at: 60s}]
"""


@pytest.mark.parametrize("text", [LISTED, DOCUMENT, SCENARIO])
def test_a_plan_may_be_a_list_a_document_or_a_scenario(
    endpoint: Served, delay: Run, tmp_path: Path, text: str
) -> None:
    (tmp_path / "trace.txt").write_text("1s\n2s\n")
    (tmp_path / "plan.yaml").write_text(text)
    delay("plan", str(tmp_path / "plan.yaml"))
    first, second = faults(endpoint)
    assert (first["agents"], first["attributes"]) == ([3], {"trace": ["1s", "2s"]})
    assert second["type"] == "drop"
    if "events" in text:
        assert (first["name"], second["name"], second["at"]) == ("delays-0", "events-0", "60s")
    assert endpoint.control.plan.disabled == ({2} if "disabled" in text else set())


def test_what_a_user_can_get_wrong(endpoint: Served, refused: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("[{")
    (tmp_path / "none.yaml").write_text("name: x")
    (tmp_path / "text.yaml").write_text("x")
    (tmp_path / "late.yaml").write_text("[{type: latency, latency: -1s}]")
    (tmp_path / "date.yaml").write_text("[{type: latency, latency: 2001-01-01}]")
    (tmp_path / "trace.yaml").write_text("[{type: latency, trace: nothing.csv}]")
    (tmp_path / "draw.yaml").write_text("delays: [{type: drop, agents: {draw: 2}}]")
    (tmp_path / "map.yaml").write_text("delays: {type: drop}")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    for arguments, words in (
        (("set", "x", "1s"), "an agent's number, or all"),
        (("set", "3"), "or --trace FILE"),
        (("set", "3", "1s", "--trace", "x"), "in one way"),
        (("set", "3", "1s", "--type", "drop"), "in one way"),
        (("set", "3", "--type", "rmap"), "unknown fault type 'rmap': did you mean 'ramp'?"),
        (("set", "3", "--type", "ramp", "1s"), "write it as field=value"),
        (("set", "3", "--type", "ramp", "strat=1s"), "unknown field of ramp 'strat': did you mean 'start'?"),
        (("set", "3", "--type", "drop", "agents=[1]"), "unknown field of drop 'agents'"),
        (("set", "3", "--type", "ramp", "start=[1s"), "'[1s' is not valid YAML"),
        (("set", "3", "--type", "ramp", "start=1s"), "attributes.stop is missing: type ramp needs it"),
        (("set", "3", "--type", "latency", "trace=nothing.csv"), "trace: there is no trace file nothing.csv"),
        (("set", "3", "--trace", str(tmp_path / "nothing.csv")), "no trace file"),
        (("set", "3", "750"), "write a time"),
        (("set", "3", "soon"), "attributes.latency"),
        (("set", "3", "1s", "--jitter=-1s"), "negative"),
        (("set", "3", "1s", "--probability", "2"), "at most 1"),
        (("set", "3", "1s", "--probability", "x"), "not a number"),
        (("set", "3", "1s", "--distribution", "parteo"), "did you mean 'pareto'"),
        (("set", "3", "1s", "--name", "a/b"), "cannot name"),
        (("set", "3", "1s", "--ever"), "--ever"),
        (("clear", "x"), "an agent's number, or all"),
        (("plan", str(tmp_path / "nothing.yaml")), "no file"),
        (("plan", str(tmp_path)), "cannot read"),
        (("plan", str(tmp_path / "bad.yaml")), "not valid YAML"),
        (("plan", str(tmp_path / "none.yaml")), "list of faults"),
        (("plan", str(tmp_path / "text.yaml")), "list of faults"),
        (("plan", str(tmp_path / "map.yaml")), "delays must be a list"),
        (("plan", str(tmp_path / "late.yaml")), "faults.0.latency"),
        (("plan", str(tmp_path / "date.yaml")), "faults.0.latency"),
        (("plan", str(tmp_path / "trace.yaml")), "faults.0.trace"),
        (("plan", str(tmp_path / "draw.yaml")), "only a scenario draws"),
        (("plan", str(tmp_path / "binary.yaml")), "not text"),
        (("ls", "--admin", "ftp://x"), "http://127.0.0.1:7070"),
        (("ls", "--admin", "http://[::1"), "--admin"),
        (("ls", "--admin", "http://"), "--admin"),
    ):
        assert words in refused(2, *arguments)
    assert endpoint.control.plan.entries == ()


def test_what_the_endpoint_refuses(endpoint: Served, refused: Run) -> None:
    for arguments, words in (
        (("set", "9", "1s"), "agents are 0 to 7"),
        (("clear", "9"), "agents are 0 to 7"),
        (("clear", "9", "x"), "agents are 0 to 7"),
        (("clear", "3", "x"), "no fault 'x'"),
        (("clear", "3", "a/b"), "there is no"),
    ):
        assert words in refused(1, *arguments)
    assert endpoint.control.plan.entries == ()


def test_an_endpoint_that_is_not_there(refused: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGEFW_ADMIN", raising=False)
    for action in (("ls",), ("set", "3", "1s"), ("clear",), ("plan",), ("watch",)):
        line = refused(1, *action, "--admin", "127.0.0.1:9")
        assert "edgefw up" in line
        assert "--admin URL" in line
        assert "http://127.0.0.1:9" in line


def test_a_token_is_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refused: Run
) -> None:
    token = "a-secret-of-16-or-more"  # noqa: S105 - of this test alone
    with served(token=token) as endpoint:
        monkeypatch.setenv("EDGEFW_ADMIN", endpoint.url)
        monkeypatch.delenv("EDGEFW_ADMIN_TOKEN", raising=False)
        assert "--token" in refused(1, "ls")
        assert "--token" in refused(1, "watch")
        assert "--token" in refused(1, "ls", "--token", "wrong")
        assert "ASCII" in refused(2, "ls", "--token", "é")
        assert main(["delay", "ls", "--token", token, "--json"]) == 0
        monkeypatch.setenv("EDGEFW_ADMIN_TOKEN", token)
        assert main(["delay", "ls", "--json"]) == 0
        assert '"clock": "wall"' in capsys.readouterr().out


@pytest.fixture
def watching(endpoint: Served) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Yield a function that starts `edgefw delay watch` and returns when it listens."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "edgefw", "delay", "watch", *options]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, env={**os.environ, "EDGEFW_ADMIN": endpoint.url}, **pipes))
        until(lambda: endpoint.call(len, endpoint.control.events.listeners) or started[-1].poll() is not None)
        assert started[-1].poll() is None
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_watch_prints_events_until_it_is_interrupted(
    endpoint: Served, watching: Callable[..., subprocess.Popen[str]]
) -> None:
    process = watching()
    endpoint.call(endpoint.control.events.publish, "release", {"agent": 3, "round": 17})
    endpoint.call(endpoint.control.events.publish, "change", {"what": "add", "version": 2})
    assert process.stdout is not None
    assert process.stdout.readline().split()[1:] == ["release", "agent=3", "round=17"]
    assert process.stdout.readline().split()[1:] == ["change", "what=add", "version=2"]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "edgefw: interrupted\n")


def test_watch_prints_changes_alone_and_as_json(
    endpoint: Served, watching: Callable[..., subprocess.Popen[str]]
) -> None:
    process = watching("--changes", "--json")
    endpoint.call(endpoint.control.events.publish, "release", {"agent": 3, "round": 17})
    endpoint.call(endpoint.control.events.publish, "change", {"what": "add", "version": 2})
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"event": "change", "id": 2, "what": "add", "version": 2}


class Clock:
    """A clock that moves only while somebody sleeps; the endpoint goes in the third pause."""

    def __init__(self, endpoint: Served) -> None:
        self._endpoint = endpoint
        self._now = 1000.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds
        self.pauses.append(seconds)
        if len(self.pauses) == 3:
            self._endpoint.stop()


def test_a_stream_that_breaks_is_taken_up_again_for_a_while(
    endpoint: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(endpoint)
    monkeypatch.setattr(admin_client, "time", clock)
    endpoint.call(endpoint.control.events.close)  # every stream ends as soon as it stands
    with (
        admin_client.Admin(endpoint.url, None) as admin,
        pytest.raises(admin_client.EndpointError, match="has gone"),
    ):
        next(admin.events(None))
    alone = clock.pauses[2:]  # since the last stream ended
    assert sum(alone[:-1]) <= admin_client.PATIENCE < sum(alone)


def test_a_person_is_told_which_run_it_was(endpoint: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = Console(file=io.StringIO(), force_terminal=True, width=200, color_system=None)
    monkeypatch.setattr(terminal, "err", looked_at)
    assert main(["delay", "set", "3", "750ms"]) == 0
    assert isinstance(looked_at.file, io.StringIO)
    assert looked_at.file.getvalue() == f"run small-1 at {endpoint.url}\n"


def test_by_the_wall_clock_for_how_long_has_a_unit(endpoint: Served, delay: Run, refused: Run) -> None:
    said = refused(2, "set", "3", "1s", "--for", "30")
    assert "write a time, such as 750ms or 2s, or rounds ('30 rounds')" in said
    assert "duration=30 rounds" in delay("set", "3", "1s", "--for", "30 rounds")
    assert faults(endpoint)[0]["duration"] == "30 rounds"
