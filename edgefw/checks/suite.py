"""The checks for whatever a name stands for: an algorithm, a loss, a set, a fault type or a data set."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from edgefw.checks import algorithm, data, fault, feasible, loss
from edgefw.checks.failure import CheckError
from edgefw.core.agent import ALGORITHMS, make_agent
from edgefw.delays.fault import Fault
from edgefw.delays.registry import TYPES
from edgefw.errors import InputError
from edgefw.plugins import PLACE, Registry, found_at, unknown_name
from edgefw.problem.datasets import SOURCES, Source, load
from edgefw.problem.feasible import SETS, FeasibleSet, make_set
from edgefw.problem.loss import LOSSES, Loss, make_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_RADIUS = 1.7
_BASES: tuple[tuple[type, Registry[Any]], ...] = (
    (Loss, LOSSES),
    (FeasibleSet, SETS),
    (Fault, TYPES),
    (Source, SOURCES),
)


@dataclass(frozen=True)
class Check:
    """One thing that is asked; `run` raises a CheckError where it is not so."""

    what: str
    run: Callable[[], None]


@dataclass(frozen=True)
class CheckResult:
    """What came of a check: `wrong` is None where it was passed."""

    what: str
    wrong: str | None


def kind_of(name: str) -> Registry[Any]:
    """Return the registry that a name belongs to: that of its base class, or the one that has the name."""
    every: tuple[Registry[Any], ...] = (ALGORITHMS, LOSSES, SETS, TYPES, SOURCES)
    if PLACE.fullmatch(name):
        kind = found_at(name)
        return next((registry for base, registry in _BASES if issubclass(kind, base)), ALGORITHMS)
    having = [registry for registry in every if name in registry]
    if not having:
        raise unknown_name("name", name, (each for registry in every for each in registry.names()))
    return having[0]


def checks_of(name: str, params: Mapping[str, Any]) -> tuple[str, list[Check]]:
    """Return what a name stands for, in words, and all that is checked of it."""
    registry = kind_of(name)
    registry[name]  # whatever it misses is said first
    return registry.what, list(_MAKE[registry.what](name, params))


def run(checks: list[Check]) -> Iterator[CheckResult]:
    """Run checks one by one."""
    for check in checks:
        try:
            check.run()
        except CheckError as error:
            yield CheckResult(check.what, str(error))
        else:
            yield CheckResult(check.what, None)


def _algorithm(name: str, params: Mapping[str, Any]) -> Iterator[Check]:
    subject = algorithm.Subject(name, params)
    make_agent(subject.setup(0).agent_spec(0))  # wrong parameters are said first
    for each in algorithm.CHECKS:
        yield _seeded(each, [subject], seeds=2)


def _loss(name: str, params: Mapping[str, Any]) -> Iterator[Check]:
    for each in loss.CHECKS:
        yield _seeded(each, [make_loss(name, params)])


def _set(name: str, params: Mapping[str, Any]) -> Iterator[Check]:
    subjects = [make_set(name, shape, _RADIUS, params) for shape in feasible.SHAPES]
    for each in feasible.CHECKS:
        yield _seeded(each, subjects)


def _fault(name: str, params: Mapping[str, Any]) -> Iterator[Check]:
    if params:
        raise InputError("--params: a fault type is tried with its own examples: leave them out")
    yield Check(_line(fault.it_is_described), partial(fault.it_is_described, name))
    for each in fault.CHECKS:
        yield Check(_line(each), partial(_all, each, [(case,) for case in fault.cases(name)]))


def _data(name: str, params: Mapping[str, Any]) -> Iterator[Check]:
    def loaded(seed: int) -> Any:
        return load(name, seed=seed, params=params)

    loaded(0)  # wrong parameters are said first
    for each in data.CHECKS:
        yield Check(_line(each), partial(_all, each, [(loaded, seed) for seed in range(2)]))


_MAKE: Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[Check]]] = {
    ALGORITHMS.what: _algorithm,
    LOSSES.what: _loss,
    SETS.what: _set,
    TYPES.what: _fault,
    SOURCES.what: _data,
}


def _seeded(function: Callable[[Any, int], None], subjects: list[Any], seeds: int = 5) -> Check:
    tries = [(subject, seed) for subject in subjects for seed in range(seeds)]
    return Check(_line(function), partial(_all, function, tries))


def _all(function: Callable[..., None], tries: list[tuple[Any, ...]]) -> None:
    for arguments in tries:
        try:
            function(*arguments)
        except CheckError as error:
            raise CheckError(f"{error} ({', '.join(_shown(each) for each in arguments)})") from None


def _shown(argument: Any) -> str:
    """Return what a check was tried with, in a word or two."""
    if isinstance(argument, int):
        return f"seed {argument}"
    if isinstance(argument, fault.Case):
        return f"{argument.clock} clock, {argument.example}"
    if isinstance(argument, algorithm.Subject):
        return argument.name
    return "" if callable(argument) else repr(argument)


def _line(function: Callable[..., None]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
