"""Says in the very last line which tests were left out because there are no containers on this machine."""

from __future__ import annotations

import pytest
from engine import NEEDS, REQUIRED


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Print it after the summary; of several processes only the one that sums up has something to say."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = reporter.stats.get("skipped", [])
    if reasons := [reason for report in skipped if (reason := _needed(report))]:
        listed = "; ".join(sorted(set(reasons)))
        reporter.write_line(
            f"{len(reasons)} tests that need containers were skipped: {listed} "
            f"(docker/host.sh brings what they need, {REQUIRED}=1 makes it an error)",
            yellow=True,
        )


def _needed(report: pytest.TestReport) -> str | None:
    """Return what of containers a skipped test missed, if it was that."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    found = reason.partition(NEEDS)
    return found[2] or None
