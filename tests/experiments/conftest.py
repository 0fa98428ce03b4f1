"""Puts the comparators that tests solve into a folder of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from edgefw import best
from edgefw.problem import datasets

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not XDG_CACHE_HOME: matplotlib would look for its fonts again, for half a minute.
    for module in (best, datasets):
        monkeypatch.setattr(module, "cache_root", lambda: tmp_path / "cache")
