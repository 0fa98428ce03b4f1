from __future__ import annotations

from typing import TYPE_CHECKING

import fabricated
import numpy as np
import pytest

from edgefw.delays.units import NEVER
from edgefw.experiments import batch, distributed, table2
from edgefw.experiments.distributed import Case
from edgefw.experiments.published import DELAYED, TABLE_2
from edgefw.experiments.size import Size
from edgefw.experiments.stats import spread
from edgefw.scenario.plan import delay_plan

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.experiments.stats import Spread

FULL = Size((1,))


def papers_own() -> dict[Case, Spread]:
    """Return the paper's totals; with all agents late there is something left to lose."""
    late = {Case(g, "all", 30): spread([2000.0]) for g in TABLE_2}
    none = {Case(g, "none", 30): spread([3000.0]) for g in TABLE_2}
    published = {Case(g, "replacement", f): spread([v]) for g, row in TABLE_2.items() for f, v in row.items()}
    return published | late | none


def held(means: dict[Case, Spread]) -> list[bool]:
    return [verdict.holds for verdict in table2.verdicts(means)]


def test_the_papers_own_numbers_meet_all_claims() -> None:
    assert held(papers_own()) == [True] * 8


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize(("graph", "factor"), [("erdos_renyi", 1.06), ("cycle", 0.94), ("complete", 1.06)])
def test_a_total_that_is_too_far_off_fails_at_every_f(graph: str, factor: float, place: int) -> None:
    means, case = papers_own(), Case(graph, "replacement", DELAYED[place])
    means[case] = spread([factor * means[case].mean])
    assert held(means)[place] is False
    assert f"f = {DELAYED[place]}: every graph within" in table2.verdicts(means)[place].claim


def test_without_delay_less_is_allowed_than_with() -> None:
    means = papers_own()
    for f in (0, 20):
        means[Case("grid", "replacement", f)] = spread([1.03 * TABLE_2["grid"][f]])
        means[Case("erdos_renyi", "replacement", f)] = spread([1.03 * TABLE_2["erdos_renyi"][f]])
    verdicts = table2.verdicts(means)
    assert (verdicts[0].holds, verdicts[4].holds) == (False, True)
    assert verdicts[4].evidence.startswith("at most 3.0 % off: Erdos-Renyi +3.0 %")


def test_a_learner_that_ignores_late_feedback_fails_where_all_are_late() -> None:
    means = papers_own()
    means |= {Case(g, "all", 30): means[Case(g, "none", 30)] for g in TABLE_2}
    assert held(means) == [True] * 7 + [False]


def test_a_grid_worse_than_the_cycle_at_one_f_fails() -> None:
    means = papers_own()
    means[Case("grid", "replacement", 10)] = spread([1000.0])
    assert held(means)[5] is False


def test_a_complete_graph_that_suffers_more_than_another_fails() -> None:
    means = papers_own()
    means[Case("complete", "replacement", 20)] = spread([850.0])
    assert held(means)[6] is False


def delays(case: Case) -> list[int]:
    plan = delay_plan(distributed.scenario(case, FULL, 1))
    return sorted(plan.table().max(axis=1).tolist())


def test_distinct_agents_are_as_many_as_asked_for() -> None:
    assert delays(Case("grid", "distinct", 20)) == [1] * 10 + [501] * 20


def test_draws_with_replacement_give_fewer_agents() -> None:
    late = delays(Case("grid", "replacement", 20))
    assert set(late) == {1, 501}
    assert 8 <= late.count(501) < 20


def test_all_agents_are_late_and_without_delay_none() -> None:
    assert delays(Case("cycle", "all", 30)) == [501] * 30
    assert delays(Case("cycle", "replacement", 0)) == [1] * 30
    assert delays(Case("cycle", "none", 30)) == [NEVER] * 30


def test_the_full_table_is_the_published_one_and_the_other_readings() -> None:
    cases = list(distributed.cases(quick=False, readings=list(distributed.READINGS)))
    assert len(cases) == 4 * (5 + 4 + 1 + 1)
    assert [c.f for c in cases if c.graph == "grid" and c.reading == "replacement"] == list(DELAYED)


def test_the_scenario_is_the_published_one() -> None:
    scenario = distributed.scenario(Case("erdos_renyi", "replacement", 20), FULL, 3)
    assert (scenario.seed, scenario.network.agents, scenario.network.p) == (3, 30, 0.3)
    assert (scenario.problem.radius, scenario.problem.batch, scenario.algorithm.horizon) == (24, 2, 1000)
    assert scenario.data.source == "fashion-mnist"


@pytest.mark.parametrize(("target", "cells"), [("table2", 3 + 1 + 1 + 1), ("figure4", 3)])
def test_quick_run_writes_table_and_figure(
    target: str, cells: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    getattr(table2, target)(fabricated.TINY, tmp_path, jobs=1)
    rows = (tmp_path / f"{target}.csv").read_text().splitlines()
    assert len(rows) == 1 + 4 * cells
    assert (tmp_path / "figure4.png").stat().st_size > 10_000
    assert (tmp_path / "figure4.svg").read_text().startswith("<?xml")
    printed = capsys.readouterr().out
    assert "paper's 200" in printed
    assert "off, %" not in printed
    assert not (tmp_path / "claims.csv").exists()


def test_full_output_stands_beside_the_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = list(distributed.cases(quick=False, readings=["replacement"]))
    runs = {
        (case, 1): fabricated.outcome(distributed.scenario(case, FULL, 1), TABLE_2[case.graph][case.f])
        for case in cases
    }
    table2.print_table("replacement", batch.means(runs), runs, FULL)
    printed = capsys.readouterr().out
    assert "1119.24" in printed
    assert "+20.9" in printed  # the plain percent of Cycle, f = 20
    assert all(path.stat().st_size > 10_000 for path in table2.draw(runs, FULL, tmp_path))
    row = distributed.row(*next(iter(runs)), next(iter(runs.values())))
    assert np.isclose(float(str(row["total_loss"])), 809.37)
