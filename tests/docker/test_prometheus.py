"""Prometheus' own tool finds nothing wrong with its configuration, and the alerts say what they should."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dashboards import dashboards, marks, queries
from engine import DOCKERFILE, ROOT
from exported import exported
from promql import reads
from promtool import promtool

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "docker" / "prometheus"
RULES = [
    rule
    for path in sorted((FOLDER / "rules").glob("*.yml"))
    for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}


def _name(rule: dict[str, Any]) -> str:
    return str(rule.get("record") or rule["alert"])


def _files(folder: str) -> list[str]:
    return sorted(str(path.relative_to(FOLDER)) for path in (FOLDER / folder).glob("*.yml"))


def test_the_configuration_is_one() -> None:
    done = promtool(FOLDER, "check", "config", "--lint=all", "--lint-fatal", "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_sound() -> None:
    done = promtool(FOLDER, "check", "rules", "--lint=all", "--lint-fatal", *_files("rules"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", _files("tests"))
def test_rules_do_what_their_tests_say(file: str) -> None:
    done = promtool(FOLDER, "test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_a_rule_has_a_test(rule: dict[str, Any]) -> None:
    assert any(_name(rule) in (FOLDER / file).read_text(encoding="utf-8") for file in _files("tests"))


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_what_a_rule_reads_is_exported_or_recorded(rule: dict[str, Any]) -> None:
    for read in reads(rule["expr"]):
        assert read.name in RECORDED or read.labels <= exported()[read.name], read


@pytest.mark.parametrize("rule", [rule for rule in RULES if "alert" in rule], ids=_name)
def test_an_alert_says_how_bad_it_is_and_what_it_means(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"].keys() == {"summary", "description"}


def test_prometheus_itself_can_read_every_query_of_the_dashboards(tmp_path: Path) -> None:
    asked = [query for board in dashboards().values() for _, query in [*queries(board), *marks(board)]]
    rules = [{"record": f"query_{number}", "expr": query} for number, query in enumerate(asked)]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}), encoding="utf-8")
    tmp_path.chmod(0o755)  # for the container's user
    done = promtool(tmp_path, "check", "rules", path.name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everyone_is_found_through_the_observer_at_the_port_that_the_image_says() -> None:
    found = re.search(r"EDGEFW_METRICS_PORT=(\d+)", DOCKERFILE.read_text(encoding="utf-8"))
    assert found is not None
    place = f"observer:{found[1]}"
    observer, joined = _scraped()
    assert [config["targets"] for config in observer["static_configs"]] == [[place]]
    assert [config["url"] for config in joined["http_sd_configs"]] == [f"http://{place}/targets"]
    assert "observer" in yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_a_newcomer_is_scraped_within_seconds_and_is_known_by_its_services_name() -> None:
    for job in _scraped():
        assert all(config["refresh_interval"] == "2s" for config in job.get("http_sd_configs", []))
        (rule,) = job["relabel_configs"]
        assert (rule["source_labels"], rule["target_label"]) == (["__address__"], "instance")
        matched = re.fullmatch(rule["regex"], "agent-3:9464")
        assert matched is not None
        assert matched[1] == "agent-3"


def _scraped() -> list[dict[str, Any]]:
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
    jobs: list[dict[str, Any]] = config["scrape_configs"]
    return jobs
