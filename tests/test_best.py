"""The comparator's cache: used where it will do, improved where it will not, not trusted when damaged."""

from __future__ import annotations

import tracemalloc
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny

from edgefw import best
from edgefw.core import comparator
from edgefw.problem.dataset import Dataset
from edgefw.problem.datasets import cache_root
from edgefw.problem.synthetic import synthetic
from edgefw.scenario.load import load
from edgefw.scenario.setup import Setup, first_rounds, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.core.regret import Comparator

DATA = synthetic(600, features=9, classes=3, seed=0)
EASY, HARD = 100.0, 11.0  # losses whose regret allows a wide gap, and only a narrow one


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the starting points of the searches made so far."""
    starts: list[Any] = []

    def counted(*arguments: Any, start: Any = None, **options: Any) -> Any:
        starts.append(start)
        return comparator.solve(*arguments, start=start, **options)

    monkeypatch.setattr(best, "solve", counted)
    return starts


def setup(*overrides: str) -> Setup:
    small = ["algorithm.horizon=12", "problem.radius=3", "delays=[]"]
    return resolve(load("default", [*small, *overrides]), DATA)


def cache_file() -> Path:
    (found,) = (cache_root() / "comparators").iterdir()
    return found


def test_a_comparator_is_certified_to_one_percent_of_the_regret() -> None:
    found = best.comparator(setup(), EASY)
    assert 0 <= found.gap <= 0.01 * (EASY - found.value)
    closer = best.comparator(setup(), HARD)
    assert closer.value - closer.gap <= found.value + 1e-9  # both certificates are about the same minimum
    assert found.value - found.gap <= closer.value + 1e-9


def test_the_second_time_nothing_is_solved(solved: list[Any]) -> None:
    first = best.comparator(setup(), EASY)
    assert best.comparator(setup(), EASY) == first
    assert len(solved) == 1


def test_progress_tells_of_every_certificate(solved: list[Any]) -> None:
    seen: list[Comparator] = []
    found = best.comparator(setup(), HARD, seen.append)
    gaps = [each.gap for each in seen]
    assert gaps == sorted(gaps, reverse=True)
    assert found.value == pytest.approx(seen[-1].value, rel=1e-5)  # in float64 at the end
    seen.clear()
    best.comparator(setup(), HARD, seen.append)
    assert seen == [found]
    assert len(solved) == 1


def test_a_cached_one_that_will_not_do_is_where_the_search_goes_on_from(
    solved: list[Any],
) -> None:
    wide = best.comparator(setup(), EASY)
    before = cache_file().read_bytes()
    narrow = best.comparator(setup(), HARD)
    assert narrow.gap < wide.gap
    assert solved[0] is None
    assert solved[1].shape == (3, 9)
    assert cache_file().read_bytes() != before
    assert best.comparator(setup(), HARD) == narrow
    assert len(solved) == 2


@pytest.mark.parametrize("damage", ["empty", "cut", "other", "bit", "less", "folder"])
def test_a_damaged_file_is_ignored_and_written_anew(solved: list[Any], damage: str) -> None:
    first = best.comparator(setup(), EASY)
    path = cache_file()
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    path.unlink()
    match damage:
        case "folder":
            path.mkdir()
        case "less":
            np.savez(path, value=1.0)
        case _:
            damaged = {"empty": b"", "cut": content[:-40], "other": b"hello", "bit": bytes(flipped)}
            path.write_bytes(damaged[damage])
    assert best.comparator(setup(), EASY) == first
    assert len(solved) == 2
    if damage != "folder":
        best.comparator(setup(), EASY)
        assert len(solved) == 2
    assert list(path.parent.iterdir()) == [path]


def test_where_nothing_can_be_written_it_is_solved_every_time(
    solved: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("here first")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert best.comparator(setup(), EASY) == best.comparator(setup(), EASY)
    assert len(solved) == 2


@pytest.mark.parametrize(
    "override",
    [
        "problem.radius=3.5",
        "problem.batch=3",
        "problem.loss=squared",
        "problem.set=l1_ball",
        "algorithm.stop_after=11",
        "network.agents=7",
        "data.partition=by_class",
        "seed=8",
    ],
)
def test_another_problem_is_another_file(override: str) -> None:
    assert best._path(setup(override)) != best._path(setup())


@pytest.mark.parametrize(
    "override",
    [
        "network.topology=complete",
        "algorithm.name=distributed-dgd",
        "algorithm.horizon=144",
        "delays=[{type: drop}]",
        "name=other",
        "precision=float64",
    ],
)
def test_what_the_best_fixed_point_does_not_depend_on_shares_the_file(override: str) -> None:
    rounds = ["algorithm.stop_after=12"]
    assert best._path(setup(*rounds, override)) == best._path(setup(*rounds))


def test_other_data_are_another_file() -> None:
    other = resolve(setup().scenario, synthetic(600, features=9, classes=3, seed=1))
    assert best._path(other) != best._path(setup())


def test_the_objective_is_the_loss_of_the_rounds_played() -> None:
    given = setup("algorithm.stop_after=5", "problem.batch=3")
    problem = best.objective(given)
    x = np.random.default_rng(0).normal(size=given.feasible.shape).astype(np.float32)
    total = 0.0
    for t in range(1, given.rounds + 1):
        features, labels = given.batches(t)
        Z = x @ features.reshape(-1, features.shape[-1]).T
        total += float(given.loss.value(Z, labels.reshape(-1)))
    assert problem.value(problem.logits(x)) == pytest.approx(total, rel=1e-5)


def test_a_search_holds_no_copy_of_the_data() -> None:
    random = np.random.default_rng(0)
    features = random.integers(256, size=(20_000, 200), dtype=np.uint8)
    data = Dataset("bytes", features, random.integers(3, size=20_000), classes=3, scale=1 / 255)
    given = resolve(load("default", ["algorithm.horizon=2000", "problem.batch=10", "delays=[]"]), data)
    tries = count(1)
    tracemalloc.start()
    try:
        best.find(given, lambda _: next(tries) == 3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert given.rounds * given.n * 10 > len(data)  # all of them are seen
    assert peak < 2 * features.nbytes  # in float32 they would be four times that


@pytest.mark.parametrize("share", [0.5, 0.99, 1.0])
def test_a_search_ends_also_where_the_best_fixed_point_is_beaten_or_met(share: float) -> None:
    optimum = best.comparator(setup(), HARD).value
    cache_file().unlink()
    tries: list[Comparator] = []
    found = best.comparator(setup(), share * optimum, tries.append)
    assert len(tries) < 1000  # the search would give up after 20,000
    assert share == 1 or tries[-1].gap > 0  # and it looks for no more than is asked
    assert found.gap <= 0.011 * max(found.value - share * optimum, 0.01 * optimum)


def test_a_fixed_point_is_scored_round_by_round() -> None:
    setup = tiny.setup(precision="float32")
    point = np.random.default_rng(1).normal(size=setup.feasible.shape)
    losses = best.losses(setup, point)
    for t in range(1, setup.rounds + 1):
        features, labels = setup.batches(t)
        samples = features.reshape(-1, features.shape[-1]).astype(np.float64)
        expected = setup.loss.value(point @ samples.T, labels.reshape(-1))
        assert losses[t - 1] == pytest.approx(float(expected), abs=1e-4)
    assert best.losses(first_rounds(setup, 3), point).tolist() == losses[:3].tolist()
