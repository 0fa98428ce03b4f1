"""The Compose file that adds TLS: every service gets its own certificate, and can read no other."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from engine import ROOT, why_no_compose

from edgefw.cli import main, make_parser
from edgefw.containers.compose import image
from edgefw.transport.credentials import services

if TYPE_CHECKING:
    from pathlib import Path

COMMITTED = (ROOT / "compose.tls.yaml").read_text(encoding="utf-8")
ADDED: dict[str, dict[str, Any]] = yaml.safe_load(COMMITTED)["services"]
FIRST: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))[
    "services"
]
OURS = [name for name in FIRST if name not in {"prometheus", "grafana"}]


def test_the_committed_file_is_what_the_command_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "playground", "--tls"]) == 0
    assert capsys.readouterr().out == COMMITTED, "run make compose.tls.yaml and commit what it writes"


def test_every_service_of_ours_is_under_tls_and_waits_for_its_certificate() -> None:
    assert set(ADDED) == {"certs", *OURS}
    for name in OURS:
        given = ADDED[name]
        folder = given["environment"]["EDGEFW_TLS"]
        assert given["volumes"] == [f"tls-{name}:{folder}:ro"]
        assert given["depends_on"] == {"certs": {"condition": "service_completed_successfully"}}
        assert given.keys() == {"environment", "volumes", "depends_on"}


def test_what_makes_certificates_makes_those_and_has_no_network() -> None:
    certs = ADDED["certs"]
    told = make_parser().parse_args(certs["command"])
    names = [name for name in services(told.agents) if name != "operator"]
    assert set(names) == set(OURS)
    folders = [f"tls-{name}:{told.folder}/{name}" for name in names]
    assert certs["volumes"] == [f"authority:{told.folder}", *folders]
    assert set(yaml.safe_load(COMMITTED)["volumes"]) == {"authority", *(f"tls-{name}" for name in names)}
    assert (certs["network_mode"], certs["cap_drop"], certs["read_only"]) == ("none", ["ALL"], True)
    assert certs["image"] == image()
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    assert f"USER {told.owner}:" in dockerfile, "whose files they are"
    assert ".[tls,ui]" in dockerfile, "what makes them"


def test_another_file_is_for_other_agents_and_another_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    words = ["playground", "--set", "network.agents=3", "--image", "mine:1"]
    assert main(["compose", *words, "--tls", "--out", str(out)]) == 0
    assert f"docker compose -f compose.yaml -f {out} up" in " ".join(capsys.readouterr().out.split())
    written = yaml.safe_load(out.read_text())["services"]
    assert set(written) == {"certs", "observer", "broker", "agent-0", "agent-1", "agent-2"}
    assert written["certs"]["image"] == "mine:1"


@pytest.mark.skipif(why_no_compose() is not None, reason=str(why_no_compose()))
def test_compose_takes_both_files_together() -> None:
    files = [word for name in ("compose.yaml", "compose.tls.yaml") for word in ("--file", str(ROOT / name))]
    done = subprocess.run(
        ["docker", "compose", *files, "config", "--quiet"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
