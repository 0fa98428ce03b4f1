"""A browser and an endpoint that asks for a token: it is asked once, and what it keeps tells nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from admin_stand_in import StandIn, ask

if TYPE_CHECKING:
    import httpx

TOKEN = "correct horse battery"  # noqa: S105
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
CONTROL = StandIn()


def get(path: str, **headers: str) -> httpx.Response:
    return ask(CONTROL, "GET", path, token=TOKEN, headers=headers)


def log_in(given: str, **headers: str) -> httpx.Response:
    return ask(CONTROL, "POST", "/login", token=TOKEN, data={"token": given}, headers={**BROWSER, **headers})


def cookie_of(answer: httpx.Response) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def test_a_browser_is_sent_to_the_form_and_from_there_to_the_docs() -> None:
    sent = get("/docs", **BROWSER)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    form = get("/login", **BROWSER)
    assert form.status_code == 200
    assert 'type="password"' in form.text
    done = log_in(TOKEN)
    assert (done.status_code, done.headers["location"]) == (303, "/docs")
    told = done.headers["set-cookie"]
    assert "; Path=/; HttpOnly; SameSite=Strict" in told
    assert TOKEN not in told
    for path in ("/docs", "/openapi.json", "/links", "/docs/swagger-ui.css"):
        assert get(path, Cookie=f"a=b; {cookie_of(done)}").status_code == 200
    changed = ask(CONTROL, "POST", "/reset", token=TOKEN, headers={"Cookie": cookie_of(done)})
    assert changed.status_code < 300


@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], f"{TOKEN}x", "\u00e9"])
def test_with_another_token_there_is_no_cookie(given: str) -> None:
    answer = log_in(given)
    assert answer.status_code == 401
    assert "This is not the token" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("other", ["a=b", 'prefs={"dark":true}', "=", "x", '"'])
def test_a_login_holds_whatever_cookies_others_on_the_host_have_set(other: str) -> None:
    good = cookie_of(log_in(TOKEN))
    assert get("/links", Cookie=f"{other}; {good}").status_code == 200
    assert get("/links", Cookie=f"{good}; {other}").status_code == 200
    assert get("/links", Cookie=other).status_code == 401


def test_a_cookie_of_anything_else_is_worth_nothing() -> None:
    good = cookie_of(log_in(TOKEN))
    name, _, proof = good.partition("=")
    other = cookie_of(ask(CONTROL, "POST", "/login", token=TOKEN[1:], data={"token": TOKEN[1:]}))
    forged = [
        f"{name}={proof[:-1]}",
        f"{name}={TOKEN}",
        f"{name}=",
        f"{name}={other.partition('=')[2]}",
        other,
        'x;=;"',
    ]
    for cookie in forged:
        assert get("/links", Cookie=cookie).status_code == 401
    assert get("/links", Cookie=good, Authorization="Bearer wrong").status_code == 401


def test_a_page_of_another_site_can_neither_log_in_nor_use_the_cookie() -> None:
    foreign = {"Origin": "http://evil.example"}
    assert log_in(TOKEN, **foreign).status_code == 403
    good = cookie_of(log_in(TOKEN))
    answer = ask(CONTROL, "POST", "/reset", token=TOKEN, headers={"Cookie": good, **foreign})
    assert answer.status_code == 403
    port = {"Origin": "http://localhost:3000"}  # the same site to a browser, which sends the cookie
    answer = ask(CONTROL, "POST", "/reset", token=TOKEN, headers={"Cookie": good, **port})
    assert answer.status_code == 403


def test_what_is_no_form_is_refused_in_bounds() -> None:
    assert log_in("x" * 5000).status_code == 413
    assert ask(CONTROL, "PUT", "/login", token=TOKEN).status_code == 405
    program = ask(CONTROL, "POST", "/login", token=TOKEN, data={"token": "wrong"})
    assert (program.status_code, program.json()["status"]) == (401, 401)


def test_without_a_token_there_is_nothing_to_log_in_to() -> None:
    assert ask(CONTROL, "GET", "/login").status_code == 404
    assert ask(CONTROL, "GET", "/docs", headers=BROWSER).status_code == 200
