"""Classes of other packages: found by place or entry point, every mistake one line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from edgefw.errors import InputError
from edgefw.plugins import Registry, check_params

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GROUP = "edgefw.tests"
SOURCE = """
class Thing:
    works = True

class Useless:
    pass

number = 7
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package beside edgefw, with an entry point."""
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger" / "__init__.py").write_text("")
    (tmp_path / "stranger" / "things.py").write_text(SOURCE)
    (tmp_path / "stranger" / "hungry.py").write_text("import no_such_module_at_all\n")
    (tmp_path / "stranger" / "broken.py").write_text("def f(:\n")
    (tmp_path / "stranger" / "stale.py").write_text("from stranger.things import Gone\n")
    about = tmp_path / "stranger-2.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 2.5\n")
    (about / "entry_points.txt").write_text(
        f"[{GROUP}]\nthing = stranger.things:Thing\nlost = stranger.lost:Thing\n"
    )
    (about / "top_level.txt").write_text("stranger\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [each for each in sys.modules if each.partition(".")[0] == "stranger"]:
        del sys.modules[name]


def registry() -> Registry[str]:
    def adopt(name: str, found: type) -> str:
        if not hasattr(found, "works"):
            raise InputError(f"thing {name!r}: {found.__name__} does not work: say works = True")
        return f"adopted {found.__name__}"

    return Registry("thing", GROUP, {"chair": "a chair", "table": "a table"}, adopt)


def test_a_class_of_the_script_itself_is_refused_for_nobody_else_finds_it() -> None:
    with pytest.raises(
        InputError, match=r"thing '__main__:Mine': no other process finds a class of the script"
    ):
        registry()["__main__:Mine"]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["stranger.things:Thing", "thing"])
def test_a_class_is_found_by_its_place_or_its_entry_point(name: str) -> None:
    things = registry()
    assert things[name] == "adopted Thing"
    assert things.at_hand() == {"chair": "a chair", "table": "a table", name: "adopted Thing"}
    assert list(things) == ["chair", "table"], "to go through it is to go through what is built in"
    assert things.names() == ["chair", "table", "lost", "thing"]


@pytest.mark.usefixtures("installed")
def test_what_is_there_is_known_without_importing_anything() -> None:
    things = registry()
    assert "chair" in things
    assert "thing" in things
    assert "stranger.things:Thing" not in things
    assert "stranger.things" not in sys.modules
    assert things["stranger.things:Thing"]
    assert "stranger.things:Thing" in things


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "chairr",
            "unknown thing 'chairr': did you mean 'chair'? (valid: chair, table, lost, thing, package.",
        ),
        ("thingg", "unknown thing 'thingg': did you mean 'thing'?"),
        ("", "unknown thing '': valid: chair, table,"),
        ("a:b:c", "unknown thing 'a:b:c': "),
        ("my/mod.py:Chair", "thing 'my/mod.py:Chair' is a file: write mod:Chair, with PYTHONPATH=my"),
        ("mod.py", "thing 'mod.py' is a file: write mod:Class, with PYTHONPATH=."),
        (
            "nowhere.at_all:Thing",
            (
                "thing 'nowhere.at_all:Thing': there is no module nowhere: install its package where "
                "edgefw is, or put its folder in PYTHONPATH"
            ),
        ),
        ("stranger.lost:Thing", "thing 'stranger.lost:Thing': there is no module stranger.lost: install"),
        ("lost", "thing 'lost': there is no module stranger.lost: install its package"),
        (
            "stranger.hungry:Thing",
            (
                "thing 'stranger.hungry:Thing': stranger.hungry needs no_such_module_at_all, which is not "
                "there: install it"
            ),
        ),
        (
            "stranger.broken:Thing",
            "thing 'stranger.broken:Thing': stranger.broken cannot be imported: invalid syntax",
        ),
        ("stranger.stale:Thing", "thing 'stranger.stale:Thing': stranger.stale cannot be imported: cannot"),
        (
            "stranger.things:Think",
            "thing 'stranger.things:Think': unknown class of stranger.things 'Think': did you mean 'Thing'?",
        ),
        ("stranger.things:number", "thing 'stranger.things:number': unknown class of stranger.things"),
        ("stranger.things:Useless", "thing 'stranger.things:Useless': Useless does not work: say works ="),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(name: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        registry()[name]
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["stranger.things:Thing", "thing"])
def test_a_record_says_the_package_its_version_and_its_sources(name: str, installed: Path) -> None:
    origin = registry().origin(name)
    assert origin is not None
    assert (origin.place, origin.package, origin.version) == ("stranger.things:Thing", "stranger", "2.5")
    assert str(origin).startswith("stranger.things:Thing of stranger 2.5, sources ")
    assert registry().origin(name) == origin
    (installed / "stranger" / "broken.py").write_text("x = 1\n")
    changed = registry().origin(name)
    assert changed is not None
    assert changed.sha256 != origin.sha256, "any file of the package may be what the class uses"


def test_a_file_that_is_only_on_the_path_is_known_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lone_file.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    origin = registry().origin("lone_file:Thing")
    del sys.modules["lone_file"]
    assert origin is not None
    assert (origin.package, origin.version) == (None, None)
    assert str(origin) == f"lone_file:Thing, sources {origin.sha256[:12]}"


def test_what_is_built_in_has_no_other_origin() -> None:
    assert registry().origin("chair") is None


class Takes:
    def __init__(self, parts: object, beta: float, *, gamma: float = 1.0) -> None: ...


class TakesAny:
    def __init__(self, parts: object, **rest: float) -> None: ...


def test_parameters_that_a_class_takes_are_taken() -> None:
    check_params("params", Takes, {"beta": 1, "gamma": 2}, given=1)
    check_params("params", TakesAny, {"whatever": 2}, given=1)
    check_params("params", object, {}, given=1)


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ({"beta": 1, "gama": 2}, "params: unknown parameter of Takes 'gama': did you mean 'gamma'?"),
        ({"gamma": 2}, "params: Takes needs 'beta': give it as {beta: ...}"),
        ({"beta": 1, "parts": 2}, "params: unknown parameter of Takes 'parts': "),
    ],
)
def test_parameters_that_it_does_not_take_are_refused(params: dict[str, int], line: str) -> None:
    with pytest.raises(InputError) as caught:
        check_params("params", Takes, params, given=1)
    assert str(caught.value).startswith(line)


def test_a_class_without_parameters_says_so() -> None:
    with pytest.raises(InputError, match=r"^params: Thing takes no parameters: leave them out$"):
        check_params("params", type("Thing", (), {}), {"beta": 1}, given=0)
