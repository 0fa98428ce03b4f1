"""Data of one's own in a whole run: real targets, series in their order, classes by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from agreeing import run_as_simulated
from together import run_together

from edgefw.errors import InputError
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.scenario.setup import Setup


@pytest.fixture
def series(tmp_path: Path) -> str:
    """A CSV of a drifting series with a real target and a text."""
    random = np.random.default_rng(5)
    rows = random.normal(size=(160, 3))
    targets = rows @ [1.0, -2.0, 0.5] + np.linspace(0, 1, 160)
    kinds = np.array(["high", "low", "odd"])[random.integers(3, size=160)]
    lines = [
        f"{a!r},{b!r},{c!r},{y!r},{number}"
        for (a, b, c), y, number in zip(rows.tolist(), targets.tolist(), range(160), strict=True)
    ]
    (tmp_path / "series.csv").write_text("\n".join(["a,b,c,y,hour", *lines]))
    texts = [f"{a!r},{b!r},{kind}" for (a, b, _), kind in zip(rows.tolist(), kinds.tolist(), strict=True)]
    (tmp_path / "kinds.csv").write_text("\n".join(["a,b,kind", *texts]))
    return str(tmp_path / "series.csv")


def fields(source: str, **more: Any) -> dict[str, Any]:
    return {
        "data.source": source,
        **dict.fromkeys(("data.samples", "data.features", "data.classes")),  # it has its own
        "network.agents": 4,
        "problem.set": "l2_ball",
        "problem.radius": 5.0,
        "clock": "rounds",
        "pace": "asap",
        "delays": [{"type": "rounds", "rounds": 3}],
        "algorithm.horizon": 30,
        "algorithm.stop_after": 8,
        **more,
    }


def setup(source: str, **more: Any) -> Setup:
    return resolve(load("default", fields(source, **more)))


def regression(source: str) -> dict[str, Any]:
    own = {"data.target": "y", "problem.loss": "squared", "data.scaling": "standardize"}
    return fields(source, **own, **{"data.order": "given", "data.partition": "in_turn"})


def test_a_series_with_real_targets_runs_over_the_services_and_verify_agrees(
    series: str, tmp_path: Path
) -> None:
    given = regression(series)
    folder, ours = run_as_simulated(tmp_path / "run", given)
    assert ours.data == series
    kept = load(str(folder.scenario_path)).data
    assert (kept.source, kept.target, kept.order) == (series, "y", "given")


def test_a_series_is_read_in_its_order_all_agents_side_by_side(series: str) -> None:
    found = resolve(load("default", {**regression(series), "data.target": "hour", "data.targets": "real"}))
    hours = np.stack([found.batches(t)[1] for t in (1, 2, 3)])
    assert hours[:, 0].tolist() == [[0, 4], [8, 12], [16, 20]]
    assert hours[:, 3].tolist() == [[3, 7], [11, 15], [19, 23]]


def test_changed_data_are_not_verified(series: str, tmp_path: Path) -> None:
    folder = run_together(
        tmp_path / "run", fields={name: json.dumps(value) for name, value in regression(series).items()}
    )
    path = tmp_path / "series.csv"
    path.write_text(path.read_text().replace(",3\n", ",4\n"))
    with pytest.raises(InputError, match="get the same data set"):
        read(folder)


def test_the_theorems_constants_know_real_targets(series: str) -> None:
    found = setup(series, **{"data.target": "y", "problem.loss": "squared", "algorithm.schedule": "theorem"})
    largest = float(np.abs(found.dataset.labels).max())
    norm = found.dataset.max_norm()
    assert found.constants == pytest.approx((norm * (norm * 5 + largest), norm**2))


def test_binary_logistic_says_which_classes_it_means(series: str) -> None:
    kinds = series.replace("series", "kinds")
    found = setup(kinds, **{"problem.loss": "binary_logistic", "problem.loss_params": {"positive": ["low"]}})
    index = np.arange(20)
    R = found.loss.residual(np.zeros((1, 20)), found.dataset.labels[index])
    assert (R[0] < 0).tolist() == (found.dataset.labels[index] == 1).tolist()


def test_an_agent_is_told_the_classes_by_number(series: str, tmp_path: Path) -> None:
    kinds = series.replace("series", "kinds")
    own = {"problem.loss": "binary_logistic", "problem.loss_params": {"positive": ["low", "odd"]}}
    given = {name: json.dumps(value) for name, value in fields(kinds, **own).items()}
    verdict = verify(read(run_together(tmp_path / "run", fields=given)))
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"problem.loss": "multinomial"}, "problem.loss is for classes, and"),
        ({"problem.loss": "squared", "data.partition": "dirichlet"}, "partition dirichlet mixes classes"),
        (
            {"problem.loss": "squared", "problem.loss_params": {"positive": [1]}},
            "Squared takes no parameters",
        ),
    ],
)
def test_real_targets_are_refused_where_they_mean_nothing(
    series: str, more: dict[str, Any], line: str
) -> None:
    with pytest.raises(InputError) as caught:
        setup(series, **{"data.target": "y", **more})
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ({}, "has the classes high, low, odd: say which are the positive ones, as problem.loss_params="),
        ({"positive": ["hihg"]}, "problem.loss_params.positive: unknown class 'hihg': did you mean 'high'?"),
        ({"positive": ["high", "low", "odd"]}, "it must be a list of some, not all, of the classes"),
        ({"positive": []}, "it must be a list of some, not all, of the classes high, low, odd"),
        ({"positive": "high"}, "problem.loss_params.positive is high: it must be a list"),
        ({"postive": ["high"]}, "say which are the positive ones"),
    ],
)
def test_classes_with_names_have_no_odd_and_even(series: str, params: dict[str, Any], line: str) -> None:
    kinds = series.replace("series", "kinds")
    with pytest.raises(InputError) as caught:
        setup(kinds, **{"problem.loss": "binary_logistic", "problem.loss_params": params})
    assert line in str(caught.value)


def test_numbered_classes_can_be_named_by_number() -> None:
    own = {
        "problem.loss": "binary_logistic",
        "problem.loss_params": {"positive": [0, 3]},
        "data.samples": 100,
    }
    found = setup("synthetic", **own)
    R = found.loss.residual(np.zeros((1, 4)), np.array([0, 1, 2, 3]))
    assert (R[0] < 0).tolist() == [True, False, False, True]
