"""`make universes`: what it says of those that fail, and that it goes on after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from universes import __main__ as command
from universes.running import run_seed

if TYPE_CHECKING:
    import pytest
    from universes.running import Outcome

NO_EVENTS = 12  # a universe in which nothing happens: it costs little


def test_a_universe_that_cannot_be_run_is_told_and_the_others_are_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(seed: int) -> Outcome:
        if seed % 2:
            raise KeyError(f"seed {seed}")
        return run_seed(NO_EVENTS, [])

    monkeypatch.setattr(command, "run_seed", broken)
    assert command.main(["many", "4", "100"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("4 universes from seed 100")
    assert "make universe SEED=101" in said
    assert "KeyError: 'seed 103'" in said
    assert said[-2].startswith("4 of 4, 2 failed")
    assert said[-1] == "failed: 101 103"


def test_where_all_is_well_no_seed_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "run_seed", lambda _seed: run_seed(NO_EVENTS, []))
    assert command.main(["many", "2", "7"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 of 2, 0 failed")
