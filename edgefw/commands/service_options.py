"""The options of the processes that `up` and containers start; a person rarely does."""

from __future__ import annotations

import argparse
import os
from typing import Any


def add(commands: Any) -> None:
    """Add `agent`, `broker` and `observer` to the commands."""
    agent = commands.add_parser("agent", help="one agent (started by `up`)")
    agent.add_argument("--agent", required=True, type=int, metavar="N", help="which one")
    agent.set_defaults(call=_agent)
    broker = commands.add_parser("broker", help="the broker (started by `up`)")
    _add_broker(broker)
    broker.set_defaults(call=_broker)
    observer = commands.add_parser("observer", help="the observer (started by `up`)")
    _add_observer(observer)
    observer.set_defaults(call=_observer)
    for parser in (agent, broker):
        parser.add_argument(
            "--advertise", metavar="HOST:PORT", help="where others reach it (default: where it listens)"
        )
    agent.add_argument("--join", required=True, metavar="HOST:PORT", help="the observer's address")
    for parser in (agent, broker, observer):
        _add_listen(parser)


def address(text: str) -> tuple[str, int]:
    """Return the host and the port of HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, int(port)


def _add_listen(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--listen", required=True, type=address, metavar="HOST:PORT", help="gRPC address")
    parser.add_argument(
        "--metrics-port",
        type=int,
        default=int(os.environ.get("EDGEFW_METRICS_PORT", "9464")),
        metavar="PORT",
        help="HTTP, same host, for metrics and health (9464)",
    )
    parser.add_argument("--stay", action="store_true", help="stay up when the run is over")


def _add_broker(parser: argparse.ArgumentParser) -> None:
    run = parser.add_mutually_exclusive_group(required=True)
    run.add_argument("--join", metavar="HOST:PORT", help="the observer's address: serve its runs")
    run.add_argument("--scenario", metavar="FILE", help="serve this scenario, for whoever knows it")
    keeps = parser.add_mutually_exclusive_group(required=True)
    keeps.add_argument("--journal", metavar="FILE", help="where it keeps what it holds, through a crash too")
    keeps.add_argument("--memory", action="store_true", help="keep nothing: for throw-away runs")
    admin = parser.add_argument_group("admin endpoint")
    admin.add_argument(
        "--admin", type=address, metavar="HOST:PORT", help="where it listens (none if left out)"
    )
    admin.add_argument(
        "--admin-token",
        metavar="TOKEN",
        default=os.environ.get("EDGEFW_ADMIN_TOKEN"),
        help="asked of everyone (default: EDGEFW_ADMIN_TOKEN)",
    )
    admin.add_argument("--admin-open", action="store_true", help="listen beyond this machine without a token")
    admin.add_argument(
        "--admin-name",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name it answers to, beside localhost and addresses (may be repeated)",
    )


def _add_observer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scenario", metavar="FILE", help="a scenario file or name (default: the text in EDGEFW_SCENARIO)"
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", metavar="DIR", help="the folder of the one run to observe")
    where.add_argument("--runs", metavar="DIR", help="where every run gets a folder of its own")


def _agent(arguments: argparse.Namespace) -> int:
    from edgefw.services.agent import service as agent  # noqa: PLC0415 - an agent loads what it needs

    listen = _place(arguments)
    advertise = arguments.advertise or listen.address
    options = agent.AgentOptions(arguments.agent, arguments.join, listen, advertise, stay=arguments.stay)
    return agent.run(options)


def _broker(arguments: argparse.Namespace) -> int:
    from pathlib import Path  # noqa: PLC0415

    from edgefw.services.broker import process as broker  # noqa: PLC0415

    listen = _place(arguments)
    journal = None if arguments.memory else Path(arguments.journal)
    options = broker.BrokerOptions(listen, journal, _admin_options(arguments))
    if arguments.join is None:
        return broker.run(arguments.scenario, options)
    return broker.run_joined(arguments.join, arguments.advertise or listen.address, options)


def _admin_options(arguments: argparse.Namespace) -> Any:
    from edgefw.services.broker.admin.server import AdminOptions  # noqa: PLC0415

    if arguments.admin is None:
        return None
    host, port = arguments.admin
    return AdminOptions(
        host,
        port,
        token=arguments.admin_token or None,
        names=frozenset(arguments.admin_name),
        open_=arguments.admin_open,
    )


def _observer(arguments: argparse.Namespace) -> int:
    from pathlib import Path  # noqa: PLC0415

    from edgefw.services.observer import service as observer  # noqa: PLC0415

    return observer.run(
        observer.ObserverConfig(
            arguments.scenario,
            _place(arguments),
            out=Path(arguments.out) if arguments.out else None,
            runs=Path(arguments.runs) if arguments.runs else None,
            stay=arguments.stay,
        )
    )


def _place(arguments: argparse.Namespace) -> Any:
    from edgefw.services.config import Place  # noqa: PLC0415

    host, port = arguments.listen
    return Place(host, port, arguments.metrics_port)
