"""The command line: parse, call one function."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from edgefw.commands import cluster_options, delay_options, service_options
from edgefw.errors import EdgefwError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """\
examples:
  edgefw scenarios list                         what there is to run
  edgefw up                                     the default scenario as a network of processes
  edgefw simulate default                       the same as arrays, without a network
  edgefw simulate paper-distributed --set network.topology=grid --seeds 3
  edgefw reproduce table2                       the paper's table beside ours
  edgefw data list                              which data sets are on this machine
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0 done, 1 failed, 2 wrong input, 3 done in part (`verify`), 130 interrupted.
    """
    arguments = _parser().parse_args(argv)
    try:
        code = arguments.call(arguments) or 0
        if sys.stdout is not None:
            sys.stdout.flush()  # a reader that has gone is noticed here, not in the interpreter's last breath
    except EdgefwError as error:
        print(f"edgefw: {error}", file=sys.stderr)  # noqa: T201 - this is the user interface
        return error.exit_code
    except MemoryError as error:
        print(f"edgefw: out of memory ({error}): use fewer agents, rounds or samples", file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        print("edgefw: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    except BrokenPipeError:  # the reader of our output has gone: `edgefw ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
        return 1
    return int(code)


class _Parser(argparse.ArgumentParser):
    """Wrong options in one line, like every other mistake, and with the nearest right one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)  # --seed must not mean --seeds

    def error(self, message: str) -> Any:
        self.exit(2, f"edgefw: {message}; see `{self.prog} --help`\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = super().parse_known_args(args, namespace)
        if rest and rest[0].startswith("-"):
            self.error(str(unknown("option", rest[0].partition("=")[0], self._option_string_actions)))
        if rest:
            self.error(f"unexpected argument {rest[0]!r}")
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            kind = str(action.metavar or action.dest).lower()
            raise argparse.ArgumentError(None, str(unknown(kind, value, action.choices)))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="edgefw",
        description="Emulates a network of edge devices that learn online from late feedback.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"edgefw {version('edgefw')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    _add_up(commands)
    _add_compose(commands)
    _add_simulate(commands)
    _add_verify(commands)
    _add_reproduce(commands)
    _add_bench(commands)
    _add_scenarios(commands)
    _add_data(commands)
    delay_options.add(commands)
    cluster_options.add(commands)
    service_options.add(commands)
    return parser


def _add_scenario_arguments(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs=None if default is None else "?",
        default=default,
        help="a scenario file, or a name from `edgefw scenarios list`" + (f" ({default})" if default else ""),
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        dest="overrides",
        help="override a field, such as network.agents=30 or delays.0.rounds=50 (may be repeated)",
    )


def _add_up(commands: Any) -> None:
    parser = commands.add_parser("up", help="run a scenario as a network of processes on this machine")
    _add_scenario_arguments(parser, default="default")
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/<name>-<time>)")
    parser.add_argument(
        "--headless", action="store_true", help="no live view: a line of progress now and then"
    )
    parser.add_argument("--stay", action="store_true", help="keep the services up when the run is over")
    parser.add_argument(
        "--memory", action="store_true", help="a throw-away run: the broker keeps nothing on disk"
    )
    parser.add_argument(
        "--admin-port", type=_port, metavar="PORT", help="of the broker's admin endpoint (7070 if it is free)"
    )
    parser.set_defaults(call=_up)


def _up(arguments: argparse.Namespace) -> None:
    from edgefw.commands import up  # noqa: PLC0415

    up.run(
        arguments.scenario,
        arguments.overrides,
        out=arguments.out,
        headless=arguments.headless,
        stay=arguments.stay,
        memory=arguments.memory,
        admin_port=arguments.admin_port,
    )


def _add_compose(commands: Any) -> None:
    parser = commands.add_parser("compose", help="write the Docker Compose file of a scenario")
    _add_scenario_arguments(parser, default="playground")
    parser.add_argument(
        "--out", metavar="FILE", default="-", help="where to write it (default: standard output)"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing: see whether this host can run such a file"
    )
    parser.set_defaults(call=_compose)


def _compose(arguments: argparse.Namespace) -> int:
    from edgefw.commands import compose  # noqa: PLC0415

    if arguments.check:
        return int(compose.check(arguments.out))
    compose.run(arguments.scenario, arguments.overrides, out=arguments.out)
    return 0


def _add_verify(commands: Any) -> None:
    parser = commands.add_parser(
        "verify",
        help="replay an emulated run and compare every play bit for bit",
        epilog="exit code: 0 verified, every play bit for bit; 1 the record is not true; 2 it cannot be "
        "replayed; 3 nothing is wrong, but not all could be checked (another build, no broker's account)",
    )
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.set_defaults(call=_verify)


def _verify(arguments: argparse.Namespace) -> None:
    from edgefw.commands import verify  # noqa: PLC0415

    verify.run(arguments.run)


def _add_simulate(commands: Any) -> None:
    parser = commands.add_parser("simulate", help="run a scenario as arrays, without a network")
    _add_scenario_arguments(parser)
    parser.add_argument(
        "--seeds",
        type=_positive,
        default=1,
        metavar="N",
        help="run N seeds: the scenario's and the next ones",
    )
    parser.add_argument("--out", metavar="DIR", help="the run folder (default: runs/<name>-<time>)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--no-regret", action="store_true", help="losses only: do not look for the best fixed point"
    )
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="processes at a time (default: all cores)"
    )
    parser.set_defaults(call=_simulate)


