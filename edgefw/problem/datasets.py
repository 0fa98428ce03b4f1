"""Where data sets are found, and how they are read."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from edgefw.errors import DataError, InputError, known, unknown
from edgefw.plugins import OWN, PLACE, Registry, check_params, subclass
from edgefw.problem.dataset import Dataset
from edgefw.problem.idx import array_sha256, read_idx
from edgefw.problem.scaling import scaled
from edgefw.problem.seeding import rng
from edgefw.problem.synthetic import regression, synthetic
from edgefw.problem.tables import KINDS, is_file, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"
_SYSTEM = "/usr/local/share:/usr/share"  # where packages install, unless XDG_DATA_DIRS says otherwise
_SYNTHETIC_SAMPLES = 60_000  # as many as the two published sets have


@dataclass(frozen=True)
class Published:
    """A data set that others publish as four idx files; `sha256` is of each file's uncompressed content."""

    name: str
    description: str
    base_url: str
    sha256: Mapping[str, str] = field(repr=False)
    classes: int = 10
    package: str | None = None

    @property
    def how(self) -> str:
        """How to get it."""
        fetch = f"run `edgefw data fetch {self.name}`"
        return fetch if self.package is None else f"{fetch} or `apt install {self.package}`"


PUBLISHED = {
    "fashion-mnist": Published(
        name="fashion-mnist",
        description="60,000 images of clothing, 28 x 28, 10 classes",
        base_url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        sha256={
            TRAIN_IMAGES: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            TRAIN_LABELS: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            TEST_IMAGES: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            TEST_LABELS: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        },
        package="dataset-fashion-mnist",
    ),
    "mnist": Published(
        name="mnist",
        description="60,000 images of handwritten digits, 28 x 28, 10 classes",
        base_url="https://ossci-datasets.s3.amazonaws.com/mnist/",
        sha256={
            TRAIN_IMAGES: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            TRAIN_LABELS: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            TEST_IMAGES: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            TEST_LABELS: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        },
    ),
}


@dataclass(frozen=True)
class DatasetStatus:
    """One line of `edgefw data list`: `path` is None where the set is not on this machine."""

    name: str
    description: str
    path: Path | None
    how: str


def listing() -> list[DatasetStatus]:
    """Return every data set that has a name, found or not."""
    found = [DatasetStatus(p.name, p.description, locate(p.name), p.how) for p in PUBLISHED.values()]
    made = "class prototypes plus noise, 784 features, 10 classes, made from the seed"
    return [*found, DatasetStatus("synthetic", made, None, "built in")]


def published(name: str) -> Published:
    """Return the published data set of that name."""
    return known("data set", name, PUBLISHED)


def cache_root() -> Path:
    """Return the folder in the user's cache where everything of this project stands."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(root).is_absolute():  # unset, or relative, which the XDG specification says to ignore
        root = os.path.expanduser("~/.cache")  # noqa: PTH111 - Path.expanduser fails where there is no home
    return Path(root) / "edgefw"


def cache_folder(name: str) -> Path:
    """Return the folder in the user's cache that `edgefw data fetch` fills."""
    return cache_root() / "data" / name


def system_folders() -> list[Path]:
    """Return the folders of this machine's packages: `datasets` in each folder of XDG_DATA_DIRS."""
    roots = os.environ.get("XDG_DATA_DIRS") or _SYSTEM
    return [Path(root) / "datasets" for root in roots.split(os.pathsep) if Path(root).is_absolute()]


def search_folders(name: str) -> list[Path]:
    """Return the folders where a published data set is looked for, first choice first."""
    own = os.environ.get("EDGEFW_DATA")
    return [
        *([Path(own) / name] if own else []),
        cache_folder(name),
        *(folder / name for folder in system_folders()),
    ]


def locate(name: str) -> Path | None:
    """Return the first folder that holds the training files of a published data set, or None."""
    published(name)
    folders = search_folders(name)
    return next(
        (f for f in folders if all(find_file(f, stem) for stem in (TRAIN_IMAGES, TRAIN_LABELS))), None
    )


