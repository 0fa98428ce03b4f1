"""Arrays written as idx files."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.idx import header

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def write_idx(path: Path, array: NDArray[np.uint8]) -> None:
    """Write an array as an idx file, gzipped if the name ends in .gz."""
    content = header(array) + np.ascontiguousarray(array).tobytes()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