def _simulate(arguments: argparse.Namespace) -> None:
    from edgefw.commands import simulate  # noqa: PLC0415 - what one command needs, the others do not load

    simulate.run(
        arguments.scenario,
        arguments.overrides,
        seeds=arguments.seeds,
        out=arguments.out,
        as_json=arguments.json,
        with_regret=not arguments.no_regret,
        jobs=arguments.jobs,
    )


def _add_reproduce(commands: Any) -> None:
    from edgefw.experiments.published import departures  # noqa: PLC0415

    parser = commands.add_parser(
        "reproduce",
        help="run the paper's experiments and compare",
        epilog=departures(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "target", metavar="TARGET", help="table1, table2, figure2, figure3, figure4 or regret"
    )
    parser.add_argument("--quick", action="store_true", help="a small version of it, in about a minute")
    parser.add_argument("--seeds", type=_positive, metavar="N", help="how many seeds (default: 3)")
    parser.add_argument("--out", metavar="DIR", help="where data and figures go (default: results/<target>)")
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="processes at a time (default: all cores)"
    )
    parser.set_defaults(call=_reproduce)


def _reproduce(arguments: argparse.Namespace) -> None:
    from pathlib import Path  # noqa: PLC0415

    from edgefw.experiments import reproduce  # noqa: PLC0415

    if arguments.target not in reproduce.TARGETS:
        raise unknown("target", arguments.target, reproduce.TARGETS)
    out = Path(arguments.out or f"results/{arguments.target}")
    reproduce.run(
        arguments.target, quick=arguments.quick, seeds=arguments.seeds, out=out, jobs=arguments.jobs
    )


def _add_bench(commands: Any) -> None:
    parser = commands.add_parser("bench", help="time and weigh the simulator or the broker on this machine")
    parser.add_argument(
        "what", nargs="?", default="simulator", metavar="WHAT", help="simulator (default) or broker"
    )
    parser.add_argument("--runs", type=_positive, default=5, metavar="N", help="of the broker (5)")
    parser.add_argument(
        "--dir", default="runs", metavar="DIR", help="where the broker keeps its journal meanwhile (runs)"
    )
    parser.set_defaults(call=_bench)


def _bench(arguments: argparse.Namespace) -> None:
    from edgefw.commands import bench  # noqa: PLC0415

    bench.run(arguments.what, runs=arguments.runs, folder=arguments.dir)


def _add_scenarios(commands: Any) -> None:
    parser = commands.add_parser(
        "scenarios", help="list the ready-made scenarios, show one, or print the schema"
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=_Parser)
    listing = actions.add_parser("list", help="names and what they are about")
    listing.set_defaults(call=lambda _: _scenario_command().list_all())
    show = actions.add_parser("show", help="a scenario with every default written out")
    _add_scenario_arguments(show)
    show.set_defaults(call=lambda a: _scenario_command().show(a.scenario, a.overrides))
    schema = actions.add_parser("schema", help="the JSON schema of a scenario file, for editors")
    schema.set_defaults(call=lambda _: _scenario_command().schema())


def _scenario_command() -> Any:
    from edgefw.commands import scenarios  # noqa: PLC0415

    return scenarios


def _add_data(commands: Any) -> None:
    parser = commands.add_parser("data", help="list, fetch or locate data sets")
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=_Parser)
    listing = actions.add_parser("list", help="which data sets there are, and where")
    listing.set_defaults(call=lambda _: _data_command().list_all())
    for name, summary in (("fetch", "download one, with its checksums"), ("path", "print where one is")):
        action = actions.add_parser(name, help=summary)
        action.add_argument("name", metavar="NAME", help="fashion-mnist or mnist")
        action.set_defaults(call=lambda a, name=name: getattr(_data_command(), name)(a.name))


def _data_command() -> Any:
    from edgefw.commands import data  # noqa: PLC0415

    return data


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def _positive(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value