def find_file(folder: Path, stem: str) -> Path | None:
    """Return the file `stem` or `stem`.gz of a folder, plain before gzipped, or None."""
    return next((path for path in (folder / stem, folder / f"{stem}.gz") if path.is_file()), None)


class Source(ABC):
    """A data set of another package, made from the parameters that a scenario gives it."""

    @abstractmethod
    def load(self, seed: int) -> Dataset:
        """Return the samples, the same for the same seed."""


SOURCES: Registry[type[Source]] = Registry(
    "data source",
    "edgefw.datasets",
    {},
    subclass("data source", Source),  # type: ignore[type-abstract]
)


def load(
    source: str,
    *,
    seed: int,
    samples: int | None = None,
    drift: float = 0.0,
    params: Mapping[str, Any] | None = None,
    target: str | None = None,
    targets: str = "auto",
    scale: float | None = None,
    scaling: str = "none",
    features: int | None = None,
    classes: int | None = None,
    noise: float | None = None,
) -> Dataset:
    """Return the samples of `source`: auto, a published name, synthetic, a folder, a file, or a class.

    `auto` is fashion-mnist where it is found and synthetic elsewhere. A folder has idx files; a file is one
    that `tables` reads, with its `target` and kind of `targets`; a class is of another package, and is made
    with `params`. `samples` keeps a random subset of that many, in the files' order. Of synthetic it says how
    many to make; `drift`, `features`, `classes` and `noise` are for synthetic alone. `scale` is what features
    are multiplied by, `scaling` how they are scaled otherwise.
    """
    if samples is not None and samples < 1:
        raise InputError(
            f"data.samples {samples} is too small: use at least 1, or leave it out for all", "data.samples"
        )
    if source == "auto":
        source = "synthetic" if locate("fashion-mnist") is None else "fashion-mnist"
    made = {"drift": drift or None, "features": features, "classes": classes, "noise": noise}
    if source == "synthetic":
        _refuse(source, {"target": target})
        many = _SYNTHETIC_SAMPLES if samples is None else samples
        return scaled(_synthetic(many, seed, targets, made), scale, scaling)
    if drift:
        raise InputError(
            f"data.drift is for data.source=synthetic: {source} does not drift, set it to 0", "data.drift"
        )
    _refuse(source, made)
    if is_file(source):
        full = read(_expanded(source), target, targets)
    else:
        _refuse(source, {"target": target, "targets": None if targets == "auto" else targets})
        full = _load_all(source, seed, params or {})
    return scaled(full if samples is None else _subset(full, samples, seed), scale, scaling)


def is_extension(source: str) -> bool:
    """Whether a source is a class of another package, loaded or not."""
    built_in = source in ("auto", "synthetic") or source in PUBLISHED
    if built_in:  # to look through all that is installed takes its time
        return False
    return PLACE.fullmatch(source) is not None or source in SOURCES


def _refuse(source: str, fields: Mapping[str, Any]) -> None:
    """Refuse fields that mean nothing for a source."""
    for name, value in fields.items():
        if value is not None:
            for_what = "a file of your own" if name.startswith("target") else "data.source=synthetic"
            raise InputError(f"data.{name} is for {for_what}: leave it out with {source}", f"data.{name}")


def _synthetic(samples: int, seed: int, targets: str, made: Mapping[str, Any]) -> Dataset:
    given = {"drift": 0.0, **{name: value for name, value in made.items() if value is not None}}
    if targets != "real":
        return _shared(samples, seed, given)
    if "classes" in given:
        raise InputError(
            "data.classes is for classes, and data.targets is real: leave one of them out", "data.classes"
        )
    return regression(samples, seed=seed, **{"features": 784, "noise": 0.6, **given})


_made: WeakValueDictionary[tuple[Any, ...], Dataset] = WeakValueDictionary()


