"""Report how constrained a linear model is by its lists: what one weight vector can select, and what it cannot.

  luthier geometry pool.arrow --metric bleu
  luthier geometry pool.arrow --against dims,sentences --plot constraints.png

An index vector names one hypothesis of each sentence; it is feasible if some weights select all of them. The
report bounds how many are, counts the hypotheses that can be selected at all, and tests the oracle's and random
index vectors. --against draws features and sentences at random and shows how the share of feasible oracle
selections, and the time of lp-mert, change with their number.
"""

from __future__ import annotations

import argparse

from luthier.cli.fields import add_field_options, field_values
from luthier.cli.metric_options import add_metric_options, metric_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier geometry`."""
    from luthier.landscape.selections.constraint_settings import CurveSettings, GeometrySettings

    parser.add_argument("pool", metavar="POOL")
    parser.add_argument(
        "--weights", metavar="W",
        help="weights: sentences where they nearly select the oracle are tried first (default: tuned by mert)",
    )  # fmt: skip
    parser.add_argument("--against", metavar="X", help="dims, sentences or dims,sentences: draw how both matter")
    parser.add_argument("--plot", metavar="F", help="the picture of --against: a PNG file")
    add_metric_options(parser, "bleu")
    add_field_options(parser, GeometrySettings)
    add_field_options(parser, CurveSettings, "parameters of --against")


def run(options: argparse.Namespace, output: Output) -> None:
    """Look, test, draw, print."""
    from luthier.landscape.selections.constraint_settings import CurveSettings, GeometrySettings
    from luthier.pipelines.geometry_command import geometry_from_options
    from luthier.report.tables.constraints import geometry_tables

    output.note(f"seed {options.seed}")
    settings = GeometrySettings(**field_values(GeometrySettings, options))
    curves = CurveSettings(**field_values(CurveSettings, options))
    report = geometry_from_options(options, metric_from(options), settings, curves)
    output.emit(report, lambda: geometry_tables(report))
