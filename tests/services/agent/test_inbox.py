from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.messages import Feedback
from edgefw.delays.book import ArrivalBook, total_delay
from edgefw.services.agent.inbox import Inbox


def feedback(s: int) -> Feedback:
    return Feedback(s, np.zeros((1, 1), np.float32), np.zeros((1, 1, 1), np.float32))


def test_a_feedback_is_used_once_however_often_it_comes() -> None:
    inbox = Inbox()
    inbox.submitted(1, now=10.0)
    assert inbox.received(feedback(1), now=10.5) == 0.5
    assert inbox.received(feedback(1), now=11.0) is None
    assert [f.round for f in inbox.take(1)] == [1]
    assert inbox.received(feedback(1), now=12.0) is None
    assert inbox.take(2) == []


def test_what_was_never_submitted_is_not_taken() -> None:
    inbox = Inbox()
    assert inbox.received(feedback(3), now=1.0) is None
    assert inbox.take(5) == []


def test_the_age_of_the_oldest_missing_feedback_grows_until_it_comes() -> None:
    inbox, ages = Inbox(), []
    for t in (1, 2, 3):
        inbox.submitted(t, now=float(t))
        ages.append(inbox.oldest_age(t))
    assert ages == [1, 2, 3]
    inbox.received(feedback(2), now=3.5)
    assert inbox.oldest_age(3) == 3
    inbox.received(feedback(1), now=3.5)
    assert inbox.oldest_age(3) == 1
    inbox.received(feedback(3), now=3.5)
    assert inbox.oldest_age(3) == 0


def test_what_is_lost_is_not_outstanding_but_counts_as_a_delay_until_the_end() -> None:
    inbox = Inbox()
    inbox.submitted(1, now=1.0)
    assert [inbox.lost(1), inbox.lost(1), inbox.lost(2)] == [True, False, False]
    assert (inbox.outstanding, inbox.oldest_age(1)) == (0, 0)
    inbox.submitted(2, now=2.0)
    assert inbox.awaited == [2]
    assert inbox.total_delay == 1 + 2


def test_what_was_lost_and_comes_after_all_is_used_once() -> None:
    inbox = Inbox()
    inbox.submitted(1, now=1.0)
    inbox.lost(1)
    assert inbox.received(feedback(1), now=3.0) == 2.0
    assert inbox.received(feedback(1), now=4.0) is None
    assert [f.round for f in inbox.take(1)] == [1]
    inbox.submitted(2, now=5.0)
    assert inbox.total_delay == 1 + 1


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.randoms())
@settings(deadline=None)
def test_arrivals_outstanding_and_total_delay_follow_the_delays(delays: list[int], random: object) -> None:
    table = np.array([delays])
    T, book, inbox = len(delays), ArrivalBook(np.array([delays])), Inbox()
    arrived = 0
    for t in range(1, T + 1):
        inbox.submitted(t, now=float(t))
        due = list(book.at(t).get(0, ()))
        random.shuffle(due)  # type: ignore[attr-defined]
        for s in due:
            assert inbox.received(feedback(s), now=float(t)) == t - s
        assert [f.round for f in inbox.take(t)] == sorted(due)
        arrived += len(due)
        assert inbox.outstanding == t - arrived
    assert inbox.total_delay == total_delay(table)[0]
