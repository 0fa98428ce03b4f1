"""The feedback of one agent, as the broker counts and ranks it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.link import RECENT, Link
from edgefw.delays.ranking import RANKED


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=40))
def test_which_rounds_have_been_taken_is_known_through_gaps_and_withdrawals(
    steps: list[tuple[int, bool]],
) -> None:
    link, taken = Link(0), set[int]()
    for s, takes in steps:
        if takes and s not in taken:
            link.take(s, 1.0)
            taken.add(s)
        elif not takes and s in taken:
            link.untake(s)
            taken.remove(s)
        assert {each for each in range(1, 13) if link.taken(each)} == taken
        assert (link.count, link.highest) == (len(taken), max(taken, default=0))
        assert link.floor == next(each for each in range(13) if each + 1 not in taken)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=130))
def test_a_rank_is_the_share_of_the_last_hundred_norms_that_are_smaller(norms: list[float]) -> None:
    link = Link(0)
    for s, norm in enumerate(norms, start=1):
        before = norms[: s - 1][-100:]
        smaller = sum(each < norm for each in before)
        assert link.rank(norm) == (smaller / len(before) if before else 0.0)
        link.take(s, norm)


def test_a_withdrawn_feedback_leaves_no_norm_behind() -> None:
    """A retry of a small feedback must not make the next one look large."""
    link = Link(0)
    link.take(1, 5.0)
    for _ in range(RANKED):
        link.take(2, 1.0)
        link.untake(2)
    assert (link.rank(3.0), link.rank(6.0)) == (0.0, 1.0)


def test_a_link_forgets_how_long_its_oldest_feedback_took() -> None:
    link = Link(0)
    for s in range(1, RECENT + 2):
        link.take(s, 1.0)
        link.forget(s, 5.0)
    assert (link.requested(1), link.requested(2)) == (0.0, 5.0)
