"""What other packages bring, by name: `my_pkg.mod:Momentum`, or the name of an entry point.

Algorithms, losses, feasible sets, fault types and data sets are each a `Registry`: what is built in, and what
is found in packages that are installed beside this one. A class that is found is held to what its kind needs
before anything is done with it; every mistake is one line.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.metadata import EntryPoint

T = TypeVar("T")

PLACE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
"""How a class is written: package.module:Class."""

OWN = "package.module:Class of your own"  # what a list of valid names ends with


@dataclass(frozen=True)
class Origin:
    """Which class a name stood for: what a record keeps, to find the same again."""

    place: str  # package.module:Class
    package: str | None  # that was installed, None where its folder is only on the path
    version: str | None  # of that package
    sha256: str  # of the Python files of its package

    def __str__(self) -> str:
        installed = "" if self.package is None else f" of {self.package} {self.version}"
        return f"{self.place}{installed}, sources {self.sha256[:12]}"


class Registry(Mapping[str, T]):
    """All there is of one kind, by name. To go through it is to go through what is built in.

    `adopt(name, found)` turns a class of another package into what the built-in ones are; it raises an
    InputError where the class misses something.
    """

    def __init__(
        self, what: str, group: str, built_in: Mapping[str, T], adopt: Callable[[str, type[Any]], T]
    ) -> None:
        self.what, self.group = what, group
        self._built_in, self._adopt = built_in, adopt
        self._found: dict[str, tuple[type[Any], T]] = {}

    def __getitem__(self, name: str) -> T:
        """Return what is called `name`, loaded where it is another package's; an InputError if none is."""
        return self._built_in[name] if name in self._built_in else self._load(name)[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._built_in)

    def __len__(self) -> int:
        return len(self._built_in)

    def __contains__(self, name: object) -> bool:
        """Whether a name can be used without importing what was not asked for: an installed one can."""
        return isinstance(name, str) and (name in self.at_hand() or name in self._entry_points())

    def at_hand(self) -> dict[str, T]:
        """Return all that is built in, and what was loaded from other packages."""
        return {**self._built_in, **{name: adopted for name, (_, adopted) in self._found.items()}}

    def names(self) -> list[str]:
        """Return every name that can be used: what is built in, then the entry points."""
        return [*self._built_in, *sorted(self._entry_points().keys() - self._built_in.keys())]

    def origin(self, name: str) -> Origin | None:
        """Return which class a name stands for; None of what is built in."""
        if name in self._built_in:
            return None
        kind = self._load(name)[0]
        package = _distribution(kind, self._entry_points().values())
        return Origin(_place(kind), *package, _sources(kind.__module__))

    def _load(self, name: str) -> tuple[type[Any], T]:
        if name not in self._found:
            kind = self._class(name)
            self._found[name] = kind, self._adopt(name, kind)
        return self._found[name]

    def _class(self, name: str) -> type[Any]:
        if PLACE.fullmatch(name):
            return _imported(f"{self.what} {name!r}", name)
        installed = self._entry_points()
        if name not in installed:
            raise unknown_name(self.what, name, self.names())
        return _imported(f"{self.what} {name!r}", installed[name].value)

    def _entry_points(self) -> dict[str, EntryPoint]:
        # here, for who uses nothing but what is built in: an agent starts without it
        from importlib.metadata import entry_points  # noqa: PLC0415

        return {point.name: point for point in entry_points(group=self.group)}


def unknown_name(what: str, name: str, valid: Iterable[str]) -> InputError:
    """Return what is wrong with a name that nothing has; a file is not a name, and its class has one."""
    path, _, class_ = name.partition(":")
    if path.endswith(".py"):
        folder, place = Path(path).parent, f"{Path(path).stem}:{class_ or 'Class'}"
        return InputError(f"{what} {name!r} is a file: write {place}, with PYTHONPATH={folder}")
    return unknown(what, name, [*valid, OWN])


def found_at(place: str) -> type[Any]:
    """Return the class at package.module:Class, whatever kind it is."""
    return _imported(f"class {place!r}", place)


