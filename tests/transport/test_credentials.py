"""Where a token comes from, and that it goes nowhere else."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from edgefw.errors import InputError
from edgefw.transport.credentials import (
    NONE,
    TLS,
    TOKEN,
    TOKEN_FILE,
    Credentials,
    environment_of,
    from_environment,
    make_token,
    new_token,
)

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "a-token_of.this~run+/=0"


def test_a_token_comes_by_the_environment_or_in_a_file_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{GOOD}\n")
    assert from_environment({TOKEN: GOOD}).token == GOOD
    assert from_environment({TOKEN_FILE: str(file)}).token == GOOD
    assert from_environment({TOKEN: "", TOKEN_FILE: ""}) == from_environment({}) == NONE


def test_what_a_supervisor_hands_over_is_read_again_whatever_it_was_started_with() -> None:
    told = {TOKEN_FILE: "/elsewhere", TLS: "/elsewhere"} | environment_of(GOOD, None)
    assert from_environment(told) == Credentials(GOOD)


def test_a_token_is_in_no_text_of_the_credentials() -> None:
    assert GOOD not in f"{Credentials(GOOD)} {Credentials(GOOD)!r}"


def test_a_file_that_is_not_there_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "token"
    made = from_environment({TOKEN_FILE: str(file)}, make=True)
    assert made == from_environment({TOKEN_FILE: str(file)}, make=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    make_token(tmp_path / "other")
    assert (tmp_path / "other").read_text() != file.read_text()
    assert new_token() != new_token()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({TOKEN: GOOD, TOKEN_FILE: "x"}, "are both set: leave one of them out"),
        ({TOKEN: "short"}, "EDGEFW_JOIN_TOKEN is no token: it has to have 16 to 512 letters"),
        ({TOKEN: f"{GOOD} {GOOD}"}, "is no token"),
        (
            {TOKEN_FILE: "{folder}/none"},
            "cannot read the token in {folder}/none (EDGEFW_JOIN_TOKEN_FILE): No such",
        ),
        (
            {TOKEN_FILE: "{folder}/empty"},
            "the content of {folder}/empty (EDGEFW_JOIN_TOKEN_FILE) is no token",
        ),
        ({TOKEN_FILE: "{folder}/bytes"}, "it is not ASCII"),
    ],
)
def test_what_is_no_token_is_one_line_that_does_not_tell_it(
    tmp_path: Path, environment: dict[str, str], words: str
) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bytes").write_bytes(b"\xff" * 32)
    with pytest.raises(InputError) as caught:
        from_environment({key: value.format(folder=tmp_path) for key, value in environment.items()})
    assert words.format(folder=tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert GOOD not in str(caught.value)


def test_a_token_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write a token to .*: No such file"):
        from_environment({TOKEN_FILE: str(tmp_path / "no" / "token")}, make=True)


def test_what_one_left_that_was_killed_as_it_wrote_a_token_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f"token.{os.getpid()}").write_text("ha")
    assert from_environment({TOKEN_FILE: str(tmp_path / "token")}, make=True).token
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
