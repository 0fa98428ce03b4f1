"""The figures of one run: late agents in colour, the others in grey, everything that happened marked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgefw.delays.words import agents_in_words
from edgefw.experiments.plots import COLOURS, Bars, Drawing, Line, Mark, Panel
from edgefw.reports.document import Picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from edgefw.reports.told import Told

    Numbers = NDArray[np.float64]

_BLACK = len(COLOURS) - 1
MOST_COLOURED = _BLACK  # late agents with a colour of their own
MOST_LINES = 12  # of agents that are on time: more are drawn as their mean and range
_UNEVEN = 50  # times as many in one bar as in another: then a log scale shows both
_BINS = 40  # of a histogram at most
_POINTS = 25  # of a curve that is averaged
_NOBODY = "nobody late (simulated)"


def pictures(told: Told, prefix: str = "") -> list[Picture]:
    """Return the curves of a run; file names begin with `prefix`."""
    return [
        Picture(Drawing(f"{prefix}{name}", [panel], "", small=True), caption)
        for name, panel, caption in _curves(told)
    ]


def histograms(told: Told, prefix: str = "") -> list[Picture]:
    """Return how late feedback was, and how much of it was awaited, over all rounds."""
    rest = [i for i in range(told.history.loss.shape[1]) if i not in told.late]
    others = (
        f" Not shown: {agents_in_words(rest)}, {told.waits[rest].mean():.2f} rounds on average."
        if told.late and rest
        else ""
    )
    queue = told.history.outstanding.astype(np.float64)
    delays = _histogram(
        told, "How late feedback was", "delay (rounds; 1 is none)", "feedbacks", told.history.delay
    )
    queues = _histogram(
        told, "How much was awaited", "feedbacks on their way", "rounds, added over agents", queue
    )
    return [
        Picture(
            Drawing(f"{prefix}delays", [delays], "", small=True),
            f"Every feedback that was used, by the rounds that it took.{others}",
        ),
        Picture(
            Drawing(f"{prefix}queues", [queues], "", small=True),
            "At the end of every round: feedbacks that an agent had asked for and did not have.",
        ),
    ]


def _curves(told: Told) -> Iterator[tuple[str, Panel, str]]:
    columns, history = told.story.columns(), told.history
    x, marks = columns.rounds.astype(np.float64), marks_of(told)
    at = columns.rounds - 1
    mine = np.cumsum(history.loss, axis=0)
    if told.prompt is not None and told.late:
        theirs = np.cumsum(told.prompt, axis=0)
        network = mine.max(axis=1) - theirs.max(axis=1)
        lines = [*_agents(told, x, (mine - theirs)[at]), _line("network", x, network[at], _BLACK)]
        caption = (
            "Regret up to a round, less that of the same run in which nobody is late: above 0, delays cost."
        )
        yield "cost", _panel("What late feedback has cost", "regret, difference", lines, marks), caption
    if history.regret is not None:
        lines = _agents(told, x, history.regret[at])
        if told.prompt is not None and told.late:
            best = mine[:, :1] - history.regret[:, :1]
            lines.append(_line(_NOBODY, x, (theirs.max(axis=1)[:, None] - best)[at, 0], _BLACK, dashed=True))
        caption = (
            "Against the best fixed point of the whole run: what is shown before the end is a lower bound."
        )
        yield "regret", _panel("Regret of every agent", "regret, at least", lines, marks), caption
    yield (
        "loss",
        _loss(told, marks),
        f"F_t of the plays, the mean over agents and over {_stretch(told)} rounds.",
    )
    queue = _panel("Feedback on its way", "feedbacks", _agents(told, x, columns.queue), marks)
    yield "queue", queue, "Feedbacks that were submitted and had not come."
    came = [replace(line, loose=len(line.values) == 1) for line in _agents(told, x, columns.delay)]
    delay = _panel("Delay of what came", "rounds (1 is none)", came, marks)
    yield "delay", delay, "The longest delay of the feedbacks that came in a round."
    if told.summary is not None and told.summary.pace_asked is not None and np.isfinite(columns.pace).any():
        asked = np.full(len(x), told.summary.pace_asked)
        lines = [_line("reached", x, columns.pace, 0), _line("asked for", x, asked, _BLACK, dashed=True)]
        caption = "Seconds that a round took. Where this is above what was asked for, times are fewer rounds."
        yield "pace", _panel("Pace", "seconds a round", lines, marks, from_zero=True), caption


def marks_of(told: Told) -> list[Mark]:
    """Return where the curves are marked, numbered as the list of events is."""
    return [
        Mark(float(event.round), number, fault=event.kind == "network")
        for number, event in enumerate(told.story.happenings.events, start=1)
    ]


def _panel(
    title: str, y_label: str, lines: Sequence[Line], marks: Sequence[Mark], *, from_zero: bool = False
) -> Panel:
    return Panel(title, "round", y_label, lines, marks=marks, whole_x=True, from_zero=from_zero)


def _line(label: str, x: Numbers, values: Numbers, colour: int, *, dashed: bool = False) -> Line:
    return Line(label, x, values[None, :], colour, dashed=dashed)


def _agents(told: Told, x: Numbers, values: Numbers) -> list[Line]:
    """Return the curves of all agents, (points, n): those on time first, so that late ones are on top."""
    rest = [i for i in range(values.shape[1]) if i not in told.late]
    if len(told.late) > MOST_COLOURED:
        late = [Line("late agents, mean and range", x, _filled(values[:, told.late].T), 0)]
    else:
        late = [_line(f"agent {i}", x, values[:, i], number) for number, i in enumerate(told.late)]
    label = "the others" if told.late else "agents"
    if len(rest) > MOST_LINES:
        return [Line(f"{label}, mean and range", x, _filled(values[:, rest].T), 0, muted=True), *late]
    names = [label, *(f"_{i}" for i in rest[1:])][: len(rest)]  # "_": not in the legend
    quiet = [Line(name, x, values[None, :, i], 0, muted=True) for name, i in zip(names, rest, strict=True)]
    return [*quiet, *late]


def _filled(values: Numbers) -> Numbers:
    """Return rows (agents, points) without gaps: where an agent has no value, that of the others' mean."""
    known = np.isfinite(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, values, np.where(known.any(axis=0), mean, np.nan))


