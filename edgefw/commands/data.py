"""`edgefw data`: which data sets there are, where they are, and how to get them."""

from __future__ import annotations

from edgefw import terminal
from edgefw.errors import DataError
from edgefw.problem.datasets import listing, locate, published
from edgefw.problem.fetch import fetch as download


def list_all() -> None:
    """Print every data set, found or not."""
    rows = [[s.name, str(s.path) if s.path else s.how, s.description] for s in listing()]
    terminal.table("data sets", ["name", "where, or how to get it", "what it is"], rows)


def path(name: str) -> None:
    """Print the folder of a data set."""
    found = locate(name)
    if found is None:
        raise DataError(f"data set {name!r} is not on this machine: {published(name).how}")
    print(found)  # noqa: T201 - plain, for scripts


def fetch(name: str) -> None:
    """Download a data set into the user's cache, with a bar for every file."""
    shown: dict[str, int] = {}
    with terminal.progress_bar(f"fetching {name}", 4, unit="files") as progress:

        def count(file: str, done: int, size: int | None) -> None:
            shown[file] = size or 0
            progress(len(shown) if done == size else len(shown) - 1)

        folder = download(name, progress=count)
    terminal.out.print(f"{name} is in {folder}")
