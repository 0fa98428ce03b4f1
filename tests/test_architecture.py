"""The house is as docs/architecture.md says, and a name in it means one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "edgefw"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
GENERATED = "v1"


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if GENERATED not in path.parts]


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_every_room_stands_in_the_picture() -> None:
    picture = PAGE.split("```")[1]
    named = set(re.findall(r"[a-z]+", "\n".join(line[:40] for line in picture.splitlines())))
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in modules()}
    assert {room for room in rooms if not room.startswith("_")} - named == set()


def test_what_the_page_names_is_there() -> None:
    named = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py|/)?)`", PAGE)
    assert len(named) > 10
    there = [ROOT, ROOT / "tests", PACKAGE, PACKAGE / "services" / "broker" / "admin"]
    assert [name for name in named if not any((root / name).exists() for root in there)] == []
