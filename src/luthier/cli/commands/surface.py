"""Find every cell of a plane of weights: the whole error surface.

  luthier surface pool.arrow --weights weights.txt --axis lm --axis length --png surface.png

The weights are w0 + x·a1 + y·a2. w0 is read from a file (without one: 1 for each feature, −1 for costs). An axis is a
feature by its name or a file of 'name value' lines. Points are given as weights of the features; along a file, as
offsets from w0. On each cell of the plane the selection, and so the score, is constant. All cells of a window are
found, each once; none is sampled.

With -o every cell has a row in a table (Arrow, .tsv or .json): a point inside, score, area, margin, radius, whether
floating-point weights reach it for certain, and the change from a neighbour. Where cells are too many for that,
--stream visits all of them in bounded memory; -o then has the best ones, and the histogram of all. Ranges of edges
can go to a --cluster. --raster finds no cells, but the score at every pixel of a window; shards of a pool can go to a
--cluster, too.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.options.cluster import add_cluster_options, cluster_from
from luthier.cli.options.landscape import add_axis_options, add_choice_options, add_picture_options, picture_width
from luthier.cli.options.lists import manifest_from, pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.core.files.written import Written
    from luthier.kbest.pool import Pool
    from luthier.kbest.weights import Weights
    from luthier.metrics.base import Metric

DISAGREED, STOPPED = 1, 130
WALK_KERNELS = "luthier.geometry.plane._stream_kernels"
BEST_GAP = 0.001  # of the score, for --best-only
WITHOUT_CELLS = (
    "whole",
    "best_only",
    "certify",
    "polygons",
    "stream",
    "heldout",
    "resamples",
)  # what --raster does not go with

COLD = 30, 20  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier surface`."""
    add_axis_options(parser)
    parser.add_argument(
        "--window",
        action="append",
        default=[],
        metavar="A=LO:HI",
        help="weights from LO to HI (along a file: offsets from w0; default: about w0, as far as matters)",
    )
    parser.add_argument("--whole", action="store_true", help="the whole plane, where --window does not limit it")
    parser.add_argument(
        "--best-only", action="store_true", help="the best score of the window with a proof, and no cells: much faster"
    )
    parser.add_argument(
        "--certify",
        type=int,
        metavar="BOXES",
        help="say how far the answer is from the best of the window, proven by so many boxes",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="all cells: an .arrow, .tsv or .json file")
    parser.add_argument("--polygons", action="store_true", help="with the corners of each cell in the file")
    parser.add_argument("--stream", action="store_true", help="keep the best cells only, in bounded memory")
    parser.add_argument(
        "--raster",
        type=int,
        metavar="N",
        help="no cells, but the scores at the centres of N × N pixels of --window, in time that grows with the "
        "sentences only; also of a sharded pool",
    )
    parser.add_argument("--most", type=int, metavar="N", help="record no more cells than these (default: 4,000,000)")
    parser.add_argument("--keep", type=int, default=20, metavar="N", help="how many of the best cells (default: 20)")
    parser.add_argument(
        "--check", type=int, default=200, metavar="N", help="re-rank N cells, drawn at random (default: 200)"
    )
    parser.add_argument(
        "--resamples",
        type=int,
        metavar="N",
        help="where the optimum is on N resamples of the sentences; each visits all cells again",
    )
    add_picture_options(parser, "--png", "draw the surface")
    parser.add_argument("--heldout", metavar="POOL", help="unseen sentences on which the best weights are tried")
    parser.add_argument("--heldout-refs", nargs="+", default=[], metavar="R", help="references of the held-out list")
    add_choice_options(parser, "point", "the most room among the best cells")
    parser.add_argument("-w", "--weights-out", metavar="F", help="write the best weights")
    add_metric_options(parser, "bleu")
    add_cluster_options(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Find all cells, the best score with a proof, or a raster; print what there is, write what was asked for."""
    from luthier.jobs.surface import check_at_least
    from luthier.jobs.warm import WALK_PLANES, compile_ahead

    metric = metric_from(options)
    check_at_least(keep=options.keep, check=options.check, most=options.most, certify=options.certify)
    _check(options)
    if options.raster is not None:
        return _raster(options, metric, output)
    output.note(f"seed {options.seed}")
    if options.best_only:
        return _best_only(pool_from(options, options.pool), metric, options, output)
    with compile_ahead(WALK_PLANES, WALK_KERNELS, threads=options.threads):
        return _cells(pool_from(options, options.pool), metric, options, output)


def _check(options: argparse.Namespace) -> None:
    """Check all that can be checked before the work."""
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.core.files.tables import check_table_path
    from luthier.jobs.surface import check_choice, check_resamples

    for name in WITHOUT_CELLS if options.raster is not None else ():
        if getattr(options, name):
            raise LuthierError(f"--raster has pixels and no cells, so it cannot go with --{name.replace('_', '-')}")
    if options.raster is not None and options.choose != "highest":
        raise LuthierError("--raster has pixels and no cells, so it cannot go with another --choose")
    if options.polygons and not options.output:
        raise LuthierError("--polygons needs -o, the file to write them to")
    check_choice(options.choose, options.noise)
    check_resamples(options.resamples)
    if options.best_only and options.resamples:
        raise LuthierError("--best-only looks at these sentences only, so it cannot go with --resamples")
    if options.best_only and options.choose != "highest":
        raise LuthierError("--best-only looks for the highest score, so it cannot go with another --choose")
    if options.best_only and options.certify:
        raise LuthierError("--best-only has a proof of its own, so it cannot go with --certify")
    if (options.best_only or options.certify) and options.whole and len(options.window) == 1:
        raise LuthierError("a proof needs a window along both axes or along none, found --whole and one --window")
    if options.best_only and (options.output or options.png or options.stream or options.heldout):
        raise LuthierError("--best-only finds no cells, so it cannot go with -o, --png, --stream or --heldout")
    if options.cluster and options.raster is None and (options.best_only or _records(options)):
        raise LuthierError("--cluster goes with --stream or --raster, found -o or --best-only")
    if options.output:
        check_table_path(options.output)
        check_apart(options.output, options.pool, options.weights, *options.axis)
    check_distinct(options.output, options.png, options.weights_out)
    picture_width(options, options.png)
    if options.weights_out:
        check_writable(options.weights_out)


def _records(options: argparse.Namespace) -> bool:
    """Return whether all cells are wanted, not only the best."""
    return bool(options.output) and not options.stream


def _cells(pool: Pool, metric: Metric, options: argparse.Namespace, output: Output) -> int:
    """Find every cell; return the exit code."""
    import warnings
    from pathlib import Path

    from luthier.core.errors import Interrupted, LuthierWarning
    from luthier.core.files.written import Written
    from luthier.jobs.surface import surface
    from luthier.report.tables.landscape import surface_tables

    heldout = pool_from(options, options.heldout, options.heldout_refs) if options.heldout else None
    with cluster_from(options) as engine:
        try:
            found = surface(
                pool,
                metric,
                axis=options.axis,
                weights=options.weights,
                window=options.window,
                whole=options.whole,
                record=_records(options),
                most=options.most,
                keep=options.keep,
                check=options.check,
                resamples=options.resamples,
                choose=options.choose,
                noise=options.noise,
                certify=options.certify,
                heldout=heldout,
                seed=options.seed,
                threads=options.threads,
                engine=engine,
            )
        except Interrupted as stopped:
            found = stopped.result
    files, report = Written(), found.report
    if options.output:
        with files.answer(options.output):
            found.write_cells(options.output, polygons=options.polygons)
    _write_weights(found.weights, options, files)
    if options.png:
        from luthier.landscape.planes.view import surface_scenes
        from luthier.report.figures.surface import draw_surface

        scenes = surface_scenes(report, threads=options.threads)
        with files.beside(options.png):
            draw_surface(report, scenes, Path(options.png), found.chosen, picture_width(options, options.png))
    if "-" not in files.paths:
        tables = report, files.paths, found.changes, found.chosen, found.proof
        output.emit({**found.as_dict(), "written": files.paths}, lambda: surface_tables(*tables))
    files.check()
    if report.check.wrong:
        told = f"{report.check.wrong} cells re-rank to another selection: this is a fault of luthier"
        warnings.warn(told, LuthierWarning, stacklevel=1)
        return DISAGREED
    return 0 if found.complete else STOPPED


def _best_only(pool: Pool, metric: Metric, options: argparse.Namespace, output: Output) -> int:
    """Prove how much the best cell scores, by boxes of the plane; return the exit code."""
    from luthier.cli.options.landscape import show_certificate
    from luthier.core.errors import Interrupted, LuthierError
    from luthier.jobs.certify import certify

    if len(options.axis) != 2:
        raise LuthierError(f"expected 2 axes, found {len(options.axis)}")
    try:
        found = certify(
            pool,
            metric,
            axis=options.axis,
            weights=options.weights,
            window=options.window,
            whole=options.whole and not options.window,
            gap=BEST_GAP,
            threads=options.threads,
        )
    except Interrupted as stopped:
        found = stopped.result
    show_certificate(found, options.weights_out, output)
    return STOPPED if found.certificate.stopped else 0


def _raster(options: argparse.Namespace, metric: Metric, output: Output) -> int:
    """Find the score at every pixel."""
    from pathlib import Path

    from luthier.core.errors import LuthierError
    from luthier.core.files.written import Written
    from luthier.jobs.surface import raster
    from luthier.report.console import table

    manifest = manifest_from(options, options.pool)
    if options.cluster and manifest is None:
        raise LuthierError("--raster on a --cluster takes a sharded pool. hint: luthier data shard POOL -o DIR")
    with cluster_from(options) as engine:
        found = raster(
            manifest or pool_from(options, options.pool),
            metric,
            axis=options.axis,
            window=options.window,
            side=options.raster,
            weights=options.weights,
            threads=options.threads,
            engine=engine,
        )
    files = Written()
    if options.output:
        with files.answer(options.output):
            found.write_pixels(options.output)
    _write_weights(found.weights, options, files)
    if options.png:
        from luthier.report.figures.surface import draw_pixels

        with files.beside(options.png):
            draw_pixels(found.pixels, Path(options.png), picture_width(options, options.png))
    told = {**found.as_dict(), "written": files.paths}
    rows = [(name, str(value)) for name, value in told.items()]
    output.emit(told, lambda: table("raster", ("what", "value"), rows))
    files.check()
    return 0


def _write_weights(weights: Weights, options: argparse.Namespace, files: Written) -> None:
    from luthier.kbest.weights import write_weights

    if options.weights_out:
        with files.answer(options.weights_out):
            write_weights(weights, options.weights_out)
