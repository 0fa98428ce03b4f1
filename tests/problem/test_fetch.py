from __future__ import annotations

import gzip
import io
import threading
from functools import partial
from http.client import IncompleteRead
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pytest
from idx_files import write_idx

from edgefw.errors import DataError, InputError
from edgefw.problem.datasets import (
    PUBLISHED,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    Published,
    cache_folder,
    load,
)
from edgefw.problem.fetch import fetch, open_url
from edgefw.problem.idx import array_sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {
    TRAIN_IMAGES: np.arange(200, dtype=np.uint8).reshape(8, 5, 5),
    TRAIN_LABELS: np.arange(8, dtype=np.uint8) % 3,
    TEST_IMAGES: np.arange(50, dtype=np.uint8).reshape(2, 5, 5),
    TEST_LABELS: np.arange(2, dtype=np.uint8),
}
NAMES = sorted(f"{stem}.gz" for stem in FILES)


class Quiet(SimpleHTTPRequestHandler):
    """A file server that says nothing on stderr and counts what it was asked for."""

    asked: list[str]

    def log_message(self, _format: str, *_arguments: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Give the folder that the server publishes."""
    folder = tmp_path / "site" / "tiny"
    folder.mkdir(parents=True)
    for stem, array in FILES.items():
        write_idx(folder / f"{stem}.gz", array)
    return folder


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def url(site: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the site on loopback and make `tiny` a data set that is published there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(site.parents[1] / "cache"))
    handler = type("Handler", (Quiet,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site.parent))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}/tiny/"
        sha256 = {stem: array_sha256(array) for stem, array in FILES.items()}
        monkeypatch.setitem(PUBLISHED, "tiny", Published("tiny", "eight images", base, sha256, classes=3))
        yield base
        server.shutdown()
        thread.join()


def cached() -> list[str]:
    return sorted(path.name for path in cache_folder("tiny").iterdir())


@pytest.mark.usefixtures("url")
def test_the_four_files_arrive_and_load() -> None:
    folder = fetch("tiny")
    assert folder == cache_folder("tiny")
    assert cached() == NAMES
    assert len(load("tiny", seed=0)) == 8


def test_progress_tells_of_every_file_and_ends_at_its_size(url: str, site: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    fetch("tiny", base_url=url.rstrip("/"), progress=lambda *call: calls.append(call))
    sizes = {path.name: path.stat().st_size for path in site.iterdir()}
    assert {name: (received, total) for name, received, total in calls} == {
        name: (size, size) for name, size in sizes.items()
    }


def test_a_repeat_fetches_only_what_is_not_right(url: str, asked: list[str]) -> None:
    folder = fetch("tiny", base_url=url)
    assert len(asked) == 4
    fetch("tiny", base_url=url)
    assert len(asked) == 4
    (folder / NAMES[0]).write_bytes(b"damaged")
    write_idx(folder / NAMES[1], np.zeros(3, np.uint8))
    (folder / NAMES[2]).unlink()
    fetch("tiny", base_url=url)
    assert sorted(asked[4:]) == [f"/tiny/{name}" for name in NAMES[:3]]
    assert len(load("tiny", seed=0)) == 8


def test_another_compression_of_the_same_content_is_right(url: str, site: Path) -> None:
    for path in site.iterdir():
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1))
    fetch("tiny", base_url=url)
    assert cached() == NAMES


@pytest.mark.parametrize("harm", ["other", "short", "page", "longer"])
def test_a_wrong_download_leaves_nothing_behind(url: str, site: Path, harm: str) -> None:
    path = site / f"{TRAIN_IMAGES}.gz"
    good = path.read_bytes()
    wrong = {
        "other": gzip.compress(b"another content"),
        "short": good[:-5],
        "page": b"<html>please log in</html>",
        "longer": good + b"x",
    }
    path.write_bytes(wrong[harm])
    with pytest.raises(DataError) as caught:
        fetch("tiny", base_url=url)
    assert str(caught.value) == (
        f"what {url}{TRAIN_IMAGES}.gz sent is not the published file of tiny: "
        "try again, or put the four files into $EDGEFW_DATA/tiny"
    )
    assert cached() == []
    path.write_bytes(good)
    fetch("tiny", base_url=url)
    assert cached() == NAMES


def test_a_wrong_download_keeps_what_was_there(url: str, site: Path) -> None:
    folder = fetch("tiny", base_url=url)
    (folder / f"{TEST_LABELS}.gz").write_bytes(b"old")
    (site / f"{TEST_LABELS}.gz").write_bytes(b"new but wrong")
    with pytest.raises(DataError, match="not the published file"):
        fetch("tiny", base_url=url)
    assert (folder / f"{TEST_LABELS}.gz").read_bytes() == b"old"
    assert cached() == NAMES


def test_a_missing_page_and_a_dead_server_are_named(url: str) -> None:
    with pytest.raises(
        DataError, match=rf"cannot fetch {url}no/{TRAIN_IMAGES}.gz \(HTTP Error 404.*EDGEFW_DATA"
    ):
        fetch("tiny", base_url=f"{url}no")
    with pytest.raises(DataError, match=r"cannot fetch http://127.0.0.1:1/.*refused.*\$EDGEFW_DATA/tiny"):
        fetch("tiny", base_url="http://127.0.0.1:1")
    assert cached() == []


class Reply(io.BytesIO):
    """A reply from memory that may promise more than it holds, or break."""

    def __init__(self, content: bytes, headers: dict[str, str], *, breaks: bool = False) -> None:
        super().__init__(content)
        self.headers = headers
        self._breaks = breaks

    def read(self, amount: int | None = -1, /) -> bytes:
        content = super().read(amount)
        if self._breaks and not content:
            raise IncompleteRead(b"")
        return content


@pytest.mark.usefixtures("url")
def test_a_download_that_ends_early_is_refused() -> None:
    with pytest.raises(DataError, match=r"ended after 3 of 10 bytes: try again"):
        fetch("tiny", opener=lambda _: Reply(b"abc", {"Content-Length": "10"}))
    with pytest.raises(DataError, match=r"cannot fetch .*IncompleteRead"):
        fetch("tiny", opener=lambda _: Reply(b"abc", {}, breaks=True))
    assert cached() == []


@pytest.mark.usefixtures("url")
def test_a_size_the_server_does_not_tell_is_none(site: Path) -> None:
    totals: list[int | None] = []
    fetch(
        "tiny",
        opener=lambda url: Reply((site / url.rpartition("/")[2]).read_bytes(), {}),
        progress=lambda _file, _received, total: totals.append(total),
    )
    assert totals == [None] * 4
    assert cached() == NAMES


@pytest.mark.usefixtures("url")
def test_an_interrupted_download_leaves_nothing_behind() -> None:
    def interrupt(_file: str, _received: int, _total: int | None) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", progress=interrupt)
    assert cached() == []


def test_a_cache_that_cannot_be_written_is_named(
    url: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site.parents[1] / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(site.parents[1] / "file"))
    with pytest.raises(DataError, match=r"cannot write to .* set XDG_CACHE_HOME to another place"):
        fetch("tiny", base_url=url)


def test_only_known_sets_and_web_addresses_are_fetched() -> None:
    with pytest.raises(InputError, match="unknown data set 'minst': did you mean 'mnist'"):
        fetch("minst")
    with pytest.raises(DataError, match="only http and https addresses are allowed"):
        open_url("file:///etc/passwd")


def test_the_published_addresses_are_complete() -> None:
    for entry in PUBLISHED.values():
        assert set(entry.sha256) == set(FILES)
        assert entry.base_url.startswith(("http://", "https://"))
