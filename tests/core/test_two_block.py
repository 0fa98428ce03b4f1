"""The fused sweep of `core.de2mfw` is the paper's two blocks, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from two_block import two_block_plays

from edgefw.problem.feasible import NAMES as SETS

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup


def assert_same_bits(setup: Setup) -> None:
    for fused, blocks in zip(tiny.plays(setup), two_block_plays(setup), strict=True):
        for one, other in zip(fused, blocks, strict=True):
            assert one.t == other.t
            assert one.point.dtype == setup.dtype
            assert np.array_equal(one.point, other.point)
            assert len(one.queries) == len(setup.steps)
            assert np.array_equal(one.queries, other.queries)


@settings(deadline=None, max_examples=100)
@given(st.data(), st.sampled_from(["float32", "float64"]))
def test_on_any_graph_under_any_delays(data: st.DataObject, precision: str) -> None:
    assert_same_bits(data.draw(tiny.networks(precision=precision)))


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_on_every_set(feasible: str, precision: str) -> None:
    assert_same_bits(
        tiny.setup(problem={"set": feasible}, precision=precision, delays=tiny.DELAYS["out of order"])
    )


@pytest.mark.parametrize("loss", ["multinomial", "squared", "binary_logistic"])
def test_with_every_loss_and_the_theorems_schedule(loss: str) -> None:
    assert_same_bits(
        tiny.setup(
            problem={"loss": loss},
            algorithm={"schedule": "theorem", "rate": None},
            delays=tiny.DELAYS["uniform"],
        )
    )


def test_the_reference_learns_at_all() -> None:
    """Equal plays mean little where every play is the same: those of the last rounds answer to feedback."""
    late, never = (tiny.setup(delays=tiny.DELAYS[name]) for name in ("uniform", "never"))
    moved = [
        not np.array_equal(one[0].point, other[0].point)
        for one, other in zip(two_block_plays(late), two_block_plays(never), strict=True)
    ]
    assert not moved[0]
    assert all(moved[8:])
