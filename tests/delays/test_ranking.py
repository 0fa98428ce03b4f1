"""How large a feedback is among the last ones of its link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays import ranking
from edgefw.delays.ranking import RANKED, Ranking

if TYPE_CHECKING:
    from random import Random

NORMS = st.integers(0, 5).map(float)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(NORMS, st.booleans()), max_size=2 * RANKED), st.randoms(use_true_random=False))
def test_a_rank_is_the_share_of_the_last_norms_that_are_smaller_whatever_was_taken_back(
    steps: list[tuple[float, bool]], random: Random
) -> None:
    ranked, there = Ranking(), dict[int, float]()
    for s, (norm, adds) in enumerate(steps, start=1):
        if adds or not there:
            ranked.add(s, norm)
            there[s] = norm
        else:
            gone = random.choice(list(there))
            ranked.remove(gone)
            del there[gone]
        last = list(there.values())[-RANKED:]
        smaller = sum(each < norm for each in last)
        assert ranked.rank(norm) == (smaller / len(last) if last else 0.0)


def test_as_many_norms_are_kept_as_may_be_taken_back_and_no_more() -> None:
    ranked = Ranking()
    many = RANKED + ranking.WITHDRAWN
    for s in range(many + 5):
        ranked.add(s, float(s))
    for s in reversed(range(RANKED + 5, many + 5)):
        ranked.remove(s)
    assert ranked.rank(RANKED + 4.5) == 1.0
    assert ranked.rank(5.5) == 1 / RANKED  # the oldest five are forgotten
    ranked.remove(0)
    assert ranked.rank(5.5) == 1 / RANKED
