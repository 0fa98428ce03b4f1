"""Shells complete commands, options and scenarios."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgefw.cli import main
from edgefw.commands.completion import SHELLS

HERE = str(Path(sys.executable).parent)  # where `edgefw` is
ASK = """
source {script}
COMP_WORDS=({line}) COMP_LINE={line!r} COMP_TYPE=9
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) COMP_POINT=${{#COMP_LINE}}
_python_argcomplete edgefw
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """What `edgefw completion bash` prints, in a file."""
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "edgefw.bash"
    path.write_text(capsys.readouterr().out)
    return path


def completed(script: Path, line: str) -> set[str]:
    """Return what bash would offer at the end of a line."""
    environment = {**os.environ, "PATH": f"{HERE}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", ASK.format(script=script, line=line)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    return {word.strip() for word in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("edgefw si", {"simulate"}),
        ("edgefw delay wa", {"watch"}),
        ("edgefw simulate --no-r", {"--no-regret"}),
        ("edgefw up ring", {"ring-blackout"}),
    ],
)
def test_bash_completes_commands_actions_options_and_scenarios(
    script: Path, line: str, among: set[str]
) -> None:
    assert completed(script, line) == among


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_that_asks_edgefw(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert "_ARGCOMPLETE" in said
    assert "edgefw" in said


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["completion", "bsh"])
    assert end.value.code == 2
    assert "did you mean 'bash'?" in capsys.readouterr().err
