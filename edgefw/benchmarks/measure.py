"""Costs that are measured in turn, so that what else the machine does meets all of them alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPEATS = 5

Progress = Callable[[int, int], None]
"""Is told how many measurements are done, and of how many."""


def quiet(_done: int, _of: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class UnitCost:
    """What one unit costs, in seconds: of time, and of processor, all processes together."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Median:
    """The median of what was measured, with the smallest and the largest."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Median:
        """Return the median of some values.

        >>> Median.of([3.0, 1.0, 2.0])
        Median(middle=2.0, low=1.0, high=3.0)
        """
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Costs:
    """All costs of one thing, in the order in which they were measured."""

    name: str
    costs: tuple[UnitCost, ...]

    @property
    def wall(self) -> Median:
        """The seconds that it takes."""
        return Median.of([cost.wall for cost in self.costs])

    @property
    def cpu(self) -> Median:
        """The seconds of processor that it takes."""
        return Median.of([cost.cpu for cost in self.costs])

    def beside(self, floor: Costs) -> Ratio:
        """Return how many times the floor it costs."""
        pairs = list(zip(self.costs, floor.costs, strict=True))
        return Ratio(
            self.name,
            floor.name,
            Median.of([ours.wall / its.wall for ours, its in pairs]),
            Median.of([ours.cpu / its.cpu for ours, its in pairs]),
        )


@dataclass(frozen=True)
class Ratio:
    """How many times a floor something costs, each measurement held against the floor's beside it."""

    thing: str
    floor: str
    wall: Median
    cpu: Median


@dataclass(frozen=True)
class BenchResult:
    """What a benchmark has found; `unit` is what is counted, `figures` are by name, notes are for people."""

    name: str
    title: str
    unit: str
    measured: tuple[Costs, ...]
    ratios: tuple[Ratio, ...]
    figures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def in_turn(
    things: Mapping[str, Callable[[], UnitCost]], repeats: int, progress: Progress
) -> dict[str, Costs]:
    """Measure all things, one after the other, `repeats` times."""
    costs: dict[str, list[UnitCost]] = {name: [] for name in things}
    for turn in range(repeats):
        for position, (name, measure) in enumerate(things.items(), start=1):
            costs[name].append(measure())
            progress(turn * len(things) + position, repeats * len(things))
    return {name: Costs(name, tuple(found)) for name, found in costs.items()}
