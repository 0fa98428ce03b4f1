"""Who may speak to the admin endpoint."""

from __future__ import annotations

import pytest
from admin_stand_in import StandIn, ask

from edgefw.errors import InputError
from edgefw.services.broker.admin.app import check_listen

TOKEN = "correct horse"  # noqa: S105


CONTROL = StandIn()


def status(path: str = "/version", token: str | None = None, **headers: str) -> int:
    answer = ask(CONTROL, "GET", path, token=token, names=frozenset({"Broker"}), headers=headers)
    if answer.is_error:
        assert answer.json()["status"] == answer.status_code
    assert not [name for name in answer.headers if name.startswith("access-control")]
    return answer.status_code


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:7070",
        "127.0.0.1:7070",
        "[::1]:7070",
        "10.1.2.3",
        "[fe80::1]:80",
        "broker:7070",
        "BROKER",
    ],
)
def test_hosts_that_nobody_else_can_claim_are_known(host: str) -> None:
    assert status(host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example:7070",
        "127.0.0.1.evil.example",
        "evil.example@localhost",
        "localhost/x",
        "localhost?x",
        "localhost:x",
        "[::1",
        "",
        "0x7f000001",
    ],
)
def test_other_hosts_are_refused(host: str) -> None:
    assert status(host=host) == 403


def test_two_hosts_are_refused() -> None:
    answer = ask(StandIn(), "GET", "/version", headers=[("host", "localhost"), ("host", "localhost")])
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:7070", "http://localhost:7070"),
        ("127.0.0.1:7070", "http://localhost:7070"),
        ("localhost:7070", "http://[::1]:7070"),
        ("localhost", "http://localhost"),
        ("localhost", "https://localhost:443"),
        ("10.1.2.3:7070", "http://10.1.2.3:7070"),
        ("broker:7070", "http://BROKER:7070"),
    ],
)
def test_the_endpoints_own_pages_may_call(host: str, origin: str) -> None:
    assert status(host=host, origin=origin) == 200


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:7070", "http://evil.example"),
        ("localhost:7070", "http://localhost:3000"),
        ("localhost:7070", "https://localhost"),
        ("localhost:7070", "null"),
        ("localhost:7070", ""),
        ("localhost:7070", "file://localhost:7070"),
        ("10.1.2.3:7070", "http://localhost:7070"),
        ("broker:7070", "http://10.1.2.3:7070"),
        ("localhost:7070", "http://localhost:7070.evil.example"),
        ("localhost:7070", "http://localhost:99999"),
    ],
)
def test_other_pages_may_not(host: str, origin: str) -> None:
    assert status(host=host, origin=origin) == 403


def test_a_foreign_page_changes_nothing() -> None:
    control = StandIn()
    answer = ask(control, "POST", "/faults", {"type": "drop"}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert control.plan.entries == ()


def test_a_token_is_asked_for_everywhere_but_for_the_health() -> None:
    for path in ("/version", "/links", "/docs", "/openapi.json", "/metrics", "/nothing"):
        assert status(path, token=TOKEN) == 401
    assert status("/healthz", token=TOKEN) == 200
    answer = ask(StandIn(), "GET", "/version", token=TOKEN)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
        ("Bearer", 401),
        ("", 401),
    ],
)
def test_the_right_token_opens(given: str, expected: int) -> None:
    assert status("/version", token=TOKEN, authorization=given) == expected


def test_a_foreign_page_is_refused_though_it_has_the_token() -> None:
    assert status(token=TOKEN, authorization=f"Bearer {TOKEN}", origin="http://evil.example") == 403


def test_the_document_tells_of_the_token() -> None:
    with_token = ask(
        StandIn(), "GET", "/openapi.json", token=TOKEN, headers={"Authorization": f"Bearer {TOKEN}"}
    )
    document, plain = with_token.json(), ask(StandIn(), "GET", "/openapi.json").json()
    assert "401" in document["paths"]["/links"]["get"]["responses"]
    assert "401" not in document["paths"]["/healthz"]["get"]["responses"]
    assert "401" not in plain["paths"]["/links"]["get"]["responses"]
    assert document["components"]["securitySchemes"] == {"bearer": {"type": "http", "scheme": "bearer"}}


def test_it_listens_wider_only_with_a_token_or_when_told_to() -> None:
    for host in ("127.0.0.1", "::1", "localhost", "127.0.0.2"):
        check_listen(host, token=None, open_=False)
    for host in ("0.0.0.0", "10.1.2.3", "::", "broker"):  # noqa: S104 - it is what is refused
        check_listen(host, token="secret", open_=False)  # noqa: S106
        check_listen(host, token=None, open_=True)
        with pytest.raises(InputError, match="--admin-open"):
            check_listen(host, token=None, open_=False)
        with pytest.raises(InputError):
            check_listen(host, token="", open_=False)
