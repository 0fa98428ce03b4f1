"""A journal against a model of what it was told, through crashes; a process that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from journal_files import RUN_ID, crash, flush, journal_at, looped, opened, record

from edgefw.errors import InputError
from edgefw.services.broker.journal import Accepted, Restored, Row, State, Tuning

if TYPE_CHECKING:
    from collections.abc import Coroutine

AGENTS, RECENT = 2, 4
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - thousands of commits: not on a disk
agents = st.integers(0, AGENTS - 1)


class AgainstAModel(RuleBasedStateMachine):
    """Keeps and notes on a journal that compacts all the time and crashes now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=FOLDER)
        self.path, self.copies = Path(self.folder.name, "journal"), 0
        self.loop = asyncio.new_event_loop()
        self.rows: dict[tuple[int, int], Accepted] = {}
        self.states: dict[tuple[int, int], State] = {}
        self.plans: dict[int, str] = {}
        self.collected: dict[int, int] = {}
        self.start: int | None = None
        self.open()
        self.run(self.keep_plan())

    def run(self, coroutine: Coroutine[None, None, None]) -> None:
        self.loop.run_until_complete(coroutine)

    def open(self) -> None:
        async def opening() -> None:
            self.journal = journal_at(self.path, Tuning(recent=RECENT, compact_every=2))

        self.run(opening())

    async def keep_plan(self) -> None:
        version = len(self.plans) + 1
        self.plans[version] = f"plan {version}" * version
        await self.journal.keep_plan(version, self.plans[version])

    @rule(agent=agents, gap=st.sampled_from([0, 0, 0, 1]), count=st.integers(1, 6), dropped=st.booleans())
    def keep(self, agent: int, gap: int, count: int, dropped: bool) -> None:  # noqa: FBT001
        free = [s for s in range(1, 200) if (agent, s) not in self.rows][gap : gap + count]

        async def keeping() -> None:
            version = max(self.plans)
            some = [record(agent, s, os.urandom(9 * s), version=version, dropped=dropped) for s in free]
            await asyncio.gather(*(self.journal.keep(each) for each in some))
            for each in some:
                self.rows[agent, each.round] = each
                self.states[agent, each.round] = State.DROPPED if dropped else State.PENDING

        self.run(keeping())

    @rule(agent=agents, skipped=st.integers(0, 2), count=st.integers(1, 12), done=st.booleans())
    def note(self, agent: int, skipped: int, count: int, done: bool) -> None:  # noqa: FBT001
        first = next((s for s in range(1, 200) if self.states.get((agent, s), 0) < State.DONE), 1)
        some = range(first + skipped, first + skipped + count)  # some of them not kept so far

        async def noting() -> None:
            (self.journal.note_done if done else self.journal.note_sent)(agent, some)

        self.run(noting())
        for s in some:
            if (agent, s) in self.states:
                state = State.DONE if done else State.SENT
                self.states[agent, s] = max(self.states[agent, s], state)

    @rule(agent=agents, t=st.integers(1, 99))
    def collect(self, agent: int, t: int) -> None:
        async def noting() -> None:
            self.journal.note_collected(agent, t)
            self.journal.note_start(t)

        self.run(noting())
        self.collected[agent] = self.start = t

    @rule()
    def change_plan(self) -> None:
        self.run(self.keep_plan())

    @rule()
    def close_and_reopen(self) -> None:
        self.run(self.journal.close())
        self.open()
        self.compare(exact=True)

    @rule(flushed=st.booleans())
    def crash_and_reopen(self, flushed: bool) -> None:  # noqa: FBT001
        if flushed:
            self.run(self.flush())
        old, self.copies = self.journal, self.copies + 1
        self.path = crash(self.path, self.path.with_name(f"copy {self.copies}"))
        self.run(old.close())
        self.open()
        self.compare(exact=flushed)

    async def flush(self) -> None:
        newest = max(self.plans)
        await self.journal.keep_plan(newest, self.plans[newest])

    def compare(self, *, exact: bool) -> None:
        known = self.journal.restored
        assert known is not None
        if not exact:  # notes may be lost, nothing else
            self.adopt_older_notes(known)
        expected = [self.row(key) for key in sorted(self.rows) if key[1] > known.floors.get(key[0], 0)]
        assert known.rows == expected
        assert (known.collected, known.start) == (self.collected, self.start)
        self.compare_floors(known.floors)
        self.compare_plans(known)

    def adopt_older_notes(self, known: Restored) -> None:
        for row in known.rows:
            assert row.state <= self.states[row.agent, row.round]
            self.states[row.agent, row.round] = row.state
        assert known.collected.keys() <= self.collected.keys()
        self.collected, self.start = dict(known.collected), known.start

    def row(self, key: tuple[int, int]) -> Row:
        told, state = self.rows[key], self.states[key]
        payload = told.payload if state < State.DONE else None
        return Row(*key, told.accepted, told.version, told.norm, told.rank, state, payload)

    def compare_floors(self, floors: dict[int, int]) -> None:
        for agent, floor in floors.items():
            assert floor <= max(s for a, s in self.rows if a == agent) - RECENT
            assert all(self.states[agent, s] >= State.DONE for s in range(1, floor + 1))

    def compare_plans(self, known: Restored) -> None:
        used = {row.version for row in known.rows if row.state < State.DONE} | {max(self.plans)}
        assert known.plans == {version: self.plans[version] for version in sorted(used)}

    def teardown(self) -> None:
        self.crash_and_reopen(flushed=True)
        self.run(self.journal.close())
        self.loop.close()
        self.folder.cleanup()


