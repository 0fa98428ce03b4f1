"""The options of `edgefw delay`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from edgefw.errors import InputError

ADMIN, TOKEN = "EDGEFW_ADMIN", "EDGEFW_ADMIN_TOKEN"
PORT = "EDGEFW_ADMIN_PORT"  # where compose.yaml publishes the endpoint on this machine
DEFAULT = "7070"
EXAMPLES = """\
examples:
  edgefw delay ls                                  every link and the faults in force on it
  edgefw delay set 3 750ms --jitter 200ms --for 30s
  edgefw delay set all 2s --distribution pareto --jitter 1s --name storm
  edgefw delay set 3 20                            twenty rounds, where the run's clock is rounds
  edgefw delay set 3 --type ramp start=0s stop=2s step=500ms interval=5s
  edgefw delay clear 3                             remove what was set on agent 3's link
  edgefw delay disable 3                           hold everything of agent 3, until `edgefw delay enable 3`
  edgefw delay plan > plan.yaml                    keep the plan; `edgefw delay plan plan.yaml` puts it back
  edgefw delay watch                               changes and releases as they come
"""


def add(commands: Any) -> None:
    """Add `delay` to the commands."""
    parser = commands.add_parser(
        "delay",
        help="look at and change the delays of a run that goes on",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    _add_ls(actions)
    _add_set(actions)
    _add_clear(actions)
    _add_enable(actions)
    _add_plan(actions)
    _add_watch(actions)


def _add_ls(actions: Any) -> None:
    parser = actions.add_parser("ls", help="every link: its queue, and the faults in force")
    _add_common(parser)
    parser.set_defaults(call=lambda a: _delay().ls(_place(a), as_json=a.json))


def _add_set(actions: Any) -> None:
    parser = actions.add_parser(
        "set",
        help="delay the feedback of an agent, or of all",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action=_SetHelp, nargs=0, help="show this help message and exit")
    parser.add_argument("agent", metavar="AGENT", help="an agent's number, or all")
    parser.add_argument(
        "amount", metavar="AMOUNT", nargs="?", help="750ms, 2s; a number of rounds under the rounds clock"
    )
    parser.add_argument(
        "--type",
        dest="fields",
        nargs="+",
        metavar=("TYPE", "FIELD=VALUE"),
        help="any fault type (below) with its fields, instead of AMOUNT",
    )
    parser.add_argument("--jitter", metavar="AMOUNT", help="how far it varies")
    parser.add_argument(
        "--distribution", metavar="LAW", help="by which it varies: uniform, pareto, ... (below)"
    )
    parser.add_argument("--correlation", type=_number, metavar="C", help="0 to 1, with the round before")
    parser.add_argument("--seed", type=_number, metavar="N", help="a seed of its own for the draws")
    parser.add_argument("--probability", type=_number, metavar="P", help="chance that a feedback is affected")
    parser.add_argument("--trace", metavar="FILE", help="amounts from a file, one a line, instead of AMOUNT")
    parser.add_argument(
        "--apply-to",
        choices=("new", "pending"),
        metavar="WHICH",
        help="new feedback (default), or pending too",
    )
    parser.add_argument("--name", default="delay", metavar="NAME", help="of the fault; one there is replaced")
    parser.add_argument("--for", dest="duration", metavar="TIME", help="ends after 30s, say, or 100 rounds")
    _add_common(parser)
    parser.set_defaults(call=_set)


class _SetHelp(argparse.Action):
    """Shows the help of `set` with every fault type: they are loaded for that, not for every command."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.epilog = _delay().types()
        parser.print_help()
        parser.exit()


def _set(arguments: argparse.Namespace) -> None:
    names = ("jitter", "distribution", "correlation", "seed", "probability", "apply_to", "duration")
    options = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    _delay().set_delay(
        _place(arguments),
        arguments.agent,
        _delay().Wanted(arguments.amount, arguments.trace, arguments.fields, options),
        name=arguments.name,
        as_json=arguments.json,
    )


def _add_clear(actions: Any) -> None:
    parser = actions.add_parser("clear", help="remove every fault, an agent's, or one")
    parser.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        help="whose; all: those on all links together; every fault if left out",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="only this one")
    _add_common(parser)
    parser.set_defaults(call=lambda a: _delay().clear(_place(a), a.agent, a.name, as_json=a.json))


def _add_enable(actions: Any) -> None:
    for name, enabled, text in (
        ("disable", False, "hold everything of an agent, like a blackout without end"),
        ("enable", True, "let a disabled agent's feedback through again"),
    ):
        parser = actions.add_parser(name, help=text)
        parser.add_argument("agent", metavar="AGENT", help="an agent's number")
        _add_common(parser)
        parser.set_defaults(call=_enable, enabled=enabled)


def _enable(arguments: argparse.Namespace) -> None:
    _delay().enable(_place(arguments), arguments.agent, enabled=arguments.enabled, as_json=arguments.json)


def _add_plan(actions: Any) -> None:
    parser = actions.add_parser("plan", help="show the whole delay plan, or put another in its place")
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="YAML or JSON: a list of faults, {faults: [...]}, or a scenario (its delays and events)",
    )
    _add_common(parser)
    parser.set_defaults(call=lambda a: _delay().plan(_place(a), a.file, as_json=a.json))


def _add_watch(actions: Any) -> None:
    parser = actions.add_parser("watch", help="print changes and releases as they come, until Ctrl-C")
    parser.add_argument("--changes", action="store_true", help="changes of the plan alone")
    _add_common(parser)
    parser.set_defaults(call=lambda a: _delay().watch(_place(a), changes=a.changes, as_json=a.json))


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--admin",
        metavar="URL",
        help=f"of the broker's admin endpoint (default: ${ADMIN}, else port ${PORT} or {DEFAULT} here)",
    )
    parser.add_argument("--token", metavar="TOKEN", help=f"of the endpoint, if it asks (default: ${TOKEN})")


def _place(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """Return where the endpoint is, and the token for it."""
    url = arguments.admin or os.environ.get(ADMIN) or f"http://127.0.0.1:{_port()}"
    return url, arguments.token or os.environ.get(TOKEN) or None


def _port() -> int:
    text = os.environ.get(PORT) or DEFAULT
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**16):
        raise InputError(f"{PORT} is {text!r}: it must be a port, such as {DEFAULT}")
    return int(text)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    return int(value) if value.is_integer() else value


def _delay() -> Any:
    from edgefw.commands import delay  # noqa: PLC0415 - what one command needs, the others do not load

    return delay
