"""Gives the end-to-end tests a way to start runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from emulated import Emulated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Emulated]]:
    """Start runs in the test's folder; whatever a failed test leaves running is ended."""
    runs: list[Emulated] = []

    def begin(*options: str, **arguments: object) -> Emulated:
        runs.append(Emulated(tmp_path, *options, **arguments))  # type: ignore[arg-type]
        return runs[-1]

    yield begin
    for run in runs:
        run.close()
