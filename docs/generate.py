"""Writes the pages that are made from the code.

python docs/generate.py [--out DIR]        then commit what has changed in docs
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pages import faults, metrics, run_folder, scenario

PAGES = {
    "faults": faults.page,
    "metrics": metrics.page,
    "run-folder": run_folder.page,
    "scenario": scenario.page,
}


def main() -> None:
    """Write every page."""
    parser = argparse.ArgumentParser(description="Write the pages that are made from the code.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, metavar="DIR")
    folder = parser.parse_args().out
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