def _stretch(told: Told) -> int:
    return -(-told.rounds // _POINTS)


def _loss(told: Told, marks: Sequence[Mark]) -> Panel:
    """Return the loss with and without delays, averaged over stretches of rounds: single ones are noise."""
    starts = np.arange(0, told.rounds, _stretch(told))
    ends = np.append(starts[1:], told.rounds)

    def averaged(losses: Numbers) -> Numbers:
        return np.asarray(np.add.reduceat(losses.mean(axis=1), starts) / (ends - starts))

    x = ends.astype(np.float64)
    lines = [_line("this run", x, averaged(told.history.loss), 0)]
    if told.prompt is not None and told.late:
        lines.append(_line(_NOBODY, x, averaged(told.prompt), _BLACK, dashed=True))
    return _panel("Loss", "nats", lines, marks)


def _histogram(told: Told, title: str, x_label: str, y_label: str, values: Numbers) -> Panel:
    """Return the histogram of whole numbers (rounds, n): of late agents, or of all where nobody is late."""
    chosen = told.late or list(range(values.shape[1]))
    known = values[:, chosen][np.isfinite(values[:, chosen])]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    width = -(-(high - low + 1) // _BINS)
    edges = np.arange(low, high + width + 1, width, dtype=np.float64) - 0.5
    counts = np.histogram(known, edges)[0]
    uneven = bool(counts.max() > _UNEVEN * max(counts[counts > 0].min(initial=1), 1))
    together = uneven or not told.late or len(told.late) > MOST_COLOURED  # stacks lie on a log scale
    whose = "late agents" if told.late else "all agents"
    groups = [(whose, chosen)] if together else [(f"agent {i}", [i]) for i in told.late]
    bars = [
        Bars(name, edges, np.histogram(values[:, who], edges)[0].astype(np.float64), number)
        for number, (name, who) in enumerate(groups)
    ]
    return Panel(f"{title}, {whose}", x_label, y_label, bars=bars, whole_x=True, log_y=uneven)
