"""Logs: one line an event, with time, service and level, on standard error."""

from __future__ import annotations

import asyncio
import logging
import sys


class OneLine(logging.Formatter):
    """Escapes what would begin a line or move the cursor: no text from elsewhere looks like another line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Return the line of a record, in one line."""
        record.message = printable(record.message)
        return super().formatMessage(record)


def printable(text: str) -> str:
    r"""Return text with everything escaped that a terminal would act on.

    >>> print(printable("joins at x\n12:00:00 observer"))
    joins at x\n12:00:00 observer
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def start_logging(service: str, level: int = logging.INFO) -> None:
    """Send this process's logs to standard error, each line naming the service."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(f"%(asctime)s.%(msecs)03d {service} %(levelname)s %(message)s", "%H:%M:%S"))
    handler.addFilter(_is_worth_a_line)
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Whether a record is news: gRPC calls it an error that a call was cancelled while it ended."""
    cancelled = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not (cancelled and record.name.startswith("grpc."))
