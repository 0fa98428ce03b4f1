"""Gives tests of the broker a clock that they can tell the time."""

from __future__ import annotations

import pytest
from told_clock import Clock


@pytest.fixture
def clock() -> Clock:
    """Return a clock that stands still; in the loop that `clock.run` makes, brokers go by it."""
    return Clock()
