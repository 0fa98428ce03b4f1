"""Lets the test files of all folders import the helpers that stand in `core` (tests are not a package)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "core"))
