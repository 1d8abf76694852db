"""Compare systems with a baseline: means, p-values, intervals.

  luthier compare --refs ref.txt --baseline b.1 b.2 b.3 --system new n.1 n.2 n.3
  luthier compare --pool pool.arrow --weights old.txt --weights new.1.txt new.2.txt new.3.txt

Several files of a system are replicas: runs of an optimiser that differ in their seed. From a pool, the first
--weights is the baseline; each file of weights is a replica.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from luthier.cli.options.cluster import add_cluster_options, cluster_from
from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.options.lists import add_pool_options, pool_from
from luthier.cli.options.weights import add_metric_options, add_strict_option, metrics_from
from luthier.cli.output import Output

COLD = 17, 10  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier compare`."""
    from luthier.evaluation.comparison import Settings

    parser.add_argument("--baseline", nargs="+", metavar="H", help="translations of the baseline, a file a replica")
    parser.add_argument(
        "--system",
        nargs="+",
        action="append",
        default=[],
        metavar=("NAME", "H"),
        help="a system's name and its translations",
    )
    parser.add_argument("--pool", metavar="POOL", help="instead of files of translations: a pool or a list")
    parser.add_argument("--weights", nargs="+", action="append", default=[], metavar="W", help="a system of the pool")
    parser.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="of a system of --weights, in their order"
    )
    add_strict_option(parser)
    parser.add_argument("--table", choices=("text", "markdown", "latex"), default="text", help="form of the table")
    parser.add_argument(
        "--decimals", type=int, metavar="N", help="digits behind the point (1; 3 for scores between 0 and 1)"
    )
    parser.add_argument(
        "--sentences", type=int, default=0, metavar="N", help="also show the N most different sentences"
    )
    add_metric_options(parser, "bleu,ter,chrf,length")
    add_field_options(parser, Settings)
    add_pool_options(parser)
    add_cluster_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Compare, print."""
    from luthier.evaluation.comparison import Settings
    from luthier.jobs.compare import compare
    from luthier.report.tables.comparison import comparison_report

    metrics, settings = metrics_from(options), field_values(Settings, options)
    Settings(**settings)  # wrong ones before lists are read
    systems = _systems(options)
    pool = pool_from(options, options.pool) if options.pool else None
    with cluster_from(options) as engine:
        found = compare(
            systems,
            metrics,
            refs=options.refs,
            pool=pool,
            strict=options.strict,
            sentences=options.sentences,
            threads=options.threads,
            engine=engine,
            **settings,
        )
    output.note(f"seed {options.seed}")
    tables = found.comparison, found.sentences, options.table, options.decimals
    output.emit(found.as_dict(), lambda: comparison_report(*tables))


def _systems(options: argparse.Namespace) -> Mapping[str, Sequence[str]]:
    """Return what is compared, the baseline first: files of weights, or of translations."""
    from luthier.core.errors import LuthierError
    from luthier.jobs.compare import named_by_files

    if options.pool:
        if options.baseline or options.system:
            raise LuthierError("--pool goes with --weights; --baseline and --system with files")
        if options.name and (len(options.name) != len(options.weights) or len(set(options.name)) < len(options.name)):
            found = f"{len(options.name)} for {len(options.weights)}"
            raise LuthierError(f"expected another --name for each --weights, or none at all, found {found}")
        return (
            dict(zip(options.name, options.weights, strict=True)) if options.name else named_by_files(options.weights)
        )
    if options.weights or not options.baseline:
        raise LuthierError("expected --baseline H … and --system NAME H …, or --pool and --weights")
    files = {"baseline": options.baseline}
    for name, *paths in options.system:
        if name in files or not paths:
            raise LuthierError(f"expected --system NAME H …, each name once, found {name!r} and {len(paths)} files")
        files[name] = paths
    return files
