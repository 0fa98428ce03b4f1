"""The cable of a container: out, and in again. A program, run inside the container's network by `chaos`.

    cable.py out            cable.py in [GATEWAY]

It prints one word: `out` or `in` if it changed something, `same` if all was so already, `none` where there is
no cable. Nothing of the engine's is taken away, so what it has given stays: the address, the names, the
neighbours' idea of who has which card. Only the route to the outside goes with the cable, and is put back.

It has to run with the standard library alone (`python -I -S -c`), in whatever image there is.
"""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

CARDS = Path("/sys/class/net")
LOOPBACK = "lo"
UP = 1  # IFF_UP

# Of rtnetlink(7): requests, and who asks.
NEW_LINK, NEW_ROUTE = 16, 24
ACKNOWLEDGED_REQUEST = 0x1 | 0x4
ERROR = struct.Struct("=16xi")  # a header, and the negative errno; 0: done
NEW_ONE = 0x400  # NLM_F_CREATE
MAIN_TABLE, BY_BOOT, EVERYWHERE, UNICAST, GATEWAY = 254, 3, 0, 1, 5


def main(words: list[str]) -> str:
    """Do what the words say; return the word to print."""
    if words[:1] not in (["out"], ["in"]):
        raise SystemExit("cable.py out | cable.py in [GATEWAY]")
    wanted = words[0] == "in"
    cards = [card for card in CARDS.iterdir() if card.name != LOOPBACK]
    moved = [card for card in cards if is_in(card) is not wanted]
    for card in moved:
        put(card, wanted=wanted)
    if moved and wanted and words[1:]:
        add_way_out(words[1])
    if not cards:
        return "none"
    return words[0] if moved else "same"


def is_in(card: Path) -> bool:
    """Whether a card's cable is in."""
    return bool(int((card / "flags").read_text(encoding="ascii"), 16) & UP)


def put(card: Path, *, wanted: bool) -> None:
    """Put a card's cable in, or take it out."""
    index = socket.if_nametoindex(card.name)
    ask(NEW_LINK, 0, struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, UP if wanted else 0, UP))


def add_way_out(gateway: str) -> None:
    """Add the default route, which the kernel forgets when a card goes down."""
    route = struct.pack(
        "=8BI", socket.AF_INET, 0, 0, 0, MAIN_TABLE, BY_BOOT, EVERYWHERE, UNICAST, 0
    ) + struct.pack("=HH4s", 8, GATEWAY, socket.inet_aton(gateway))
    ask(NEW_ROUTE, NEW_ONE, route)


def ask(kind: int, flags: int, body: bytes) -> None:
    """Send the kernel a request; raises OSError where it refuses."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(struct.pack("=IHHII", 16 + len(body), kind, ACKNOWLEDGED_REQUEST | flags, 1, 0) + body)
        (negative,) = ERROR.unpack_from(kernel.recv(4096))
    if negative:
        raise OSError(-negative, "the kernel refuses")


if __name__ == "__main__":
    print(main(sys.argv[1:]))  # noqa: T201 - whoever started it reads it
