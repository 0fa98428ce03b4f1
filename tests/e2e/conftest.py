"""Lets the end-to-end tests import their helper, and gives them a way to start runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from emulated import Emulated


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Emulated]]:
    """Start runs in the test's folder; whatever a failed test leaves running is ended."""
    from emulated import Emulated  # noqa: PLC0415 - found by the path above

    runs: list[Emulated] = []

    def begin(*options: str, **arguments: object) -> Emulated:
        runs.append(Emulated(tmp_path, *options, **arguments))  # type: ignore[arg-type]
        return runs[-1]

    yield begin
    for run in runs:
        run.close()
