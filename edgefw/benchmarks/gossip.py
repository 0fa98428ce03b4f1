"""Full rounds of a network of processes, beside bare streams that carry as many messages.

Two floors: what the plain two-block algorithm would send (2 K exchanges of dense iterates or trackers), and
our own frames (K exchanges; those of agent 0 in the last warm-up round). Both know no learning at all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from edgefw.benchmarks.bare_streams import Bare
from edgefw.benchmarks.measure import BenchResult, Costs, Progress, UnitCost, in_turn, quiet
from edgefw.benchmarks.services import Services, rounds_cost
from edgefw.benchmarks.setting import CLASSES, BenchNetwork
from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, Frame, Play, observe
from edgefw.local.ports import loopback_places
from edgefw.scenario.setup import resolve
from edgefw.transport.frames import encode_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.core.algorithm import Agent

DENSE, FRAMES, OURS = "bare streams, two-block messages", "bare streams, our frames", "edgefw"
END_SECONDS = 600.0


def measure(network: BenchNetwork, repeats: int, progress: Progress = quiet) -> BenchResult:
    """Measure floors and ours in turn."""
    apart: list[Services] = []

    def ours() -> UnitCost:
        cost, services = rounds_cost(network)
        apart.append(services)
        return cost

    with tempfile.TemporaryDirectory(prefix="edgefw-bench-") as folder:
        dense, frames = Path(folder, "dense"), Path(folder, "frames")
        _keep(dense, _dense(network))
        _keep(frames, _frames(network))
        things = {
            DENSE: lambda: bare_cost(network, dense),
            FRAMES: lambda: bare_cost(network, frames),
            OURS: ours,
        }
        return _result(network, in_turn(things, repeats, progress), apart)


def _result(network: BenchNetwork, measured: Mapping[str, Costs], apart: Sequence[Services]) -> BenchResult:
    ours = measured[OURS]
    ratios = ours.beside(measured[DENSE]), ours.beside(measured[FRAMES])
    kinds = {
        "agents": median(each.agents for each in apart),
        "broker": median(each.broker for each in apart),
        "observer": median(each.observer for each in apart),
        "comparator": median(each.helpers for each in apart),
    }
    own = 1 - 1 / ratios[1].cpu.middle
    parts = ", ".join(f"{name} {seconds * 1e3:.0f} ms" for name, seconds in kinds.items())
    return BenchResult(
        "gossip",
        f"a full round: {network.words}, as fast as it goes",
        "round",
        tuple(measured.values()),
        ratios,
        {**{f"{name}_cpu_seconds": seconds for name, seconds in kinds.items()}, "own_share_of_cpu": own},
        (
            f"processor of a round by kind of service: {parts} (the comparator's is not in the sum)",
            f"{own:.0%} of our processor time is not that of streams which carry the same frames",
        ),
    )


def bare_cost(network: BenchNetwork, messages: Path) -> UnitCost:
    """Return what a round of bare processes costs which send the messages in a folder."""
    graph = resolve(network.scenario(1)).graph
    with loopback_places(network.agents) as places:
        addresses = [place.address for place in places.agents]
        told = [
            Bare(i, addresses, sorted(graph.neighbours(i)), str(messages), network.warm_up, network.rounds)
            for i in range(network.agents)
        ]
        taken = _run_all([each.to_json() for each in told])
    wall, cpu = max(each["wall"] for each in taken), sum(each["cpu"] for each in taken)
    return UnitCost(wall / network.rounds, cpu / network.rounds)


def _run_all(arguments: Sequence[str]) -> list[dict[str, float]]:
    command = [sys.executable, "-m", "edgefw.benchmarks.bare_streams"]
    bare = {**os.environ, "no_grpc_proxy": "127.0.0.1,localhost", "GRPC_VERBOSITY": "NONE"}
    running = [
        subprocess.Popen([*command, each], stdout=subprocess.PIPE, text=True, env=bare)  # noqa: S603
        for each in arguments
    ]
    try:
        said = [process.communicate(timeout=END_SECONDS)[0] for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    return [json.loads(each.splitlines()[-1]) for each in said]


def _dense(network: BenchNetwork) -> list[bytes]:
    """Return what the plain algorithm sends in a round: every iterate, then every tracker, dense."""
    values = np.random.default_rng(0).random(network.features * CLASSES, dtype=np.float32)
    return [values.tobytes()] * (2 * network.steps)


def _frames(network: BenchNetwork) -> list[bytes]:
    """Return the frames that agent 0 sends in the last warm-up round."""
    setup = resolve(network.scenario(network.warm_up))
    heard = _Heard(setup.agents()[0])
    agents: list[Agent] = [heard, *setup.agents()[1:]]
    arrivals: dict[int, list[Feedback]] = {}
    for t in range(1, network.warm_up + 1):
        heard.frames.clear()
        plays = sweep(agents, t, arrivals)
        features, labels = setup.batches(t)
        arrivals = {i: [observe(setup.loss, play, features[i], labels[i])[1]] for i, play in enumerate(plays)}
    return [encode_frame(frame).data for frame in heard.frames]


class _Heard:
    """An agent whose frames are kept."""

    def __init__(self, core: Agent) -> None:
        self._core, self.frames = core, list[Frame]()
        self.agent, self.neighbours, self.applied = core.agent, core.neighbours, 0

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        self.frames.append(self._core.start_sweep(t, arrivals))
        return self.frames[-1]

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        step = self._core.advance(frames)
        if isinstance(step, Frame):
            self.frames.append(step)
        return step


def _keep(folder: Path, messages: Sequence[bytes]) -> None:
    folder.mkdir()
    for number, message in enumerate(messages):
        (folder / f"{number:04}").write_bytes(message)