TestAgainstAModel = AgainstAModel.TestCase
TestAgainstAModel.settings = settings(deadline=None, max_examples=60, stateful_step_count=25)

CHILD = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from journal_files import journal_at, record

async def main():
    journal = journal_at(Path(sys.argv[1]))
    first = 1 + max((row.round for row in journal.restored.rows), default=0) if journal.restored else 1
    await journal.keep_plan(1, "plan")
    async def agent(a):
        for s in range(first, first + 100_000):
            await journal.keep(record(a, s, bytes([a]) * 9000))
            os.write(1, f"{a} {s}\\n".encode())
            journal.note_sent(a, (s,))
    await asyncio.gather(*map(agent, range(8)))

asyncio.run(main())
"""


def acknowledged_before_it_is_killed(path: Path, lines: int) -> set[tuple[int, int]]:
    support = str(Path(__file__).parents[2] / "support")
    command = [sys.executable, "-c", CHILD, str(path), support]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        first = [child.stdout.readline() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        text = b"".join([*first, child.stdout.read()])
    assert child.returncode == -signal.SIGKILL
    whole = text[: text.rfind(b"\n") + 1].decode()
    return {(int(a), int(s)) for a, s in (line.split() for line in whole.splitlines())}


@looped
async def test_what_was_acknowledged_survives_a_process_that_is_killed(tmp_path: Path) -> None:
    acknowledged: set[tuple[int, int]] = set()
    for lines in (20, 500):
        acknowledged |= acknowledged_before_it_is_killed(tmp_path / "j", lines)
    async with opened(tmp_path / "j") as journal:
        assert journal.restored is not None
        rows = {(row.agent, row.round): row for row in journal.restored.rows}
    assert len(acknowledged) >= 520
    assert acknowledged <= rows.keys()
    assert len(rows) <= len(acknowledged) + 2 * 8  # and what was in flight when it was killed
    assert all(row.payload == bytes([agent]) * 9000 for (agent, _), row in rows.items())


@looped
async def test_another_runs_journal_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path / "j") as journal:
        await journal.keep(record(0, 1))
    with pytest.raises(InputError, match=rf"of run {RUN_ID}, this one is other: use another file, or remove"):
        journal_at(tmp_path / "j", run_id="other")
    async with opened(tmp_path / "j") as journal:
        assert journal.restored is not None
        assert len(journal.restored.rows) == 1


@looped
async def test_another_formats_journal_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path / "j") as journal:
        await flush(journal)
        journal._writer._database.execute("PRAGMA user_version = 7")
    with pytest.raises(InputError, match="has format 7, this edgefw uses format 2: use another file"):
        journal_at(tmp_path / "j")


@looped
async def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "j")) as mine:
        mine.execute("CREATE TABLE mine (x)")
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(InputError, match="is a database, but not a broker's journal"):
        journal_at(tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == before


@looped
async def test_a_path_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot use the journal .*: No such file or directory"):
        journal_at(tmp_path / "missing" / "j")
    with pytest.raises(InputError, match=r"cannot use the journal .*: unable to open database file"):
        journal_at(tmp_path)


@looped
async def test_a_broker_killed_before_it_made_its_tables_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "j").touch()
    async with opened(tmp_path / "j") as journal:
        assert journal.restored is None
    async with opened(tmp_path / "j") as journal:
        assert journal.restored == Restored()
