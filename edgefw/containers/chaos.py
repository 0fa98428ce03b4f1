"""Trouble on purpose: kill, pause, cut off; and the way back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.containers import cable
from edgefw.containers.engine import SECONDS, Containers, EngineError, Member, doing
from edgefw.containers.project import project_of

if TYPE_CHECKING:
    from collections.abc import Callable


def kill(_containers: Containers, member: Member) -> str:
    """End a process without warning, and start it again: the engine itself does not, where somebody kills."""
    with doing(f"kill {member.name}"):
        _end(member)
        member.container.start()
    return f"{member.name} was killed, and is started again"


def down(containers: Containers, member: Member) -> str:
    """End a process without warning; it stays down until it is resumed."""
    with doing(f"kill {member.name}"):
        _end(member)
    return f"{member.name} is killed; {_undo(containers, 'resume', member)} starts it again"


def pause(containers: Containers, member: Member) -> str:
    """Stop a process where it is: its connections stand, it does not answer."""
    with doing(f"pause {member.name}"):
        member.container.pause()
    return f"{member.name} is paused; {_undo(containers, 'resume', member)} lets it go on"


def resume(_containers: Containers, member: Member) -> str:
    """Let a paused one go on, start one that is down."""
    with doing(f"resume {member.name}"):
        if member.state == "paused":
            member.container.unpause()
        elif member.running:
            raise EngineError(f"{member.name} runs already: there is nothing to resume")
        else:
            member.container.start()
    return f"{member.name} goes on"


def cut(containers: Containers, member: Member) -> str:
    """Take a container's network cable out: it runs, and reaches nobody. Started anew, it has it in again."""
    with doing(f"cut {member.name} off"):
        if not _cable(containers, member, "out"):
            raise EngineError(f"{member.name} is cut off: {_undo(containers, 'heal', member)} connects it")
    return f"{member.name} is cut off; {_undo(containers, 'heal', member)} connects it again"


def heal(containers: Containers, member: Member) -> str:
    """Put the cable in again: the container has the address and the names that it had."""
    with doing(f"heal {member.name}"):
        if not _cable(containers, member, "in", *_gateways(member)):
            raise EngineError(f"{member.name} is connected: there is nothing to heal")
    return f"{member.name} is connected again"


def _end(member: Member) -> None:
    member.container.kill()
    member.container.wait(timeout=SECONDS)


def _cable(containers: Containers, member: Member, *words: str) -> bool:
    """Move a container's cable; return whether it was not so already."""
    if not member.has_network:
        raise EngineError(
            f"{member.name} is down: {_undo(containers, 'resume', member)} starts it, connected"
        )
    said = containers.in_network_of(member, Path(cable.__file__).read_text(encoding="utf-8"), *words)
    if said == "none":
        raise EngineError(f"{member.name} is on no network: `docker network connect` puts it on one")
    return said != "same"


def _gateways(member: Member) -> list[str]:
    """Return the way out of the container's network, if there is one."""
    networks = member.container.attrs["NetworkSettings"]["Networks"].values()
    return [network["Gateway"] for network in networks if network["Gateway"]][:1]


def _undo(containers: Containers, action: str, member: Member) -> str:
    project = "" if containers.project == project_of(os.environ) else f" --project {containers.project}"
    return f"`edgefw chaos {action} {member.name}{project}`"


ACTIONS: dict[str, Callable[[Containers, Member], str]] = {
    "kill": kill,
    "down": down,
    "pause": pause,
    "resume": resume,
    "cut": cut,
    "heal": heal,
}
