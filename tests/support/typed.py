"""What a page tells its reader to type."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# A comment before a block, which no reader sees, says how it is typed: <!-- typed: in another terminal -->
_BLOCK = re.compile(
    r"(?:<!-- typed: (?P<how>[\w ]+) -->\n)?^```(?P<language>sh|yaml|python)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"# ([\w.-]+\.(?:yaml|py))\n")  # the first line of what a reader saves
_HOW = ("", "in another terminal", "containers")
ELSEWHERE = {"make test": ".ci/run"}  # these commands would run themselves; where they are run


@dataclass(frozen=True)
class Block:
    """Commands that are typed one after the other.

    `how` is empty; or "in another terminal", while the last command before the block runs on; or
    "containers", which need an engine.
    """

    how: str
    commands: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)  # that are saved before: by name


@dataclass
class Session:
    """A command, the files that are saved before it, and what is typed in another terminal while it runs."""

    command: str
    files: dict[str, str] = field(default_factory=dict)
    meanwhile: tuple[str, ...] = ()


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page; a command is a line, with those that a backslash joins to it."""
    found: list[Block] = []
    files: dict[str, str] = {}
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        how, text = block["how"] or "", block["text"]
        assert how in _HOW, f"{page.name}: nobody knows how to type {how!r}"
        if block["language"] == "sh":
            found.append(Block(how, _commands(text), files))
            files = {}
        elif named := _FILE.match(text):
            files[named[1]] = text
    return found


def _commands(text: str) -> tuple[str, ...]:
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    commands = [re.sub(r"\s+# .*", "", line).strip() for line in lines]
    return tuple(line for line in commands if line and line[0] != "#")


def sessions(found: Iterable[Block]) -> list[Session]:
    """Return what is typed one after the other, each with what is typed beside it."""
    typed: list[Session] = []
    for block in found:
        if block.how:
            typed[-1].meanwhile = block.commands
            continue
        first, *rest = [command for command in block.commands if command not in ELSEWHERE]
        typed += [Session(first, block.files), *map(Session, rest)]
    return typed
