"""Bringing a published data set to this machine.

Files are downloaded beside their place, checked there, and moved only when right: an interrupted or damaged
download never looks like a data set.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from http.client import HTTPException
from pathlib import Path
from typing import Protocol
from urllib.request import urlopen

from edgefw.errors import DataError
from edgefw.problem.datasets import Published, cache_folder, published
from edgefw.problem.idx import content_sha256

Progress = Callable[[str, int, int | None], None]

_CHUNK = 1 << 18
_PATIENCE = 30.0  # seconds without a byte


class Response(Protocol):
    """What an opener returns, as far as it is used here."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The reply's header fields."""

    def read(self, amount: int, /) -> bytes:
        """Return at most `amount` bytes, and none at the end."""


Opener = Callable[[str], AbstractContextManager[Response]]


def open_url(url: str) -> AbstractContextManager[Response]:
    """Open an http or https address with the standard library, which honours the proxy variables."""
    if not url.startswith(("http://", "https://")):
        raise DataError(f"cannot fetch {url}: only http and https addresses are allowed")
    reply: AbstractContextManager[Response] = urlopen(url, timeout=_PATIENCE)  # noqa: S310 - checked above
    return reply


def no_progress(_file: str, _received: int, _total: int | None) -> None:
    """Show nothing."""


def fetch(
    name: str, *, base_url: str | None = None, opener: Opener = open_url, progress: Progress = no_progress
) -> Path:
    """Download the four files of a published data set into the user's cache and return their folder.

    Files that are there and right are kept, so it is safe to repeat. `progress` is called with a file's name,
    the bytes received so far, and the bytes to come in all (None where the server does not say).
    """
    entry = published(name)
    folder = cache_folder(name)
    base = (base_url or entry.base_url).rstrip("/")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stem in entry.sha256:
            path = folder / f"{stem}.gz"
            if _is_right(path, entry):
                size = path.stat().st_size
                progress(path.name, size, size)
            else:
                _fetch_file(f"{base}/{path.name}", path, entry, opener, progress)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(
            f"cannot write to {folder} ({reason}): set XDG_CACHE_HOME to another place"
        ) from error
    return folder


def _is_right(path: Path, entry: Published) -> bool:
    try:
        return path.is_file() and content_sha256(path) == entry.sha256[path.stem]
    except DataError:
        return False  # damaged: fetch it again


def _fetch_file(url: str, path: Path, entry: Published, opener: Opener, progress: Progress) -> None:
    """Download one file beside its place, check it and only then give it its name."""
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as scratch:
        partial = Path(scratch) / path.name
        with partial.open("wb") as file:
            for chunk, received, total in _download(url, entry, opener):
                file.write(chunk)
                progress(path.name, received, total)
        if not _is_right(partial, entry):
            raise DataError(f"what {url} sent is not the published file of {entry.name}: {_remedy(entry)}")
        partial.replace(path)


def _download(url: str, entry: Published, opener: Opener) -> Iterator[tuple[bytes, int, int | None]]:
    """Yield (piece, bytes so far, bytes in all or None). Only failures of the network are caught here."""
    received, total = 0, None
    try:
        with opener(url) as reply:
            length = reply.headers.get("Content-Length")
            total = int(length) if length is not None and length.isdigit() else None
            while chunk := reply.read(_CHUNK):
                received += len(chunk)
                yield chunk, received, total
    except (OSError, HTTPException) as error:
        raise DataError(
            f"cannot fetch {url} ({str(error) or type(error).__name__}): {_remedy(entry)}"
        ) from error
    if total is not None and received != total:
        raise DataError(f"{url} ended after {received} of {total} bytes: {_remedy(entry)}")


def _remedy(entry: Published) -> str:
    package = f", `apt install {entry.package}`" if entry.package else ""
    return f"try again{package}, or put the four files into $EDGEFW_DATA/{entry.name}"
