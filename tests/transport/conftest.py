"""Servers of these tests break off at once, as a crash would: what is under way gets no time to end."""

from __future__ import annotations

import pytest

from edgefw.transport import server


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE", 0.0)
