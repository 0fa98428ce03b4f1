"""`edgefw compose`: write the Compose file of a scenario, or see whether this host can run it."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.cluster.checks import check as check_host
from edgefw.cluster.compose import render
from edgefw.errors import InputError
from edgefw.scenario.load import load
from edgefw.services.network.prepare import check_emulable

if TYPE_CHECKING:
    from collections.abc import Sequence

IN_THE_IMAGE = ("auto", "fashion-mnist", "synthetic")


def run(name: str, overrides: Sequence[str], *, out: str) -> None:
    """Write the Compose file of a scenario to `out`, or (-) to standard output."""
    scenario = load(name, overrides)
    check_emulable(scenario)
    words = [name, *(word for override in overrides for word in ("--set", override))]
    text = render(scenario, shlex.join(words))
    if scenario.data.source not in IN_THE_IMAGE:
        terminal.err.print(
            f"edgefw: data.source {scenario.data.source} is not in the image: mount it into the observer's "
            f"container, or set data.source to one of {', '.join(IN_THE_IMAGE)}"
        )
    if out == "-":
        sys.stdout.write(text)
        return
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {out} ({error.strerror}): give another --out") from None
    terminal.out.print(f"{out} is written: docker compose -f {out} up --build")


def check(out: str) -> int:
    """Say in a line each what keeps `docker compose up` from working here; return the exit code."""
    folder = Path() if out == "-" else Path(out).parent
    with terminal.status("looking at this host"):
        report = check_host(folder, os.environ)
    for finding in report.findings:
        terminal.err.print(f"edgefw: {'' if finding.fatal else 'note: '}{finding.text}")
    if not report.ready:
        return InputError.exit_code
    terminal.out.print(f"this host is ready: {report.command}")
    return 0
