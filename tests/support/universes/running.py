"""Runs a universe, in a folder that is gone afterwards; says what became of it."""

from __future__ import annotations

import gc
import logging
import tempfile
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

from edgefw.errors import EdgefwError
from edgefw.virtual.logs import SERVICE
from universes.draw import universe
from universes.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from universes.draw import Universe

_MEMORY = Path("/dev/shm")  # noqa: S108 - a disk that costs nothing; what is durable is modelled
Bug = "Callable[[], AbstractContextManager[object]]"


@dataclass(frozen=True)
class Outcome:
    """What became of a universe."""

    universe: Universe
    violations: tuple[str, ...]
    said: tuple[str, ...]
    happened: tuple[int, ...]
    seconds: float  # of virtual time
    steps: int

    @property
    def failed(self) -> bool:
        return bool(self.violations)


def run(
    drawn: Universe,
    bug: Callable[[], AbstractContextManager[object]] = nullcontext,
    *,
    logs: bool = False,
) -> Outcome:
    """Run a universe; `bug` is in force while its services run, not when they are judged.

    With `logs`, what services log is among what is said.
    """
    with _folder() as folder, _blas().limit(limits=1), _uncollected():
        world = World(drawn, folder)
        with bug(), _logging(world, folder, logging.INFO if logs else logging.CRITICAL + 1):
            world.run()
        if not world.violations:
            try:
                world.checks.of_record()
            except EdgefwError as error:
                world.violated(f"the record cannot be read: {error}")
    return Outcome(
        drawn,
        tuple(world.violations),
        tuple(world.said),
        tuple(world.happened),
        world.seconds,
        world.steps,
    )


def run_seed(
    seed: int, events: Collection[int] | None = None, without: Collection[str] = (), *, logs: bool = False
) -> Outcome:
    """Run the universe of a seed, or a part of it."""
    drawn = universe(seed)
    return run((drawn if events is None else drawn.only(events)).less(without), logs=logs)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all that is loaded


class _Saying(logging.Handler):
    """Lets a world say what its services log; where its folder happens to be is nobody's business."""

    def __init__(self, world: World, folder: Path) -> None:
        super().__init__()
        self._world, self._folder = world, f"{folder}/"

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record).replace(self._folder, "")
        self._world.say(f"{SERVICE.get()} {record.levelname} {text}")


@contextmanager
def _logging(world: World, folder: Path, level: int) -> Iterator[None]:
    """Let a world say what its services log; nobody else hears it."""
    handler, loggers = _Saying(world, folder), [logging.getLogger(name) for name in ("edgefw", "asyncio")]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (old, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(old)
            logger.propagate = propagate


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage: a universe is small, and a tenth of its time would go into it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def _folder() -> Iterator[Path]:
    where = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="universe-", dir=where) as folder:
        yield Path(folder)
