"""The terminal while a run goes on: a living table where somebody looks, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import math
from itertools import cycle, islice
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from edgefw import terminal
from edgefw.local.board import AGENT_NAMES, BROKER_NAMES, OBSERVER_NAMES, SHOWN, Board, BoardColumn
from edgefw.local.scrape import scrape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from edgefw.http.listening import Connect
    from edgefw.local.ports import Places
    from edgefw.local.scrape import Sample
    from edgefw.services.config import Place

AT_ONCE = 8  # agents read at a time: with more of them, each is read less often


class View:
    """Shows how a run goes on, while its block runs; this one shows nothing."""

    tick = 4.0  # seconds between two calls of `refresh`

    def __init__(self, board: Board, places: Places, connect: Connect = asyncio.open_connection) -> None:
        self._board, self._places, self._connect, self._begin = board, places, connect, monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind on the terminal."""

    async def refresh(self, phase: str) -> None:
        """Show the latest numbers, and what the run is doing."""

    def announce(self, text: str) -> None:
        """Show a text that is to stay."""

    def say(self, text: str) -> None:
        """Say what has happened."""

    async def _read(self, place: Place, names: Collection[str]) -> list[Sample]:
        return await scrape(place, names, self._connect)

    @property
    def _elapsed(self) -> str:
        seconds = int(monotonic() - self._begin)
        return f"{seconds // 60}:{seconds % 60:02d}"


class LiveView(View):
    """A table of all agents, redrawn in place."""

    tick = 0.45

    def __init__(self, board: Board, places: Places, connect: Connect = asyncio.open_connection) -> None:
        super().__init__(board, places, connect)
        self._turns = cycle(range(board.agents))
        self._phase, self._notes = "starting", ""
        self._live = Live(console=terminal.err, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        self._redraw()  # a virtual run has no time for it until its first round
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    async def refresh(self, phase: str) -> None:
        """Read some of the services, and draw the table."""
        agents = set(islice(self._turns, AT_ONCE))
        read = [self._read(self._places.agents[i], AGENT_NAMES) for i in agents]
        read += [self._read(self._places.broker, BROKER_NAMES)]
        read += [self._read(self._places.observer, OBSERVER_NAMES)]
        for samples in await asyncio.gather(*read):
            self._board.take(samples)
        self._phase = phase
        self._redraw()

    def announce(self, text: str) -> None:
        """Keep a text below the table."""
        self._notes = text
        self._redraw()

    def say(self, text: str) -> None:
        """Print a line above the table."""
        terminal.err.print(f"{self._elapsed} {text}", markup=False)

    def _redraw(self) -> None:
        width, height = terminal.err.size
        below = [_text(self._notes, "dim")]
        if warned := self._board.pace_warning:
            below.insert(0, _text(warned, "yellow"))
        room = Screen(width, height - lines_of(below, width))
        drawn = draw(self._board, self._phase, self._elapsed, room)
        self._live.update(Group(drawn, *below), refresh=True)


class PlainView(View):
    """One line every few seconds, for a log."""

    _said, _warned = "", False

    async def refresh(self, phase: str) -> None:
        """Ask the observer, and say how far the run is."""
        samples = await self._read(self._places.observer, OBSERVER_NAMES)
        if self._board.round and not samples:
            return  # it has ended: what was last heard of it is no news
        self._board.take(samples)
        news = f"{phase}: {headline(self._board)}"
        if news != self._said:
            self._said = news
            self.say(news)
        if not self._warned and (warned := self._board.pace_warning):
            self._warned = True
            self.announce(warned)

    def announce(self, text: str) -> None:
        """Print a text."""
        terminal.err.print(text, markup=False)

    def say(self, text: str) -> None:
        """Print a line."""
        self.announce(f"{self._elapsed} {text}")


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


class Screen(NamedTuple):
    """How many columns and lines of the terminal there are."""

    width: int
    height: int


HEADER = 3  # lines: two of titles, and a rule
NEEDED = 8  # columns of the terminal that a number takes
LEAST = (  # what is left out first where the terminal is narrow
    *("feedback_requested_delay", "feedback_observed_delay_seconds", "local_loss"),
    *("feedback_outstanding", "feedback_delay_rounds", "regret"),
)


def draw(board: Board, phase: str, elapsed: str, room: Screen) -> RenderableType:
    """Return the table of a run, as much of it as there is room for."""
    spare = len(SHOWN) - max(1, (room.width - NEEDED) // NEEDED)
    columns = [shown for shown in SHOWN if shown.name not in LEAST[: max(0, spare)]]
    titles = ("agent", *(shown.title.format(unit=board.unit) for shown in columns))
    table = Table(
        *(Column(title, justify="right") for title in titles),
        **{**terminal.BARE, "padding": (0, 1, 0, 0)},
    )
    title, end = (
        _text(f"{board.title}: {phase}, {elapsed}", "italic"),
        _text(headline(board), "dim"),
    )
    left = room.height - HEADER - lines_of([title, end], room.width)
    agents = board.foremost(left)
    if len(agents) < board.agents:
        agents = board.foremost(max(1, left - lines_of([_left_out(board, 1)], room.width)))
        end = _text("\n").join([_left_out(board, len(agents)), end])
    for i in agents:
        table.add_row(str(i), *(_cell(board, i, shown) for shown in columns))
    return Group(title, table, end)


def lines_of(texts: Sequence[Text], width: int) -> int:
    """Return how many lines of the terminal texts take."""
    return sum(len(text.wrap(terminal.err, width)) for text in texts)


def _left_out(board: Board, shown: int) -> Text:
    return _text(f"... and {board.agents - shown} more: shown are the latest, best and worst", "dim")


def _text(text: str, style: str = "") -> Text:
    """Return a text that goes on in the next line where a terminal is narrow: nothing of it is cut off."""
    return Text(text, style, no_wrap=False, overflow="fold")


def number(value: float, digits: int = 2) -> str:
    """Return a number as it is shown, in six characters where they will do; one not known is a dash."""
    return "-" if math.isnan(value) else f"{value:.{digits if abs(value) < 1000 else 0}f}"


def _cell(board: Board, i: int, shown: BoardColumn) -> str:
    known = board.compared or shown.name != "regret"
    return number(board.agent(i, shown.name) if known else math.nan, shown.digits)
