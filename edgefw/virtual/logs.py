"""Logs of services that share a process: each has its file, and its lines say the virtual time.

Which service speaks is known by its context: every task inherits it from the one that started it.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from time import gmtime, strftime
from typing import IO, TYPE_CHECKING

from edgefw.telemetry.logs import OneLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SERVICE: ContextVar[str] = ContextVar("service", default="edgefw")
_LOGGERS = ("edgefw", "asyncio")


class _ByService(logging.Handler):
    """Writes each record to the file of the service that it comes from."""

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(OneLine())
        self._folder, self._now = folder, now
        self._files: dict[str, IO[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        service, now = SERVICE.get(), self._now()
        if service not in self._files:
            self._folder.mkdir(exist_ok=True)
            self._files[service] = (self._folder / f"{service}.log").open("w", encoding="utf-8")
        when = f"{strftime('%H:%M:%S', gmtime(now))}.{int(now * 1000) % 1000:03d}"
        self._files[service].write(f"{when} {service} {record.levelname} {self.format(record)}\n")

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        super().close()


@contextmanager
def logs_by_service(folder: Path, now: Callable[[], float]) -> Iterator[None]:
    """Keep what services say while the block runs, a file each; `now` is the time that a line says."""
    handler = _ByService(folder, now)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate
        handler.close()
