"""The command line as a process: help, pipes, terminals, signals."""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from small_options import small
from waiting import PATIENCE, until

from edgefw.cli import Parser, main, make_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT = str(Path(sys.executable).with_name("edgefw"))
SMALL = small("algorithm.stop_after=6")
LONG = small("algorithm.horizon=200000")


def _commands(parser: Parser, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, and those of every command below it."""
    parser.load()
    yield words
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _commands(below, (*words, name))


COMMANDS = list(_commands(make_parser()))


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def edgefw(*arguments: str, script: bool = True) -> subprocess.CompletedProcess[str]:
    command = [SCRIPT] if script else [sys.executable, "-m", "edgefw"]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def test_commands_of_every_depth_are_known_here() -> None:
    assert {(), ("up",), ("delay",), ("delay", "set"), ("broker",)} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command) or "edgefw")
def test_every_command_explains_itself(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    out, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    assert out.startswith(" ".join(["usage: edgefw", *command]))
    assert "--help" in out


def test_the_help_shows_where_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "edgefw simulate default" in capsys.readouterr().out


def test_both_ways_to_start_it_are_the_same_program() -> None:
    for script in (True, False):
        ended = edgefw("--version", script=script)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"edgefw {version('edgefw')}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "defualt"], "edgefw: unknown scenario 'defualt': did you mean 'default'? (valid: "),
        (
            ["simulate", "default", "--seeds", "0"],
            "edgefw: argument --seeds: '0' is not a number above 0; see",
        ),
        (
            ["simulate", "default", *SMALL, "--set", "problem.radius=-1"],
            "edgefw: default: problem.radius is -1: it must be above 0\n",
        ),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(arguments: list[str], words: str) -> None:
    ended = edgefw(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(words)
    assert ended.stderr.count("\n") == 1


def test_standard_output_holds_the_json_alone_and_standard_error_nothing() -> None:
    ended = edgefw("simulate", "default", *SMALL, "--json", "--no-regret")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["rounds"] == 6


def test_progress_is_shown_on_a_terminal_and_on_standard_error_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, end = pty.openpty()
    arguments = [SCRIPT, "simulate", "default", *SMALL, "--json"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=end, text=True) as process:
        os.close(end)
        shown = _everything(terminal)
        out, _ = process.communicate(timeout=PATIENCE)
    assert json.loads(out)["rounds"] == 6
    assert "simulating default" in shown
    assert "looking for the best fixed point" in shown
    assert "/6 rounds" in shown


def _everything(terminal: int) -> str:
    content = b""
    try:
        while piece := os.read(terminal, 4096):
            content += piece
    except OSError:  # how a terminal says that its other end has gone
        pass
    os.close(terminal)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", content.decode())  # without colours and cursor moves


@pytest.mark.parametrize(
    "arguments",
    [
        ["scenarios", "schema"],  # more than a pipe's worth of buffer
        ["scenarios", "show", "default"],  # less
        ["scenarios", "list"],  # a table
        ["simulate", "default", *SMALL, "--no-regret", "--json"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_reader_that_has_gone_is_no_reason_for_a_traceback(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [SCRIPT, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE
    )
    os.close(writing)
    assert process.stderr == ""
    assert process.returncode == 1


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command as a terminal does, in a process group of its own; end the group in any case."""
    process = subprocess.Popen(
        [SCRIPT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for something that a process brings about, which does not end before."""
    until(lambda: condition() or process.poll() is not None)
    assert process.poll() is None


def test_an_interrupt_ends_a_run_at_once_and_removes_its_folder(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with started("simulate", "default", *LONG, "--out", str(run)) as process:
        wait_for((run / "scenario.yaml").exists, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "edgefw: interrupted\n")
    assert not run.exists()


@pytest.mark.parametrize("to_all", [True, False], ids=["to the group", "to the parent"])
def test_an_interrupt_ends_all_processes_of_a_run(tmp_path: Path, to_all: bool) -> None:  # noqa: FBT001
    run = tmp_path / "run"
    with started("simulate", "default", *LONG, "--seeds", "3", "--jobs", "2", "--out", str(run)) as process:
        family = psutil.Process(process.pid)
        wait_for(lambda: len(family.children()) >= 3, process)  # two workers and Python's resource tracker
        children = family.children(recursive=True)
        assert [_heeds_interrupts(child) for child in children].count(True) <= 1  # the tracker, at its start
        if to_all:
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal
        else:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "edgefw: interrupted\n")
    assert not psutil.wait_procs(children, timeout=PATIENCE)[1]
    assert not run.exists()


def _heeds_interrupts(process: psutil.Process) -> bool:
    """Whether SIGINT is neither blocked nor ignored."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    masks = [int(mask, 16) for mask in re.findall(r"^Sig(?:Blk|Ign):\s*([0-9a-f]+)$", status, re.MULTILINE)]
    return not any(mask >> (signal.SIGINT - 1) & 1 for mask in masks)


def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    with started(
        "simulate", "default", *LONG, "--seeds", "2", "--out", str(tmp_path / "run"), "--jobs", "2"
    ) as process:
        family = psutil.Process(process.pid)
        wait_for(lambda: len(family.children()) >= 3, process)
        children = family.children(recursive=True)
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert not psutil.wait_procs(children, timeout=PATIENCE)[1]


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_the_help_of_every_command_has_an_example_that_it_understands(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    name = " ".join(command)
    parser = make_parser()
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    shown = re.findall(
        rf"^(?:example:|) +edgefw ({name}(?: .*?)?)(?:  .*)?$", capsys.readouterr().out, re.MULTILINE
    )
    assert shown
    for example in shown:
        words = example.partition(" > ")[0].split()
        assert callable(parser.parse_args(words).call)
