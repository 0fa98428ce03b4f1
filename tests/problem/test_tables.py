"""Samples in files of one's own, in every format, with classes or real targets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgefw.errors import DataError, InputError
from edgefw.problem.datasets import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from edgefw.problem.dataset import Dataset

ROWS = np.array([[1.5, -2.0, 0.25], [0.0, 4.0, 1.0], [-1.0, 0.5, 2.0], [3.0, 1.0, 0.0]])
NUMBERS = np.array([2.0, 5.0, 5.0, 2.0])
REALS = np.array([0.5, -3.25, 1e6, 2.0])


def npz(path: Path, targets: Any) -> Path:
    np.savez(path / "data.npz", features=ROWS, labels=targets)
    return path / "data.npz"


def npy(path: Path, targets: Any) -> Path:
    np.save(path / "data.npy", np.column_stack([ROWS, targets]))
    return path / "data.npy"


def csv(path: Path, targets: Any) -> Path:
    lines = [
        ",".join(map(repr, [*row, target]))
        for row, target in zip(ROWS.tolist(), targets.tolist(), strict=True)
    ]
    (path / "data.csv").write_text("\n".join(["a,b,c,goal", *lines]) + "\n")
    return path / "data.csv"


def parquet(path: Path, targets: Any) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    columns = {name: ROWS[:, place] for place, name in enumerate("abc")} | {"goal": targets}
    pyarrow_parquet.write_table(pyarrow.table(columns), path / "data.parquet")
    return path / "data.parquet"


every_format = pytest.mark.parametrize("write", [npz, npy, csv, parquet], ids=lambda write: write.__name__)


def loaded(path: Path, **options: Any) -> Dataset:
    return load(str(path), seed=0, **options)


@every_format
def test_classes_are_numbered_in_order_and_keep_their_names(
    tmp_path: Path, write: Callable[[Path, Any], Path]
) -> None:
    data = loaded(write(tmp_path, NUMBERS))
    assert data.features.dtype == np.float32
    np.testing.assert_array_equal(data.features, ROWS.astype(np.float32))
    assert (data.labels.tolist(), data.classes, data.names) == ([0, 1, 1, 0], 2, ("2", "5"))
    assert data.scale == 1.0


@every_format
def test_real_targets_stay_as_they_are(tmp_path: Path, write: Callable[[Path, Any], Path]) -> None:
    data = loaded(write(tmp_path, REALS))
    assert data.is_real
    assert data.labels.tolist() == REALS.tolist()
    assert data.spread == 1e6 + 1


@every_format
def test_who_says_real_or_classes_is_believed(tmp_path: Path, write: Callable[[Path, Any], Path]) -> None:
    assert loaded(write(tmp_path, NUMBERS), targets="real").labels.tolist() == NUMBERS.tolist()
    assert loaded(write(tmp_path, REALS), targets="classes").names == ("-3.25", "0.5", "2", "1000000")


def test_every_format_gives_the_same_data(tmp_path: Path) -> None:
    digests = {loaded(write(tmp_path, REALS)).digest for write in (npz, npy, csv, parquet)}
    assert len(digests) == 1


def test_classes_and_real_targets_are_different_data(tmp_path: Path) -> None:
    path = npz(tmp_path, np.array([0, 1, 1, 0]))
    assert loaded(path).digest != loaded(path, targets="real").digest


@pytest.mark.parametrize("target", ["kind", "0"])
def test_a_target_may_be_any_column_by_name_or_number_and_a_text(tmp_path: Path, target: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text("kind;a;b\ncat;1;2\ndog;3;4\n\nbird;5;6\n")
    data = loaded(path, target=target)
    assert (data.names, data.labels.tolist()) == (("bird", "cat", "dog"), [1, 2, 0])
    assert data.features.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_csv_needs_no_header(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("1,2,yes\n3,4,no\n")
    assert loaded(path).names == ("no", "yes")


def test_images_in_an_npz_stay_bytes_and_become_rows(tmp_path: Path) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.savez(tmp_path / "data.npz", x_train=images, y_train=np.array([0, 1]))
    data = loaded(tmp_path / "data.npz", scale=1 / 255)
    assert data.features.dtype == np.uint8
    assert (data.features.shape, data.scale) == ((2, 12), 1 / 255)


def test_many_whole_numbers_are_no_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.ones((1500, 1)), y=np.arange(1500))
    assert loaded(tmp_path / "data.npz").is_real


def test_samples_are_a_subset_in_order(tmp_path: Path) -> None:
    data = loaded(npz(tmp_path, NUMBERS), samples=3)
    places = [ROWS.astype(np.float32).tolist().index(row) for row in data.features.tolist()]
    assert places == sorted(places)
    assert len(places) == 3


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        ("unit_interval", (ROWS - ROWS.min(0)) / np.ptp(ROWS, axis=0)),
        ("standardize", (ROWS - ROWS.mean(0)) / ROWS.std(0)),
        ("unit_norm", ROWS / np.linalg.norm(ROWS, axis=1).max()),
    ],
)
def test_features_are_scaled_as_it_says(tmp_path: Path, scaling: str, expected: Any) -> None:
    data = loaded(npz(tmp_path, NUMBERS), scaling=scaling)
    np.testing.assert_allclose(data.rows(np.arange(4), np.float64), expected, rtol=1e-6, atol=1e-7)


def test_a_constant_feature_becomes_zero(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.array([[3.0, 1.0], [3.0, 2.0]]), y=np.array([0, 1]))
    for scaling in ("standardize", "unit_interval"):
        assert loaded(tmp_path / "data.npz", scaling=scaling).features[:, 0].tolist() == [0, 0]


def write(path: Path, name: str, content: str) -> Path:
    (path / name).write_text(content)
    return path / name


@pytest.mark.parametrize(
    ("name", "content", "options", "line"),
    [
        ("none.csv", None, {}, "data.source: there is no file"),
        ("x.csv", "a,b,y\n1,2,0\n1,x,1\n", {}, "x.csv, line 3, column 'b': 'x' is not a number"),
        ("x.csv", "a,b,y\n1,2,0\n1,1\n", {}, "x.csv, line 3 has 2 columns, others 3"),
        ("x.csv", "a\n1\n", {}, "has no table: one sample a line, the target a column"),
        ("x.csv", "", {}, "has no table"),
        ("x.csv", "a,b\n1,2\n3,nan\n", {}, "has no finite target in sample 1"),
        ("x.csv", "a,b\nnan,2\n3,4\n", {}, "a feature that is not finite in sample 0"),
        ("x.csv", "a,price\n1,2\n3,4\n", {"target": "prise"}, "did you mean 'price'?"),
        ("x.csv", "a,b\n1,low\n3,high\n", {"targets": "real"}, "data.targets is real, and"),
        ("x.npz", "no zip", {}, "cannot read"),
        ("x.npy", "no array", {}, "cannot read"),
        ("x.parquet", "no table", {}, "cannot read"),
        (
            "x.csv",
            "a,b\n1,2\n3,4\n",
            {"features": 3},
            "data.features is for data.source=synthetic: leave it out",
        ),
        ("x.csv", "a,b\n1,2\n3,4\n", {"drift": 0.3}, "data.drift is for data.source=synthetic"),
        ("x.csv", "a,b\n1,2\n3,4\n", {"scale": 2.0, "scaling": "unit_norm"}, "leave one of them out"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path, name: str, content: str | None, options: dict[str, Any], line: str
) -> None:
    path = tmp_path / name if content is None else write(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        loaded(path, **options)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_npz_says_which_arrays_it_has(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", features=ROWS, colours=NUMBERS)
    with pytest.raises(
        DataError, match=r"has the arrays features, colours, none for targets: call one labels or y"
    ):
        loaded(tmp_path / "data.npz")
    assert loaded(tmp_path / "data.npz", target="colours").names == ("2", "5")
    np.savez(tmp_path / "data.npz", features=ROWS, labels=NUMBERS[:2])
    with pytest.raises(DataError, match="has 4 samples and 2 targets"):
        loaded(tmp_path / "data.npz")


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path, NUMBERS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"needs pyarrow to be read: pip install 'edgefw\[parquet\]'"):
        loaded(path)


@pytest.mark.parametrize(("field", "value"), [("target", "y"), ("targets", "real"), ("noise", 0.5)])
def test_what_is_for_others_is_refused_of_a_folder(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"data.{field} is for "):
        loaded(tmp_path, **{field: value})


def test_the_synthetic_stream_has_any_shape() -> None:
    data = load("synthetic", seed=3, samples=50, features=6, classes=4, noise=0.1)
    assert (data.features.shape, data.classes) == ((50, 6), 4)
    usual = load("synthetic", seed=3, samples=50)
    assert usual.digest == load("synthetic", seed=3, samples=50, features=784, classes=10, noise=0.6).digest


def test_a_synthetic_stream_of_real_targets_is_linear_but_for_the_noise() -> None:
    data = load("synthetic", seed=3, samples=400, features=5, targets="real", noise=0.0)
    A, y = data.features.astype(np.float64), data.labels
    w, residual, *_ = np.linalg.lstsq(A, y, rcond=None)
    assert float(residual.sum()) < 1e-12
    assert 0.2 < np.abs(y).mean() < 3
    noisy = load("synthetic", seed=3, samples=400, features=5, targets="real", noise=0.5)
    assert 0.1 < np.abs(noisy.labels - A @ w).mean() < 0.4
    moved = load("synthetic", seed=3, samples=400, features=5, targets="real", noise=0.0, drift=1.0)
    early, late = (np.abs(moved.labels - A @ w)[part].mean() for part in (slice(40), slice(-40, None)))
    assert late > 5 * early
    with pytest.raises(InputError, match=r"data\.classes is for classes, and data\.targets is real"):
        load("synthetic", seed=3, targets="real", classes=3)
