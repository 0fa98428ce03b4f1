"""A story as a browser is told it: messages with what has changed, numbers as packed arrays.

A message holds the curves from point `first` on; whoever has followed forgets its points from there on and
takes these. The first message has all. What has changed is worked out from a mark that the browser gives
back: nobody keeps a list of what a slow one has missed.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.page.story import Bookmark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from edgefw.page.curves import Values
    from edgefw.page.story import Story

NETWORK = ("rounds", "seconds", "pace", "network_loss", "network_cost")
WORST = ("queue", "delay", "requested", "observed")  # of a group: its worst; of all others the mean
AGENTS = ("loss", "regret", "ratio", "cost", "total_delay", *WORST)


class Teller:
    """Tells the story that `story` returns, of a run called `name`.

    `groups` are shown as one each (None: every agent); `status` says how the run is now.
    """

    def __init__(
        self,
        story: Callable[[], Story],
        name: str,
        groups: Sequence[Sequence[int]] | None,
        status: Callable[[], dict[str, Any]],
    ) -> None:
        self._of, self._name, self._groups, self._status = story, name, groups, status

    def message(self, since: str | None = None) -> tuple[str, bytes]:
        """Return the mark for the next time, and what is new since a mark: all, if it is another story's."""
        mark = self._mark(since)
        story = self._of()
        happenings = story.happenings
        first = story.first_changed(mark)
        columns = story.columns(first)._asdict()
        news = happenings.count - mark.events
        told = {
            "first": first,
            **{name: packed(columns[name]) for name in NETWORK},
            **{name: packed(self._shown(name, columns[name])) for name in AGENTS},
            "network_regret": packed(_largest(columns["regret"])),
            "network_ratio": packed(
                _largest(columns["regret"]) / np.sqrt(columns["total_delay"].mean(axis=1))
            ),
            "events_from": happenings.count - min(news, len(happenings.events)),
            "events": [asdict(event) for event in list(happenings.events)[len(happenings.events) - news :]]
            if news
            else [],
            "forces": [asdict(force) for force in happenings.forces] if news or first == 0 else None,
            "status": self._status(),
        }
        return f"{self._name} {' '.join(map(str, story.mark()))}", json.dumps(told, allow_nan=False).encode()

    def _mark(self, since: str | None) -> Bookmark:
        name, *numbers = (since or "").split(" ")
        whole = all(number.isdecimal() and len(number) < 19 for number in numbers)
        if name != self._name or len(numbers) != len(Bookmark._fields) or not whole:
            return Bookmark()
        return Bookmark(*map(int, numbers))

    def _shown(self, name: str, values: Values) -> Values:
        """Return the columns of groups, (points, groups)."""
        if self._groups is None:
            return values
        sum_up = _largest if name in WORST else _mean
        return np.stack([sum_up(values[:, list(members)]) for members in self._groups], axis=1)


def packed(values: NDArray[Any]) -> str:
    """Return numbers row by row, as little-endian float32 in base64: small, quick to make, and NaN is NaN."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


def _largest(values: Values) -> Values:
    largest: Values = np.fmax.reduce(values, axis=1)
    return largest


def _mean(values: Values) -> Values:
    mean: Values = values.mean(axis=1)
    return mean
