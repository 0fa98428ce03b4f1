"""The best fixed point of a run, solved once and kept: comparators cached on disk by what they depend on."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from edgefw.core.comparator import Enough, Objective, Solution, certify, solve
from edgefw.core.regret import Comparator
from edgefw.problem.datasets import cache_root
from edgefw.problem.stream import played

if TYPE_CHECKING:
    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.setup import Setup

SHARE = 0.01  # of the network regret: how small the certificate's gap has to be
Progress = Callable[[Comparator], None]


def objective(setup: Setup) -> Objective:
    """Return sum_t F_t over the rounds played: every sample once, with how often it was seen.

    The features stay in the data set, as bytes where they are bytes there.
    """
    index, count = played(setup.streams, setup.rounds)
    weights = (count / (setup.n * setup.scenario.problem.batch)).astype(np.float32)
    return Objective(
        setup.loss,
        lambda part, dtype: setup.dataset.rows(index[part], dtype),
        setup.dataset.labels[index].astype(np.int64),
        weights,
    )


def comparator(setup: Setup, worst_loss: float, progress: Progress | None = None) -> Comparator:
    """Return a comparator whose gap is at most 1 % of the regret of `worst_loss`, from the cache or solved.

    A cached one with a wider gap is where the search goes on from.
    """

    def enough(found: Comparator) -> bool:
        if progress is not None:
            progress(found)
        # A regret may be negative. The gap bounds the error of the value: no bad point passes by its size.
        return found.gap <= SHARE * abs(worst_loss - found.value)

    return find(setup, enough).comparator


def find(setup: Setup, enough: Enough, start: Real | None = None) -> Solution:
    """Return the best point that a search until `enough` finds, certified, from the cache or solved.

    The search starts from the cached point, else from `start`, and never ends with less than was known.
    """
    path = _path(setup)
    known = _read(path)
    if known is not None and enough(known.comparator):
        return known
    with threadpool_limits(1):  # products of a block are too short to be shared out
        solution = _search(setup, enough, start, known)
    _write(path, solution)
    return solution


def _search(setup: Setup, enough: Enough, start: Real | None, known: Solution | None) -> Solution:
    problem = objective(setup)
    solution = solve(problem, setup.feasible, enough, start=start if known is None else known.point)
    if known is not None and _lower_bound(known) > _lower_bound(solution):
        solution.bound_point = known.bound_point
    solution.comparator = certify(problem, setup.feasible, solution)
    return solution


def _lower_bound(solution: Solution) -> float:
    return solution.comparator.value - solution.comparator.gap


def _path(setup: Setup) -> Path:
    """Return the cache file of exactly this problem.

    The samples seen and how often say it all: seeds, partitions and agents that lead to the same share it.
    """
    index, count = played(setup.streams, setup.rounds)
    problem = setup.scenario.problem
    key = hashlib.sha256(setup.dataset.digest.encode())
    key.update(index.tobytes() + count.tobytes())
    key.update(f"{setup.n * problem.batch} {problem.loss} {problem.set} {problem.radius!r}".encode())
    return cache_root() / "comparators" / f"{key.hexdigest()[:32]}.npz"


def _read(path: Path) -> Solution | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            found = Comparator(float(stored["value"]), float(stored["gap"]))
            return Solution(stored["point"], found, int(stored["iterations"]), stored["bound_point"])
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None  # not there, or not whole: it is only a cache


def _write(path: Path, solution: Solution) -> None:
    """Keep a solution, whole or not at all; where nothing can be written it will be solved again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".", ignore_cleanup_errors=True) as scratch:
            partial = Path(scratch) / path.name
            np.savez(
                partial,
                value=solution.comparator.value,
                gap=solution.comparator.gap,
                iterations=solution.iterations,
                point=solution.point,
                bound_point=solution.bound_point,
            )
            partial.replace(path)
