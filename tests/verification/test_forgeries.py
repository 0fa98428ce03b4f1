"""A run with changes of its plan is verified, under both clocks; no forgery of it is, however consistent."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import playback
import pytest
import whole_run
from forger import Forger, at_once, earlier, later, never

from edgefw.commands import verify as command
from edgefw.core.account import UNANSWERED, Kind
from edgefw.errors import RecordError, UnverifiedError
from edgefw.page.folder import read_story
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from edgefw.records import RunFolder

pytestmark = pytest.mark.xdist_group("machine")  # a run by the clock: one at a time

ROUNDS = 24
PACE = {"pace": "60ms", "algorithm": {"horizon": ROUNDS}}
LATER: dict[str, Any] = {"name": "more", "apply_to": "pending"}
WALL: dict[str, Any] = {
    "clock": "wall",
    "delays": [
        {"type": "latency", "agents": [1], "latency": "150ms", "jitter": "100ms", "distribution": "uniform"},
        {"type": "drop", "agents": [2], "probability": 0.2},
    ],
}
WALL_STEPS: list[whole_run.Step] = [
    (4, "POST", "/links/3/faults", {"name": "slow", "type": "latency", "attributes": {"latency": "200ms"}}),
    (6, "POST", "/links/1/faults", LATER | {"type": "latency", "latency": "70ms"}),
    (8, "PATCH", "/links/0", {"enabled": False}),
    (11, "PATCH", "/links/0", {"enabled": True}),
    (12, "DELETE", "/links/1/faults/more", None),
    (13, "POST", "/faults", {"type": "blackout", "duration": "150ms"}),
]
IN_ROUNDS: dict[str, Any] = {
    "clock": "rounds",
    "delays": [
        {"type": "rounds", "agents": [1], "rounds": 4, "jitter": 2},
        {"type": "drop", "agents": [2], "probability": 0.2},
        {"type": "adversary", "agents": [3], "strategy": "largest", "period": 4, "share": 0.5},
    ],
}
SAID_BY_WALL = [
    "agent 3: latency 200ms is set",
    "agent 1: latency 70ms apply_to=pending is set",
    "agent 0: cut off: all feedback is held",
    "agent 0: no longer cut off",
    "agent 1: latency 70ms apply_to=pending is removed",
    "all agents: blackout duration=150ms is set",
    "all agents: blackout duration=150ms is over",
]
OLDER = (  # what makes the tables those of version 2
    "DROP VIEW changes",
    "ALTER TABLE plays DROP COLUMN late",
    "UPDATE account SET round = 0 WHERE kind = 2",
    "CREATE TABLE older AS SELECT moment, kind, agent, round, version, due, hash, norm, plan FROM account",
    "DROP TABLE account",
    "ALTER TABLE older RENAME TO account",
    "DELETE FROM meta WHERE key = 'plan'",
    "UPDATE meta SET key = 'bytes' WHERE key = 'wire_bytes'",
    "PRAGMA user_version = 2",
)
ROUND_STEPS: list[whole_run.Step] = [
    (4, "POST", "/links/0/faults", {"name": "slow", "type": "rounds", "attributes": {"rounds": 3}}),
    (6, "POST", "/links/1/faults", LATER | {"type": "rounds", "rounds": 3}),
    (8, "PATCH", "/links/0", {"enabled": False}),
    (11, "PATCH", "/links/0", {"enabled": True}),
    (13, "DELETE", "/links/1/faults/more", None),
]


SAID_IN_ROUNDS = [
    "agent 0: rounds 3 is set",
    "agent 1: rounds 3 apply_to=pending is set",
    "agent 0: cut off: all feedback is held",
    "agent 0: no longer cut off",
    "agent 1: rounds 3 apply_to=pending is removed",
]


@pytest.fixture(scope="module", params=["wall", "rounds"])
def honest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return a run with its plan changed on the way."""
    wall = request.param == "wall"
    scenario = playback.scenario(**(WALL if wall else IN_ROUNDS), **PACE)
    return whole_run.run(tmp_path_factory.mktemp("run"), scenario, WALL_STEPS if wall else ROUND_STEPS)


@pytest.fixture
def forger(honest: RunFolder, tmp_path: Path) -> Forger:
    return Forger(honest, tmp_path / "forged")


def refusal(forger: Forger) -> str:
    """Return why a record is refused, which it has to be, with exit code 1."""
    with pytest.raises(RecordError) as failure:
        command.run(str(forger.folder.path))
    assert failure.value.exit_code == 1
    return str(failure.value)


class Change(NamedTuple):
    """A row of the view of that name."""

    version: int
    round: int
    seconds: float
    who: str
    what: str


