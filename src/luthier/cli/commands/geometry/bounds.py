"""Report how constrained a linear model is by its lists.

  luthier geometry bounds pool.arrow --metric bleu
  luthier geometry bounds pool.arrow --against dims,sentences --plot constraints.png
  luthier geometry bounds --sizes 1502x1000 --features 12

An index vector names one hypothesis of each sentence. It is feasible if some weights select all of them. The report
bounds how many are feasible, counts the hypotheses that can be selected at all, and tests the oracle's and random
index vectors. --against draws features and sentences at random and shows how the share of feasible oracle selections,
and the time of lp-mert, change with their number.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier geometry bounds`."""
    from luthier.landscape.selections.constraints import CurveSettings, GeometrySettings

    parser.add_argument("pool", metavar="POOL", nargs="?", help=HELP)
    parser.add_argument(
        "--sizes", metavar="NxK", help="no pool: what follows for N lists of K (300x10,20x1000 for several kinds)"
    )
    parser.add_argument("--features", type=int, metavar="D", help="of --sizes: how many features")
    parser.add_argument(
        "--weights",
        metavar="W",
        help="weights: sentences where they nearly select the oracle are tried first (default: tuned by mert)",
    )
    parser.add_argument("--against", metavar="X", help="dims, sentences or dims,sentences: draw how both matter")
    add_picture_options(parser, "--plot", "the picture of --against")
    add_metric_options(parser, "bleu")
    add_field_options(parser, GeometrySettings)
    add_field_options(parser, CurveSettings, "parameters of --against")
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Look, test, draw, print."""
    from pathlib import Path

    from luthier.core.errors import LuthierError
    from luthier.jobs.bounds import bounds, parse_axes, size_bounds
    from luthier.landscape.selections.constraints import CurveSettings, GeometrySettings
    from luthier.report.tables.constraints import geometry_tables, size_table

    if options.sizes is not None or options.features is not None:
        if options.pool or options.sizes is None or options.features is None:
            raise LuthierError("expected a pool, or --sizes and --features together, found something else")
        by_size = size_bounds(options.sizes, options.features)
        output.emit(by_size.as_dict(), lambda: size_table(by_size.counts))
        return
    if not options.pool:
        raise LuthierError("expected a pool. hint: --sizes 1502x1000 --features 12 needs none")
    output.note(f"seed {options.seed}")
    settings = {**field_values(GeometrySettings, options), **field_values(CurveSettings, options)}
    metric, axes = metric_from(options), parse_axes(options.against) if options.against else ()
    if options.plot and not axes:
        raise LuthierError("--plot shows what --against draws. hint: add --against dims,sentences")
    width = picture_width(options, options.plot)
    found = bounds(
        pool_from(options, options.pool),
        metric,
        weights=options.weights,
        against=options.against or "",
        seed=options.seed,
        threads=options.threads,
        **settings,
    )
    written = [options.plot] if options.plot else []
    data = found.as_dict()
    if found.curves is not None and options.plot:
        from luthier.report.figures.constraints import draw_constraints

        draw_constraints(found.curves, Path(options.plot), width)
        data["written"] = written
    output.emit(data, lambda: geometry_tables(found.report, found.curves, written))
