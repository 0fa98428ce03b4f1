"""Table 1 as measured columns: what a round of every algorithm costs, counted while it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from edgefw import terminal
from edgefw.core.agent import ALGORITHMS, make_agent
from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, observe
from edgefw.experiments.counting import Tally
from edgefw.experiments.experiment import Claim, Findings, Row
from edgefw.experiments.published import HORIZON, TABLE_1
from edgefw.experiments.tables import Table
from edgefw.scenario.setup import Setup, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def table1(size: Size) -> Findings:
    """Count, beside the paper's columns."""
    rounds = QUICK_ROUNDS if size.quick else ROUNDS
    costs = measure(size, rounds)
    return Findings([row(cost) for cost in costs], None, claims(costs), tables(costs, rounds))


def measure(size: Size, rounds: int) -> list[Cost]:
    """Count the rounds of every algorithm, the distributed ones on two graphs."""
    wanted = [
        (name, graph) for name in TABLE_1 for graph in (GRAPHS if ALGORITHMS[name].distributed else ("-",))
    ]
    costs = []
    with terminal.progress_bar("counting", len(wanted), "algorithms") as progress, threadpool_limits(1):
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
    feasible, loss = tally.of_set(setup.feasible), tally.of_loss(setup.loss)
    agents = [tally.of_agent(make_agent(spec, feasible)) for spec in specs]
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


def tables(costs: Sequence[Cost], rounds: int) -> list[Table]:
    """Return the counts, and beside them what the paper says."""
    header = ["algorithm", "graph", "projections", "lmo calls", "gradients", "messages"]
    title = f"A round of one agent, counted over {rounds} rounds without delay"
    K = {cost.graph == "-": cost.K for cost in costs}
    note = (
        f"Published settings on a synthetic stream: K = {K[True]} alone, {K[False]} in a network of 30. "
        "A message goes to one neighbour; De2MFW's carries an iterate and a tracker."
    )
    counted = Table(title, header, [_counted(cost) for cost in costs], note)
    header = ["algorithm", "projection-free, counted", "paper", "regret bound, paper", "stands in"]
    return [counted, Table("Beside the paper", header, [_said(c) for c in costs if c.graph != GRAPHS[1]])]


def _counted(cost: Cost) -> list[str]:
    counts = (cost.projections, cost.vertices, cost.gradients, cost.messages)
    return [cost.algorithm, cost.graph, *(f"{value:g}" for value in counts)]


def _said(cost: Cost) -> list[str]:
    paper = TABLE_1[cost.algorithm]
    words = {True: "yes", False: "no", None: "-"}
    free = (words[cost.projection_free], words[paper.projection_free])
    return [cost.algorithm, *free, paper.regret, paper.source]


def claims(costs: Sequence[Cost]) -> list[Claim]:
    """Return whether exactly those algorithms never projected that the paper calls projection-free."""
    said = {name: row.projection_free for name, row in TABLE_1.items() if row.projection_free is not None}
    wrong = [c.algorithm for c in costs if said.get(c.algorithm, c.projection_free) != c.projection_free]
    counted = ", ".join(
        f"{c.algorithm} {c.projections:g}" for c in costs if c.graph != "complete" and c.algorithm in said
    )
    return [Claim("projection-free as Table 1 says", not wrong, f"projections a round: {counted}")]


def row(cost: Cost) -> Row:
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
