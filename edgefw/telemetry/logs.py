"""Logs: one line an event, with time, service and level, on standard error."""

from __future__ import annotations

import asyncio
import logging
import sys


def start_logging(service: str, level: int = logging.INFO) -> None:
    """Send this process's logs to standard error, each line naming the service."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter(f"%(asctime)s.%(msecs)03d {service} %(levelname)s %(message)s", "%H:%M:%S")
    )
    handler.addFilter(_is_worth_a_line)
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Whether a record is news: gRPC calls it an error that a call was cancelled while it ended."""
    cancelled = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not (cancelled and record.name.startswith("grpc."))
