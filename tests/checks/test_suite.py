"""The checks that are shipped: what is right passes all of them, what is wrong fails the one it should."""

from __future__ import annotations

import pytest

from edgefw.checks import suite
from edgefw.cli import main
from edgefw.errors import InputError

RIGHT = [
    "edgefw_momentum:Momentum",
    "strangers:Huber",
    "strangers:Range",
    "strangers:Weibull",
    "strangers:Sensors",
    "multinomial",
    "l2_ball",
    "latency",
]
WRONG = {
    "Escapes": ("Every play and every query is in the set", "is not in the set l1_per_class"),
    "Deaf": ("Feedback moves its plays", "the play of agent 0 is the same in every round"),
    "Forgetful": ("`applied` counts every feedback", "applied is [0, 0, 0, 0]"),
    "Amnesiac": ("What `save` gives and a new one loads", "and of one that was loaded differ by"),
    "Moody": ("Two runs of one seed play the same", "two runs differ by"),
    "Hasty": ("Feedback that arrives in one round may come in any order", "differ by"),
    "Writes": ("What it is given is not written to", "it writes to a frame or a feedback"),
    "Rewrites": ("What it is given is not written to", "gave out, then and later, differ by 0.001"),
    "Elsewhere": ("A snapshot of all agents", "plays of round"),
    "Talkative": ("A sweep has as many exchanges", "round 1 has {1} exchanges, `exchanges` says 2"),
    "Curious": ("Every play and every query is in the set", "round 1 has 1 queries, `queries` says 4"),
    "NotOptimal": ("No member of the set is better than the answer of lmo", "lmo reaches"),
    "NotNearest": ("The projection of a point is in the set, and no member is nearer", "a member is nearer"),
    "TooSmall": ("No two points are farther apart than diameter", "diameter is 0.85, two are 1.7 apart"),
    "WrongSlope": ("The residual is the derivative", "residual and finite differences differ by"),
    "WrongConstants": ("No gradient is longer than G", "a gradient has norm"),
    "Early": ("By the wall clock nothing is due before it came", "is due at"),
    "Bounded": ("The simulator's table of delays", "`most` says 1 at most"),
    "Shaky": ("What happens to a message depends on its round", "alone"),
    "Undescribed": ("It has an example for each of its clocks", "it has examples for ['rounds']"),
    "Fresh": ("The same seed loads the same samples", "seed 0 loads"),
    "Constant": ("More than one label occurs", "all samples have the same label"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name: str) -> None:
    _, checks = suite.checks_of(name, {})
    assert [outcome for outcome in suite.run(checks) if outcome.wrong is not None] == []
    assert len({check.what for check in checks}) == len(checks) >= 4


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_and_said(name: str) -> None:
    what, why = WRONG[name]
    _, checks = suite.checks_of(f"faulty:{name}", {})
    (outcome,) = suite.run([check for check in checks if check.what.startswith(what)])
    assert outcome.wrong is not None
    assert why in outcome.wrong
    assert "\n" not in outcome.wrong


def test_the_command_prints_a_line_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "strangers:Huber", "--params", "{delta: 0.5}"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok    ") for line in lines)
    assert last == f"loss strangers:Huber: {len(lines)} of {len(lines)} checks passed"


def test_the_command_says_which_one_fails_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "faulty:WrongSlope"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        "FAIL  The residual is the derivative of the value, by finite differences: residual and" in lines[0]
    )
    assert lines[-1].startswith("loss faulty:WrongSlope: ")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["no_such:Thing"], "class 'no_such:Thing': there is no module no_such"),
        (
            ["strangers:Nothing"],
            "algorithm 'strangers:Nothing': Nothing is no algorithm: give it start_sweep",
        ),
        (
            ["strangers:Unmade"],
            "algorithm 'strangers:Unmade': Unmade takes no Parts: write __init__(self, parts)",
        ),
        (
            ["strangers:Unnamed"],
            "algorithm 'strangers:Unnamed': an agent has no attribute applied: set it in",
        ),
        (["strangers:Half"], "loss 'strangers:Half': Half misses residual"),
        (["de2mwf"], "unknown name 'de2mwf': did you mean 'de2mfw'?"),
        (["edgefw_momentum:Momentum", "--params", "{bta: 1}"], "algorithm.params: unknown parameter of"),
        (["edgefw_momentum:Momentum", "--params", "{beta: 2}"], "algorithm.params.beta is 2: it must be"),
        (["edgefw_momentum:Momentum", "--params", "3"], "--params 3: write a mapping"),
        (["drop", "--params", "{x: 3}"], "--params: a fault type is tried with its own examples"),
    ],
)
def test_a_mistake_is_one_line_and_ends_with_2(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *words]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(f"edgefw: {line}")
    assert found.err.count("\n") == 1


def test_a_name_belongs_to_one_kind() -> None:
    kinds = {
        name: suite.kind_of(name).what for name in ("dgd", "squared", "box", "ramp", "strangers:Sensors")
    }
    assert list(kinds.values()) == ["algorithm", "loss", "feasible set", "fault type", "data source"]
    with pytest.raises(InputError):
        suite.kind_of("nothing-of-the-kind")
