"""The best fixed point of a run, solved once and kept: comparators cached on disk by what they depend on."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from edgefw.core.comparator import Enough, Objective, Solution, certify, solve
from edgefw.core.regret import Comparator, global_losses
from edgefw.problem.datasets import cache_root
from edgefw.problem.stream import played
from edgefw.scenario.extensions import origins

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        setup.dataset.labels[index],
        weights,
    )


def losses(setup: Setup, point: Real) -> NDArray[np.float64]:
    """Return F_t of one point (C, m) in every round, (rounds,)."""
    x = point.astype(setup.dtype)
    return np.array(
        [global_losses(setup.loss, [x], *setup.batches(t))[0] for t in range(1, setup.rounds + 1)]
    )


def comparator(setup: Setup, worst_loss: float, progress: Progress | None = None) -> Comparator:
    """Return the comparator of `solution`."""
    return solution(setup, worst_loss, progress).comparator


def solution(setup: Setup, worst_loss: float, progress: Progress | None = None) -> Solution:
    """Return a point whose gap is at most 1 % of the regret of `worst_loss`, from the cache or solved.

    A cached one with a wider gap is where the search goes on from.
    """

    def enough(found: Comparator) -> bool:
        if progress is not None:
            progress(found)
        # A regret may be negative. The gap bounds the error of the value: no bad point passes by its size.
        return found.gap <= SHARE * abs(worst_loss - found.value)

    return find(setup, enough)


def find(setup: Setup, enough: Enough, start: Real | None = None) -> Solution:
    """Return the best point that a search until `enough` finds, certified, from the cache or solved.

    The search starts from the cached point, else from `start`, and never ends with less than was known.
    """
    path = _path(setup)
    known = _read(path)
    if known is not None and enough(known.comparator):
        return known
    with threadpool_limits(1):  # products of a block are too short to be shared out
        found = _search(setup, enough, start, known)
    _write(path, found)
    return found


def _search(setup: Setup, enough: Enough, start: Real | None, known: Solution | None) -> Solution:
    problem = objective(setup)
    found = solve(problem, setup.feasible, enough, start=start if known is None else known.point)
    if known is not None and _lower_bound(known) > _lower_bound(found):
        found.bound_point = known.bound_point
    found.comparator = certify(problem, setup.feasible, found)
    return found


def _lower_bound(solution: Solution) -> float:
    return solution.comparator.value - solution.comparator.gap


def _path(setup: Setup) -> Path:
    """Return the cache file of exactly this problem."""
    return cache_root() / "comparators" / f"{problem_key(setup)}.npz"


def problem_key(setup: Setup) -> str:
    """Return what two runs share that have the same best fixed point.

    The samples seen and how often say it all: seeds, partitions and agents that lead to the same share it.
    """
    index, count = played(setup.streams, setup.rounds)
    problem = setup.scenario.problem
    key = hashlib.sha256(setup.dataset.digest.encode())
    key.update(index.tobytes() + count.tobytes())
    key.update(f"{setup.n * problem.batch} {problem.loss} {problem.set} {problem.radius!r}".encode())
    if problem.loss_params or problem.set_params:
        key.update(json.dumps([problem.loss_params, problem.set_params], sort_keys=True).encode())
    for field in ("problem.loss", "problem.set"):  # of another package: another version may be another one
        key.update(str(origins(setup.scenario).get(field, "")).encode())
    return key.hexdigest()[:32]


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
