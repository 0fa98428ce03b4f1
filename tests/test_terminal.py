"""Tables: what is in them can be read in a terminal of any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from edgefw import terminal

HEADER = ("service", "state", "health", "cores", "MB", "round", "regret >=", "feedback out")
ROWS = (
    ("observer", "running", "healthy", "0.02", "84", "1250", "194.21", "17"),
    ("agent-100", "running", "healthy", "0.12", "84", "1250", "197.53", "7"),
)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_number_and_no_word_is_broken(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal.out, "width", width)
    terminal.table("a run", HEADER, ROWS)
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= width
    for word in (*ROWS[0], *ROWS[1], *" ".join(HEADER).split()):
        assert word in said


def test_a_long_path_is_folded_and_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal.out, "width", 60)
    path = f"/home/somebody/{'x' * 80}/fashion-mnist"
    terminal.table("data sets", ("name", "where"), [("fashion-mnist", path)])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 60
    parts = [line.split("│")[2].strip() for line in said.splitlines() if line.startswith("│")]
    assert "".join(parts) == path


def test_a_bar_says_what_is_done_while_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=written, width=80, force_terminal=True))
    with terminal.progress_bar("simulating", 10) as progress:
        progress(4)
        with progress.saying("best fixed point of seed 7"):
            assert "best fixed point of seed 7" in written.getvalue()
    assert written.getvalue().rindex("simulating") > written.getvalue().rindex("best fixed point")