def _shared(samples: int, seed: int, given: Mapping[str, Any]) -> Dataset:
    """Return synthetic data, the same object for as long as somebody has it: 47 MB that take 0.7 s to make.

    Services that share a process have one setup each, of the same data.
    """
    key = (samples, seed, *sorted(given.items()))
    made = _made.get(key)
    if made is None:
        made = _made[key] = synthetic(samples, seed=seed, **given)
    return made


def _load_all(source: str, seed: int, params: Mapping[str, Any]) -> Dataset:
    if source in PUBLISHED:
        return _load_published(PUBLISHED[source])
    if is_extension(source):
        return _load_other(source, seed, params)
    return _load_folder(source)


def _load_other(source: str, seed: int, params: Mapping[str, Any]) -> Dataset:
    kind = SOURCES[source]
    check_params("data.params", kind, params, given=0)
    found = kind(**params).load(seed)
    if not isinstance(found, Dataset):
        raise InputError(f"data source {source!r}: load returns {found!r}: it has to return a Dataset")
    return replace(found, name=source)


def _load_published(entry: Published) -> Dataset:
    folder = locate(entry.name)
    if folder is None:
        searched = ", ".join(str(path) for path in search_folders(entry.name))
        raise DataError(
            f"data set {entry.name!r} is not in {searched}: {entry.how}, or use data.source=synthetic"
        )
    images, labels = (_verified(folder, stem, entry) for stem in (TRAIN_IMAGES, TRAIN_LABELS))
    return _dataset(entry.name, images, labels, entry.classes)


def _expanded(source: str) -> Path:
    return Path(os.path.expanduser(source))  # noqa: PTH111 - Path.expanduser fails where there is no home


def _load_folder(source: str) -> Dataset:
    folder = _expanded(source)
    if not folder.is_dir():
        if folder.is_file():
            raise DataError(
                f"data.source {source!r} is a file of no kind that is read: use {', '.join(KINDS)}",
                "data.source",
            )
        if os.sep in source:
            raise DataError(
                f"data.source {source!r} is not a folder: give one that holds idx files, or a file",
                "data.source",
            )
        raise unknown(
            "data source",
            source,
            ["auto", *PUBLISHED, "synthetic", *SOURCES.names(), "a folder of idx files", "a file", OWN],
        )
    images, labels = (_read(folder, stem) for stem in (TRAIN_IMAGES, TRAIN_LABELS))
    # two at least: a shard of one class is still part of a classification
    return _dataset(str(folder), images, labels, max(2, int(labels.max(initial=0)) + 1))


def _read(folder: Path, stem: str) -> NDArray[np.uint8]:
    path = find_file(folder, stem)
    if path is None:
        raise DataError(f"{folder} has no {stem} or {stem}.gz: put the training images and labels there")
    return read_idx(path)


def _verified(folder: Path, stem: str, entry: Published) -> NDArray[np.uint8]:
    """Read a published file and compare its content with the published checksum."""
    array = _read(folder, stem)
    if (found := array_sha256(array)) != entry.sha256[stem]:
        raise DataError(
            f"{find_file(folder, stem)} is not the published file of {entry.name} (SHA-256 of its content "
            f"{found[:12]}..., expected {entry.sha256[stem][:12]}...): remove it and {entry.how}, "
            f"or give its folder as data.source to use it as it is"
        )
    return array


def _dataset(name: str, images: NDArray[np.uint8], labels: NDArray[np.uint8], classes: int) -> Dataset:
    """Lay every image out as one row."""
    if images.ndim < 2:
        raise DataError(f"data set {name!r} has images of shape {images.shape}: use (N, height, width)")
    rows = images.reshape(len(images), -1) if images.size else images.reshape(len(images), 0)
    return Dataset(name, rows, labels.astype(np.int64), classes, 1 / 255)


def _subset(full: Dataset, samples: int, seed: int) -> Dataset:
    if samples > len(full):
        raise InputError(
            f"data.samples {samples} is more than the {len(full)} of {full.name}: use at most that",
            "data.samples",
        )
    chosen = np.sort(rng(seed, "subset").permutation(len(full))[:samples])
    return replace(full, features=full.features[chosen], labels=full.labels[chosen])
