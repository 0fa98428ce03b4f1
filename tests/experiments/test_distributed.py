from __future__ import annotations

from typing import TYPE_CHECKING

import fabricated
import numpy as np
import pytest

from edgefw.delays.units import NEVER
from edgefw.experiments import distributed, plots
from edgefw.experiments.distributed import FIGURE_4, TABLE_2, Cell
from edgefw.experiments.experiment import means as means_of
from edgefw.experiments.published import DELAYED, TOTALS_2
from edgefw.experiments.size import Size
from edgefw.experiments.stats import spread
from edgefw.scenario.plan import delay_plan

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.experiments.stats import Spread

FULL = Size((1,))


def papers_own() -> dict[Cell, Spread]:
    """Return the paper's totals; with all agents late there is something left to lose."""
    late = {Cell(g, "all", 30): spread([2000.0]) for g in TOTALS_2}
    none = {Cell(g, "none", 30): spread([3000.0]) for g in TOTALS_2}
    published = {
        Cell(g, "replacement", f): spread([v]) for g, row in TOTALS_2.items() for f, v in row.items()
    }
    return published | late | none


def held(means: dict[Cell, Spread]) -> list[bool | None]:
    return [claim.holds for claim in distributed.claims(means)]


def test_the_papers_own_numbers_meet_all_claims() -> None:
    assert held(papers_own()) == [True] * 8


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize(("graph", "factor"), [("erdos_renyi", 1.06), ("cycle", 0.94), ("complete", 1.06)])
def test_a_total_that_is_too_far_off_fails_at_every_f(graph: str, factor: float, place: int) -> None:
    means, cell = papers_own(), Cell(graph, "replacement", DELAYED[place])
    means[cell] = spread([factor * means[cell].mean])
    assert held(means)[place] is False
    assert f"f = {DELAYED[place]}: every graph within" in distributed.claims(means)[place].claim


def test_without_delay_less_is_allowed_than_with() -> None:
    means = papers_own()
    for f in (0, 20):
        means[Cell("grid", "replacement", f)] = spread([1.03 * TOTALS_2["grid"][f]])
        means[Cell("erdos_renyi", "replacement", f)] = spread([1.03 * TOTALS_2["erdos_renyi"][f]])
    claims = distributed.claims(means)
    assert (claims[0].holds, claims[4].holds) == (False, True)
    assert claims[4].evidence.startswith("at most 3.0 % off: Erdos-Renyi +3.0 %")


def test_a_learner_that_ignores_late_feedback_fails_where_all_are_late() -> None:
    means = papers_own()
    means |= {Cell(g, "all", 30): means[Cell(g, "none", 30)] for g in TOTALS_2}
    assert held(means) == [True] * 7 + [False]


def test_a_grid_worse_than_the_cycle_at_one_f_fails() -> None:
    means = papers_own()
    means[Cell("grid", "replacement", 10)] = spread([1000.0])
    assert held(means)[5] is False


def test_a_complete_graph_that_suffers_more_than_another_fails() -> None:
    means = papers_own()
    means[Cell("complete", "replacement", 20)] = spread([850.0])
    assert held(means)[6] is False


def delays(cell: Cell) -> list[int]:
    plan = delay_plan(distributed.scenario(cell, FULL, 1))
    return sorted(plan.table().max(axis=1).tolist())


def test_distinct_agents_are_as_many_as_asked_for() -> None:
    assert delays(Cell("grid", "distinct", 20)) == [1] * 10 + [501] * 20


def test_draws_with_replacement_give_fewer_agents() -> None:
    late = delays(Cell("grid", "replacement", 20))
    assert set(late) == {1, 501}
    assert 8 <= late.count(501) < 20


def test_all_agents_are_late_and_without_delay_none() -> None:
    assert delays(Cell("cycle", "all", 30)) == [501] * 30
    assert delays(Cell("cycle", "replacement", 0)) == [1] * 30
    assert delays(Cell("cycle", "none", 30)) == [NEVER] * 30


def test_the_full_table_is_the_published_one_and_the_other_readings() -> None:
    cells = list(TABLE_2.cases(FULL))
    assert len(cells) == 4 * (5 + 4 + 1 + 1)
    assert [c.f for c in cells if c.graph == "grid" and c.reading == "replacement"] == list(DELAYED)


def test_the_scenario_is_the_published_one() -> None:
    scenario = distributed.scenario(Cell("erdos_renyi", "replacement", 20), FULL, 3)
    assert (scenario.seed, scenario.network.agents, scenario.network.p) == (3, 30, 0.3)
    assert (scenario.problem.radius, scenario.problem.batch, scenario.algorithm.horizon) == (24, 2, 1000)
    assert scenario.data.source == "fashion-mnist"


@pytest.mark.parametrize(("target", "cells"), [("table2", 3 + 1 + 1 + 1), ("figure4", 3)])
def test_quick_run_writes_table_and_figure(
    target: str, cells: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = {"table2": TABLE_2, "figure4": FIGURE_4}[target]
    found = experiment.run(fabricated.TINY, jobs=1)
    found.show()
    found.write(tmp_path, target)
    rows = (tmp_path / f"{target}.csv").read_text().splitlines()
    assert len(rows) == 1 + 4 * cells
    assert (tmp_path / "figure4.png").stat().st_size > 10_000
    assert (tmp_path / "figure4.svg").read_text().startswith("<?xml")
    printed = capsys.readouterr().out
    assert "paper's 200" in printed
    assert "off, %" not in printed
    assert not (tmp_path / "claims.csv").exists()
    assert {claim.holds for claim in found.claims} == {None}
    assert found.figure is not None
    assert found.figure.stamp == "synthetic, not fashion-mnist"
    assert all("[synthetic, not fashion-mnist]" in table.title for table in found.tables)


def test_full_output_stands_beside_the_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = FIGURE_4.cases(FULL)
    runs = {
        cell: [fabricated.outcome(distributed.scenario(cell, FULL, 1), TOTALS_2[cell.graph][cell.f])]
        for cell in cells
    }
    distributed.table("replacement", means_of(runs), runs, FULL).show()
    printed = capsys.readouterr().out
    assert "1119.24" in printed
    assert "+20.9" in printed  # the plain percent of Cycle, f = 20
    assert all(path.stat().st_size > 10_000 for path in plots.save(distributed.draw(runs, FULL), tmp_path))
    cell, outcomes = next(iter(runs.items()))
    row = distributed.row(cell, outcomes[0])
    assert np.isclose(float(str(row["total_loss"])), 809.37)