def changes_of(folder: RunFolder) -> list[Change]:
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as database:
        rows = database.execute("SELECT version, round, seconds, who, what FROM changes")
        return [Change(*row) for row in rows]


def is_wall(folder: RunFolder) -> bool:
    return read(folder).setup.scenario.clock == "wall"


def test_an_honest_run_with_changes_of_its_plan_is_verified(
    honest: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    command.run(str(honest.path))
    assert capsys.readouterr().out == "96 of 96 plays are identical, 24 rounds were replayed\n"
    kinds = {entry.kind for entry in honest.account()}
    assert kinds >= {Kind.BEGUN, Kind.PLAN, Kind.ACCEPTED, Kind.REDUE, Kind.DROPPED}
    assert len({entry.version for entry in honest.account()}) > 4
    assert verify(read(honest)).passed


FALSE = {"at once": at_once, "never": never, "later": later(9, 1)}
SLIGHTLY = {"later": later(1, 1), "earlier": earlier(2, 1), "one round earlier": earlier(1, 0)}


@pytest.mark.parametrize("false", FALSE.values(), ids=FALSE.keys())
def test_false_arrivals_are_refused_however_consistent(forger: Forger, false: Callable[..., Any]) -> None:
    forger.arrivals(false, payloads=True)
    said = refusal(forger)
    if is_wall(forger.folder):
        assert "released" in said or "acknowledged" in said or "dropped" in said
    else:
        assert "by the plan" in said


@pytest.mark.parametrize("false", SLIGHTLY.values(), ids=SLIGHTLY.keys())
def test_arrivals_that_are_slightly_false_are_refused_as_long_as_the_account_is_true(
    forger: Forger, false: Callable[..., Any]
) -> None:
    """By the wall clock the hashes of payloads show it: plays and payloads follow from what arrived."""
    wall = is_wall(forger.folder)
    forger.arrivals(false, payloads=not wall)
    refusal(forger)
    verdict = verify(read(forger.folder))
    assert ("the payload's hash is" in (verdict.mismatch or "")) == wall
    assert wall or "by the plan" in (verdict.wrong or "")


def test_false_arrivals_under_the_name_of_another_build_are_refused(forger: Forger) -> None:
    forger.sql("UPDATE meta SET value = '0.1' WHERE key = 'numpy'")
    forger.arrivals(at_once)
    refusal(forger)


@pytest.mark.parametrize(
    ("change", "kind", "agent", "s"),
    [
        ("DELETE FROM account", Kind.ACCEPTED, 1, 5),
        ("UPDATE account SET due = due + 100000", Kind.ACCEPTED, 1, 5),
        ("UPDATE account SET hash = '00'", Kind.ACCEPTED, 1, 5),
        ("UPDATE account SET hash = NULL", Kind.ACCEPTED, 1, 5),
        ("UPDATE account SET version = version - 1", Kind.ACCEPTED, 0, 18),
        ("UPDATE account SET moment = moment + 1000000000", Kind.ACCEPTED, 3, 6),
        ("UPDATE account SET agent = 9", Kind.ACCEPTED, 3, 6),
        ("UPDATE account SET round = 7", Kind.ACCEPTED, 3, 6),
        ("UPDATE account SET kind = 99", Kind.ACCEPTED, 3, 6),
        ("UPDATE account SET due = 'soon'", Kind.ACCEPTED, 3, 6),
        ("UPDATE account SET plan = replace(plan, 'fault', 'fraud')", Kind.PLAN, 0, None),
        ("DELETE FROM account", Kind.PLAN, 0, None),
        ("DELETE FROM account", Kind.DROPPED, 2, None),
        ("DELETE FROM account", Kind.REDUE, 1, 0),
        ("DELETE FROM account", Kind.REDUE, 0, 0),
    ],
)
def test_a_changed_account_is_refused(
    forger: Forger, change: str, kind: Kind, agent: int, s: int | None
) -> None:
    round_ = "" if s is None else f" AND round = {s}"
    forger.sql(f"{change} WHERE kind = {int(kind)} AND agent = {agent}{round_}")
    refusal(forger)


def forget(forger: Forger, s: int) -> None:
    """Delete all that the account has of a feedback."""
    forger.sql("DELETE FROM account WHERE agent = 1 AND round = ? AND kind != 2", (s,))


def test_an_account_without_a_feedback_is_refused(forger: Forger) -> None:
    forget(forger, ROUNDS - UNANSWERED)
    refusal(forger)


def test_an_account_that_lacks_one_of_the_last_feedbacks_is_taken_for_one_that_ends_there(
    forger: Forger,
) -> None:
    """By the wall clock, as some are under way at a time."""
    forget(forger, ROUNDS - 1)
    if is_wall(forger.folder):
        with pytest.raises(UnverifiedError, match=f"arrivals were checked up to round {ROUNDS - 2}"):
            command.run(str(forger.folder.path))
    else:
        refusal(forger)


def test_every_change_is_on_record_with_who_made_it_and_what_it_was(honest: RunFolder) -> None:
    first, *changes = changes_of(honest)
    assert (first.version, first.round, first.who) == (1, 0, "broker")
    assert first.seconds < 0  # before the first feedback
    said = SAID_BY_WALL if is_wall(honest) else SAID_IN_ROUNDS
    assert [change.what for change in changes] == said[: len(changes)]
    assert len(changes) >= 5  # what ends by itself may end after the run
    for change in changes:
        by_itself = change.what.endswith("is over")
        name, _, address = change.who.partition(" at ")
        assert (
            change.who == "broker" if by_itself else (name[:14], address) == ("Python-urllib/", "127.0.0.1")
        )


def test_every_change_is_on_record_at_its_round_and_time(honest: RunFolder) -> None:
    steps = WALL_STEPS if is_wall(honest) else ROUND_STEPS
    accepted = [entry for entry in honest.account() if entry.kind is Kind.ACCEPTED]
    start = accepted[0].moment
    for change, (after, *_) in zip(changes_of(honest)[1:], steps, strict=False):
        before = [entry for entry in accepted if entry.version < change.version]
        assert change.round == max(entry.round for entry in before) >= after
        following = [(entry.moment - start) / 1e9 for entry in accepted[len(before) :]]
        assert (before[-1].moment - start) / 1e9 <= change.seconds <= min(following, default=change.seconds)


def test_the_page_tells_the_changes_that_are_on_record(honest: RunFolder) -> None:
    story = read_story(honest, read(honest).setup.scenario)
    told = [(event.round, round(event.seconds or 0.0, 6), event.text) for event in story.happenings.events]
    for change in changes_of(honest)[1:]:
        by = "" if change.who == "broker" else f", by {change.who}"
        assert (change.round, round(change.seconds, 6), f"{change.what}{by}") in told


@pytest.mark.parametrize("version", [1, 2, 4])
def test_a_change_of_the_plan_at_another_round_is_refused(forger: Forger, version: int) -> None:
    forger.sql("UPDATE account SET round = round + 1 WHERE kind = 2 AND version = ?", (version,))
    assert f"plan {version} is said to have come after round" in refusal(forger)


def test_a_run_of_the_tables_before_is_read_and_verified(forger: Forger) -> None:
    for statement in OLDER:
        with closing(sqlite3.connect(forger.folder.path / "run.sqlite")) as database, database:
            database.execute(statement)
    summary = json.loads((forger.folder.path / "summary.json").read_text())
    summary["bytes"] = summary.pop("wire_bytes")
    for name in ("pace_asked", "pace_reached", "pace_kept", "missed_ticks"):
        del summary[name]
    (forger.folder.path / "summary.json").write_text(json.dumps(summary))
    command.run(str(forger.folder.path))
    said = forger.folder.summary()
    assert said is not None
    assert (said.bytes, said.wire_bytes, said.pace_kept) == (summary["bytes"], None, None)
    assert read_story(forger.folder, read(forger.folder).setup.scenario).happenings.events


def test_an_account_without_one_change_of_the_plan_is_refused(forger: Forger) -> None:
    """One that some feedback was accepted under; one that nobody noticed leaves no trace."""
    forger.sql(
        "DELETE FROM account WHERE kind = 2 AND version = (SELECT max(version) FROM account WHERE kind = 3)"
    )
    refusal(forger)


def test_an_account_whose_releases_were_moved_is_refused(forger: Forger) -> None:
    if not is_wall(forger.folder):
        forger.sql("UPDATE account SET round = round - 1 WHERE kind = 8 AND agent = 1 AND round > 3")
        refusal(forger)
        return
    place = (6, 1, 5)  # the release of agent 1's feedback of round 5
    forger.sql("UPDATE account SET moment = due - 50000000 WHERE (kind, agent, round) = (?, ?, ?)", place)
    assert "released though it was not due" in refusal(forger)
    forger.sql("UPDATE account SET due = due - 100000000 WHERE (kind, agent, round) = (?, ?, ?)", place)
    assert "released though it was not due" in refusal(forger)


def test_hashes_are_not_missing_under_the_pretext_of_a_restart(forger: Forger) -> None:
    forger.arrivals(later(1, 1))
    forger.restart_at_the_end()
    forger.sql("UPDATE account SET hash = NULL WHERE kind = 3")
    assert "the payload's hash is None" in refusal(forger) or not is_wall(forger.folder)


def test_releases_are_not_missing_under_the_pretext_of_a_restart(forger: Forger) -> None:
    if is_wall(forger.folder):
        forger.arrivals(never, payloads=True)
        forger.restart_at_the_end()
        forger.sql("DELETE FROM account WHERE kind IN (6, 7)")
        assert "was due and never released" in refusal(forger)


def test_acknowledgements_that_were_taken_out_are_missed(forger: Forger) -> None:
    if is_wall(forger.folder):
        forger.sql("DELETE FROM account WHERE kind = 7 AND agent = 3 AND round = 2")
        assert "released before others that were acknowledged" in refusal(forger)
        forger.arrivals(never, payloads=True)
        forger.sql("DELETE FROM account WHERE kind = 7")
        with pytest.raises(UnverifiedError, match="acknowledged no feedback from round 1 on"):
            command.run(str(forger.folder.path))


TWICE = (
    "INSERT INTO account (moment, kind, agent, round, version) "
    "SELECT moment + 1, kind, agent, round, version "
    "FROM account WHERE kind {kinds} AND agent = 2 AND moment + 1 NOT IN (SELECT moment FROM account)"
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE account SET norm = 2 * norm WHERE kind = 3 AND agent = 1", "the gradient's norm is"),
        ("UPDATE plays SET outstanding = 0 WHERE agent = 1 AND round = 13", "0 feedbacks are said to be"),
        ("UPDATE account SET version = 1 WHERE kind IN (6, 7, 8)", "the broker's account says plan 1 where"),
        (TWICE.format(kinds="IN (7, 8)"), "twice"),
        (TWICE.format(kinds="= 9"), "is said to be dropped twice"),
        ("UPDATE comparator SET loss = loss / 2", "says comparator_loss"),
        ("DELETE FROM plays WHERE round > 20", "messages: 20 rounds take"),
    ],
)
def test_what_follows_from_something_else_is_not_changed_alone(
    forger: Forger, change: str, said: str
) -> None:
    forger.sql(change)
    assert said in refusal(forger)


