"""`edgefw data` and `edgefw scenarios`."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml
from idx_files import write_idx

from edgefw.cli import main
from edgefw.scenario.load import load, names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EDGEFW_DATA", str(tmp_path / "data"))


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    write_idx(folder / "train-images-idx3-ubyte", np.zeros((2, 3, 3), dtype=np.uint8))
    write_idx(folder / "train-labels-idx1-ubyte", np.zeros(2, dtype=np.uint8))
    return folder


@pytest.fixture
def unreachable() -> Iterator[str]:
    """Return an address that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_the_list_says_what_is_where_and_how_to_get_the_rest(
    capsys: pytest.CaptureFixture[str], mnist: Path
) -> None:
    assert main(["data", "list"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    cells = "".join(line.split("│")[2].strip() for line in out.splitlines() if line.startswith("│"))
    assert str(mnist) in cells.replace(" ", "")  # folded perhaps, but not cut
    assert "edgefwdatafetchfashion-mnist" in cells.replace(" ", "")
    assert "builtin" in cells.replace(" ", "")


def test_the_path_is_printed_bare_for_scripts(capsys: pytest.CaptureFixture[str], mnist: Path) -> None:
    assert main(["data", "path", "mnist"]) == 0
    assert capsys.readouterr().out == f"{mnist}\n"


def test_a_fetch_that_reaches_nobody_is_one_line_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], unreachable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(urllib.request, "_opener", None)  # it would keep the proxy for tests to come
    monkeypatch.setenv("http_proxy", unreachable)
    assert main(["data", "fetch", "fashion-mnist"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("edgefw: cannot fetch http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/")
    assert "Connection refused" in err
    assert err.endswith("or put the four files into $EDGEFW_DATA/fashion-mnist\n")
    assert err.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_fetch_of_what_is_there_says_where(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgefw.problem.fetch._is_right", lambda path, _: bool(path.write_bytes(b"x")))
    assert main(["data", "fetch", "mnist"]) == 0
    out, err = capsys.readouterr()
    assert out == f"mnist is in {tmp_path / 'cache' / 'edgefw' / 'data' / 'mnist'}\n"
    assert err == ""


def test_the_ready_made_scenarios_are_listed_with_what_they_are_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["scenarios"]) == 0
    out = capsys.readouterr().out
    assert main(["scenarios", "list"]) == 0
    assert capsys.readouterr().out == out
    assert "watch the queues, which grow" in out
    for name in names():
        assert f" {name} " in out
    assert "Eight devices on a ring" in out


def test_a_scenario_that_is_shown_is_a_file_that_loads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["scenarios", "show", "default", "--set", "network.agents=9"]) == 0
    shown = capsys.readouterr().out
    assert yaml.safe_load(shown)["problem"]["radius"] == 24
    (tmp_path / "mine.yaml").write_text(shown)
    assert load(str(tmp_path / "mine.yaml")) == load("default", ["network.agents=9"])


def test_the_schema_is_json_that_names_its_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["properties"]["network"] == {"$ref": "#/$defs/Network"} | schema["properties"]["network"]
    assert schema["$defs"]["Network"]["properties"]["topology"]["enum"][0] == "complete"
