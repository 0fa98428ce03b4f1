"""The image as an engine builds it: small, without privileges, and at work on a read-only root."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine import DOCKERFILE, ROOT, docker, need_image, python_image

MEGABYTE = 1_000_000

pytestmark = pytest.mark.xdist_group("engine")  # one at a time, beside tests of other kinds


@pytest.fixture(scope="module")
def image() -> str:
    need_image(python_image())
    return docker("build", "--quiet", "--file", DOCKERFILE, "--tag", "edgefw:test", ROOT).strip()


def _inspect(name: str) -> dict[str, Any]:
    (found,) = json.loads(docker("image", "inspect", name))
    assert isinstance(found, dict)
    return found


def test_it_is_small(image: str) -> None:
    above = _inspect(image)["Size"] - _inspect(python_image())["Size"]
    assert above < 260 * MEGABYTE


def test_it_runs_as_nobody_and_says_what_it_is_and_how_it_fares(image: str) -> None:
    config = _inspect(image)["Config"]
    assert config["User"] == "10001:10001"
    assert config["Entrypoint"] == ["edgefw"]
    assert config["Healthcheck"]["Interval"] == 5_000_000_000
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_the_data_set_is_inside(image: str) -> None:
    options = ("--rm", "--read-only", "--network", "none")
    assert (
        docker("run", *options, image, "data", "path", "fashion-mnist")
        == "/usr/share/datasets/fashion-mnist\n"
    )


def test_it_works_with_a_read_only_root_and_no_privileges(image: str) -> None:
    options = ("--rm", "--read-only", "--network", "none", "--cap-drop", "ALL", "--tmpfs", "/var/lib/edgefw")
    scenario = ("simulate", "default", "--set", "algorithm.horizon=30", "--no-regret", "--json")
    summary = json.loads(docker("run", *options, image, *scenario))
    assert (summary["rounds"], summary["agents"]) == (30, 8)
