"""`edgefw compose`: write the Docker Compose file of a scenario."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands.options import add_scenario
from edgefw.containers.checks import check as check_host
from edgefw.containers.compose import render, render_tls
from edgefw.errors import InputError
from edgefw.scenario.load import load
from edgefw.services.emulable import check_emulable

if TYPE_CHECKING:
    import argparse

IN_THE_IMAGE = ("auto", "fashion-mnist", "synthetic")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw compose playground --set network.agents=12 --out compose.yaml"
    add_scenario(parser, default="playground")
    parser.add_argument(
        "--out", metavar="FILE", default="-", help="where to write it (default: standard output)"
    )
    parser.add_argument(
        "--image",
        metavar="IMAGE",
        help="the image that services run in, such as one with a package of your own (default: edgefw's own)",
    )
    parser.add_argument(
        "--tls",
        action="store_true",
        help="write the file that puts those services under mutual TLS, beside it",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing: see whether this host can run such a file"
    )
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.check:
        return _check(arguments.out)
    _write(arguments.scenario, arguments.overrides, arguments.image, arguments.out, tls=arguments.tls)
    return 0


def _write(name: str, overrides: list[str], image: str | None, out: str, *, tls: bool) -> None:
    """Write the Compose file of a scenario to `out`, or (-) to standard output; or the one for its TLS."""
    scenario = load(name, overrides)
    check_emulable(scenario)
    words = [name, *(word for override in overrides for word in ("--set", override))]
    if image is not None:
        words += ["--image", image]
    text = (render_tls if tls else render)(scenario, shlex.join(words), image)
    if scenario.data.source not in IN_THE_IMAGE and not tls:
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
    build = " --build" if image is None else ""
    both = f"-f compose.yaml -f {out}" if tls else f"-f {out}"
    terminal.out.print(f"{out} is written: docker compose {both} up{build}")


def _check(out: str) -> int:
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
