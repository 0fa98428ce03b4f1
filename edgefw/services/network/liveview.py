"""The terminal while a run goes on: a living table where somebody looks, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import math
from itertools import cycle, islice
from time import monotonic
from typing import TYPE_CHECKING, Protocol, Self

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from edgefw import terminal
from edgefw.services.network.board import AGENT_NAMES, BROKER_NAMES, OBSERVER_NAMES, Board
from edgefw.services.network.scrape import scrape

if TYPE_CHECKING:
    from types import TracebackType

    from edgefw.services.network.prepare import Places

AT_ONCE = 8  # agents read at a time: with more of them, each is read less often


_COLUMNS = (
    "agent",
    "round",
    "local\nloss",
    "global\nloss",
    "regret\n>=",
    "on its\nway",
    "queue",
    "delay\nrounds",
    "requested\n{unit}",
    "observed\ns",
)


class View(Protocol):
    """Shows how a run goes on; used as a context."""

    tick: float  # seconds between two calls of `refresh`

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def refresh(self, phase: str) -> None:
        """Show the latest numbers, and what the run is doing."""
        ...

    def announce(self, text: str) -> None:
        """Show a text that is to stay."""
        ...


class LiveView:
    """A table of all agents, redrawn in place."""

    tick = 0.45

    def __init__(self, board: Board, places: Places) -> None:
        self._board, self._places = board, places
        self._turns = cycle(range(board.agents))
        self._begin, self._phase, self._notes = monotonic(), "starting", ""
        self._live = Live(console=terminal.err, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    async def refresh(self, phase: str) -> None:
        """Read some of the services, and draw the table."""
        agents = set(islice(self._turns, AT_ONCE))
        read = [scrape(self._places.agents[i], AGENT_NAMES) for i in agents]
        read += [scrape(self._places.broker, BROKER_NAMES), scrape(self._places.observer, OBSERVER_NAMES)]
        for samples in await asyncio.gather(*read):
            self._board.take(samples)
        self._phase = phase
        self._redraw()

    def announce(self, text: str) -> None:
        """Keep a text below the table."""
        self._notes = text
        self._redraw()

    def _redraw(self) -> None:
        drawn = draw(self._board, self._phase, monotonic() - self._begin)
        self._live.update(Group(drawn, Text(self._notes, style="dim")), refresh=True)


class PlainView:
    """One line every few seconds, for a log."""

    tick = 4.0

    def __init__(self, board: Board, places: Places) -> None:
        self._board, self._places = board, places
        self._begin, self._said = monotonic(), ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    async def refresh(self, phase: str) -> None:
        """Ask the observer, and say how far the run is."""
        samples = await scrape(self._places.observer, OBSERVER_NAMES)
        if self._board.round and not samples:
            return  # it has ended: what was last heard of it is no news
        self._board.take(samples)
        news = f"{phase}: {headline(self._board)}"
        if news != self._said:
            self._said = news
            self.announce(f"{_clock(monotonic() - self._begin)} {news}")

    def announce(self, text: str) -> None:
        """Say something."""
        terminal.err.print(text, markup=False)


def headline(board: Board) -> str:
    """Return how far a run is, in one line."""
    parts = [f"round {board.round}/{board.rounds}"]
    if board.round:
        parts.append(f"network loss {number(board.network('loss'))}")
    if board.round and board.compared:
        parts.append(f"network regret {_regret(board)}")
    return ", ".join(parts)


def _regret(board: Board) -> str:
    regret = number(board.network("regret"))
    if not board.certified:
        return f"at least {regret}"
    return f"{regret} (+{number(board.network('comparator_gap'))})"


def draw(board: Board, phase: str, elapsed: float) -> RenderableType:
    """Return the table of a run."""
    unit = "rounds" if board.clock == "rounds" else "s"
    table = Table(
        *(Column(name.format(unit=unit), justify="right") for name in _COLUMNS),
        title=f"{board.title}: {phase}, {_clock(elapsed)}",
        caption=headline(board),
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for i in range(board.agents):
        table.add_row(*_row(board, i))
    return table


def number(value: float, digits: int = 2) -> str:
    """Return a number as it is shown, in six characters where they will do; one not known is a dash."""
    return "-" if math.isnan(value) else f"{value:.{digits if abs(value) < 1000 else 0}f}"


def _row(board: Board, i: int) -> list[str]:
    def of(name: str, digits: int = 2) -> str:
        return number(board.agent(i, name), digits)

    return [
        str(i),
        of("round", 0),
        of("local_loss"),
        of("global_loss"),
        of("regret") if board.compared else "-",
        of("feedback_outstanding", 0),
        of("queue", 0),
        of("feedback_delay_rounds", 0),
        of("feedback_requested_delay"),
        of("feedback_observed_delay_seconds"),
    ]


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
