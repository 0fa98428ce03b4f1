"""A run for other programs: the numbers that they get are the run's."""

from __future__ import annotations

import csv
import importlib.util
import math
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mlflow_stand_in import Mlflow, mlflow_server
from pyarrow import parquet
from tensorboardX.proto.event_pb2 import Event

import edgefw
from edgefw.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIELDS = {
    "data.source": "synthetic",
    "data.samples": 300,
    "data.features": 10,
    "data.classes": 4,
    "clock": "rounds",
    "pace": "asap",
    "delays": [{"type": "rounds", "agents": [1], "rounds": 3}],
    "algorithm.stop_after": 30,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> edgefw.Run:
    return edgefw.simulate(
        edgefw.scenario("default", FIELDS), out=tmp_path_factory.mktemp("exports") / "late"
    )


def test_a_csv_file_has_the_rows_of_the_frame(run: edgefw.Run, tmp_path: Path) -> None:
    path = run.to_csv(tmp_path / "run.csv")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    frame = run.to_frame()
    assert list(rows[0]) == list(frame.columns)
    for name in frame.columns:
        read = [float(row[name]) if row[name] else math.nan for row in rows]
        np.testing.assert_array_equal(read, frame[name].to_numpy())
    assert rows[-1]["delay"] == ""  # feedback of the last round: no play has used it


def test_a_parquet_file_has_the_rows_of_the_frame(run: edgefw.Run, tmp_path: Path) -> None:
    table = parquet.read_table(run.to_parquet(tmp_path / "run.parquet"))
    frame = run.to_frame()
    for name in frame.columns:
        np.testing.assert_array_equal(table[name].to_pandas().to_numpy(), frame[name].to_numpy())
    assert table["delay"].null_count == int(np.isnan(run.delay).sum()) > 0
    assert table.schema.metadata[b"edgefw.digest"].decode() == run.scenario.digest


def test_an_event_file_has_every_curve(run: edgefw.Run, tmp_path: Path) -> None:
    (path,) = run.to_tensorboard(tmp_path / "board").iterdir()
    found = {
        (value.tag, event.step): value.simple_value
        for event in _events(path.read_bytes())
        for value in event.summary.value
        if value.HasField("simple_value")
    }
    assert run.regret is not None
    for t in range(1, 31):
        assert found["network/loss", t] == pytest.approx(run.loss[t - 1].max())
        assert found["network/regret", t] == pytest.approx(run.regret[t - 1].max())
        assert found["loss/agent-1", t] == pytest.approx(run.loss[t - 1, 1])
    assert found["delay/agent-1", 5] == 3
    assert ("delay/agent-1", 30) not in found  # it is not known
    with pytest.raises(edgefw.EdgefwError, match="holds another export"):
        run.to_tensorboard(tmp_path / "board")


def _events(data: bytes) -> Iterator[Event]:
    """Yield the records of an event file: a length, its checksum, the event, its checksum."""
    place = 0
    while place < len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        yield Event.FromString(data[place + 12 : place + 12 + length])
        place += 12 + length + 4


@pytest.fixture
def server() -> Iterator[Mlflow]:
    with mlflow_server() as told:
        yield told


def test_mlflow_gets_scenario_totals_and_curves(run: edgefw.Run, server: Mlflow) -> None:
    where = run.to_mlflow(server.url)
    assert where == f"{server.url}/#/experiments/1/runs/run0"
    assert server.experiments == {"edgefw": "1"}
    assert (server.runs["run0"]["run_name"], server.runs["run0"]["status"]) == ("late", "FINISHED")
    assert server.params["network.agents"] == "8"
    assert server.params["data.features"] == "10"
    assert server.metrics["network_regret", 30] == run.summary.network_regret
    assert server.metrics["loss/agent-3", 7] == run.loss[6, 3]
    run.to_mlflow(server.url + "/")
    assert list(server.experiments) == ["edgefw"]  # it is there
    assert server.authorizations == {None}


def test_mlflow_is_shown_who_asks(run: edgefw.Run, server: Mlflow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "secret")
    run.to_mlflow(server.url, "mine")
    assert server.authorizations == {"Basic bWU6c2VjcmV0"}
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "abc")
    run.to_mlflow(server.url, "mine")
    assert "Bearer abc" in server.authorizations


def test_a_server_that_is_none_or_refuses_is_one_line(run: edgefw.Run, server: Mlflow) -> None:
    with pytest.raises(edgefw.EdgefwError, match="mlruns is no server of MLflow: give its address"):
        run.to_mlflow("mlruns")
    server.answer = lambda *_: (403, {"message": "no"})  # type: ignore[method-assign]
    with pytest.raises(edgefw.EdgefwError, match=r"MLflow refuses experiments/get-by-name \(403\)"):
        run.to_mlflow(server.url)
    with pytest.raises(edgefw.EdgefwError, match=r"MLflow at http://127\.0\.0\.1:9 does not answer"):
        run.to_mlflow("http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("package", "method", "words"),
    [
        ("pyarrow", "to_parquet", r"Parquet needs pyarrow: install edgefw\[parquet\]"),
        ("tensorboardX", "to_tensorboard", r"TensorBoard needs tensorboardX: install edgefw\[tensorboard\]"),
    ],
)
def test_what_is_not_installed_is_named(
    run: edgefw.Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    method: str,
    words: str,
) -> None:
    there = importlib.util.find_spec
    for module in ("edgefw.api.tables", "edgefw.api.tensorboard"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None if name == package else there(name))
    with pytest.raises(edgefw.EdgefwError, match=words):
        getattr(run, method)(tmp_path / "out")


def test_the_command_exports_what_it_is_told_to(
    run: edgefw.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv_file = tmp_path / "a.csv"
    assert main(["export", str(run.path), "--csv", str(csv_file), "--tensorboard", str(tmp_path / "b")]) == 0
    assert capsys.readouterr().out == f"csv: {csv_file}\ntensorboard: {tmp_path / 'b'}\n"
    assert main(["export", str(run.path)]) == 2
    assert "nothing to export to: say --csv FILE" in capsys.readouterr().err
    assert main(["export", str(run.path), "--csv", str(tmp_path / "none" / "a.csv")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["export", str(run.path), "--csv", str(tmp_path)]) == 2
    assert "it is a folder, give a file" in capsys.readouterr().err
    (tmp_path / "a.csv.partial").mkdir()
    assert main(["export", str(run.path), "--csv", str(csv_file)]) == 2
    assert f"{csv_file} cannot be written: Is a directory" in capsys.readouterr().err
