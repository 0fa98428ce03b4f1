"""A summary that does not follow from the rows is refused, field by field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from recorded_run import meta, recorded

from edgefw.core.regret import Comparator
from edgefw.errors import RecordError
from edgefw.records import RunFolder, Summary, score
from edgefw.scenario.pace import timing
from edgefw.services.observer.ledger import lateness
from edgefw.verification.record import read
from edgefw.verification.summary import check_summary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Document = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return a run as an observer leaves it."""
    folder = recorded(tmp_path_factory.mktemp("run") / "run")
    setup = read(folder).setup
    counts = {"messages": "[7, 7, 7, 7]", "wire_bytes": "[1, 2, 3, 4]", "wall_seconds": "1.5", "mode": "up"}
    folder.write_rows(folder.rows(), meta(setup) | counts)
    losses = [[row.global_loss for row in some] for some in read(folder).rounds]
    total_delay, unused = lateness(setup.delays)
    summary = Summary(
        mode="up",
        rounds=setup.rounds,
        unused=unused,
        messages=28,
        bytes=28 * setup.frame_bytes,
        wire_bytes=10,
        wall_seconds=1.5,
        **timing(setup.scenario.pace, setup.rounds, 1.5, 0),
        **setup.facts(),
        **score(np.array(losses), total_delay, Comparator(3.0, 0.01)),
    )
    folder.write_summary(summary)
    return folder


def check(folder: RunFolder, edit: Callable[[Document], object]) -> None:
    """Check the summary after an edit, which is undone."""
    path = folder.path / "summary.json"
    written = path.read_text()
    document = json.loads(written)
    edit(document)
    path.write_text(json.dumps(document))
    try:
        check_summary(read(folder))
    finally:
        path.write_text(written)


def test_a_summary_as_it_was_written_passes(folder: RunFolder) -> None:
    check(folder, lambda _: None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "another"),
        ("digest", "abc"),
        ("mode", "simulate"),
        ("algorithm", "dgd"),
        ("seed", 4),
        ("data", "mnist"),
        ("agents", 5),
        ("rounds", 11),
        ("rounds", 12.0),
        ("total_loss", 1.0),
        ("total_loss", None),
        ("network_regret", 0.5),
        ("network_regret", "0.5"),
        ("comparator_loss", 2.9),  # lower than it was: the regrets do not follow
        ("comparator_loss", None),
        ("comparator_gap", -0.01),
        ("comparator_gap", float("nan")),
        ("total_delay", 12.0),
        ("unused", 0),
        ("messages", 27),
        ("messages", 29),
        ("bytes", 10),
        ("wire_bytes", 9),
        ("wire_bytes", None),
        ("missed_ticks", 1),
        ("wall_seconds", 1.0),
        ("wall_seconds", None),
        ("pace_asked", 0.1),
        ("pace_reached", 0.01),
        ("pace_reached", None),
        ("pace_kept", 1),
        ("per_agent", []),
        ("per_agent", None),
    ],
)
def test_a_changed_field_is_refused(folder: RunFolder, name: str, value: object) -> None:
    with pytest.raises(RecordError, match=r"summary\.json"):
        check(folder, lambda document: document.update({name: value}))


@pytest.mark.parametrize("name", ["agent", "cumulative_loss", "regret", "total_delay"])
def test_a_changed_field_of_an_agent_is_refused(folder: RunFolder, name: str) -> None:
    def edit(document: Document) -> None:
        document["per_agent"][2][name] += 1

    with pytest.raises(RecordError, match=rf"summary\.json says per_agent\.2\.{name}"):
        check(folder, edit)


def test_fields_that_are_missing_or_unknown_are_refused(folder: RunFolder) -> None:
    with pytest.raises(RecordError, match=r"summary\.json is no summary: unused"):
        check(folder, lambda document: document.pop("unused"))
    with pytest.raises(RecordError, match=r"summary\.json is no summary: more"):
        check(folder, lambda document: document.update(more=1))


@pytest.mark.parametrize("text", ["", "{", "[]", "17", "\x00"])
def test_a_summary_that_cannot_be_read_is_refused(folder: RunFolder, text: str) -> None:
    path = folder.path / "summary.json"
    written = path.read_text()
    path.write_text(text)
    try:
        with pytest.raises(RecordError, match=r"summary\.json"):
            check_summary(read(folder))
    finally:
        path.write_text(written)


def test_a_run_that_was_killed_has_no_summary_to_check(folder: RunFolder, tmp_path: Path) -> None:
    path = folder.path / "summary.json"
    path.rename(tmp_path / "summary.json")
    try:
        check_summary(read(folder))
    finally:
        (tmp_path / "summary.json").rename(path)
