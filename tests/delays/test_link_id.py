from __future__ import annotations

from edgefw.delays.link_id import LinkId, feedback_links


def test_links_of_feedback_draw_by_their_agent_and_others_by_both_ends() -> None:
    feedback = feedback_links(3)
    assert [link.key for link in feedback] == [(0,), (1,), (2,)]
    there, back = LinkId("gossip", 0, 1), LinkId("gossip", 1, 0)
    assert len({there.key, back.key, *(link.key for link in feedback)}) == 5
