"""The observer: scores every play, keeps the record of the run, tells each agent its regret."""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import threadpool_limits

from edgefw.errors import InputError
from edgefw.records import RunFolder, Summary, score, unused
from edgefw.scenario.load import dump, from_environment, load
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.network.prepare import check_emulable, pace_seconds, pin
from edgefw.services.observer.accounts import Accounts
from edgefw.services.observer.attendance import Attendance
from edgefw.services.observer.comparator import ComparatorProcess
from edgefw.services.observer.joining import Joining
from edgefw.services.observer.ledger import Ledger, Reported, lateness
from edgefw.services.observer.recording import Recorder, progress, restore
from edgefw.services.observer.scoring import Certificate, RoundScore, Scoreboard, largest_play
from edgefw.services.observer.streams import SERVICE_NAME, Expected, ReportServicer
from edgefw.services.observer.watch import Watch
from edgefw.services.runtime import Server, Stop, run_service
from edgefw.telemetry.metrics import ObserverMetrics, new_registry
from edgefw.transport.channel import GRPC
from edgefw.v1 import observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.core.account import Entry
    from edgefw.core.messages import Score
    from edgefw.core.regret import Comparator
    from edgefw.services.config import Place
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

LAST_ACCOUNT = 3.0  # seconds that the broker gets, when the last round is recorded, to tell the rest
T = TypeVar("T")


@dataclass(frozen=True)
class ObserverConfig:
    """What an observer is started with.

    `out` is the folder of the one run that it observes; else it makes folders in `runs`, one after the other:
    a service that comes back without its memory starts the run anew, for all.
    """

    scenario: str | None  # a file or a name; None: the text is in the environment
    listen: Place
    out: Path | None = None
    runs: Path | None = None
    stay: bool = False
    transport: Transport = GRPC


def run(config: ObserverConfig) -> int:
    """Run the observer's process; return its exit code."""

    async def service(stop: Stop) -> None:
        await serve(config, stop)

    with threadpool_limits(1):  # the scores are to be the same, bit for bit, when they are replayed
        return run_service("observer", service)


async def serve(config: ObserverConfig, stop: Stop) -> None:
    """Observe a run from its first report to its summary; and the next one, should it be started anew."""
    scenario = from_environment() if config.scenario is None else load(config.scenario)
    check_emulable(scenario)
    setup = resolve(scenario)
    attendance = Attendance(setup.n, asyncio.get_running_loop().time)
    if config.out is not None:
        folder = RunFolder.adopt(config.out, dump(scenario))
        if load(str(folder.scenario_path)).digest != scenario.digest:
            raise InputError(f"{config.out} is the folder of another scenario than {config.scenario}")
        await Observer(setup, folder, attendance).serve(config, stop)
        return
    setup = pin(setup)
    while not stop.is_set():
        folder = RunFolder.create(unused(config.runs or Path("runs"), scenario.name), dump(setup.scenario))
        observer = Observer(setup, folder, attendance, anew=True)
        await observer.serve(config, stop)
        if not observer.ended_early:
            return


