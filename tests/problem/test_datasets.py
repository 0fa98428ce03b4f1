from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from idx_files import write_idx

from edgefw.errors import DataError, InputError
from edgefw.problem import dataset
from edgefw.problem.dataset import Dataset
from edgefw.problem.datasets import (
    PUBLISHED,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    Published,
    cache_folder,
    listing,
    load,
    locate,
    system_folders,
)
from edgefw.problem.idx import array_sha256

if TYPE_CHECKING:
    from numpy.typing import NDArray

IMAGES = np.arange(60, dtype=np.uint8).reshape(5, 3, 4)
LABELS = np.array([0, 2, 1, 2, 0], dtype=np.uint8)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a machine without data: every place that is searched is below a new folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "system"))
    return tmp_path


def put(folder: Path, suffix: str = ".gz", labels: NDArray[np.uint8] = LABELS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_idx(folder / f"{TRAIN_IMAGES}{suffix}", IMAGES)
    write_idx(folder / f"{TRAIN_LABELS}{suffix}", labels)
    return folder


def publish(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make the small files above the published ones of `name`."""
    sha256 = {TRAIN_IMAGES: array_sha256(IMAGES), TRAIN_LABELS: array_sha256(LABELS)}
    entry = Published(name, "five images", "http://localhost/", sha256, classes=3, package="some-package")
    monkeypatch.setitem(PUBLISHED, name, entry)


def small(features: NDArray[np.uint8] | NDArray[np.float32], scale: float = 1 / 255) -> Dataset:
    return Dataset("small", features, np.zeros(len(features), np.int64), 2, scale)


# ---- one data set


@settings(deadline=None, max_examples=40)
@given(
    features=arrays(np.uint8, (6, 5)),
    index=arrays(np.int64, array_shapes(min_dims=0, max_dims=3, min_side=0), elements=st.integers(0, 5)),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_rows_are_the_scaled_features(
    features: NDArray[np.uint8], index: NDArray[np.int64], dtype: type[np.float32 | np.float64]
) -> None:
    rows = small(features).rows(index, dtype)
    assert rows.shape == (*index.shape, 5)
    assert rows.dtype == dtype
    np.testing.assert_allclose(
        rows, features.astype(np.float64)[index] / 255, rtol=2 * float(np.finfo(dtype).eps)
    )


def test_white_is_one_exactly() -> None:
    white = small(np.full((1, 2), 255, np.uint8))
    for dtype in (np.float32, np.float64):
        assert white.rows(np.array([0]), dtype).tolist() == [[1, 1]]


def test_float_features_keep_their_values() -> None:
    features = np.array([[0.1, -2.5], [3, 4]], dtype=np.float32)
    data = small(features, scale=1)
    assert np.array_equal(data.rows(np.array([1, 0]), np.float32), features[::-1])
    assert data.rows(np.array([0]), np.dtype(np.float64)).dtype == np.float64
    assert data.max_norm() == 5


@settings(deadline=None, max_examples=30)
@given(arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 4))))
def test_max_norm_is_the_largest_row_norm(features: NDArray[np.uint8]) -> None:
    data = small(features)
    expected = np.linalg.norm(data.rows(np.arange(len(features)), np.float64), axis=1).max()
    assert data.max_norm() == pytest.approx(expected, rel=1e-12)


def test_max_norm_looks_at_every_piece() -> None:
    features = np.ones((3 * dataset._ROWS_AT_ONCE + 1, 4), np.uint8)
    features[-1] = 200
    assert small(features).max_norm() == pytest.approx(400 / 255)


def test_the_digest_depends_on_the_content_and_not_on_the_name() -> None:
    base = Dataset("a", IMAGES.reshape(5, -1), LABELS.astype(np.int64), 3, 1 / 255)
    other_pixel = IMAGES.reshape(5, -1).copy()
    other_pixel[4, 11] += 1
    variants = [
        Dataset("a", other_pixel, base.labels, 3, 1 / 255),
        Dataset("a", base.features.reshape(5, 12)[:, ::-1], base.labels, 3, 1 / 255),
        Dataset("a", base.features.astype(np.float32), base.labels, 3, 1 / 255),
        Dataset("a", base.features, base.labels[::-1].copy() * 0, 3, 1 / 255),
        Dataset("a", base.features, base.labels, 4, 1 / 255),
        Dataset("a", base.features, base.labels, 3, 1.0),
    ]
    assert len({base.digest, *(variant.digest for variant in variants)}) == 7
    assert Dataset("b", base.features, base.labels, 3, 1 / 255).digest == base.digest


def test_a_data_set_cannot_be_changed() -> None:
    data = small(np.ones((2, 2), np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        data.features[0, 0] = 3
    with pytest.raises(ValueError, match="read-only"):
        data.labels[0] = 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_feature_that_is_not_finite_is_refused(value: float) -> None:
    features = np.zeros((5, 3), np.float32)
    features[3, 1] = value
    with pytest.raises(DataError, match="'small' has a feature that is not finite in sample 3"):
        small(features, scale=1)


def test_arrays_that_do_not_fit_are_refused() -> None:
    features = np.zeros((3, 2), np.uint8)
    with pytest.raises(DataError, match=r"has 3 samples and labels of shape \(2,\): give one label a sample"):
        Dataset("d", features, np.zeros(2, np.int64), 2, 1.0)
    with pytest.raises(DataError, match="has label 2: labels must be 0 to 1"):
        Dataset("d", features, np.array([0, 2, 1]), 2, 1.0)
    with pytest.raises(DataError, match="has label -1: labels must be 0 to 1"):
        Dataset("d", features, np.array([0, -1, 1]), 2, 1.0)
    with pytest.raises(DataError, match=r"features of shape \(0, 2\): use \(N, m\)"):
        small(features[:0])
    with pytest.raises(DataError, match="has float64 features: use uint8 or float32"):
        small(features.astype(np.float64))  # type: ignore[arg-type]


# ---- a folder


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_folder_of_any_image_size_is_read(tmp_path: Path, suffix: str) -> None:
    data = load(str(put(tmp_path, suffix)), seed=0)
    assert np.array_equal(data.features, IMAGES.reshape(5, 12))
    assert data.labels.tolist() == LABELS.tolist()
    assert data.labels.dtype == np.int64
    assert (data.classes, data.scale, data.name) == (3, 1 / 255, str(tmp_path))


def test_a_folder_with_wrong_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no train-images-idx3-ubyte or train-images-idx3-ubyte\.gz"):
        load(str(tmp_path), seed=0)
    put(tmp_path, labels=LABELS[:4])
    with pytest.raises(DataError, match="5 samples and labels of shape"):
        load(str(tmp_path), seed=0)
    put(tmp_path)
    write_idx(tmp_path / f"{TRAIN_IMAGES}.gz", LABELS)
    with pytest.raises(DataError, match=r"images of shape \(5,\): use \(N, height, width\)"):
        load(str(tmp_path), seed=0)
    write_idx(tmp_path / f"{TRAIN_IMAGES}.gz", np.empty((0, 3, 4), np.uint8))
    write_idx(tmp_path / f"{TRAIN_LABELS}.gz", np.empty(0, np.uint8))
    with pytest.raises(DataError, match=r"features of shape \(0, 0\)"):
        load(str(tmp_path), seed=0)


def test_a_source_that_is_nothing_says_what_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere' is not a folder: give one that holds idx files"):
        load(str(tmp_path / "nowhere"), seed=0)
    (tmp_path / "table.xlsx").touch()
    with pytest.raises(
        DataError, match=r"xlsx' is a file of no kind that is read: use \.npz, \.npy, \.csv, \.pa"
    ):
        load(str(tmp_path / "table.xlsx"), seed=0)
    with pytest.raises(InputError, match="unknown data source 'fashon-mnist': did you mean 'fashion-mnist'"):
        load("fashon-mnist", seed=0)


def test_samples_keeps_a_seeded_subset_in_order(tmp_path: Path) -> None:
    put(tmp_path)
    full = load(str(tmp_path), seed=0)
    part, again = (load(str(tmp_path), seed=0, samples=3) for _ in range(2))
    places = [int(row[0]) // 12 for row in part.features]
    assert places == sorted(set(places))
    assert part.labels.tolist() == full.labels[places].tolist()
    assert part.classes == full.classes
    assert part.digest == again.digest
    assert len({load(str(tmp_path), seed=seed, samples=3).digest for seed in range(10)}) > 1
    with pytest.raises(InputError, match=r"data.samples 6 is more than the 5 of"):
        load(str(tmp_path), seed=0, samples=6)
    with pytest.raises(InputError, match=r"data.samples 0 is too small"):
        load(str(tmp_path), seed=0, samples=0)


# ---- published data sets


def test_the_places_are_searched_in_order(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locate("mnist") is None
    system = put(bare / "system" / "datasets" / "mnist")
    assert locate("mnist") == system
    cached = put(cache_folder("mnist"))
    assert cached == bare / "cache" / "edgefw" / "data" / "mnist"
    assert locate("mnist") == cached
    monkeypatch.setenv("EDGEFW_DATA", str(bare / "own"))
    assert locate("mnist") == cached
    own = put(bare / "own" / "mnist")
    assert locate("mnist") == own
    (own / f"{TRAIN_LABELS}.gz").unlink()
    assert locate("mnist") == cached  # half a data set is none
    with pytest.raises(InputError, match="unknown data set 'mnits': did you mean 'mnist'"):
        locate("mnits")


@pytest.mark.parametrize("root", ["", "relative/path"])
def test_the_cache_falls_back_to_the_home(bare: Path, monkeypatch: pytest.MonkeyPatch, root: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", root)
    monkeypatch.setenv("HOME", str(bare))
    assert cache_folder("mnist") == bare / ".cache" / "edgefw" / "data" / "mnist"


def test_data_sets_of_packages_are_looked_for_where_packages_put_them(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_DIRS", f"{bare}/one:relative:{bare}/two")
    assert system_folders() == [bare / "one" / "datasets", bare / "two" / "datasets"]
    second = put(bare / "two" / "datasets" / "mnist")
    assert locate("mnist") == second
    first = put(bare / "one" / "datasets" / "mnist")
    assert locate("mnist") == first
    usual = [Path("/usr/local/share/datasets"), Path("/usr/share/datasets")]
    monkeypatch.setenv("XDG_DATA_DIRS", "")
    assert system_folders() == usual
    monkeypatch.delenv("XDG_DATA_DIRS")
    assert system_folders() == usual


def test_a_missing_data_set_says_how_to_get_it(bare: Path) -> None:
    with pytest.raises(DataError) as caught:
        load("fashion-mnist", seed=0)
    places = f"{bare}/cache/edgefw/data/fashion-mnist, {bare}/system/datasets/fashion-mnist"
    assert str(caught.value) == (
        f"data set 'fashion-mnist' is not in {places}: run `edgefw data fetch fashion-mnist` or "
        "`apt install dataset-fashion-mnist`, or use data.source=synthetic"
    )
    with pytest.raises(DataError, match=r"`edgefw data fetch mnist`, or use data.source=synthetic"):
        load("mnist", seed=0)


def test_a_published_set_is_checked(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, "fashion-mnist")
    folder = put(bare / "system" / "datasets" / "fashion-mnist")
    assert load("fashion-mnist", seed=0).features.shape == (5, 12)
    put(folder, labels=LABELS[::-1].copy() * 0)
    with pytest.raises(DataError) as caught:
        load("fashion-mnist", seed=0)
    message = str(caught.value)
    assert f"{folder}/{TRAIN_LABELS}.gz is not the published file of fashion-mnist" in message
    assert "remove it and run `edgefw data fetch fashion-mnist`" in message


def test_auto_is_what_is_there(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = load("auto", seed=4, samples=30)
    assert made.name == "synthetic"
    assert len(made) == 30
    assert made.digest == load("synthetic", seed=4, samples=30).digest
    publish(monkeypatch, "fashion-mnist")
    put(bare / "system" / "datasets" / "fashion-mnist")
    assert load("auto", seed=4).name == "fashion-mnist"


def test_synthetic_has_sixty_thousand_samples_unless_told(bare: Path) -> None:
    assert len(load("synthetic", seed=0)) == 60_000
    assert not list(bare.iterdir())


def test_the_listing_names_every_set(bare: Path) -> None:
    folder = put(bare / "system" / "datasets" / "mnist")
    rows = {row.name: row for row in listing()}
    assert list(rows) == ["fashion-mnist", "mnist", "synthetic"]
    assert [row.path for row in rows.values()] == [None, folder, None]
    assert "apt install dataset-fashion-mnist" in rows["fashion-mnist"].how


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.dataset(name)) for name in PUBLISHED])
def test_the_real_files_pass_their_checksums(name: str) -> None:
    data = load(name, seed=0)
    assert data.features.shape == (60_000, 784)
    assert data.features.dtype == np.uint8
    if name == "fashion-mnist":  # balanced, unlike mnist
        assert np.bincount(data.labels).tolist() == [6000] * 10
    assert data.labels[:4].tolist() == {"fashion-mnist": [9, 0, 0, 3], "mnist": [5, 0, 4, 1]}[name]
