"""Lets the test files of all folders import the helpers that stand in these (tests are not a package)."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("core", "services"):
    sys.path.insert(0, str(Path(__file__).parent / folder))
