"""Calls of the page reach the broker's admin endpoint, and its answers the page."""

from __future__ import annotations

import json

import admin_stand_in
import pytest
from page_client import ask

from edgefw.services.observer.forwarding import Forward, _own_cookies

FAULT = {"type": "latency", "attributes": {"latency": "750ms"}}


def test_a_change_reaches_the_broker_and_its_answer_comes_back() -> None:
    with admin_stand_in.served() as broker:
        forward = Forward(lambda: broker.url.removeprefix("http://"))
        set_ = ask(
            forward,
            "/admin/links/3/faults",
            "POST",
            json.dumps(FAULT).encode(),
            content_type="application/json",
        )
        assert set_.status == 201
        assert json.loads(set_.content)["name"] == "latency"
        link = ask(forward, "/admin/links/3")
        assert [fault["type"] for fault in json.loads(link.content)["faults"]] == ["latency"]
        assert ask(forward, "/admin/links/3/faults/latency", "DELETE").status == 204
        assert broker.control.kinds == ["add", "remove"]
        assert set(broker.control.callers) == {"edgefw-page (?) at 127.0.0.1"}


def test_a_refusal_is_passed_on() -> None:
    with admin_stand_in.served() as broker:
        forward = Forward(lambda: broker.url.removeprefix("http://"))
        wrong = ask(forward, "/admin/links/3/faults", "POST", b'{"type": "latencyy"}')
        assert wrong.status == 400
        assert "latency" in json.loads(wrong.content)["error"]
        assert ask(forward, "/admin/links/99").status == 404


def test_the_token_is_the_browsers() -> None:
    with admin_stand_in.served(token="secret") as broker:  # noqa: S106 - of this test alone
        forward = Forward(lambda: broker.url.removeprefix("http://"))
        assert ask(forward, "/admin/links").status == 401
        assert ask(forward, "/admin/links", authorization="Bearer secret").status == 200


def test_a_login_is_passed_on_and_its_cookie_alone() -> None:
    with admin_stand_in.served(token="secret") as broker:  # noqa: S106 - likewise
        forward = Forward(lambda: broker.url.removeprefix("http://"))
        assert ask(forward, "/admin/login", "POST", b"token=wrong").status == 401
        done = ask(forward, "/admin/login", "POST", b"token=secret")
        assert done.status == 204
        cookie = done.given["set-cookie"]
        assert "HttpOnly; SameSite=Strict" in cookie
        mine = cookie.partition(";")[0]
        assert ask(forward, "/admin/links", cookie=f"other=1; {mine}; session=2").status == 200
        assert ask(forward, "/admin/links", cookie="other=1").status == 401
    passed = _own_cookies([(b"cookie", f"other=1; {mine}; session=2".encode())])
    assert passed == [mine.encode()]


@pytest.mark.parametrize(
    ("where", "path", "status"),
    [
        (None, "/admin/links", 503),
        ("127.0.0.1:1", "/admin/links", 503),
        ("127.0.0.1:1", "/admin/events", 404),
    ],
)
def test_what_cannot_be_passed_on_is_said_in_a_line(where: str | None, path: str, status: int) -> None:
    answer = ask(Forward(lambda: where), path)
    assert answer.status == status
    assert "\n" not in json.loads(answer.content)["error"]


def test_a_body_without_end_is_not_read_to_its_end() -> None:
    assert ask(Forward(lambda: "127.0.0.1:1"), "/admin/plan", "PUT", b" " * 1_600_000).status == 413
