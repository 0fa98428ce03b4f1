"""What a change of a delay plan changed, in a few words: for whoever marks it on a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from edgefw.delays.plan import Plan


class Change(NamedTuple):
    """Words of which there are few: they are labels of a metric.

    - what: add, change, remove, replace, reset, ended, enable or disable.
    - fault: a fault type, `link` where links were enabled or disabled, or `several`.
    - agent: whose link; `all` or `several`.
    """

    what: str
    fault: str
    agent: str


def difference(kind: str, before: Plan, after: Plan) -> Change:
    """Return what was changed; `kind` is what was asked for."""
    there, now = ({id(entry): entry for entry in plan.entries} for plan in (before, after))
    entries = [(there | now)[key] for key in there.keys() ^ now.keys()]
    switched = before.disabled ^ after.disabled
    agents = {*("all" if entry.agent is None else str(entry.agent) for entry in entries), *map(str, switched)}
    types = {entry.fault.type for entry in entries} | ({"link"} if switched else set())
    what = "disable" if kind == "enable" and switched & after.disabled else kind
    return Change(what, _one(types), _one(agents))


def _one(words: Collection[str]) -> str:
    """Return the only word, or that there are several."""
    return next(iter(words)) if len(words) == 1 else "several"
