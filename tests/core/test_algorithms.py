"""What is asked of every algorithm alike: plays in the set and in the type asked for, names checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.checks.algorithm import CHECKS, Subject, it_goes_on_in_another_process
from edgefw.core.agent import ALGORITHMS, make_agent
from edgefw.core.algorithm import record_of
from edgefw.core.de2mfw import De2mfw
from edgefw.core.messages import Play
from edgefw.errors import InputError
from edgefw.plugins import found_at
from edgefw.problem.feasible import make_set
from edgefw.simulator import De2mfwNetwork

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_it_passes_what_is_asked_of_every_algorithm(name: str, check: Callable[[Subject, int], None]) -> None:
    check(Subject(name, {}), 5)


@pytest.mark.parametrize("name", ALGORITHMS)
@given(seed=st.integers(0, 2**31))
@settings(max_examples=5, deadline=None)
def test_what_is_saved_and_loaded_after_any_round_goes_on_bit_for_bit(name: str, seed: int) -> None:
    assert ALGORITHMS[name].savable
    it_goes_on_in_another_process(Subject(name, {}), seed)


def test_an_algorithm_can_be_saved_and_loaded_or_neither() -> None:
    class Half(De2mfw):
        load = None  # type: ignore[assignment]

    class Neither(Half):
        save = None  # type: ignore[assignment]

    with pytest.raises(InputError, match="algorithm 'half': Half has no method load: write it"):
        record_of("half", Half)
    assert not record_of("neither", Neither).savable


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_agent_of_one_is_driven_the_same_way_whatever_the_algorithm(name: str) -> None:
    setup = tiny.setup(agents=1, algorithm={"name": name})
    agent = setup.agents()[0]
    assert (agent.agent, agent.neighbours, agent.applied) == (0, (), 0)
    frame = agent.start_sweep(1, [])
    assert (frame.agent, frame.t, frame.k, frame.tracker) == (0, 1, 1, None)
    answers = [agent.advance({})]
    while not isinstance(answers[-1], Play):
        answers.append(agent.advance({}))
    assert len(answers) == (setup.agent_spec(0).K if name == "de2mfw" else 1)


@pytest.mark.parametrize("name", [name for name, record in ALGORITHMS.items() if not record.distributed])
def test_a_centralized_algorithm_has_no_neighbours(name: str) -> None:
    spec = replace(tiny.setup(agents=3).agent_spec(1), algorithm=name)
    with pytest.raises(
        InputError, match=f"^{name} is centralized: set network.agents to 1, or algorithm.name"
    ):
        make_agent(spec)


@pytest.mark.parametrize("agents", [1, 3])
@pytest.mark.parametrize(
    ("field", "wrong", "message"),
    [
        ("algorithm", "de2mwf", "unknown algorithm 'de2mwf': did you mean 'de2mfw'?"),
        ("algorithm", "delfmw", "unknown algorithm 'delfmw': did you mean 'delmfw'?"),
        ("oracle", "ftlp", "unknown oracle 'ftlp': did you mean 'ftpl'?"),
        ("noise", "fixd", "unknown noise 'fixd': did you mean 'fixed'?"),
        ("feasible", "l1_bal", "unknown feasible set 'l1_bal': did you mean 'l1_ball'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(field: str, wrong: str, message: str, agents: int) -> None:
    spec, change = tiny.setup(agents=agents).agent_spec(0), dict[str, Any]({field: wrong})
    with pytest.raises(InputError) as caught:
        make_agent(replace(spec, **change))
    assert str(caught.value).startswith(message)


def test_another_set_may_take_the_place_of_the_one_that_is_named() -> None:
    setup = tiny.setup(agents=1)
    small = make_set("l1_per_class", setup.feasible.shape, 0.01)
    agents = [make_agent(setup.agent_spec(0), small)]
    assert small.contains(tiny.points(setup, agents)).all()


def test_a_vectorised_twin_is_of_the_class_itself() -> None:
    class Changed(De2mfw):
        """Another algorithm: arrays of the one it is made from would play otherwise."""

    assert record_of("changed", Changed).vectorised is None
    twins = {name: record.vectorised for name, record in ALGORITHMS.items() if record.vectorised is not None}
    assert {name: found_at(twin) for name, twin in twins.items()} == {"de2mfw": De2mfwNetwork}
