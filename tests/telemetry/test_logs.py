"""Logs: a line an event on standard error, which says when, who and how bad."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING

import pytest

from edgefw.telemetry.logs import start_logging

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE = r"\d\d:\d\d:\d\d\.\d{3} agent-3 (\w+) (.*)"


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """Put back how this process logs."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_a_line_names_time_service_and_level_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("agent-3")
    logging.getLogger("edgefw.somewhere").warning("%d waits for %d", 3, 4)
    logging.getLogger("edgefw.somewhere").debug("not worth a line")
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    found = re.fullmatch(LINE, line)
    assert found is not None
    assert found.groups() == ("WARNING", "3 waits for 4")


def test_whoever_starts_again_does_not_say_everything_twice(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("broker")
    start_logging("agent-3", logging.DEBUG)
    logging.getLogger("edgefw").debug("here")
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(LINE, line)


def test_a_call_that_was_cancelled_is_no_error_whatever_grpc_says(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("agent-3")
    for error in (asyncio.CancelledError(), RuntimeError("a bug")):
        logging.getLogger("grpc._cython.cygrpc").error("not handled", exc_info=error)
    err = capsys.readouterr().err
    assert err.count("not handled") == 1
    assert "RuntimeError: a bug" in err


def test_no_text_from_elsewhere_looks_like_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("agent-3")
    forged = "x\n12:00:00.000 observer WARNING a\r\x1b[2Kb\u2028c\x85d\u202e"
    logging.getLogger("edgefw").warning("joins at %s", forged)
    err = capsys.readouterr().err
    (line,) = err.splitlines()
    assert line.endswith(r"joins at x\n12:00:00.000 observer WARNING a\r\x1b[2Kb\u2028c\x85d\u202e")
    assert err.removesuffix("\n").isprintable()


def test_a_traceback_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("agent-3")
    try:
        int("a bug")
    except ValueError:
        logging.getLogger("edgefw").exception("failed")
    assert len(capsys.readouterr().err.splitlines()) > 3
