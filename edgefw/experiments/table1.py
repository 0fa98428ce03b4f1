"""Table 1 as measured columns: what a round of every algorithm costs, counted while it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.core.agent import ALGORITHMS, make_agent
from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, observe
from edgefw.experiments import report
from edgefw.experiments.counting import CountingAgent, CountingLoss, CountingSet, Tally
from edgefw.experiments.published import HORIZON, TABLE_1
from edgefw.experiments.report import Cell, Verdict
from edgefw.scenario.setup import Setup, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from edgefw.experiments.size import Size

ROUNDS, QUICK_ROUNDS = 20, 3
GRAPHS = ("cycle", "complete")  # of the distributed algorithms: the fewest neighbours and the most
_DATA = ("data.source=synthetic", "data.samples=600")  # counts do not depend on the data


@dataclass(frozen=True)
class Cost:
    """What one round costs one agent, on average."""

    algorithm: str
    graph: str  # "-" for a lone learner
    K: int
    projections: float
    vertices: float
    gradients: float
    messages: float

    @property
    def projection_free(self) -> bool:
        """Whether no projection was asked for."""
        return self.projections == 0


def table1(size: Size, out: Path, jobs: int | None) -> None:  # noqa: ARG001 - counting takes seconds
    """Count, print beside the paper's columns, write."""
    rounds = QUICK_ROUNDS if size.quick else ROUNDS
    if size.quick:
        terminal.out.print(f"Quick run: counted over {rounds} rounds instead of {ROUNDS}.")
    costs = measure(size, rounds)
    print_table(costs, rounds)
    said = verdicts(costs) if size.compares else []
    report.conclude(out / "table1.csv", [row(cost) for cost in costs], [], said)


def measure(size: Size, rounds: int) -> list[Cost]:
    """Count the rounds of every algorithm, the distributed ones on two graphs."""
    wanted = [
        (name, graph) for name in TABLE_1 for graph in (GRAPHS if ALGORITHMS[name].distributed else ("-",))
    ]
    costs = []
    with terminal.progress_bar("counting", len(wanted), "algorithms") as progress:
        for done, (name, graph) in enumerate(wanted, start=1):
            costs.append(count(_setup(name, graph, size), graph, rounds))
            progress(done)
    return costs


def _setup(name: str, graph: str, size: Size) -> Setup:
    """Return the algorithm in the published setting, K included, without delay and on made-up data."""
    base, topology = ("paper-centralized", "complete") if graph == "-" else ("paper-distributed", graph)
    settings = [f"algorithm.name={name}", f"network.topology={topology}", "delays=[]", *_DATA]
    return resolve(replace(size, horizon=HORIZON).scenario(base, 1, settings))


def count(setup: Setup, graph: str, rounds: int) -> Cost:
    """Return the cost of a round in the steady state: rounds 2..rounds+1, each with the update before it."""
    tally = Tally()
    specs = [setup.agent_spec(i) for i in range(setup.n)]
    feasible, loss = CountingSet(setup.feasible, tally), CountingLoss(setup.loss, tally)
    agents = [CountingAgent(make_agent(spec, feasible), tally) for spec in specs]
    arrivals: dict[int, Sequence[Feedback]] = {}
    for t in range(1, rounds + 2):
        if t == 2:
            tally.clear()
        plays = sweep(agents, t, arrivals)
        arrivals = {i: [observe(loss, play, *setup.batch(i, t))[1]] for i, play in enumerate(plays)}
    share = 1 / (rounds * setup.n)
    return Cost(
        setup.scenario.algorithm.name,
        graph,
        specs[0].K,
        tally.projections * share,
        tally.vertices * share,
        tally.gradients * share,
        tally.messages * share,
    )


def print_table(costs: Sequence[Cost], rounds: int) -> None:
    """Print the counts, and beside them what the paper says."""
    header = ["algorithm", "graph", "projections", "lmo calls", "gradients", "messages"]
    title = f"A round of one agent, counted over {rounds} rounds without delay"
    terminal.table(title, header, [_counted(cost) for cost in costs])
    K = {cost.graph == "-": cost.K for cost in costs}
    terminal.out.print(
        f"Published settings on a synthetic stream: K = {K[True]} alone, {K[False]} in a network of 30. "
        "A message goes to one neighbour; De2MFW's carries an iterate and a tracker."
    )
    header = ["algorithm", "projection-free, counted", "paper", "regret bound, paper", "stands in"]
    terminal.table("Beside the paper", header, [_said(c) for c in costs if c.graph != GRAPHS[1]])


def _counted(cost: Cost) -> list[str]:
    counts = (cost.projections, cost.vertices, cost.gradients, cost.messages)
    return [cost.algorithm, cost.graph, *(f"{value:g}" for value in counts)]


def _said(cost: Cost) -> list[str]:
    paper = TABLE_1[cost.algorithm]
    words = {True: "yes", False: "no", None: "-"}
    free = (words[cost.projection_free], words[paper.projection_free])
    return [cost.algorithm, *free, paper.regret, paper.source]


def verdicts(costs: Sequence[Cost]) -> list[Verdict]:
    """Return whether exactly those algorithms never projected that the paper calls projection-free."""
    said = {name: row.projection_free for name, row in TABLE_1.items() if row.projection_free is not None}
    wrong = [c.algorithm for c in costs if said.get(c.algorithm, c.projection_free) != c.projection_free]
    counted = ", ".join(
        f"{c.algorithm} {c.projections:g}" for c in costs if c.graph != "complete" and c.algorithm in said
    )
    return [Verdict("projection-free as Table 1 says", not wrong, f"projections a round: {counted}")]


def row(cost: Cost) -> dict[str, Cell]:
    """Return a cost as a row of the CSV file."""
    paper = TABLE_1[cost.algorithm]
    return {
        "algorithm": cost.algorithm,
        "graph": cost.graph,
        "K": cost.K,
        "projections": cost.projections,
        "lmo_calls": cost.vertices,
        "gradients": cost.gradients,
        "messages": cost.messages,
        "projection_free": str(cost.projection_free),
        "paper_projection_free": str(paper.projection_free),
        "paper_regret": paper.regret,
        "paper_source": paper.source,
    }
