"""The page on fault types."""

from __future__ import annotations

from pathlib import Path

from edgefw.delays.manual import summary
from edgefw.delays.registry import TYPES

PAGE = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")


def test_every_type_and_field_is_on_the_page_and_in_the_summary() -> None:
    for name, type_ in TYPES.items():
        section = PAGE.split(f"## `{name}`")[1].split("\n## ")[0]
        assert all(f"| `{field}` |" in section for field in type_.own_fields())
        assert f"--type {name}" in summary()


def test_defaults_and_bounds_are_as_a_user_writes_them() -> None:
    assert "| `latency` | a time | `0s` | how late |" in PAGE
    assert "| `rounds` | a whole number, above 0 | `1` |" in PAGE
    assert "| `share` | a number, above 0, 1 at most | `0.25` |" in PAGE
    assert "| `start` | a time; rounds clock: rounds, 1 or more | needed |" in PAGE
