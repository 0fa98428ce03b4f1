"""`edgefw up`: run a scenario as a network of processes on this machine."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands import summary_view
from edgefw.commands.options import add_scenario, add_tls, port
from edgefw.errors import EdgefwError, InputError
from edgefw.local.emulation import Emulated, emulate
from edgefw.local.liveview import LiveView, PlainView
from edgefw.scenario.load import load

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw up one-slow-device --set pace=500ms"
    add_scenario(parser, default="default")
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/<name>-<time>)")
    parser.add_argument(
        "--headless", action="store_true", help="no live view: a line of progress now and then"
    )
    parser.add_argument(
        "--virtual",
        action="store_true",
        help="all services in one process on virtual time: the same run, exact times, no waiting",
    )
    parser.add_argument("--stay", action="store_true", help="keep the services up when the run is over")
    parser.add_argument(
        "--memory", action="store_true", help="a throw-away run: the broker keeps nothing on disk"
    )
    parser.add_argument(
        "--admin-port", type=port, metavar="PORT", help="of the broker's admin endpoint (7070 if it is free)"
    )
    add_tls(
        parser, "the folder that `edgefw certs` wrote: services prove who they are, and calls are encrypted"
    )
    parser.add_argument(
        "--no-report", action="store_true", help="do not write a report at the end (see edgefw report)"
    )
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    """Run a scenario as processes; write the run folder, show the summary.

    Raises KeyboardInterrupt where the run was cut short, after its summary was written.
    """
    done = _emulated(arguments)
    summary = done.folder.summary()
    if summary is not None:
        summary_view.show([summary], done.folder.path)
        if done.interrupted:  # whoever does that does not want to wait
            terminal.out.print(
                f"no report is made of a run that was cut short: edgefw report {quote(str(done.folder.path))}"
            )
    done.require_whole()
    if not arguments.no_report:
        _report(done.folder.path)


def _emulated(arguments: argparse.Namespace) -> Emulated:
    view = LiveView if terminal.err.is_terminal and not arguments.headless else PlainView
    scenario = load(arguments.scenario, arguments.overrides)
    out = Path(arguments.out) if arguments.out else None
    if not arguments.virtual:
        return emulate(
            scenario,
            out,
            view,
            stay=arguments.stay,
            memory=arguments.memory,
            admin_port=arguments.admin_port,
            tls=arguments.tls,
        )
    for option in ("stay", "memory", "admin_port", "tls"):
        if getattr(arguments, option):
            name = option.replace("_", "-")
            raise InputError(f"--{name} is for services that others can reach: leave it out with --virtual")
    from edgefw.virtual.emulation import emulate as emulate_virtually  # noqa: PLC0415 - all services: half a second

    return emulate_virtually(scenario, out, view)


def _report(path: Path) -> None:
    """Write the report of a run; one that cannot be made does not make the run a failure."""
    from edgefw.api.reporting import report  # noqa: PLC0415 - it takes long, and a run need not wait for it

    try:
        link = report(path).absolute().as_uri()
    except EdgefwError as error:
        link = f"none, {error}"
    terminal.out.print(f"report: {link}")
