"""What a run was computed with."""

from __future__ import annotations

import platform
from functools import cache
from typing import Any

import numpy as np
import threadpoolctl


def environment() -> dict[str, str]:
    """Return what can change the last bits of a sum: where these agree, a replay is identical."""
    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    return {
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas.get('version', '')}".strip(),
        "blas_core": _blas_core(),
        "simd": " ".join(config["SIMD Extensions"].get("found", ())),
        "machine": platform.machine(),
    }


@cache
def _blas_core() -> str:
    """Return for which processors BLAS computes here; that looks through all that is loaded."""
    cores = {str(pool["architecture"]) for pool in threadpoolctl.threadpool_info() if "architecture" in pool}
    return " ".join(sorted(cores))
