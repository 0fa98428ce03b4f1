from __future__ import annotations

import pytest

from edgefw.scenario.pace import parse_pace


def test_a_pace_is_a_time_above_zero_or_asap() -> None:
    assert parse_pace("asap") == "asap"
    assert parse_pace("250ms") == 0.25
    for wrong in (5, "fast", "-1s", "0s", 0, None):
        with pytest.raises(ValueError, match="or asap"):
            parse_pace(wrong)
