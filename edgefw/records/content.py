"""A play as bytes, and the hash by which it and a payload are known."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgefw.problem.feasible.base import Real

_PIECE = 2047  # bytes: to hash more, Python lets go of its lock, and a busy broker waits to get it back


def play_bytes(point: Real) -> bytes:
    """Return a play (C, m) as it is hashed and kept: row by row, little-endian float32."""
    return np.ascontiguousarray(point, dtype="<f4").tobytes()


def content_hash(content: bytes) -> str:
    """Return the 128-bit hash, in hexadecimal, of a play's bytes or a payload's.

    >>> content_hash(play_bytes(np.zeros((1, 2))))
    'c804ce198ec337e3dc762bdd1a09aece'
    """
    found = hashlib.blake2b(digest_size=16)
    for first in range(0, len(content), _PIECE):
        found.update(content[first : first + _PIECE])
    return found.hexdigest()
