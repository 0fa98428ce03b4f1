"""How much a broker may hold."""

from __future__ import annotations

from typing import NamedTuple

MEGABYTE = 1_000_000


class Capacity(NamedTuple):
    """How much may be held: pending feedback on a link and in all; bytes in all, also of what is released."""

    link: int
    all: int
    bytes: int
