"""What the pages tell a reader to type is there, and the numbers that they promise come out."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgefw.cli import main, make_parser
from edgefw.records import SUMMARY

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TYPED = re.compile(r"`edgefw ([^`]+)`|^(?:EDGEFW_\w+=\S+ )?edgefw ([^#\n]+)", re.MULTILINE)
ALIKE = {"AGENT": "0", "FIELD=VALUE": "latency=1s", "TYPE": "latency", "...": ""}  # what stands for something
COMMANDS = sorted(
    {
        (page.stem, (inline or line).strip())
        for page in PAGES
        for inline, line in TYPED.findall(page.read_text(encoding="utf-8"))
    }
)


def test_there_are_commands_to_look_at() -> None:
    assert len(COMMANDS) > 40


@pytest.mark.parametrize(("page", "typed"), COMMANDS)
def test_a_command_of_a_page_is_understood(page: str, typed: str) -> None:
    words = [ALIKE.get(word, word) for word in shlex.split(typed) if ALIKE.get(word, word)]
    if len(words) == 1:  # the name of a command in a sentence: it may need more to be run
        words.append("--help")
    assert _exit_code(words) == 0, f"{page}: edgefw {typed}"


def _exit_code(words: list[str]) -> object:
    try:
        make_parser().parse_args(words)
    except SystemExit as ended:
        return ended.code
    return 0


@pytest.mark.dataset("fashion-mnist")
def test_what_a_delay_costs_is_as_the_answers_say(tmp_path: Path) -> None:
    answers = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    late, prompt = (
        _summary(tmp_path / name, options)
        for name, options in (("late", []), ("prompt", ["--set", "delays=[]"]))
    )
    late_regret, prompt_regret = late["network_regret"], prompt["network_regret"]
    assert (
        f"is {late_regret:.1f} and {prompt_regret:.1f}: the delays cost {late_regret - prompt_regret:.1f}"
        in answers
    )
    assert f"B is {late['total_delay']:.0f} instead of {prompt['total_delay']:.0f}." in answers
    wrong = late["total_loss"] - late["comparator_loss"]
    assert f"is {late['total_loss']:.1f}, the best fixed point loses {late['comparator_loss']:.1f}" in answers
    assert f"the regret is {late_regret:.1f}, not {wrong:.1f}" in answers


def _summary(out: Path, options: list[str]) -> dict[str, Any]:
    main(["simulate", "default", "--set", "data.source=fashion-mnist", *options, "--out", str(out)])
    found: dict[str, Any] = json.loads((out / SUMMARY).read_text(encoding="utf-8"))
    return found


def test_the_citation_is_of_this_version_and_names_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{citation["version"]}"' in project
    assert citation["license"] == "Apache-2.0"
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Nguyen", "Nguyen", "Trystram"]
    assert paper["title"].startswith("Handling Delayed Feedback in Distributed Online Optimization")
