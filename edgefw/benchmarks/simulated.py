"""What the simulator costs, in units that carry over to another machine: passes over its own arrays."""

from __future__ import annotations

import multiprocessing
import resource
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from edgefw.benchmarks.measure import BenchResult, Progress, UnitCost, in_turn, quiet
from edgefw.delays.book import ArrivalBook
from edgefw.scenario.load import load
from edgefw.scenario.setup import Setup, resolve
from edgefw.simulator import De2mfwNetwork, arrived, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

WARM_UP, ROUNDS, PASSES = 10, 16, 40  # before anything is measured; in each measurement
TOPOLOGIES = ("cycle", "grid", "complete", "erdos_renyi")
FLOOR = "one pass over the oracle sums"


def measure(repeats: int, progress: Progress = quiet) -> BenchResult:
    """Measure rounds of the published distributed setting and passes over its sums in turn, on one core."""
    with threadpool_limits(1):
        networks = {topology: Simulated(topology, repeats) for topology in TOPOLOGIES}
        floor = next(iter(networks.values()))
        things = {FLOOR: floor.pass_cost} | {
            f"a round, {topology}": network.round_cost for topology, network in networks.items()
        }
        measured = in_turn(things, repeats, progress)
    peak = peak_memory()
    return BenchResult(
        "simulate",
        "a simulated round: 30 agents, dimension 7,840, K = 32, float32, one core",
        "round or pass",
        tuple(measured.values()),
        tuple(thing.beside(measured[FLOOR]) for name, thing in measured.items() if name != FLOOR),
        {"peak_megabytes": peak},
        (f"peak memory of a run with 20 agents drawn to be 501 rounds late, T = 1000: {peak:.0f} MB",),
    )


class Simulated:
    """A simulated network that goes on from one measurement to the next."""

    def __init__(self, topology: str, repeats: int) -> None:
        rounds = WARM_UP + repeats * ROUNDS
        overrides = {
            "network.topology": topology,
            "delays": [],
            "algorithm.stop_after": rounds,
            "data.source": "auto",
        }
        setup = resolve(load("paper-distributed", overrides))
        self._network, self._book, self._t = De2mfwNetwork(setup), ArrivalBook(setup.delays), 0
        self._sums = np.zeros((len(setup.steps), setup.n, *setup.feasible.shape), dtype=setup.dtype)
        self._play(WARM_UP)
        self.pass_cost()

    def round_cost(self) -> UnitCost:
        """Return what a round costs."""
        return _cost(partial(self._play, ROUNDS), ROUNDS)

    def pass_cost(self) -> UnitCost:
        """Return what an in-place pass over the oracle sums costs, of passes that follow each other at once.

        Cold ones, between rounds, take twice as long and would flatter us.
        """
        return _cost(self._pass, PASSES)

    def _play(self, rounds: int) -> None:
        for _ in range(rounds):
            self._t += 1
            self._network.sweep(self._t, arrived(self._book, self._t - 1))

    def _pass(self) -> None:
        for _ in range(PASSES):
            np.add(self._sums, self._sums.dtype.type(1e-9), out=self._sums)


def _cost(work: Callable[[], None], times: int) -> UnitCost:
    begin, used = perf_counter(), process_time()
    work()
    return UnitCost((perf_counter() - begin) / times, (process_time() - used) / times)


def peak_memory() -> float:
    """Return the peak megabytes of a process that runs f = 20, delay 501, T = 1000, data included."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(_simulate_and_weigh).result()


def _simulate_and_weigh() -> float:
    setup: Setup = resolve(load("paper-distributed", ["data.source=auto"]))
    with threadpool_limits(1):
        simulate(setup)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
