"""Run scenarios: one here, or many on all cores; each on one BLAS thread, so that results repeat."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from edgefw import best
from edgefw.core.agent import ALGORITHMS
from edgefw.core.regret import Comparator, cumulative_loss
from edgefw.delays.book import ArrivalBook, unused
from edgefw.errors import EdgefwError
from edgefw.experiments import interrupts, script
from edgefw.records import PlayRow, Summary, score
from edgefw.scenario.data import Data
from edgefw.scenario.setup import Setup, load_data, resolve
from edgefw.simulator import Trace, arrived, simulate

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

    from edgefw.core.comparator import Solution
    from edgefw.problem.dataset import Dataset
    from edgefw.scenario.model import Scenario

_WORTH_THREADS = 10**8  # numbers in a product, from which on BLAS threads gain more than they cost

Progress = Callable[[int], None]  # called with the number of rounds played so far, over all runs


@dataclass(frozen=True, eq=False)
class Outcome:
    """A simulated run: its scenario and its losses."""

    scenario: Scenario
    trace: Trace
    wall_seconds: float


def run(setup: Setup, progress: Progress | None = None) -> Outcome:
    """Simulate a setup here and now."""
    with threadpool_limits(1):
        begin = time.perf_counter()
        trace = simulate(setup, progress)
        seconds = time.perf_counter() - begin
    _check_finite(trace)
    return Outcome(setup.scenario, trace, seconds)


def _check_finite(trace: Trace) -> None:
    wrong = ~np.isfinite(trace.global_loss).all(axis=1)
    if wrong.any():
        raise EdgefwError(
            f"the losses of round {wrong.argmax() + 1} are not finite: "
            "lower problem.radius or algorithm.rate, or set precision=float64"
        )


def run_all(
    scenarios: Sequence[Scenario], progress: Progress | None = None, jobs: int | None = None
) -> list[Outcome]:
    """Simulate many scenarios, `jobs` at a time (as many as there are cores); outcomes in the same order."""
    return [outcome for _, outcome in sorted(as_they_end(scenarios, progress, jobs), key=itemgetter(0))]


def as_they_end(
    scenarios: Sequence[Scenario], progress: Progress | None = None, jobs: int | None = None
) -> Iterator[tuple[int, Outcome]]:
    """Simulate many scenarios; yield the place of each and its outcome as soon as it has ended."""
    workers = min(jobs or _cores(), len(scenarios))
    if workers <= 1:
        yield from enumerate(_one_by_one(scenarios, progress))
        return
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, context, initializer=_share, initargs=(counter,)) as pool:
        try:
            futures = _submit(pool, scenarios)
            yield from _follow({future: place for place, future in enumerate(futures)}, counter, progress)
        except BrokenProcessPool:
            raise EdgefwError("a simulation process died (out of memory?): try again with --jobs 1") from None
        except BaseException:  # also Ctrl-C: do not wait for runs that nobody will look at
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def best_point(setup: Setup, outcome: Outcome, progress: best.Progress | None = None) -> Solution:
    """Return the point, with its certified comparator, that the outcome's regret is measured against."""
    return best_point_for(setup, float(cumulative_loss(outcome.trace.global_loss).max()), progress)


def best_point_for(setup: Setup, worst_loss: float, progress: best.Progress | None = None) -> Solution:
    """Return it for a run of which max_i sum_t F_t(x_t^i) is known."""
    samples = min(len(setup.dataset), setup.rounds * setup.n * setup.scenario.problem.batch)
    small = samples * setup.feasible.size < _WORTH_THREADS
    with threadpool_limits(
        1 if small else None
    ):  # threads that wait for each other can cost twenty times more
        return best.solution(setup, worst_loss, progress)


def summarise(setup: Setup, outcome: Outcome, found: Comparator | None) -> Summary:
    """Return the summary of a simulated run.

    Nothing travels in a simulation: `messages` are those that the algorithm would send.
    """
    algorithm = ALGORITHMS[setup.scenario.algorithm.name]
    messages = 2 * len(setup.graph.edges) * algorithm.exchanges(len(setup.steps)) * setup.rounds
    return Summary(
        mode="simulate",
        rounds=setup.rounds,
        unused=int(unused(setup.delays).sum()),
        messages=messages,
        bytes=messages * setup.frame_bytes,
        wire_bytes=None,
        wall_seconds=outcome.wall_seconds,
        pace_asked=None,
        pace_reached=None,
        pace_kept=None,
        missed_ticks=None,
        **setup.facts(),
        **score(outcome.trace.global_loss, setup.total_delay.tolist(), found),
    )


def rows(setup: Setup, outcome: Outcome) -> Iterator[PlayRow]:
    """Yield the rows of a simulated run, as an emulated one would record them (but for the plays)."""
    book = ArrivalBook(setup.delays)
    outstanding = np.zeros(setup.n, dtype=np.int64)
    for t in range(1, setup.rounds + 1):
        arrivals = arrived(book, t - 1)
        outstanding += 1
        for i in range(setup.n):
            came = tuple(arrivals.get(i, ()))
            outstanding[i] -= len(came)
            local, network = outcome.trace.local_loss[t - 1, i], outcome.trace.global_loss[t - 1, i]
            yield PlayRow(t, i, float(local), float(network), came, int(outstanding[i]))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_counter: Synchronized[int] | None = None  # in a worker: rounds played by all workers together


def _share(counter: Synchronized[int]) -> None:
    """Begin a worker."""
    global _counter  # noqa: PLW0603 - a pool has no other way to hand its workers shared memory
    _counter = counter
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Do not outlive the process that wants the result, however it ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _submit(pool: ProcessPoolExecutor, scenarios: Sequence[Scenario]) -> list[Future[Outcome]]:
    """Hand out the work, which starts the workers."""
    with interrupts.put_off(), script.unread():
        return [pool.submit(_work, scenario) for scenario in scenarios]


def _work(scenario: Scenario) -> Outcome:
    return run(_setup(scenario), _count)


def _setup(scenario: Scenario) -> Setup:
    return resolve(scenario, _data(scenario.data.model_dump_json(), scenario.seed))


@lru_cache(maxsize=1)
def _data(data: str, seed: int) -> Dataset:
    """Load a data set once for all the runs of this process that share it and come one after the other."""
    return load_data(Data.model_validate_json(data), seed)


def _count(_t: int) -> None:
    if _counter is not None:
        with _counter.get_lock():
            _counter.value += 1


def _follow(
    places: Mapping[Future[Outcome], int], counter: Synchronized[int], progress: Progress | None
) -> Iterator[tuple[int, Outcome]]:
    """Yield outcomes as they come, with their places, and report progress; raise what one has failed with."""
    waiting = set(places)
    while waiting:
        done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
        if progress is not None:
            progress(counter.value)
        for future in done:
            yield places[future], future.result()


def _one_by_one(scenarios: Sequence[Scenario], progress: Progress | None) -> Iterator[Outcome]:
    done = 0  # rounds of the runs before

    def count(t: int) -> None:
        if progress is not None:
            progress(done + t)

    for scenario in scenarios:
        yield run(_setup(scenario), count)
        done += scenario.algorithm.rounds
