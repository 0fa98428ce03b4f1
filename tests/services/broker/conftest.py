"""Gives tests of the broker a clock that they can tell the time."""

from __future__ import annotations

import pytest
from told_clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Stop the clock of brokers that run in this process; `clock.run` is for their loop."""
    clock = Clock()
    clock.tell_broker(monkeypatch)
    return clock
