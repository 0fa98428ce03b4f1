"""Pages that are made from the code are those that are committed, and links in pages lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")
CODE = re.compile(r"```.*?```", re.DOTALL)


def test_the_committed_pages_are_what_the_code_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "generate.py", "--out", tmp_path], check=True)
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    committed = {name: (DOCS / name).read_text(encoding="utf-8") for name in written}
    assert len(written) > 1
    assert written == committed, "run `make docs` and commit what it writes"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    for place, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / place) if place else page
        assert target.exists(), place
        if anchor:
            assert anchor.removeprefix("#") in _anchors(target), f"{place}{anchor}"


def _anchors(page: Path) -> set[str]:
    """Return what GitHub calls the headings of a page in links."""
    lines = CODE.sub("", page.read_text(encoding="utf-8")).splitlines()
    heads = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w -]", "", head).replace(" ", "-") for head in heads}


def test_formulas_have_no_backslash_that_github_takes_away() -> None:
    for page in PAGES:
        assert not re.search(r"\$[^$]*\\[,;!{}][^$]*\$", CODE.sub("", page.read_text(encoding="utf-8"))), (
            page.name
        )


def test_the_names_of_the_glossary_are_those_of_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "edgefw").rglob("*.py")))
    glossary = (DOCS / "theory.md").read_text(encoding="utf-8").split("## Symbols and names")[1]
    told = re.findall(r"`([\w.]+)(?:\([^`]*\))?`", glossary)
    names = {part for name in told for part in name.split(".")}
    assert len(names) > 20
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", code)] == []
