"""The calls of the admin endpoint, one by one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from admin_stand_in import AGENTS, StandIn, ask

from edgefw.errors import InputError, JournalFullError
from edgefw.http.body import LARGEST_BODY
from edgefw.services.broker.admin.openapi import CALLS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

SLOW = {"type": "latency", "attributes": {"latency": "750ms", "jitter": "200ms"}, "duration": "30s"}
SHOWN = {**SLOW, "probability": 1.0, "apply_to": "new"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def control() -> StandIn:
    return StandIn()


def refused(answer: httpx.Response, status: int, field: str | None = None, words: str = "") -> None:
    """Check the shape of an error."""
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert set(told) == {"error", "status"} | ({"field"} if field is not None else set())
    assert (told["status"], told.get("field")) == (status, field)
    assert words in told["error"]
    assert "\n" not in told["error"]


def test_links_show_their_state_and_faults(control: StandIn) -> None:
    ask(control, "POST", "/faults", {**SLOW, "name": "everywhere"})
    ask(control, "POST", "/links/3/faults", {"type": "drop", "name": "here"})
    answer = ask(control, "GET", "/links").json()
    assert answer["clock"] == "wall"
    assert [link["agent"] for link in answer["links"]] == list(range(AGENTS))
    assert answer["links"][3] == ask(control, "GET", "/links/3").json()
    assert answer["links"][3] == {
        "agent": 3,
        "enabled": True,
        "connected": True,
        "pending": 3,
        "due": 1,
        "oldest_age": "1.25s",
        "accepted": 10,
        "delivered": 6,
        "requested_delay": "750ms",
        "next_due": "500ms",
        "faults": [
            {"agents": "all", "name": "everywhere", **SHOWN},
            {
                "agents": [3],
                "name": "here",
                "type": "drop",
                "attributes": {},
                "probability": 1.0,
                "apply_to": "new",
            },
        ],
    }
    assert answer["links"][1]["requested_delay"] is None  # no end is known
    assert len(answer["links"][0]["faults"]) == 1


def test_a_long_trace_is_cut_with_links_and_whole_in_the_plan(control: StandIn) -> None:
    ask(control, "POST", "/faults", {"type": "latency", "trace": ["1s"] * 300})
    assert len(ask(control, "GET", "/links/0").json()["faults"][0]["attributes"]["trace"]) == 20
    assert len(ask(control, "GET", "/plan").json()["faults"][0]["attributes"]["trace"]) == 300


def test_delays_are_rounds_under_the_rounds_clock() -> None:
    control = StandIn("rounds")
    answer = ask(control, "POST", "/links/2/faults", {"type": "rounds", "rounds": 20, "duration": 100})
    assert answer.json()["attributes"] == {"rounds": 20}
    assert answer.json()["duration"] == 100
    link = ask(control, "GET", "/links/2").json()
    assert (link["requested_delay"], link["next_due"], link["oldest_age"]) == (0, 0, "1.25s")
    refused(ask(control, "POST", "/faults", SLOW), 400, "type", "use type rounds")


def test_a_link_is_disabled_and_enabled_again(control: StandIn) -> None:
    assert ask(control, "PATCH", "/links/3", {"enabled": False}).json()["enabled"] is False
    assert control.plan.disabled == {3}
    assert ask(control, "PATCH", "/links/3", {"enabled": False}).status_code == 200
    assert ask(control, "PATCH", "/links/3", {"enabled": True}).json()["enabled"] is True
    assert control.kinds == ["enable", "enable"]


def test_a_fault_is_added_in_either_form(control: StandIn) -> None:
    answer = ask(control, "POST", "/links/3/faults", SLOW)
    assert answer.status_code == 201
    assert answer.headers["location"] == "/links/3/faults/latency"
    assert answer.json() == {"agents": [3], "name": "latency", **SHOWN}
    answer = ask(control, "POST", "/faults", {"type": "latency", "latency": "800ms", "name": "flat"})
    assert (answer.status_code, answer.headers["location"]) == (201, "/faults/flat")
    assert answer.json()["attributes"] == {"latency": "800ms"}
    assert ask(control, "GET", "/links/0").json()["faults"] == [answer.json()]


def test_a_fault_is_changed_and_removed(control: StandIn) -> None:
    for path in ("/faults", "/links/3/faults"):
        ask(control, "POST", path, {**SLOW, "name": "slow"})
        answer = ask(
            control,
            "PATCH",
            f"{path}/slow",
            content=json.dumps({"attributes": {"jitter": None}}),
            headers={"Content-Type": "application/merge-patch+json"},
        )
        assert (answer.status_code, answer.json()["attributes"]) == (200, {"latency": "750ms"})
        gone = ask(control, "DELETE", f"{path}/slow")
        assert (gone.status_code, gone.content) == (204, b"")
        refused(ask(control, "DELETE", f"{path}/slow"), 404, words="no fault 'slow'")
        refused(ask(control, "PATCH", f"{path}/slow", {}), 404, words="no fault 'slow'")
    assert control.kinds == ["add", "change", "remove"] * 2


def test_the_plan_that_is_shown_can_be_put(control: StandIn) -> None:
    ask(control, "POST", "/faults", SLOW)
    ask(control, "PATCH", "/links/3", {"enabled": False})
    shown = ask(control, "GET", "/plan").json()
    assert shown == {"version": 3, "faults": [{"agents": "all", "name": "latency", **SHOWN}], "disabled": [3]}
    before = control.plan
    assert ask(control, "PUT", "/plan", shown).json() == shown
    assert control.plan is before


def test_a_plan_is_replaced_whole(control: StandIn) -> None:
    ask(control, "POST", "/faults", SLOW)
    body = {
        "faults": [{"agents": [1, 3], "type": "drop"}, {"type": "blackout", "duration": "9s"}],
        "disabled": [0],
    }
    answer = ask(control, "PUT", "/plan", body).json()
    assert answer["version"] == 3
    assert [(each["agents"], each["name"]) for each in answer["faults"]] == [
        ([1, 3], "drop"),
        ("all", "blackout"),
    ]
    assert answer["faults"][1]["apply_to"] == "pending"
    assert control.plan.disabled == {0}
    refused(ask(control, "PUT", "/plan", {"faults": [], "version": 2}), 409, words="version is 3")
    assert ask(control, "PUT", "/plan", {"faults": [], "version": 3}).json()["faults"] == []


def test_a_reset_removes_every_fault(control: StandIn) -> None:
    ask(control, "POST", "/faults", SLOW)
    ask(control, "PATCH", "/links/3", {"enabled": False})
    assert ask(control, "POST", "/reset").json() == {"version": 4, "faults": [], "disabled": [3]}


def test_the_rest(control: StandIn) -> None:
    assert ask(control, "GET", "/healthz").json() == {"status": "ok"}
    control.ready = False
    refused(ask(control, "GET", "/healthz"), 503)
    about = ask(control, "GET", "/version").json()
    assert (about["name"], about["clock"], about["agents"]) == ("edgefw", "wall", AGENTS)
    assert about["run"] == "small-1"
    metrics = ask(control, "GET", "/metrics")
    assert "changes_total 0.0" in metrics.text
    assert metrics.headers["content-type"].startswith("text/plain; version=")


def test_the_page_needs_nothing_from_elsewhere(control: StandIn) -> None:
    page = ask(control, "GET", "/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "//" not in re.sub(r"<!--.*?-->", "", page.text)
    wanted = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert {path.rpartition(".")[2] for path in wanted} == {"js", "css", "png"}
    for path in wanted:
        got = ask(control, "GET", path)
        assert (got.status_code, bool(got.content)) == (200, True)
    refused(ask(control, "GET", "/docs/other.js"), 404, words="see /docs")
    refused(ask(control, "GET", "/docs/__init__.py"), 404)


def test_the_page_runs_no_script_but_its_own(control: StandIn) -> None:
    page = ask(control, "GET", "/docs")
    (inline,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    policy = page.headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "connect-src 'self';" in policy


def test_the_document_has_every_call(control: StandIn) -> None:
    document = ask(control, "GET", "/openapi.json").json()
    known = {(verb.upper(), path) for path, verbs in document["paths"].items() for verb in verbs}
    assert known == {(call.verb, call.path) for call in CALLS}


WRONG: list[tuple[str, str, Any, str]] = [
    ("POST", "/faults", {"type": "latency", "attributes": {"latency": "-1s"}}, "attributes.latency"),
    ("POST", "/faults", {"type": "latency", "attributes": {"jitter": "1s"}}, "attributes.jitter"),
    ("POST", "/links/0/faults", {"type": "drop", "x": 1}, "x"),
    ("POST", "/faults", {"type": "drop", "agents": [3]}, "agents"),
    ("POST", "/faults", [], ""),
    ("PATCH", "/faults/slow", {"name": "x"}, "name"),
    ("PATCH", "/faults/slow", {"latency": "-1s"}, "attributes.latency"),
    ("PATCH", "/links/0", {}, "enabled"),
    ("PATCH", "/links/0", {"enabled": 1}, "enabled"),
    ("PATCH", "/links/0", {"enabled": True, "x": 1}, "x"),
    ("PATCH", "/links/0", 5, ""),
    ("PUT", "/plan", {}, "faults"),
    ("PUT", "/plan", [], ""),
    ("PUT", "/plan", {"faults": {}}, "faults"),
    ("PUT", "/plan", {"faults": [{"type": "drop"}] * 1001}, "faults"),
    ("PUT", "/plan", {"faults": [], "x": 1}, "x"),
    ("PUT", "/plan", {"faults": [], "version": "1"}, "version"),
    ("PUT", "/plan", {"faults": [], "version": True}, "version"),
    ("PUT", "/plan", {"faults": [], "disabled": [8]}, "disabled.0"),
    ("PUT", "/plan", {"faults": [], "disabled": 8}, "disabled"),
    ("PUT", "/plan", {"faults": [{"type": "drop"}, {"agents": [99], "type": "drop"}]}, "faults.1.agents"),
    (
        "PUT",
        "/plan",
        {"faults": [{"type": "latency", "attributes": {"jitter": "1s"}}]},
        "faults.0.attributes.jitter",
    ),
    ("PUT", "/plan", {"faults": [7]}, "faults.0"),
    ("PUT", "/plan", {"faults": [{"type": "drop", "name": "a"}] * 2}, "faults.1.name"),
]


@pytest.mark.parametrize(("verb", "path", "body", "field"), WRONG)
def test_a_wrong_body_is_refused_with_its_field_and_changes_nothing(
    control: StandIn, verb: str, path: str, body: Any, field: str
) -> None:
    ask(control, "POST", "/faults", {**SLOW, "name": "slow"})
    before = control.plan
    refused(ask(control, verb, path, body), 400, field)
    assert control.plan is before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"type: drop", "not JSON"),
        (b'{"type": "drop", "probability": NaN}', "NaN"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "too deeply"),
        (b"1" * 5000, "not JSON"),
    ],
)
def test_what_is_not_json_is_refused(control: StandIn, content: bytes, words: str) -> None:
    refused(ask(control, "POST", "/faults", content=content, headers=JSON), 400, "", words)


def test_a_field_that_is_given_twice_is_refused(control: StandIn) -> None:
    twice = b'{"type": "drop", "type": "blackout"}'
    refused(ask(control, "POST", "/faults", content=twice, headers=JSON), 400, "type", "given twice")


def test_a_body_is_json_by_its_header_too(control: StandIn) -> None:
    drop = json.dumps({"type": "drop"}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = ask(control, "POST", "/faults", content=drop, headers={"Content-Type": kind})
        refused(answer, 415, words="Content-Type: application/json")
    good = {"Content-Type": "application/json; charset=utf-8"}
    assert ask(control, "POST", "/faults", content=drop, headers=good).status_code == 201
    assert ask(control, "POST", "/faults", content=drop).status_code == 201


def test_a_body_has_a_limit_that_holds_while_it_is_read(control: StandIn) -> None:
    refused(ask(control, "POST", "/faults", content=b" " * (LARGEST_BODY + 1), headers=JSON), 413)
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b" " * 100_000

    refused(ask(control, "PUT", "/plan", content=endless(), headers=JSON), 413)
    assert read < 20
    fits = b" " * (LARGEST_BODY - 15) + b'{"type":"drop"}'
    assert ask(control, "POST", "/faults", content=fits, headers=JSON).status_code == 201


@pytest.mark.parametrize("agent", ["8", "-1", "x", "007", "1.0", "%31%00", "99999999999999999999", "٣"])
def test_an_agent_that_is_not_there_is_not_found(control: StandIn, agent: str) -> None:
    for verb, path, body in (
        ("GET", f"/links/{agent}", None),
        ("PATCH", f"/links/{agent}", {"enabled": True}),
        ("POST", f"/links/{agent}/faults", SLOW),
        ("PATCH", f"/links/{agent}/faults/x", {}),
        ("DELETE", f"/links/{agent}/faults/x", None),
    ):
        refused(ask(control, verb, path, body), 404, words="agents are 0 to 7")


@pytest.mark.parametrize("path", ["/", "/nothing", "/links/", "/links/3/", "/plan/", "/faults/a/b"])
def test_a_path_that_is_not_there_is_not_found(control: StandIn, path: str) -> None:
    refused(ask(control, "GET", path), 404, words="see /docs")


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("PUT", "/links", "GET"),
        ("POST", "/plan", "GET, PUT"),
        ("GET", "/faults/a", "DELETE, PATCH"),
        ("OPTIONS", "/reset", "POST"),
    ],
)
def test_a_verb_that_a_path_does_not_know_is_not_allowed(
    control: StandIn, verb: str, path: str, allowed: str
) -> None:
    answer = ask(control, verb, path)
    refused(answer, 405)
    assert answer.headers["allow"] == allowed


def test_what_exists_and_what_has_no_room(control: StandIn) -> None:
    ask(control, "POST", "/faults", {**SLOW, "name": "slow"})
    refused(ask(control, "POST", "/faults", {**SLOW, "name": "slow"}), 409, words="already")
    before = control.plan
    control.failure = JournalFullError("the disk is full")
    for verb, path, body in (
        ("POST", "/faults", SLOW),
        ("DELETE", "/faults/slow", None),
        ("PUT", "/plan", {"faults": []}),
        ("POST", "/reset", None),
        ("PATCH", "/links/0", {"enabled": False}),
    ):
        refused(ask(control, verb, path, body), 507, words="disk is full")
    control.failure = InputError("limits.link is 10: delays reach 20 rounds")
    refused(ask(control, "POST", "/faults", SLOW), 400, words="limits.link")
    assert control.plan is before


def test_events_of_an_unknown_kind_are_refused(control: StandIn) -> None:
    refused(ask(control, "GET", "/events?kinds=change,x"), 400, "kinds", "change, release")


def test_a_message_is_one_short_line_whatever_was_sent(control: StandIn) -> None:
    answer = ask(control, "POST", "/faults", {"type": "drop", "a\nb" * 1000: 1})
    assert answer.status_code == 400
    assert len(answer.json()["error"]) < 500
    assert "\n" not in answer.json()["error"]
    lone = b'{"type": "drop", "\\ud800": 1}'
    assert ask(control, "POST", "/faults", content=lone, headers=JSON).status_code == 400
