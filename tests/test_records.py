"""The run folder: what is written is read back, whole or not at all."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgefw.core.regret import Comparator
from edgefw.errors import EdgefwError, InputError, RecordError
from edgefw.records import (
    DATABASE,
    SCENARIO,
    SCHEMA_VERSION,
    SUMMARY,
    AgentSummary,
    PlayRow,
    RunDatabase,
    RunFolder,
    Summary,
    score,
)

LOSS = st.floats(0, 1e6)
HASHES = st.one_of(st.none(), st.text("0123456789abcdef", min_size=32, max_size=32))


@st.composite
def play_rows(draw: st.DrawFn) -> list[PlayRow]:
    """Draw rows of some rounds and agents, in order."""
    places = draw(st.sets(st.tuples(st.integers(1, 99), st.integers(0, 9)), max_size=12))
    points = st.one_of(st.none(), st.binary(max_size=16))
    return [
        PlayRow(
            t,
            i,
            draw(LOSS),
            draw(LOSS),
            tuple(sorted(draw(st.sets(st.integers(1, t - 1), max_size=4)))) if t > 1 else (),
            draw(st.integers(0, t)),
            draw(HASHES),
            draw(points),
        )
        for t, i in sorted(places)
    ]


@given(
    play_rows().flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)
@settings(deadline=None, max_examples=15)
def test_rows_are_read_back_as_they_were_in_order(
    ordered_and_not: tuple[list[PlayRow], list[PlayRow]], meta: dict[str, str]
) -> None:
    rows, shuffled = ordered_and_not
    with TemporaryDirectory() as path:
        folder = RunFolder.create(Path(path) / "what? #1 %20", "seed: 3\n")  # a path is no address
        folder.write_rows(shuffled, meta)
        assert folder.rows() == rows
        assert folder.meta() == meta
        assert sorted(p.name for p in folder.path.iterdir()) == [DATABASE, SCENARIO]


def test_rows_may_be_written_again(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "")
    folder.write_rows([PlayRow(1, 0, 1.0, 2.0, (), 1)], {"a": "b"})
    folder.write_rows([PlayRow(1, 0, 3.0, 4.0, (), 1)], {})
    assert folder.rows() == [PlayRow(1, 0, 3.0, 4.0, (), 1)]
    assert folder.meta() == {}


def test_a_database_says_the_version_of_its_tables_and_a_newer_one_is_refused(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "")
    folder.write_rows([PlayRow(1, 0, 1.0, 2.0, (), 1)], {"digest": "d"})
    with closing(sqlite3.connect(folder.path / DATABASE)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        database.execute("PRAGMA user_version = 0")  # as it was before versions were told
        assert folder.meta() == {"digest": "d"}
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    said = f"has tables of version {SCHEMA_VERSION + 1}, this edgefw knows {SCHEMA_VERSION}: use a newer one"
    for use in (folder.rows, lambda: RunDatabase(folder, {"digest": "d"})):
        with pytest.raises(InputError, match=said):
            use()


@pytest.mark.parametrize("version", [1, 2])
def test_a_run_of_older_tables_is_not_gone_on_with(tmp_path: Path, version: int) -> None:
    folder = RunFolder.create(tmp_path / "run", "")
    folder.write_rows([PlayRow(1, 0, 1.0, 2.0, (), 1)], {"digest": "d"})
    with closing(sqlite3.connect(folder.path / DATABASE)) as database:
        database.execute(f"PRAGMA user_version = {version if version > 1 else 0}")
    said = f"tables of version {version}, a run is written to those of version {SCHEMA_VERSION}: give another"
    with pytest.raises(InputError, match=said):
        RunDatabase(folder, {"digest": "d"})
    assert folder.rows() == [PlayRow(1, 0, 1.0, 2.0, (), 1)]


def test_rows_that_fail_halfway_leave_what_was_there(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "")
    row = PlayRow(1, 0, 1.0, 2.0, (), 1)
    folder.write_rows([row], {})
    with pytest.raises(EdgefwError, match=r"cannot write .*/run/run\.sqlite: UNIQUE constraint failed"):
        folder.write_rows([row, row], {})
    assert folder.rows() == [row]


def test_a_folder_that_holds_a_run_is_left_alone(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", "first")
    with pytest.raises(InputError, match=r"--out .*/run holds a run already: give another, or remove it"):
        RunFolder.create(tmp_path / "run", "second")
    assert (tmp_path / "run" / SCENARIO).read_text() == "first"


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("here first")
    with pytest.raises(InputError, match=r"--out .* cannot be written to \(.+\): give another"):
        RunFolder.create(tmp_path / name, "")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_where_the_runs_of_several_seeds_are_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no run: give the folder of a run, such as runs/default-"):
        RunFolder(tmp_path).require()
    for seed in (10, 9):
        RunFolder.create(tmp_path / f"seed-{seed}", "").require()
    with pytest.raises(InputError, match=r"holds the runs of 2 seeds: give the folder of one, .*/seed-9$"):
        RunFolder(tmp_path).require()


def test_a_folder_that_went_away_is_said_in_one_line(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "")
    shutil.rmtree(folder.path)
    with pytest.raises(EdgefwError, match=r"cannot write .*/run/run\.sqlite: unable to open"):
        folder.write_rows([], {})
    with pytest.raises(EdgefwError, match=r"cannot write .*/run/summary\.json: No such file"):
        folder.write_summary(summary(np.ones((2, 1)), [2], None))
    with pytest.raises(InputError, match=r"run holds no run\.sqlite: give the folder of a run"):
        folder.rows()


def test_a_database_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "")
    (folder.path / DATABASE).write_bytes(b"nonsense" * 200)
    with pytest.raises(InputError, match=r"cannot read .*run\.sqlite: file is not a database"):
        folder.rows()


def test_a_run_that_came_to_nothing_is_removed_but_nothing_else(tmp_path: Path) -> None:
    lost = RunFolder.create(tmp_path / "a" / "lost", "")
    lost.write_rows([], {})
    lost.discard()
    assert not lost.path.exists()
    mixed = RunFolder.create(tmp_path / "mixed", "")
    (mixed.path / "notes.txt").write_text("mine")
    mixed.discard()
    assert [p.name for p in mixed.path.iterdir()] == ["notes.txt"]
    done = RunFolder.create(tmp_path / "done", "")
    done.write_summary(summary(np.ones((2, 1)), [2], None))
    done.discard()
    assert sorted(p.name for p in done.path.iterdir()) == [SCENARIO, SUMMARY]


def summary(losses: np.ndarray, total_delay: list[int], comparator: Comparator | None) -> Summary:
    facts = {"name": "x", "digest": "d", "mode": "simulate", "algorithm": "de2mfw", "seed": 1, "data": "tiny"}
    counts = {"agents": losses.shape[1], "rounds": len(losses), "unused": 0, "messages": 1}
    rate = {"rate": 0.5, "rate_reason": "given as algorithm.rate"}
    pace = {"pace_asked": None, "pace_reached": None, "pace_kept": None, "missed_ticks": None}
    sizes = {"bytes": 2, "wire_bytes": None, "wall_seconds": 0.5}
    scores = score(losses, total_delay, comparator)
    return Summary(**facts, **counts, **rate, **pace, **sizes, **scores)  # type: ignore[arg-type]


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(0, 100)),
    st.one_of(st.none(), st.builds(Comparator, st.floats(0, 100), st.floats(0, 5))),
    st.data(),
)
@settings(deadline=None, max_examples=50)
def test_what_is_said_of_the_network_follows_from_what_is_said_of_the_agents(
    losses: np.ndarray, comparator: Comparator | None, data: st.DataObject
) -> None:
    n = losses.shape[1]
    total_delay = data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    said = summary(losses, total_delay, comparator)
    assert [each.agent for each in said.per_agent] == list(range(n))
    np.testing.assert_allclose([each.cumulative_loss for each in said.per_agent], losses.sum(axis=0))
    assert said.total_delay == pytest.approx(sum(each.total_delay for each in said.per_agent) / n)
    assert said.total_loss == pytest.approx(losses.max(axis=1).sum())
    regrets = [each.regret for each in said.per_agent]
    if comparator is None:
        assert {said.network_regret, said.comparator_loss, said.comparator_gap, *regrets} == {None}
    else:
        assert (said.comparator_loss, said.comparator_gap) == (comparator.value, comparator.gap)
        assert said.network_regret == pytest.approx(max(r for r in regrets if r is not None))
        assert regrets == pytest.approx([each.cumulative_loss - comparator.value for each in said.per_agent])


def test_a_summary_is_read_back_as_it_was(tmp_path: Path) -> None:
    said = summary(np.array([[1.0, 2.0], [3.0, 0.1]]), [2, 3], Comparator(0.5, 0.01))
    folder = RunFolder.create(tmp_path / "run", "")
    folder.write_summary(said)
    read = json.loads((folder.path / SUMMARY).read_text())
    per_agent = tuple(AgentSummary(**each) for each in read.pop("per_agent"))
    assert Summary(**read, per_agent=per_agent) == said
    assert set(asdict(said)) == {each.name for each in fields(Summary)}
    assert sorted(p.name for p in folder.path.iterdir()) == [SCENARIO, SUMMARY]


def test_the_fixed_points_losses_are_kept_round_by_round(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "")
    folder.write_rows([], {"digest": "x"})
    assert folder.comparator() is None
    folder.write_rows([], {"digest": "x"}, [0.5, 0.25])
    assert folder.comparator() == pytest.approx([0.5, 0.25])
    database = RunDatabase(folder, {"digest": "x"})
    database.compare([0.125, 0.5, 0.75])
    database.close()
    assert folder.comparator() == pytest.approx([0.125, 0.5, 0.75])
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as damaged, damaged:
        damaged.execute("DELETE FROM comparator WHERE round = 2")
    with pytest.raises(RecordError, match="rounds 1, 2"):
        folder.comparator()
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as old, old:
        old.execute("DROP TABLE comparator")  # as in a file of version 1
    assert folder.comparator() is None
