"""`import edgefw`: quick, and all that it promises is there."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import edgefw

HEAVY = ("numpy", "networkx", "matplotlib", "pandas", "grpc", "pydantic", "rich", "bokeh", "asyncio")


def test_nothing_heavy_is_loaded_by_importing_the_package() -> None:
    program = f"import edgefw, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_name_of_the_api_is_there() -> None:
    assert all(getattr(edgefw, name) is not None for name in edgefw.__all__)
    assert edgefw.__version__ == version("edgefw")
    assert dir(edgefw) == edgefw.__all__


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'edgefw' has no attribute 'emulat'"):
        edgefw.emulat  # type: ignore[attr-defined]  # noqa: B018


def test_a_scenario_can_be_made_whatever_was_imported_before() -> None:
    program = "import edgefw; {}print(edgefw.scenario('default').name)"
    for before in ("", "import edgefw.scenario.load; ", "from edgefw import scenario; "):
        command = [sys.executable, "-c", program.format(before)]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "default\n"