def test_counts_of_messages_that_fit_the_summary_alone_are_refused(forger: Forger) -> None:
    counts = [one - 10 for one in json.loads(forger.folder.meta()["messages"])]
    forger.sql("UPDATE meta SET value = ? WHERE key = 'messages'", (json.dumps(counts),))
    said = forger.summary()
    forger.summary(messages=sum(counts), bytes=sum(counts) * said["bytes"] // said["messages"])
    assert "rounds take" in refusal(forger)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_fixed_point_that_is_not_the_best_is_refused_where_it_is_searched_for(
    forger: Forger, factor: float
) -> None:
    said = forger.summary()
    more = said["comparator_loss"] * (1 - factor)
    for one in said["per_agent"]:
        one["regret"] += more
    forger.summary(
        comparator_loss=said["comparator_loss"] * factor,
        network_regret=said["network_regret"] + more,
        per_agent=said["per_agent"],
    )
    forger.sql("UPDATE comparator SET loss = ? * loss", (factor,))
    command.run(str(forger.folder.path))  # the regrets follow from it
    with pytest.raises(RecordError, match="the best fixed point loses between"):
        command.run(str(forger.folder.path), regret=True)


def test_the_fixed_point_of_an_honest_run_is_found_again(honest: RunFolder) -> None:
    command.run(str(honest.path), regret=True)


def test_a_regret_that_is_not_there_cannot_be_checked(forger: Forger) -> None:
    (forger.folder.path / "summary.json").unlink()
    with pytest.raises(UnverifiedError, match="whether the regret is true is not known"):
        command.run(str(forger.folder.path), regret=True)


def test_without_an_account_a_run_is_not_verified_in_full(
    forger: Forger, capsys: pytest.CaptureFixture[str]
) -> None:
    forger.sql("DELETE FROM account")
    with pytest.raises(UnverifiedError, match="is not verified in full") as failure:
        command.run(str(forger.folder.path))
    assert failure.value.exit_code == 3
    assert "not checked: run.sqlite has no account of the broker" in capsys.readouterr().out


def test_an_account_with_a_hole_or_without_its_end_is_said_to_be_so(forger: Forger) -> None:
    forger.sql("DELETE FROM account WHERE moment >= (SELECT min(moment) FROM account WHERE round = 22)")
    with pytest.raises(UnverifiedError, match="ends before the run does: arrivals were checked up to round"):
        command.run(str(forger.folder.path))
    forger.sql("UPDATE account SET kind = 10 WHERE moment = (SELECT max(moment) FROM account)")
    with pytest.raises(UnverifiedError, match="has a hole"):
        command.run(str(forger.folder.path))
