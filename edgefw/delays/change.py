"""What a change of a delay plan is called where it is counted: agents know it too, who load no plan."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """Words of which there are few: they are labels of a metric.

    - what: add, change, remove, replace, reset, ended, enable or disable.
    - fault: a fault type, `link` where links were enabled or disabled, or `several`.
    - agent: whose link; `all` or `several`.
    """

    what: str
    fault: str
    agent: str
