"""Trouble on purpose: kill, pause, cut off; and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.cluster.engine import DEFAULT_PROJECT, ClusterError, Member, doing

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.cluster.engine import Cluster


def kill(cluster: Cluster, member: Member) -> str:
    """End a process without warning; it stays down until it is resumed."""
    with doing(f"kill {member.name}"):
        member.container.kill()
    return f"{member.name} is killed; {_undo(cluster, 'resume', member)} starts it again"


def pause(cluster: Cluster, member: Member) -> str:
    """Stop a process where it is: its connections stand, it does not answer."""
    with doing(f"pause {member.name}"):
        member.container.pause()
    return f"{member.name} is paused; {_undo(cluster, 'resume', member)} lets it go on"


def resume(_cluster: Cluster, member: Member) -> str:
    """Let a paused one go on, start one that is down."""
    with doing(f"resume {member.name}"):
        if member.state == "paused":
            member.container.unpause()
        elif member.running:
            raise ClusterError(f"{member.name} runs already: there is nothing to resume")
        else:
            member.container.start()
    return f"{member.name} goes on"


def cut(cluster: Cluster, member: Member) -> str:
    """Take a container off the network: it runs, and reaches nobody."""
    network = cluster.network()
    with doing(f"cut {member.name} off"):
        member.container.reload()
        if network.name not in member.container.attrs["NetworkSettings"]["Networks"]:
            raise ClusterError(f"{member.name} is cut off: {_undo(cluster, 'heal', member)} connects it")
        network.disconnect(member.container, force=True)
    return f"{member.name} is cut off; {_undo(cluster, 'heal', member)} connects it again"


def heal(cluster: Cluster, member: Member) -> str:
    """Put a container back on the network, under its own name."""
    network = cluster.network()
    with doing(f"heal {member.name}"):
        member.container.reload()
        if network.name in member.container.attrs["NetworkSettings"]["Networks"]:
            raise ClusterError(f"{member.name} is connected: there is nothing to heal")
        network.connect(member.container, aliases=[member.name])
    return f"{member.name} is connected again"


def _undo(cluster: Cluster, action: str, member: Member) -> str:
    project = "" if cluster.project == DEFAULT_PROJECT else f" --project {cluster.project}"
    return f"`edgefw chaos {action} {member.name}{project}`"


ACTIONS: dict[str, Callable[[Cluster, Member], str]] = {
    "kill": kill,
    "pause": pause,
    "resume": resume,
    "cut": cut,
    "heal": heal,
}
