"""`edgefw completion`: print what makes a shell complete commands, options and scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """\
examples:
  edgefw completion bash > ~/.local/share/bash-completion/completions/edgefw
  edgefw completion zsh > ~/.zfunc/_edgefw          with fpath+=~/.zfunc before compinit, in ~/.zshrc
  edgefw completion fish > ~/.config/fish/completions/edgefw.fish
"""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - of use here alone

    print(shellcode(["edgefw"], shell=arguments.shell))  # noqa: T201 - plain, for a shell
