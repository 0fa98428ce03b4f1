"""The generated code is current, and the protos keep the usual rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROTOS = Path(__file__).parents[1] / "protos"


def test_the_generated_code_is_what_the_protos_generate() -> None:
    done = subprocess.run([PROTOS / "check.sh", sys.executable], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_buf_lint_finds_nothing() -> None:
    buf = Path(sys.executable).with_name("buf")
    done = subprocess.run([buf, "lint"], cwd=PROTOS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
