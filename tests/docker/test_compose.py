"""The Compose file: the command's is the committed one, safe to start, and carries the scenario unharmed."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from engine import ROOT, docker, missing, need_image, python_image, why_no_compose

from edgefw.cli import main
from edgefw.containers.compose import PYTHON, image, render
from edgefw.scenario.load import load, names, parse
from edgefw.services.emulable import check_emulable

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.scenario.model import Scenario

COMMITTED = (ROOT / "compose.yaml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMMITTED)["services"]
OURS = [name for name in SERVICES if name not in {"prometheus", "grafana"}]
GRID = ("network.agents=30", "network.topology=grid", "network.rows=5", "network.cols=6")

each_service = pytest.mark.parametrize("name", SERVICES)


def _written(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compose", *arguments]) == 0
    return capsys.readouterr().out


def _services(text: str) -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load(text)["services"]
    return services


def _told(text: str) -> Scenario:
    """Return the scenario that a Compose file tells its observer; `$$` is how Compose writes a dollar."""
    told = _services(text)["observer"]["environment"]["EDGEFW_SCENARIO"]
    assert re.search(r"(?<!\$)\$(\$\$)*(?!\$)", told) is None, "Compose would fill something in"
    return parse(told.replace("$$", "$"), "the Compose file")


def test_the_committed_file_is_what_the_command_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert _written(capsys, "playground") == COMMITTED, "run make compose.yaml and commit what it writes"


def test_it_can_be_played_with_for_half_an_hour() -> None:
    scenario = _told(COMMITTED)
    assert isinstance(scenario.pace, float)
    assert scenario.algorithm.horizon * scenario.pace >= 30 * 60


@each_service
def test_a_service_has_no_more_rights_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"cap_add", "privileged", "network_mode", "pid", "devices", "user"} & service.keys()


@each_service
def test_a_service_cannot_take_the_whole_machine_and_comes_back(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert 0 < service["cpus"] <= 2
    assert service["restart"] == "unless-stopped"


@each_service
def test_ports_are_published_on_this_machine_alone_and_can_be_moved(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\$\{EDGEFW_[A-Z]+_PORT:-\d+\}:\d+", port)


@each_service
def test_an_image_is_of_one_version(name: str) -> None:
    assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+", SERVICES[name]["image"])


@each_service
def test_what_a_service_keeps_is_in_a_named_volume_and_what_it_is_given_it_cannot_change(name: str) -> None:
    named = yaml.safe_load(COMMITTED)["volumes"]
    for volume in SERVICES[name].get("volumes", []):
        source, _, target = volume.partition(":")
        if source.startswith("./"):
            assert target.endswith(":ro")
            assert (ROOT / source).is_dir()
        else:
            assert source in named


def test_services_start_when_what_they_need_is_healthy() -> None:
    healthy = {"condition": "service_healthy"}
    assert "depends_on" not in SERVICES["observer"]
    assert SERVICES["broker"]["depends_on"] == {"observer": healthy}
    for agent in range(8):
        assert SERVICES[f"agent-{agent}"]["depends_on"] == {"observer": healthy, "broker": healthy}


def test_one_image_is_built_and_it_is_this_version() -> None:
    assert {SERVICES[name]["image"] for name in OURS} == {image()}
    assert [name for name in SERVICES if "build" in SERVICES[name]] == ["observer"]
    assert python_image() == PYTHON
    pulled = {name for name in OURS if SERVICES[name].get("pull_policy") != "never"}
    assert pulled == {"observer"}, "nobody else has to look for an image that is only here"


def test_it_uses_nothing_that_an_old_compose_lacks() -> None:
    assert not {"version", "include", "configs", "models"} & yaml.safe_load(COMMITTED).keys()
    assert "start_interval" not in COMMITTED


@pytest.mark.parametrize("name", names())
def test_every_ready_made_scenario_survives_its_way_into_the_file(name: str) -> None:
    scenario = load(name)
    assert _told(render(scenario, name)) == scenario


@pytest.mark.parametrize("folder", ["/d$ta", "/$HOME/${x:-y}", "/$", "/$$a", "/a: b #c", "/'q'", "/ümläut"])
def test_text_that_compose_would_fill_in_or_yaml_misread_survives(folder: str) -> None:
    scenario = load("playground", [f"data.source={json.dumps(folder)}"])
    assert scenario.data.source == folder
    assert _told(render(scenario, "playground")) == scenario


def test_a_dollar_comes_into_the_container_as_it_was_written() -> None:
    need_image(python_image())
    scenario = load("playground", ["data.source=/d$ta/${HOME}/$$x"])
    project = ("compose", "--project-name", "edgefw-test-text", "--file", "-", "--project-directory", ROOT)
    text = render(scenario, "playground").replace(image(), python_image())  # it is not started: any will do
    try:
        docker(*project, "create", "--no-build", "--pull", "never", "observer", text=text)
        (told,) = json.loads(docker("container", "inspect", "edgefw-test-text-observer-1"))
    finally:
        docker(*project, "down", "--volumes", text=text)
    variables = dict(variable.split("=", 1) for variable in told["Config"]["Env"])
    assert parse(variables["EDGEFW_SCENARIO"], "the container") == scenario


def test_thirty_agents_on_a_grid(capsys: pytest.CaptureFixture[str]) -> None:
    text = _written(capsys, "playground", *(word for field in GRID for word in ("--set", field)))
    agents = [name for name in _services(text) if name.startswith("agent-")]
    assert agents == [f"agent-{i}" for i in range(30)]
    for i, name in enumerate(agents):
        command = _services(text)[name]["command"]
        assert command[command.index("--agent") + 1] == str(i)
        assert command[command.index("--advertise") + 1] == f"{name}:50051"
    assert _told(text) == load("playground", GRID)


def test_the_file_says_how_it_was_made(capsys: pytest.CaptureFixture[str]) -> None:
    text = _written(capsys, "playground", "--set", "network={agents: 4,\n topology: line}")
    assert "#   edgefw compose playground --set 'network={agents: 4,\n#      topology: line}'\n" in text
    assert _told(text).network.agents == 4


def test_a_file_is_written_and_what_to_do_with_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "my.yaml"
    assert _written(capsys, "--out", str(out)) == f"{out} is written: docker compose -f {out} up --build\n"
    assert out.read_text(encoding="utf-8") == COMMITTED


def test_services_run_in_another_image_where_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "my.yaml"
    said = _written(capsys, "--image", "mine:2", "--out", str(out))
    assert said == f"{out} is written: docker compose -f {out} up\n"
    text = out.read_text(encoding="utf-8")
    assert "#   edgefw compose playground --image mine:2\n" in text
    assert {_services(text)[name]["image"] for name in OURS} == {"mine:2"}
    assert not [name for name, service in _services(text).items() if "build" in service]
    assert _services(text)["observer"]["pull_policy"] == "missing", "it may come from a registry"


def test_data_that_is_not_in_the_image_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "--set", "data.source=mnist"]) == 0
    assert "data.source mnist is not in the image: mount it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plyground"], "unknown scenario 'plyground': did you mean 'playground'?"),
        (["--set", "network.agents=0"], "network.agents"),
        (["--set", "precision=float64"], "the emulator computes in float32"),
        (["--set", "peers.on_loss=reroute"], "not available yet"),
        (["--out", "/nowhere/compose.yaml"], "cannot write /nowhere/compose.yaml"),
        (["--chek"], "unknown option '--chek': did you mean '--check'?"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["compose", *arguments])
    except SystemExit as end:  # argparse's way
        code = int(str(end.code))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert said in err
    assert (err.startswith("edgefw: "), err.count("\n")) == (True, 1)


@pytest.mark.parametrize("name", ["playground", "default", "grid"])
def test_compose_itself_reads_it(name: str) -> None:
    if reason := why_no_compose():
        missing(reason)
    scenario = load("playground", GRID) if name == "grid" else load(name)
    check_emulable(scenario)
    command = [
        "docker",
        "compose",
        "--file",
        "-",
        "--project-directory",
        str(ROOT),
        "config",
        "--format=json",
    ]
    text = render(scenario, name)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["name"] == "edgefw"
    assert read["services"].keys() == _services(text).keys()
    assert done.stderr == "", "Compose complains"
