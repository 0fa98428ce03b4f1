"""What the pages tell a reader to write in Python runs, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.newcomer
@pytest.mark.timeout(300)  # one of the examples is a network of processes
@pytest.mark.parametrize("page", ["README.md", "docs/api.md"])
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = CODE.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # noqa: S102 - of our own pages


def test_the_algorithm_of_the_tutorial_is_the_worked_example() -> None:
    (shown,) = CODE.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    assert shown == (ROOT / "examples" / "momentum" / "edgefw_momentum.py").read_text(encoding="utf-8")
