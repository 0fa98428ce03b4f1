"""Whatever an agent reports: it is recorded, or refused with a reason; the observer goes on."""

from __future__ import annotations

import asyncio
import math
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc
import numpy as np
import playback
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from edgefw.core.messages import Score
from edgefw.problem.feasible import NAMES as SETS
from edgefw.problem.loss import NAMES as LOSSES
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.observer.attendance import Attendance
from edgefw.services.observer.ledger import Ledger, Reported
from edgefw.services.observer.recording import Recorder
from edgefw.services.observer.scoring import largest_play
from edgefw.services.observer.streams import Expected, ReportServicer
from edgefw.telemetry.metrics import ObserverMetrics
from edgefw.transport.codec import encode_array
from edgefw.transport.memory import MemoryNetwork
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc, tensor_pb2

ROUNDS = 5
Status = grpc.StatusCode


@cache
def setup_of(loss: str, set_: str) -> Setup:
    """Return a lone learner's run."""
    return resolve(
        playback.scenario(
            network={"agents": 1, "topology": "complete"},
            algorithm={"horizon": ROUNDS, "name": "delmfw"},
            problem={"loss": loss, "set": set_, "radius": 3.0, "batch": 2},
            delays=[],
        )
    )


WIDE = st.floats(width=32, allow_nan=False, allow_infinity=False)
COUNTS = st.sampled_from([0, 1, 2**31, 2**32 - 1])
HUGE_COUNTS = COUNTS | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1])


def points(setup: Setup) -> st.SearchStrategy[tuple[Any, ...]]:
    """Plays of every size, and bytes that are none, as `array` takes them: in few words."""
    far = st.floats(-1, 5).map(lambda power: setup.feasible.radius * 10**power)
    few = st.dictionaries(st.integers(0, setup.feasible.size - 1), WIDE, max_size=3)
    some = st.binary(max_size=8)
    return st.one_of(
        st.tuples(st.just("full"), WIDE | far),
        st.tuples(st.just("few"), few),
        st.tuples(st.just("repeated"), st.sampled_from([b"\x7e", b"\x7f", b"\xff"])),
        st.tuples(st.just("dense"), some),
        st.tuples(st.just("sparse"), some, some),
    )


def array(shape: tuple[int, int], kind: str, *what: Any) -> tensor_pb2.Array:
    """Return a play as a message."""
    if kind == "full":
        return encode_array(np.full(shape, what[0], dtype=np.float32))
    if kind == "few":
        flat = np.zeros(math.prod(shape), dtype=np.float32)
        flat[list(what[0])] = list(what[0].values())
        return encode_array(flat.reshape(shape))
    if kind == "sparse":
        sparse = tensor_pb2.SparseTensor(shape=shape, index=what[0], value=what[1])
        return tensor_pb2.Array(sparse=sparse)
    data = what[0] * 4 * math.prod(shape) if kind == "repeated" else what[0]
    return tensor_pb2.Array(dense=tensor_pb2.Tensor(shape=shape, data=data))


@st.composite
def hostile(draw: st.DrawFn) -> tuple[str, str, list[dict[str, Any]]]:
    """A loss and a set, and for each of a run's rounds what the report of it says otherwise."""
    loss, set_ = draw(st.sampled_from(LOSSES)), draw(st.sampled_from(SETS))
    setup = setup_of(loss, set_)
    changes = st.fixed_dictionaries(
        {},
        optional={
            "point": points(setup),
            "local_loss": st.floats(),
            "arrivals": st.lists(COUNTS, max_size=3),
            "outstanding": COUNTS,
            "messages": HUGE_COUNTS,
            "bytes": HUGE_COUNTS,
        },
    )
    return loss, set_, draw(st.lists(changes, min_size=1, max_size=ROUNDS))


class Desk:
    """A servicer before a ledger and a recorder, as in an observer; a round is recorded when it is taken."""

    def __init__(self, setup: Setup, folder: Any) -> None:
        self.ledger, self.recorder = Ledger(setup.n, ROUNDS, 4 * setup.feasible.size), Recorder(setup, folder)
        self.metrics = ObserverMetrics(CollectorRegistry())
        self.servicer = ReportServicer(
            Expected("run", setup.n, setup.feasible.shape, largest_play(setup)),
            self.take,
            lambda _: None,
            self.metrics,
            lambda *_: asyncio.sleep(0),
            Attendance(setup.n, lambda: 0.0),
            lambda *_: asyncio.sleep(0),
        )

    def take(self, report: Reported) -> Score:
        self.ledger.take(report)
        self.recorder.record(self.ledger.ready(), {})
        return Score(report.round, 1.0, 1.0, None, None)

    async def say(self, *messages: Any) -> list[grpc.StatusCode]:
        """Send reports, each over a stream of its own; return how these end."""
        network = MemoryNetwork()
        server = network.listener()
        observer_service_pb2_grpc.add_ObserverServiceServicer_to_server(self.servicer, server)
        port = await server.listen("here:0")
        async with network.open_channel(f"here:{port}") as channel:
            ends = [await _say(channel, message) for message in messages]
        await server.stop(0)
        return ends


async def _say(channel: Any, message: Any) -> grpc.StatusCode:
    reporter = await playback.Reporter(channel, 0, "run").open()
    await reporter.report(message)
    await reporter.call.done_writing()
    return (await reporter.refusal())[0]


def messages(setup: Setup, changes: list[dict[str, Any]]) -> list[Any]:
    """Return a report of every round as it should be, and before it one with changes."""
    reports, shape = [], setup.feasible.shape
    for t, change in enumerate(changes, start=1):
        right: dict[str, Any] = {"round": t, "point": array(shape, "full", 0.0), "local_loss": 1.0}
        wrong = {key: array(shape, *value) if key == "point" else value for key, value in change.items()}
        reports += [pb.PlayReport(**(right | wrong)), pb.PlayReport(**right)]
    return reports


@settings(deadline=None, max_examples=50)
@given(hostile())
def test_a_report_is_recorded_or_refused(given_: tuple[str, str, list[dict[str, Any]]]) -> None:
    loss, set_, changes = given_
    setup = setup_of(loss, set_)
    with TemporaryDirectory() as path:
        folder = playback.new_folder(Path(path) / "run", setup.scenario)
        desk = Desk(setup, folder)
        ends = asyncio.run(desk.say(*messages(setup, changes)))
        desk.recorder.close()
        rows = folder.rows()
    assert set(ends) <= {Status.OK, Status.INVALID_ARGUMENT, Status.ALREADY_EXISTS}
    # where the wrong report was refused the right one was taken, where it was taken the right one may differ
    assert all(Status.OK in pair for pair in zip(ends[::2], ends[1::2], strict=True))
    assert [row.round for row in rows] == list(range(1, len(changes) + 1))
    assert all(math.isfinite(row.global_loss) and math.isfinite(row.local_loss) for row in rows)
