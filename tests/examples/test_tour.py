"""The notebook runs from top to bottom, in a kernel of its own, and says what it is committed to say."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def _said(notebook: Any) -> list[str]:
    """Return what its cells print, numbers aside: the last digits of float32 are the machine's."""
    printed = [each.text for cell in notebook.cells for each in cell.get("outputs", []) if "text" in each]
    return [re.sub(r"[-+]?\d+\.\d+(e-\d+)?", "number", text) for text in printed]


def _kinds(notebook: Any) -> list[list[str]]:
    return [
        sorted(each.data) for cell in notebook.cells for each in cell.get("outputs", []) if "data" in each
    ]


@pytest.mark.newcomer
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the kernel's own
def test_the_notebook_does_what_it_shows(tmp_path: Path) -> None:
    committed, again = (nbformat.read(NOTEBOOK, as_version=4) for _ in range(2))  # type: ignore[no-untyped-call]
    client = NotebookClient(again, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    asyncio.run(client.async_execute())
    assert _said(again) == _said(committed)
    assert _kinds(again) == _kinds(committed)
    assert "480 plays are identical to their replay\n" in _said(again)
