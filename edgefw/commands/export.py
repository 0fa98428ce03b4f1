"""`edgefw export`: a run for other programs: CSV, Parquet, TensorBoard, MLflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.api.run import load_run
from edgefw.errors import InputError

if TYPE_CHECKING:
    import argparse

_WAYS = ("csv", "parquet", "tensorboard", "mlflow")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = (
        "examples:\n"
        "  edgefw export runs/default-20260101-120000 --csv default.csv\n"
        "  edgefw export runs/default-20260101-120000 --tensorboard logs/default\n"
        "  edgefw export runs/default-20260101-120000 --mlflow http://127.0.0.1:5000\n\n"
        "A server of MLflow that asks who is there is shown MLFLOW_TRACKING_TOKEN, or\n"
        "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD."
    )
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("--csv", metavar="FILE", help="a table: a row for every round and agent")
    parser.add_argument("--parquet", metavar="FILE", help="the same table (edgefw[parquet])")
    parser.add_argument("--tensorboard", metavar="DIR", help="curves for TensorBoard (edgefw[tensorboard])")
    parser.add_argument("--mlflow", metavar="URL", help="scenario, totals and curves, to a server of MLflow")
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    wanted = {way: place for way in _WAYS if (place := getattr(arguments, way)) is not None}
    if not wanted:
        raise InputError(
            "nothing to export to: say --csv FILE, --parquet FILE, --tensorboard DIR or --mlflow URL"
        )
    run = load_run(arguments.run)
    for way, place in wanted.items():
        with terminal.status(f"exporting to {place}"):
            where = getattr(run, f"to_{way}")(place)
        terminal.out.print(f"{way}: {where}", soft_wrap=True)
