"""The observer: scores every play, keeps the record of the run, tells each agent its regret."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from threadpoolctl import threadpool_limits

from edgefw.errors import InputError, RecordError
from edgefw.http.guard import is_loopback
from edgefw.records import DATABASE, RunFolder
from edgefw.records.database import COMPLETE, ENDED, GIVEN_UP, STOPPED, damaged
from edgefw.scenario.load import dump, from_environment, load
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.emulable import check_emulable, pin
from edgefw.services.machine import REAL
from edgefw.services.observer.accounts import Accounts
from edgefw.services.observer.attendance import Attendance
from edgefw.services.observer.briefing import pace_seconds
from edgefw.services.observer.comparator import ComparatorSearch
from edgefw.services.observer.concluding import concluded, summarise
from edgefw.services.observer.joining import MEMBERS, Joining
from edgefw.services.observer.ledger import Ledger, Reported
from edgefw.services.observer.livepage import LivePage
from edgefw.services.observer.recording import Recorder, away, progress, restore
from edgefw.services.observer.resuming import folder_of
from edgefw.services.observer.scoring import Certificate, RoundScore, Scoreboard, largest_play
from edgefw.services.observer.streams import Expected, ReportServicer
from edgefw.services.observer.watch import Watch
from edgefw.services.observer.writing import Writing
from edgefw.services.runtime import Server, Stop, run_service
from edgefw.telemetry.metrics import ObserverMetrics, new_registry
from edgefw.transport.channel import GRPC
from edgefw.transport.race import watched
from edgefw.v1.observer_service_pb2_grpc import add_ObserverServiceServicer_to_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.core.account import Entry
    from edgefw.core.messages import Score
    from edgefw.core.regret import Comparator
    from edgefw.services.config import Place
    from edgefw.services.machine import Machine
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

LAST_ACCOUNT = 3.0  # seconds that the broker gets, when the last round is recorded, to tell the rest
T = TypeVar("T")


@dataclass(frozen=True)
class ObserverConfig:
    """What an observer is started with.

    `out` is the folder of the one run that it observes; else it makes folders in `runs`, one after the other:
    an agent that comes back without its memory starts the run anew, for all. See `resuming`.
    """

    scenario: str | None  # a file or a name; None: the text is in the environment
    listen: Place
    out: Path | None = None
    runs: Path | None = None
    stay: bool = False
    transport: Transport = GRPC
    machine: Machine = REAL


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
        await Observer(config, setup, folder, attendance).serve(stop)
        return
    setup, runs = pin(setup), config.runs or Path("runs")
    while not stop.is_set():
        folder = folder_of(runs, setup.scenario, config.machine.clocks.time_ns() / 1e9)
        observer = Observer(config, setup, folder, attendance)
        await observer.serve(stop)
        if not observer.ended_early:
            return


class Observer:
    """One run, as it is observed. Its event loop takes reports; what takes time is done on a thread."""

    def __init__(
        self, config: ObserverConfig, setup: Setup, folder: RunFolder, attendance: Attendance
    ) -> None:
        self._config, self._setup, self._folder, self._attendance = config, setup, folder, attendance
        self._now = asyncio.get_running_loop().time
        self._over = asyncio.Event()  # told to stop, or the run is to start anew
        run_id = f"{setup.scenario.digest}/{folder.path.resolve().name}"
        again = self._end if config.out is None else None
        self._joining = Joining(setup, run_id, attendance, again, self._keep_members)
        self._registry = new_registry("observer")
        self._metrics = ObserverMetrics(self._registry)
        self._ledger = Ledger(setup.n, setup.rounds, setup.feasible.size * setup.dtype.itemsize)
        self._board = Scoreboard(setup.n, setup.rounds)
        self._watch = Watch(self._ledger, attendance, pace_seconds(setup.scenario), self._now)
        self._watch.show(self._metrics)
        self._accounts = Accounts(run_id, setup.n, setup.rounds, self._keep_account)
        self._streams = ReportServicer(
            Expected(run_id, setup.n, setup.feasible.shape, largest_play(setup)),
            self._take,
            self._last_score,
            self._metrics,
            self._joining.serve,
            attendance,
            self._accounts.serve,
        )
        self._page = LivePage(setup, folder, config.machine, self._watch, self._admin)
        self._worker = config.machine.worker("recorder")
        self._writing = Writing(self._worker, self._over, self._metrics.degraded)
        self._news = asyncio.Event()  # a report has come, or the end
        self._flagged: set[int] = set()
        self._concluded = False  # whether an observer before this one has done so
        self._wall_before = 0.0  # seconds that an observer before this one has seen of the run
        self._first = self._latest = 0.0

    async def serve(self, stop: Stop) -> None:
        """Listen, record until all rounds are complete or `stop` is set, conclude."""
        failed = self._metrics.comparator_failures.inc
        comparator = ComparatorSearch(
            self._folder.scenario_path, self._setup.rounds, self._found, failed, self._config.machine
        )
        async with AsyncExitStack() as closing:  # each is closed, whatever becomes of the others
            closing.callback(self._worker.close)
            closing.push_async_callback(comparator.close)
            closing.callback(asyncio.create_task(self._pass_on(stop)).cancel)
            self._recorder = await self._writing.do(Recorder, self._setup, self._folder)
            closing.push_async_callback(self._worker.do, self._recorder.close)
            self._restore(self._recorder.before)
            if not self._concluded:
                await comparator.start()  # before gRPC has threads, which a fork would trouble
            closing.push_async_callback(self._page.close)
            await self._page.start()
            self._show()
            await self._listen(comparator)
            await self._writing.do(self._recorder.note, ENDED, self._end_of_run(stop))

    def _restore(self, before: Mapping[str, str]) -> None:
        """Go on with what is on record; a record that makes no sense is set aside."""
        try:
            restore(self._folder, before, self._ledger, self._board)
            self._accounts.restore(self._folder.account())
            self._page.restore()
            self._conclude_again()
        except RecordError as error:
            raise damaged(self._folder.path / DATABASE, str(error)) from None
        self._wall_before = float(before.get("wall_seconds", "0"))
        if (gone := away(before, self._config.machine.clocks.time_ns())) is not None:
            self._first = self._now() - gone
        self._joining.restore(before.get(MEMBERS, "[]"))
        self._joining.played |= set(range(self._setup.n)) if self._board.rounds else set()
        self._joining.complete = self._board.rounds == self._setup.rounds

    def _conclude_again(self) -> None:
        """Take up the conclusion of a run that is complete; any other summary was written too early."""
        certificate = concluded(self._folder) if self._board.rounds == self._setup.rounds else None
        if certificate is None:
            self._folder.withdraw_summary()
        else:
            self._concluded = True
            self._board.compare_with(certificate)
            self._page.compare_with(certificate)

    def _end_of_run(self, stop: Stop) -> str:
        """Return how this observer ends: the next one goes on or begins anew."""
        if self._board.rounds == self._setup.rounds:
            return COMPLETE
        return STOPPED if stop.is_set() else GIVEN_UP

    async def _listen(self, comparator: ComparatorSearch) -> None:
        config = self._config
        server = Server(self._registry, self._attendance.targets, config.transport, self._page.app)
        try:
            await server.start(config.listen, partial(add_ObserverServiceServicer_to_server, self._streams))
            await server.ready()
            log.info("listening on %s, round %d is next", config.listen.address, self._board.rounds + 1)
            await watched(self._record_all(), self._watch.run())
            if not self._concluded:
                await self._conclude(comparator)
            self._page.conclude()
            if config.stay and not self._over.is_set():
                log.info("the run is over; staying up")
                await self._over.wait()
        finally:
            self._streams.close()
            self._accounts.close()
            self._page.end_streams()
            await server.stop()

    async def _pass_on(self, stop: Stop) -> None:
        """Let what ends the process end the run."""
        await stop.wait()
        self._end()

    def _end(self) -> None:
        self._over.set()
        self._news.set()

    async def _keep_account(self, entries: Sequence[Entry]) -> None:
        await self._writing.do(self._recorder.keep_account, entries)
        self._page.take_account(entries)

    async def _keep_members(self, members: str) -> None:
        await self._writing.do(self._recorder.note, MEMBERS, members)

    def _admin(self) -> str | None:
        """Return where the page may reach the broker's admin endpoint.

        One that is for its own machine alone is not opened to others by an observer whom they can reach.
        """
        place = self._joining.admin
        private = place is not None and is_loopback(place.rpartition(":")[0])
        return None if private and not is_loopback(self._config.listen.host) else place

    def _take(self, report: Reported) -> Score | None:
        """Take a report; return its score where it is known already."""
        self._joining.played.add(report.agent)
        if self._ledger.take(report):
            self._watch.reported()
            self._latest = self._now()
            self._first = self._first or self._latest
            self._news.set()
        return self._board.score(report.agent, report.round) if report.round <= self._board.rounds else None

    def _last_score(self, agent: int) -> Score | None:
        """Return an agent's score of the last round, if that is recorded: nothing more is asked of it."""
        rounds = self._setup.rounds
        return self._board.score(agent, rounds) if self._board.rounds == rounds else None

    async def _record_all(self) -> None:
        """Record complete rounds until there are no more, or the run is to stop."""
        while self._board.rounds < self._setup.rounds and not self._over.is_set():
            await self._news.wait()
            self._news.clear()
            if rounds := self._ledger.ready():
                state = progress(self._ledger, self._wall_seconds, self._config.machine.clocks.time_ns())
                scores = await self._writing.do(self._recorder.record, rounds, state)
                self._joining.complete = self._ledger.complete == self._setup.rounds
                self._publish(scores)
                self._page.take(rounds, scores)

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
        self._page.compare_with(certificate)
        self._show()

    async def _conclude(self, comparator: ComparatorSearch) -> None:
        """Find the comparator of the rounds played, write the summary, tell agents that are still there."""
        rounds = self._board.rounds
        if self._over.is_set():
            await self._write_summary(None)  # should there be no time for more
        log.info("%d of %d rounds are recorded", rounds, self._setup.rounds)
        if rounds and not await self._accounts.covers(rounds, LAST_ACCOUNT):
            log.warning(
                "the broker's account of the last rounds is missing: verify cannot check all arrivals"
            )
        certificate = await comparator.last(rounds, self._board.worst_loss, self._over) if rounds else None
        if certificate is None:
            log.warning("no certified comparator: the summary has no regret")
        else:
            self._found(certificate)
            await self._writing.do(self._recorder.compare, certificate.losses.tolist())
        await self._write_summary(None if certificate is None else certificate.comparator)
        for agent in range(self._setup.n) if rounds else ():
            self._streams.answer(agent, self._board.score(agent, rounds))

    async def _write_summary(self, comparator: Comparator | None) -> None:
        summary = summarise(self._setup, self._ledger, self._board, self._wall_seconds, comparator)
        await self._writing.do(self._folder.write_summary, summary)

    @property
    def ended_early(self) -> bool:
        """Whether the run was ended for another one, or by a signal."""
        return self._over.is_set()

    @property
    def _wall_seconds(self) -> float:
        """From the first report to the last."""
        return self._wall_before + (self._latest - self._first if self._latest else 0.0)
