"""How large an experiment is run: as published, or small enough to see it work in a minute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.errors import InputError
from edgefw.experiments.published import HORIZON, departures
from edgefw.problem import datasets
from edgefw.scenario.load import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.scenario.model import Scenario

QUICK_HORIZON = 100
_SYNTHETIC = ("data.source=synthetic", "data.samples=12000")


@dataclass(frozen=True)
class Size:
    """The horizon, the seeds, and what else is set in every scenario of an experiment."""

    seeds: tuple[int, ...]
    horizon: int = HORIZON
    quick: bool = False
    overrides: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # data sets that a synthetic stream stands in for

    @property
    def compares(self) -> bool:
        """Whether the runs are the published ones, to be held against the published numbers."""
        return not self.quick

    @property
    def over_seeds(self) -> str:
        """What a number or a band stands for."""
        return "one seed" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"

    def scenario(self, name: str, seed: int, settings: Sequence[str]) -> Scenario:
        """Return the ready-made scenario `name` with `settings`, at this size."""
        size = (f"seed={seed}", f"algorithm.horizon={self.horizon}", *self.overrides)
        found = load(name, [*settings, *size])
        return load(name, [*settings, *size, *_SYNTHETIC]) if found.data.source in self.absent else found


def make_size(*, quick: bool, seeds: int | None) -> Size:
    """Return the size that the user asked for: `seeds` is how many, numbered from 1."""
    count = seeds if seeds is not None else (2 if quick else 3)
    if count < 1:
        raise InputError(f"--seeds {count}: an experiment needs at least 1")
    horizon = QUICK_HORIZON if quick else HORIZON
    return Size(tuple(range(1, count + 1)), horizon, quick=quick)


def with_data(size: Size, *names: str) -> Size:
    """Return the size with these data sets where they are found, a quick one else with synthetic streams."""
    absent = tuple(name for name in names if datasets.locate(name) is None)
    for name in absent:
        if not size.quick:
            datasets.load(name, seed=0)  # says where it was looked for, and how to get it
    return replace(size, absent=absent)


def announce(size: Size, *names: str) -> None:
    """Say how large an experiment on these data sets is; of a quick one, that it proves nothing."""
    for name in with_data(size, *names).absent if size.quick else ():
        terminal.out.print(f"Data set {name} is not on this machine: a synthetic stream stands in for it.")
    seeds = f"seed {size.seeds[0]}" if len(size.seeds) == 1 else f"seeds {size.seeds[0]} to {size.seeds[-1]}"
    if size.quick:
        terminal.out.print(
            f"Quick run: T = {size.horizon} instead of {HORIZON}, fewer points, {seeds}. "
            "It shows that everything works; nothing is compared with the paper's numbers."
        )
    else:
        terminal.out.print(f"Published settings: T = {size.horizon}, {seeds}.")
    terminal.out.print(departures())
