"""Logs: one line an event, with time, service and level, on standard error."""

from __future__ import annotations

import logging
import sys


def start_logging(service: str, level: int = logging.INFO) -> None:
    """Send this process's logs to standard error, each line naming the service."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter(f"%(asctime)s.%(msecs)03d {service} %(levelname)s %(message)s", "%H:%M:%S")
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)
