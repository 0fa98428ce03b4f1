"""Runs are paired by their seed, and every number is called what it is."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgefw
from edgefw.errors import InputError
from edgefw.reports.comparison import Arm, Comparison, Result
from edgefw.reports.comparison_files import document, headline

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

effects = st.dictionaries(st.integers(0, 50), st.floats(0, 1e3), min_size=2, max_size=8)


def result(seed: int, loss: float) -> Result:
    """Return a run with this total loss, and half of it as regret."""
    return Result(seed, "made up", 10, loss, loss / 2 + 7, 7.0, 0.01, 0.5)


def arm(label: str, losses: dict[int, float]) -> Arm:
    return Arm(label, tuple(result(seed, loss) for seed, loss in losses.items()))


@given(effects, st.floats(-50, 50), st.randoms())
@settings(deadline=None, max_examples=60)
def test_a_constant_difference_is_found_exactly_however_much_seeds_differ(
    losses: dict[int, float], apart: float, random: Random
) -> None:
    order = list(losses)
    random.shuffle(order)
    found = Comparison([arm("a", losses), arm("b", {seed: losses[seed] + apart for seed in order})])
    by_measure = {each.measure: each for each in found.standings if each.arm == "b"}
    for measure, expected in (("total_loss", apart), ("network_regret", apart / 2)):
        difference = by_measure[measure].difference
        assert difference is not None
        assert difference.mean == pytest.approx(expected, abs=1e-9)
        assert difference.high - difference.low == pytest.approx(0, abs=1e-6)  # wrong pairs would widen it


def test_seeds_that_not_all_have_are_left_out_and_named() -> None:
    found = Comparison([arm("a", {1: 5.0, 2: 6.0, 3: 100.0}), arm("b", {2: 8.0, 1: 6.0, 9: 1000.0})])
    assert (found.seeds, found.left_out) == ((1, 2), (3, 9))
    assert [each.mean.mean for each in found.standings] == [5.5, 7.0, 2.75, 3.5]
    assert found.standings[1].difference is not None
    assert found.standings[1].difference.mean == 1.5
    assert "Left out, since not all have them: seeds 3, 9." in found.words()


def test_the_first_is_what_others_are_held_against() -> None:
    found = Comparison([arm("a", {1: 5.0, 2: 6.0}), arm("b", {1: 4.0, 2: 5.5}), arm("c", {1: 5.5, 2: 5.0})])
    assert [each.difference is None for each in found.standings] == [True, False, False] * 2
    assert [each.below for each in found.standings[:3]] == [None, 2, 1]


def test_a_sum_of_maxima_and_a_maximum_of_sums_keep_their_names(tmp_path: Path) -> None:
    found = Comparison([arm("a", {1: 5.0, 2: 6.0}), arm("b_1", {1: 4.0, 2: 5.5})])
    loss, regret = found.tables()
    assert loss.title == "Total loss (sum over rounds of the maximum over agents), 2 seeds"
    assert regret.title == "Network regret (maximum over agents of the sum over rounds), 2 seeds"
    latex = found.to_latex()
    assert "total loss & difference & network regret & difference" in latex
    assert r"b\_1 & $4.75$ [" in latex
    rows = latex.split(r"\hline")[2].strip().splitlines()
    assert all(row.count("&") == 4 and row.endswith(r"\\") for row in rows)
    found.write(tmp_path)
    with (tmp_path / "comparison.csv").open(encoding="utf-8") as file:
        written = {(row["arm"], row["measure"]): row for row in csv.DictReader(file)}
    assert written["a", "total_loss"]["difference"] == ""
    assert float(written["b_1", "network_regret"]["difference"]) == pytest.approx(-0.375)
    assert len((tmp_path / "seeds.csv").read_text(encoding="utf-8").splitlines()) == 5
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".html", ".pdf", ".png", ".svg", ".tex"}


def test_without_a_best_fixed_point_there_is_no_regret() -> None:
    losses = arm("a", {1: 5.0, 2: 6.0})
    blind = Arm(
        "b", tuple(replace(each, comparator_loss=None, comparator_gap=None) for each in losses.results)
    )
    found = Comparison([losses, blind])
    assert found.measures == ("total_loss",)
    assert found.to_latex().count("&") == 6


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ([arm("a", {1: 1.0})], "a comparison needs two of something"),
        ([arm("a", {1: 1.0}), arm("a", {1: 2.0})], "have the same name"),
        ([arm("a", {1: 1.0}), arm("b", {2: 2.0})], "no seed is in all of them"),
        ([arm("a", {1: 1.0}), Arm("b", (result(1, 1.0), result(1, 2.0)))], "b has seed 1 twice"),
        ([arm("a", {1: 1.0}), Arm("b", (replace(result(1, 2.0), rounds=9),))], "a has 10 rounds and b 9"),
        (
            [arm("a", {1: 1.0}), Arm("b", (replace(result(1, 2.0), data="other"),))],
            "a learned from made up and b from other",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(arms: list[Arm], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Comparison(arms)


def test_the_page_says_who_is_ahead_only_where_it_is_not_chance() -> None:
    clear = Comparison([arm("a", {1: 5.0, 2: 6.0, 3: 7.0}), arm("b", {1: 1.0, 2: 2.0, 3: 3.2})])
    assert headline(clear) == "In network regret, b is 2.0 below a."
    unclear = Comparison([arm("a", {1: 5.0, 2: 6.0, 3: 7.0}), arm("b", {1: 9.0, 2: 2.0, 3: 7.2})])
    assert headline(unclear) == "In network regret, b cannot be told from a."


def test_the_figure_joins_the_runs_of_a_seed() -> None:
    found = Comparison([arm("a", {1: 5.0, 2: 6.0}), arm("b", {2: 9.0, 1: 4.0})])
    drawn = document(found).sections[0].pictures[0].drawing
    lines = {line.label: line.values.tolist() for line in drawn.panels[0].lines}
    assert lines == {"seed 1": [[5.0, 4.0]], "seed 2": [[6.0, 9.0]]}
    loss, regret = found.plot().axes
    assert [tick.get_text() for tick in loss.get_xticklabels()] == ["a", "b"]
    assert regret.get_ylabel() == "network regret (nats)"


def test_a_frame_has_a_row_for_every_arm_and_measure() -> None:
    frame = Comparison([arm("a", {1: 5.0}), arm("b", {1: 4.0})]).to_frame()
    assert len(frame) == 4
    assert math.isnan(frame["low"][0])


def test_it_is_part_of_the_api() -> None:
    assert edgefw.Comparison is Comparison
