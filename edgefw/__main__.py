"""`python -m edgefw`: the command line, and how `edgefw up` starts its services."""

from __future__ import annotations

import sys

from edgefw.cli import main
from edgefw.local.guard import end_with_parent

if __name__ == "__main__":
    end_with_parent()
    sys.exit(main())