def subclass(what: str, base: type[T]) -> Callable[[str, type[Any]], type[T]]:
    """Return what adopts a class that has to be a `base`, with nothing left to be written."""

    def adopt(name: str, found: type[Any]) -> type[T]:
        if not issubclass(found, base):
            place = f"{base.__module__}.{base.__name__}"
            raise InputError(f"{what} {name!r}: {found.__name__} is no {what}: derive it from {place}")
        if missing := sorted(getattr(found, "__abstractmethods__", ())):
            raise InputError(f"{what} {name!r}: {found.__name__} misses {', '.join(missing)}: write them")
        return found

    return adopt


def check_params(field: str, kind: Callable[..., Any], params: Mapping[str, Any], given: int) -> None:
    """Refuse parameters that a class does not take; its constructor's first `given` are not the user's.

    >>> check_params("algorithm.params", lambda parts, beta=0.9: None, {"beta": 0.5}, 1)
    """
    every = _parameters(kind)
    own = {each.name: each for each in every[given:] if each.kind in _NAMED}
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in every)
    name = getattr(kind, "__name__", str(kind))
    for param in params:
        if param not in own and not open_ended:
            wrong = unknown(f"parameter of {name}", param, own)
            raise InputError(
                f"{field}: {wrong if own else f'{name} takes no parameters: leave them out'}", field
            )
    for param, about in own.items():
        if about.default is about.empty and param not in params:
            raise InputError(f"{field}: {name} needs {param!r}: give it as {{{param}: ...}}", field)


@lru_cache(64)
def _parameters(kind: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    return tuple(inspect.signature(kind).parameters.values())


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _imported(who: str, place: str) -> type[Any]:
    """Return the class at a place; `who` is what to call it in an error."""
    module_name, _, name = place.partition(":")
    if module_name == "__main__":
        raise InputError(
            f"{who}: no other process finds a class of the script itself, and no later run does: "
            f"put it in a file of its own, and say file:{name}"
        )
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
            raise InputError(
                f"{who}: there is no module {error.name}: install its package where edgefw is, "
                "or put its folder in PYTHONPATH"
            ) from None
        raise InputError(f"{who}: {module_name} needs {error.name}, which is not there: install it") from None
    except (ImportError, SyntaxError) as error:
        raise InputError(f"{who}: {module_name} cannot be imported: {error}") from None
    found = getattr(module, name, None)
    if not isinstance(found, type):
        classes = [each for each, value in vars(module).items() if isinstance(value, type)]
        raise InputError(f"{who}: {unknown(f'class of {module_name}', name, classes)}")
    return found


def _place(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _distribution(kind: type[Any], installed: Iterable[EntryPoint]) -> tuple[str | None, str | None]:
    """Return the package that a class was installed with and its version; None, None if with none."""
    from importlib.metadata import version  # noqa: PLC0415 - as above

    for point in installed:  # also of a package that is installed from its working tree
        if point.value == _place(kind) and point.dist is not None:
            return point.dist.name, point.dist.version
    names = _installed(tuple(sys.path)).get(kind.__module__.partition(".")[0], [])
    return (names[0], version(names[0])) if names else (None, None)


@lru_cache(1)
def _installed(_places: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return the installed packages by the modules they bring, for modules looked for in these places.

    It reads the list of files of everything that is installed, which takes most of a second: once is enough.
    """
    from importlib.metadata import packages_distributions  # noqa: PLC0415 - as above

    return packages_distributions()


def _sources(module_name: str) -> str:
    """Return the SHA-256 of the Python files of a module's outermost package, or of its one file."""
    top = import_module(module_name.partition(".")[0])
    found = hashlib.sha256()
    for root in sorted(Path(path) for path in getattr(top, "__path__", ())):
        for path in sorted(root.rglob("*.py")):
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    if not hasattr(top, "__path__") and top.__file__ is not None:
        found.update(Path(top.__file__).read_bytes())
    return found.hexdigest()
