"""What a run offers beside its arrays, and what it says where that cannot be had."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
import recorded_run

import edgefw
from edgefw.records import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


SMALL = {
    "data.source": "synthetic",
    "data.samples": 300,
    "data.features": 20,
    "data.classes": 4,
    "algorithm.stop_after": 6,
}


@pytest.fixture(scope="module")
def run() -> edgefw.Run:
    return edgefw.simulate(edgefw.scenario("default", SMALL))


def _missing(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    there: Callable[..., object] = importlib.util.find_spec
    for module in ("edgefw.history", "edgefw.experiments.plots"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None if name == package else there(name))


def test_a_frame_has_a_row_for_every_round_and_agent(run: edgefw.Run) -> None:
    frame = run.to_frame()
    assert list(frame.columns) == [
        "round", "agent", "loss", "local_loss", "regret", "delay", "outstanding", "total_delay"
    ]  # fmt: skip
    assert len(frame) == 6 * 8
    row = frame[(frame["round"] == 4) & (frame["agent"] == 1)].iloc[0]
    assert row["loss"] == run.loss[3, 1]
    assert row["outstanding"] == run.outstanding[3, 1]


def test_a_frame_of_a_run_without_regret_says_so() -> None:
    fields = {
        "data.source": "synthetic",
        "data.samples": 300,
        "data.features": 20,
        "data.classes": 4,
        "algorithm.stop_after": 3,
    }
    frame = edgefw.simulate(edgefw.scenario("default", fields), regret=False).to_frame()
    assert frame["regret"].isna().all()


def test_a_figure_shows_loss_regret_and_what_is_on_its_way(run: edgefw.Run) -> None:
    loss, regret, outstanding = run.plot().axes
    assert run.regret is not None
    for axes, values in ((loss, run.loss), (regret, run.regret), (outstanding, run.outstanding)):
        np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata(), np.float64), values.mean(axis=1))
    assert outstanding.get_ylim()[0] == 0


def test_rounds_on_the_axis_of_a_short_run_do_not_cover_each_other() -> None:
    figure = edgefw.simulate(edgefw.scenario("default", SMALL | {"algorithm.stop_after": 20})).plot()
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert not any(one.overlaps(other) for one, other in pairwise(boxes))


@pytest.mark.parametrize(
    ("package", "ask", "words"),
    [
        ("pandas", edgefw.Run.to_frame, "a frame needs pandas: install edgefw[frames]"),
        ("matplotlib", edgefw.Run.plot, "figures need matplotlib: install edgefw[figures]"),
    ],
)
def test_what_is_not_installed_is_named(
    run: edgefw.Run,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    ask: Callable[[edgefw.Run], object],
    words: str,
) -> None:
    _missing(monkeypatch, package)
    with pytest.raises(edgefw.EdgefwError) as caught:
        ask(run)
    assert str(caught.value).startswith(words)


def test_a_record_is_verified_or_refused(tmp_path: Path) -> None:
    folder = recorded_run.recorded(tmp_path / "run")
    found = edgefw.load_run(folder.path)
    verdict = found.verify()
    assert (verdict.passed, verdict.identical) == (True, 12 * 4)
    np.testing.assert_array_equal(found.delay[:7, 2], 5)
    with pytest.raises(edgefw.EdgefwError, match="run has no summary: the run goes on, or was killed"):
        _ = found.summary
    other = recorded_run.recorded(tmp_path / "other", seed=4)
    (folder.path / "run.sqlite").write_bytes((other.path / "run.sqlite").read_bytes())
    with pytest.raises(edgefw.EdgefwError, match="has digest"):
        found.verify()


def test_a_simulation_has_nothing_to_verify(run: edgefw.Run) -> None:
    with pytest.raises(edgefw.EdgefwError, match=r"^a simulation has no plays on record: simulate its"):
        run.verify()


def test_a_folder_without_a_run_and_a_damaged_summary_are_refused(tmp_path: Path) -> None:
    with pytest.raises(edgefw.EdgefwError, match="holds no run: give the folder of a run"):
        edgefw.load_run(tmp_path)
    folder = recorded_run.recorded(tmp_path / "run")
    for text in ("{", "[]", "{}", '{"per_agent": [], "name": "x"}'):
        (folder.path / SUMMARY).write_text(text)
        with pytest.raises(edgefw.EdgefwError, match=r"summary\.json is no summary"):
            edgefw.load_run(folder.path)
