"""Certificates: what is made, for whom, and what is kept."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from edgefw.cli import main
from edgefw.errors import InputError
from edgefw.transport import authority
from edgefw.transport.authority import make_certificates
from edgefw.transport.credentials import read_tls, services

if TYPE_CHECKING:
    from pathlib import Path


def certificate(folder: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / "cert.pem").read_bytes())


def test_every_service_gets_a_folder_with_what_it_needs_and_nothing_else(tmp_path: Path) -> None:
    assert make_certificates(tmp_path, services(2), days=30) == services(2)
    assert {each.name for each in tmp_path.iterdir()} == {"ca.pem", "ca-key.pem", *services(2)}
    for name in services(2):
        read_tls(tmp_path / name)
        assert {each.name for each in (tmp_path / name).iterdir()} == {"ca.pem", "cert.pem", "key.pem"}
        assert stat.S_IMODE((tmp_path / name / "key.pem").stat().st_mode) == 0o600
        made = certificate(tmp_path / name)
        names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [name]
        used = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert set(used) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
        assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert stat.S_IMODE((tmp_path / "ca-key.pem").stat().st_mode) == 0o600


def test_what_is_good_is_kept_and_what_is_not_is_made_anew(tmp_path: Path) -> None:
    make_certificates(tmp_path, services(3), days=30)
    before = {name: certificate(tmp_path / name) for name in services(3)}
    (tmp_path / "agent-0" / "key.pem").write_bytes((tmp_path / "agent-1" / "key.pem").read_bytes())
    (tmp_path / "broker" / "cert.pem").unlink()
    (tmp_path / "agent-2" / "cert.pem").write_bytes((tmp_path / "agent-1" / "cert.pem").read_bytes())
    anew = ["broker", "agent-0", "agent-2", "agent-3"]
    assert make_certificates(tmp_path, services(4), days=30) == anew
    for name in services(4):
        read_tls(tmp_path / name)
        assert (before.get(name) == certificate(tmp_path / name)) is (name not in anew)


def test_what_is_about_to_expire_is_made_anew(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["broker"], days=30)
    make_certificates(tmp_path, ["observer"], days=1)
    assert make_certificates(tmp_path, ["broker", "observer"], days=30) == ["observer"]


def test_an_authority_outlives_its_certificates(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["broker"], days=1)
    assert make_certificates(tmp_path, ["broker"], days=1) == ["broker"]


def test_what_one_left_that_was_killed_as_it_wrote_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / f".key.pem.{os.getpid()}").write_text("ha")
    make_certificates(tmp_path, ["broker"], days=30)
    read_tls(tmp_path / "broker")


@pytest.mark.parametrize("file", ["ca.pem", "cert.pem", "key.pem"])
def test_what_is_damaged_of_a_service_is_made_anew(tmp_path: Path, file: str) -> None:
    make_certificates(tmp_path, services(1), days=30)
    (tmp_path / "broker" / file).write_text("nothing")
    assert make_certificates(tmp_path, services(1), days=30) == ["broker"]
    read_tls(tmp_path / "broker")


def test_what_cannot_be_gone_on_with_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_certificates(tmp_path / "a", [], days=30)
    (tmp_path / "a" / "ca-key.pem").unlink()
    with pytest.raises(InputError, match=r"has one of ca.pem and ca-key.pem, and both are needed"):
        make_certificates(tmp_path / "a", services(1), days=30)
    monkeypatch.setattr(authority, "LIFE", 1)
    make_certificates(tmp_path / "b", [], days=30)
    with pytest.raises(InputError, match=r"the authority in .* has expired: begin with an empty folder"):
        make_certificates(tmp_path / "b", services(1), days=30)
    make_certificates(tmp_path / "c", [], days=30)
    (tmp_path / "c" / "ca.pem").write_text("nothing")
    with pytest.raises(InputError, match="is damaged: remove both"):
        make_certificates(tmp_path / "c", services(1), days=30)
    (tmp_path / "d").write_text("a file")
    with pytest.raises(InputError, match=r"cannot write certificates to .*: File exists"):
        make_certificates(tmp_path / "d", services(1), days=30)


def test_the_command_says_how_many_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "certs")
    assert main(["certs", folder, "--agents", "1"]) == 0
    assert main(["certs", folder, "--agents", "3"]) == 0
    told = "".join(capsys.readouterr().out.split("\n"))
    assert "4 certificates were made" in told
    assert "2 certificates were made; 4 were there" in told
