"""One root seed, and an independent random stream for every (agent, purpose) below it.

`rng(seed, "stream", 3)` names a stream by what it is for. Two different keys give statistically independent
streams, and what is drawn from one never shifts another: adding an agent or a draw leaves the rest as it was.
Words become numbers through SHA-256 and never through `hash()`, which differs from process to process.
"""

from __future__ import annotations

import hashlib

import numpy as np

from edgefw.errors import InputError

LARGEST_SEED = 2**64 - 1
_WORD = 2**32


def _words(part: int | str) -> tuple[int, int]:
    """Return one part of a key as (what it is, its value), so that no word can pass for a number."""
    if isinstance(part, str):
        return 1, int.from_bytes(hashlib.sha256(part.encode()).digest()[:4], "big")
    if not 0 <= part < _WORD:
        raise InputError(f"random stream key {part} is out of range: use a number from 0 to {_WORD - 1}")
    return 0, int(part)


def rng(seed: int, *key: int | str) -> np.random.Generator:
    """Return the generator of the stream `key` below the root `seed`; equal arguments, equal draws.

    The bit generator is named (PCG64) because numpy's default one may change.

    >>> rng(7, "stream", 3).integers(1000) == rng(7, "stream", 3).integers(1000)
    np.True_
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"seed {seed} is out of range: use a number from 0 to {LARGEST_SEED}")
    spawn_key = tuple(word for part in key for word in _words(part))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int(seed), spawn_key=spawn_key)))
