"""What the simulator costs, in units that carry over to another machine: passes over its own arrays."""

from __future__ import annotations

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from edgefw.delays.book import ArrivalBook
from edgefw.scenario.load import load
from edgefw.scenario.setup import Setup, resolve
from edgefw.simulator import De2mfwNetwork, arrived, simulate

ROUNDS, WARM_UP, PASSES = 80, 10, 40
TOPOLOGIES = ("cycle", "grid", "complete", "erdos_renyi")


@dataclass(frozen=True)
class RoundCost:
    """The median cost of a simulated round, and of one in-place pass over the oracle sums beside it."""

    topology: str
    round_seconds: float
    pass_seconds: float

    @property
    def passes(self) -> float:
        """How many passes a round costs."""
        return self.round_seconds / self.pass_seconds


def round_cost(topology: str) -> RoundCost:
    """Time rounds of the published distributed setting on one core, and passes before and after them.

    The passes follow each other at once: cold ones, between rounds, take twice as long and would flatter us.
    """
    stop = ROUNDS + WARM_UP
    overrides = [
        f"network.topology={topology}",
        "delays=[]",
        f"algorithm.stop_after={stop}",
        "data.source=auto",
    ]
    setup = resolve(load("paper-distributed", overrides))
    sums = np.zeros((len(setup.steps), setup.n, *setup.feasible.shape), dtype=setup.dtype)
    rounds: list[float] = []
    with threadpool_limits(1):
        passes = [_one_pass(sums) for _ in range(PASSES)]
        network, book = De2mfwNetwork(setup), ArrivalBook(setup.delays)
        for t in range(1, stop + 1):
            begin = time.perf_counter()
            network.sweep(t, arrived(book, t - 1))
            rounds.append(time.perf_counter() - begin)
        passes += [_one_pass(sums) for _ in range(PASSES)]
    return RoundCost(topology, float(np.median(rounds[WARM_UP:])), float(np.median(passes)))


def peak_memory() -> float:
    """Return the peak megabytes of a process that runs f = 20, delay 501, T = 1000, data included."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(_simulate_and_weigh).result()


def _one_pass(sums: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> float:
    begin = time.perf_counter()
    np.add(sums, sums.dtype.type(1e-9), out=sums)
    return time.perf_counter() - begin


def _simulate_and_weigh() -> float:
    setup: Setup = resolve(load("paper-distributed", ["data.source=auto"]))
    with threadpool_limits(1):
        simulate(setup)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
