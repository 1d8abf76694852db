"""Find the cones of weights that select alike, by reverse search.

  luthier geometry cones pool.arrow --weights w.txt --axis lm --axis wp --axis tm -o cones.arrow
  luthier geometry cones pool.arrow --weights w.txt --axis lm --axis wp --order best --limit 100000 -o cones.arrow

The subspace has any number of axes. Every vertex of the sum of all lists' polytopes is a joint choice that some
weights make; its cone holds these weights. Cones are streamed to disk as they are found, an Arrow file in the end.
The order is nearest first, depth-first in little memory, or by the metric ('--metric none' does without one). Ctrl-C
and --limit stop a search, --resume continues it. A --cluster expands vertices ahead of the search; the file is the
same.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.cluster import add_cluster_options, cluster_from
from luthier.cli.options.landscape import add_axis_options, add_picture_options, picture_width
from luthier.cli.options.lists import pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier geometry cones`."""
    add_axis_options(parser)
    parser.add_argument(
        "--order",
        choices=("breadth", "depth", "best"),
        default="breadth",
        help="nearest to w0 first, depth-first, or guided by the metric (default: breadth)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="stop when N vertices are found (default: find all)")
    parser.add_argument("--whole", action="store_true", help="search cones beyond the subspace, too; they are counted")
    parser.add_argument(
        "--checksum", action="store_true", help="with --whole: count by partial sums what there must be"
    )
    parser.add_argument("--resume", action="store_true", help="resume a search that was stopped")
    parser.add_argument("-o", "--output", required=True, metavar="F", help="the cones, an Arrow file")
    add_picture_options(parser, "--plot", "draw cells and search tree, for two axes")
    add_metric_options(parser, "bleu")
    add_cluster_options(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Search, stream what is found, sum up."""
    from pathlib import Path

    from luthier.core.errors import Interrupted, LuthierError
    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.core.files.written import secondary
    from luthier.jobs.cones import check_search, cones
    from luthier.landscape.cones.minkowski_view import view_search
    from luthier.report.figures.minkowski import draw_search
    from luthier.report.tables.geometry import minkowski_tables

    check_search(limit=options.limit, whole=options.whole, checksum=options.checksum)
    metric = None if options.metric == "none" else metric_from(options)
    check_distinct(options.output, options.plot)
    check_writable(options.output)
    check_apart(options.output, options.pool, options.weights, *options.axis)
    width = picture_width(options, options.plot)
    if options.plot and len(options.axis) != 2:
        raise LuthierError(f"expected 2 axes, found {len(options.axis)}")
    pool = pool_from(options, options.pool)
    output.note(f"seed {options.seed}")
    with cluster_from(options) as engine:
        try:
            found = cones(
                pool,
                metric,
                axis=options.axis,
                output=options.output,
                weights=options.weights,
                order=options.order,
                limit=options.limit,
                whole=options.whole,
                checksum=options.checksum,
                resume=options.resume,
                seed=options.seed,
                threads=options.threads,
                engine=engine,
            )
        except Interrupted as stopped:
            found = stopped.result
    written = found.written
    if options.plot:
        with secondary(options.plot):
            draw_search(view_search(found.search), Path(options.plot), width)
            written.append(options.plot)
    output.emit({**found.as_dict(), "written": written}, lambda: minkowski_tables(found.report, written))
    return INTERRUPTED if found.report.interrupted else 0