class Observer:
    """One run, as it is observed. Its event loop takes reports; what takes time is done on a thread."""

    def __init__(
        self, setup: Setup, folder: RunFolder, attendance: Attendance, *, anew: bool = False
    ) -> None:
        self._setup, self._folder, self._attendance = setup, folder, attendance
        self._now = asyncio.get_running_loop().time
        self._over = asyncio.Event()  # told to stop, or the run is to start anew
        identity = f"{setup.scenario.digest}/{folder.path.resolve().name}"
        self._joining = Joining(setup, identity, attendance, self._over.set if anew else None)
        self._registry = new_registry("observer")
        self._metrics = ObserverMetrics(self._registry)
        self._ledger = Ledger(setup.n, setup.rounds, setup.feasible.size * setup.dtype.itemsize)
        self._board = Scoreboard(setup.n, setup.rounds)
        self._watch = Watch(self._ledger, attendance, pace_seconds(setup.scenario), self._now)
        self._watch.show(self._metrics)
        self._accounts = Accounts(identity, setup.n, setup.rounds, self._keep_account)
        self._streams = ReportServicer(
            Expected(identity, setup.n, setup.feasible.shape, largest_play(setup)),
            self._take,
            self._metrics,
            self._joining.serve,
            attendance,
            self._accounts.serve,
        )
        self._recorder = Recorder(setup, folder)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recorder")
        self._news = asyncio.Event()  # a report has come, or the end
        self._stopping = False
        self._flagged: set[int] = set()
        self._wall_before = 0.0  # seconds that an observer before this one has seen of the run
        self._first = self._latest = 0.0

    async def serve(self, config: ObserverConfig, stop: Stop) -> None:
        """Listen, record until all rounds are complete or `stop` is set, conclude."""
        comparator = ComparatorProcess(
            self._folder.scenario_path, self._setup.rounds, self._found, self._metrics.comparator_failures.inc
        )
        async with AsyncExitStack() as closing:  # each is closed, whatever becomes of the others
            closing.callback(self._thread.shutdown)
            closing.push_async_callback(self._on_thread, self._recorder.close)
            closing.push_async_callback(comparator.close)
            closing.callback(asyncio.create_task(_pass_on(stop, self._over)).cancel)
            await comparator.start()  # before gRPC has threads, which a fork would trouble
            await self._on_thread(self._recorder.open)
            self._wall_before = restore(self._folder, self._ledger, self._board)
            self._accounts.restore(self._folder.account())
            self._joining.started = self._board.rounds > 0
            self._show()
            await self._listen(config, comparator, self._over)

    async def _listen(self, config: ObserverConfig, comparator: ComparatorProcess, stop: Stop) -> None:
        server = Server(self._registry, self._attendance.targets, config.transport)
        try:
            await server.start(config.listen, [(SERVICE_NAME, self._add_to)])
            await server.ready()
            log.info("listening on %s, round %d is next", config.listen.address, self._board.rounds + 1)
            await self._record_until(stop)
            await self._conclude(comparator, stop)
            if config.stay and not stop.is_set():
                log.info("the run is over; staying up")
                await stop.wait()
        finally:
            self._streams.close()
            self._accounts.close()
            await server.stop()

    def _add_to(self, server: Any) -> None:
        observer_service_pb2_grpc.add_ObserverServiceServicer_to_server(self._streams, server)

    async def _on_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def _keep_account(self, entries: Sequence[Entry]) -> None:
        await self._on_thread(self._recorder.keep_account, entries)

    def _take(self, report: Reported) -> Score | None:
        """Take a report; return its score where it is known already."""
        self._joining.started = True
        if self._ledger.take(report):
            self._watch.reported()
            self._latest = self._now()
            self._first = self._first or self._latest
            self._news.set()
        return self._board.score(report.agent, report.round) if report.round <= self._board.rounds else None

    async def _record_until(self, stop: Stop) -> None:
        """Record complete rounds until there are no more, or the run is to stop."""
        recording, watching = asyncio.create_task(self._record_all()), asyncio.create_task(self._watch.run())
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({recording, watching, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()  # it does not end by itself
            self._stopping = True
            self._news.set()
            await recording  # what is complete is recorded, even now
        finally:
            for task in (recording, watching, stopped):
                task.cancel()
            await asyncio.gather(recording, watching, stopped, return_exceptions=True)

    async def _record_all(self) -> None:
        while self._board.rounds < self._setup.rounds and not self._stopping:
            await self._news.wait()
            self._news.clear()
            if rounds := self._ledger.ready():
                state = progress(self._ledger, self._wall_seconds)
                self._publish(await self._on_thread(self._recorder.record, rounds, state))

    def _publish(self, scores: Sequence[RoundScore]) -> None:
        """Tell the agents and the metrics about rounds that have been recorded."""
        for scored in scores:
            self._board.add(scored.global_loss)
            self._flag(scored)
            for agent in range(self._setup.n):
                self._streams.answer(agent, self._board.score(agent, scored.t))
        self._metrics.consensus.set(scores[-1].consensus)
        self._show()

    def _flag(self, scored: RoundScore) -> None:
        """Count plays outside the feasible set; they stay as they are, and the log names an agent once."""
        self._metrics.outside.inc(len(scored.outside))
        for agent in set(scored.outside) - self._flagged:
            log.warning("agent %d played outside the feasible set in round %d", agent, scored.t)
        self._flagged |= set(scored.outside)

    def _show(self) -> None:
        board, metrics = self._board, self._metrics
        metrics.round.set(board.rounds)
        metrics.loss.set(board.network_loss)
        metrics.total_loss.set(board.total_loss)
        metrics.regret.set(math.nan if board.network_regret is None else board.network_regret)
        metrics.gap.set(math.nan if board.gap is None else board.gap)
        metrics.compared.set(board.compared_rounds)

    def _found(self, certificate: Certificate) -> None:
        """Measure regret against a fixed point from now on."""
        found = certificate.comparator
        log.info("fixed point of %d rounds: %.4f, gap %.4f", len(certificate.losses), found.value, found.gap)
        self._board.compare_with(certificate)
        self._show()

    async def _conclude(self, comparator: ComparatorProcess, stop: Stop) -> None:
        """Find the comparator of the rounds played, write the summary, tell agents that are still there."""
        rounds = self._board.rounds
        if stop.is_set():
            self._write_summary(None)  # should there be no time for more
        log.info("%d of %d rounds are recorded", rounds, self._setup.rounds)
        if rounds and not await self._accounts.covers(rounds, LAST_ACCOUNT):
            log.warning(
                "the broker's account of the last rounds is missing: verify cannot check all arrivals"
            )
        certificate = await comparator.last(rounds, self._board.worst_loss, stop) if rounds else None
        if certificate is None:
            log.warning("no certified comparator: the summary has no regret")
        else:
            self._found(certificate)
        self._write_summary(None if certificate is None else certificate.comparator)
        for agent in range(self._setup.n) if rounds else ():
            self._streams.answer(agent, self._board.score(agent, rounds))

    def _write_summary(self, comparator: Comparator | None) -> None:
        total_delay, unused = lateness(self._ledger.delays())
        summary = Summary(
            mode="up",
            rounds=self._board.rounds,
            unused=unused,
            messages=sum(self._ledger.messages),
            bytes=sum(self._ledger.bytes),
            wall_seconds=self._wall_seconds,
            **self._setup.facts(),
            **score(self._board.losses, total_delay, comparator),
        )
        self._folder.write_summary(summary)

    @property
    def ended_early(self) -> bool:
        """Whether the run was ended for another one, or by a signal."""
        return self._over.is_set()

    @property
    def _wall_seconds(self) -> float:
        """From the first report to the last, on this process's clock."""
        return self._wall_before + self._latest - self._first


async def _pass_on(stop: Stop, over: asyncio.Event) -> None:
    """Let what ends the process end the run."""
    await stop.wait()
    over.set()
