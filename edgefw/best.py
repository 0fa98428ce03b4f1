"""The best fixed point of a run, solved once and kept: comparators cached on disk by what they depend on."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.comparator import Objective, Solution, certify, solve
from edgefw.core.regret import Comparator
from edgefw.problem.datasets import cache_root
from edgefw.problem.stream import played

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup

SHARE = 0.01  # of the network regret: how small the certificate's gap has to be
Progress = Callable[[Comparator], None]


def objective(setup: Setup) -> Objective:
    """Return sum_t F_t over the rounds played: every sample once, with how often it was seen."""
    index, count = played(setup.streams, setup.rounds)
    weights = (count / (setup.n * setup.scenario.problem.batch)).astype(np.float32)
    return Objective(
        setup.loss,
        setup.dataset.rows(index, np.float32),
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
        return found.gap <= SHARE * max(worst_loss - found.value, 0.0)

    path = _path(setup)
    known = _read(path)
    if known is not None and enough(known.comparator):
        return known.comparator
    problem = objective(setup)
    start = None if known is None else known.point
    solution = solve(problem, setup.feasible, enough, start=start)
    solution.comparator = certify(problem, setup.feasible, solution)
    _write(path, solution)
    return solution.comparator


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
        with np.load(path, allow_pickle=False) as stored:
            found = Comparator(float(stored["value"]), float(stored["gap"]))
            return Solution(stored["point"], found, int(stored["iterations"]), stored["bound_point"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None  # not there, or not whole: it is only a cache


def _write(path: Path, solution: Solution) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, suffix=".partial", delete=False) as partial:
        np.savez(
            partial,
            value=solution.comparator.value,
            gap=solution.comparator.gap,
            iterations=solution.iterations,
            point=solution.point,
            bound_point=solution.bound_point,
        )
    Path(partial.name).replace(path)
