"""The command line: find the command, parse, call one function.

A command is one file in `edgefw/commands` whose first line says what the help shows, "`edgefw NAME`: what it
does."; its function `options` adds its options to a parser and sets `call`, which gets what was parsed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefw import commands
from edgefw.errors import EdgefwError, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXAMPLES = """\
examples:
  edgefw scenarios list                         what there is to run
  edgefw up                                     the default scenario as a network of processes
  edgefw simulate default                       the same as arrays, without a network
  edgefw simulate paper-distributed --set network.topology=grid --seeds 3
  edgefw reproduce table2                       the paper's table beside ours
  edgefw data list                              which data sets are on this machine
"""
COMPLETING = "_ARGCOMPLETE"  # set by a shell that wants to know how its line may go on
_FIRST_LINE = re.compile(r'"""`edgefw (?P<name>\w+)`: (?P<help>.+?)\.(""")?$')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0 done, 1 failed, 2 wrong input, 3 done in part (`verify`), 130 interrupted.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    parser = make_parser()
    if COMPLETING in os.environ:
        complete(parser)
    arguments = parser.parse_args(words)
    arguments.words = words  # for a command that says how to say it otherwise
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


def complete(parser: Parser) -> None:
    """Tell a shell how its line may go on, and end: see `edgefw completion`."""
    from argcomplete import autocomplete  # noqa: PLC0415 - a shell asks for it, nobody else

    for word in os.environ.get("COMP_LINE", "").split()[1:2]:
        if word in parser.commands:
            parser.commands[word].load()  # what it adds later is not seen
    autocomplete(parser)


def make_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="edgefw",
        description="Emulates a network of edge devices that learn online from late feedback.",
        epilog=EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"edgefw {version('edgefw')}")
    every = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, text in _commands():
        module = f"{commands.__name__}.{name}"
        parser.commands[name] = every.add_parser(name, module=module, help=text)
    return parser


def _commands() -> Iterator[tuple[str, str]]:
    """Yield the name of every command and what it does, from its file's first line: to import all is slow."""
    for path in sorted(Path(commands.__path__[0]).glob("*.py")):
        with path.open(encoding="utf-8") as file:
            if found := _FIRST_LINE.match(file.readline()):
                yield found["name"], found["help"]


class Parser(argparse.ArgumentParser):
    """Wrong options in one line, like every other mistake, and with the nearest right one.

    The parser of a command asks the command's `module` for its options when it is first used.
    """

    def __init__(self, module: str | None = None, **options: Any) -> None:
        super().__init__(
            allow_abbrev=False,  # --seed must not mean --seeds
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )
        self._module = module
        self.commands: dict[str, Parser] = {}  # of the whole command line, by name

    def load(self) -> None:
        """Add the options of the command."""
        if self._module is not None:
            import_module(self._module).options(self)
            self._module = None

    def error(self, message: str) -> Any:
        """End with one line that says what is wrong."""
        self.exit(2, f"edgefw: {message}; see `{self.prog} --help`\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; whatever is not known is refused."""
        self.load()
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
