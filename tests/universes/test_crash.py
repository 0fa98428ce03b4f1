"""What a crash may leave: damage is in bytes that were being written, and nowhere else."""

from __future__ import annotations

from random import Random

import pytest
from universes.crash import TAILS, Files, interrupted

PAGE = 4096


@pytest.mark.parametrize("tail", TAILS)
def test_pages_that_a_checkpoint_does_not_write_stay_as_they_are(tail: str) -> None:
    before = Files(b"a" * PAGE + b"b" * PAGE + b"c" * PAGE, None)
    after = Files(b"a" * PAGE + b"B" * PAGE + b"c" * PAGE + b"d" * PAGE, None)
    for seed in range(20):
        left = interrupted(before, after, tail, Random(seed)).database
        assert left is not None
        assert left[:PAGE] == b"a" * PAGE
        assert left[2 * PAGE : 3 * PAGE] == b"c" * PAGE
