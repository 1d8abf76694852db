"""Find every cell of a plane of weights with its score: the whole error surface.

  luthier surface pool.arrow --weights weights.txt --axis lm --axis length --png surface.png

The weights are w0 + x·a1 + y·a2: w0 from a file (without one: 1 for each feature, −1 for costs), the axes features
by their names or files of 'name value' lines. Places are told as weights of the features; along a file, as offsets
from w0. On each cell of the plane the selection, so the score, is constant. All cells of a window are found, each
once; none is sampled.

With -o every cell has a row in a table (Arrow, .tsv or .json): a point inside, score, area, margin, radius, whether
floating-point weights reach it for certain, and the change from a neighbour. Where cells are too many for that,
--stream passes by all of them in bounded memory; -o then has the best ones, and the histogram of all. Stretches of
edges can go to a --cluster. --raster finds no cells, but the score at every pixel of a window; parts of a pool in parts
can go to a --cluster, too.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.options.cluster import add_cluster_options, cluster_from
from luthier.cli.options.landscape import add_axis_options, add_choice_options, add_picture_options, picture_width
from luthier.cli.options.lists import pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output
from luthier.cli.rastering import check_raster, raster_surface

if TYPE_CHECKING:
    from luthier.core.arrays import Float64
    from luthier.core.files.written import Written
    from luthier.geometry.subspace import Subspace
    from luthier.kbest.pool import Pool
    from luthier.landscape.certified.certificate import Proof
    from luthier.landscape.certified.space import Space
    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.planes.plane import Plane
    from luthier.landscape.planes.robust import RobustOptimum
    from luthier.landscape.planes.surface import SurfaceOptions, SurfaceReport
    from luthier.metrics.base import Metric

DISAGREED, STOPPED = 1, 130
BEST_GAP = 0.001  # of the score, for --best-only


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier surface`."""
    add_axis_options(parser)
    parser.add_argument(
        "--window", action="append", default=[], metavar="A=LO:HI",
        help="weights from LO to HI (along a file: offsets from w0; default: about w0, as far as matters)",
    )  # fmt: skip
    parser.add_argument("--whole", action="store_true", help="the whole plane, where --window does not limit it")
    parser.add_argument(
        "--best-only", action="store_true", help="the best score of the window with a proof, and no cells: much faster"
    )
    parser.add_argument(
        "--certify", type=int, metavar="BOXES",
        help="say how far the answer is from the best of the window, proven by so many boxes",
    )  # fmt: skip
    parser.add_argument("-o", "--output", metavar="OUT", help="all cells: an .arrow, .tsv or .json file")
    parser.add_argument("--polygons", action="store_true", help="with the corners of each cell in the file")
    parser.add_argument("--stream", action="store_true", help="keep the best cells only, in bounded memory")
    parser.add_argument(
        "--raster", type=int, metavar="N",
        help="no cells, but the scores at the centres of N × N pixels of --window, in time that grows with the "
        "sentences only; also of a pool in parts",
    )  # fmt: skip
    parser.add_argument("--most", type=int, metavar="N", help="record no more cells than these (default: 4,000,000)")
    parser.add_argument("--keep", type=int, default=20, metavar="N", help="how many of the best cells (default: 20)")
    parser.add_argument(
        "--check", type=int, default=200, metavar="N", help="re-rank N cells, drawn at random (default: 200)"
    )
    parser.add_argument(
        "--resamples", type=int, metavar="N",
        help="where the optimum is on N resamples of the sentences; each passes by all cells again",
    )  # fmt: skip
    add_picture_options(parser, "--png", "draw the surface")
    parser.add_argument("--heldout", metavar="POOL", help="unseen sentences on which the best weights are tried")
    parser.add_argument("--heldout-refs", nargs="+", default=[], metavar="R", help="references of the held-out list")
    add_choice_options(parser, "point", "the most room among the best cells")
    parser.add_argument("-w", "--weights-out", metavar="F", help="write the best weights")
    add_metric_options(parser, "bleu")
    add_cluster_options(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Find all cells, print what there is, write what was asked for."""
    import warnings

    from luthier.core.errors import LuthierWarning
    from luthier.landscape.axes import origins
    from luthier.landscape.planes.surface import look_at_plane
    from luthier.report.tables.landscape import surface_tables

    metric = metric_from(options)
    _check(options)
    if options.raster is not None:
        raster_surface(options, metric, output)
        return 0
    output.note(f"seed {options.seed}")
    pool = pool_from(options, options.pool)
    heldout = pool_from(options, options.heldout, options.heldout_refs) if options.heldout else None
    if options.best_only:
        return _best_only(pool, metric, options, output)
    with cluster_from(options) as engine:
        report = look_at_plane(_plane(pool, metric, options), _settings(options), engine=engine)
    chosen = _chosen(report, options)
    files = _write(report, pool, chosen, options)
    written = files.paths
    proof = _proof(report, chosen, options) if options.certify else None
    if "-" not in written:
        changes = _changes(report, chosen, metric, heldout)
        about = {"seed": options.seed, **report.as_dict(options.keep), "changes": changes, "written": written}
        if chosen is not None:
            about["chosen"] = chosen.as_dict(origins(report.plane.subspace))
        if proof is not None:
            about["certified"] = {"bound": proof.bound, "distance": proof.distance, "boxes": proof.boxes}
        output.emit(about, lambda: surface_tables(report, written, changes, chosen, proof))
    files.check()
    if report.check.wrong:
        told = f"{report.check.wrong} cells re-rank to another selection: this is a fault of luthier"
        warnings.warn(told, LuthierWarning, stacklevel=1)
        return DISAGREED
    return 0 if report.survey.share == 1.0 else STOPPED


def _check(options: argparse.Namespace) -> None:
    """Check all that can be checked before the work."""
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.core.files.tables import check_table_path

    for name, least in (("keep", 1), ("check", 0), ("most", 1), ("certify", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise LuthierError(f"expected --{name} of at least {least}, found {value}")
    if options.resamples is not None and options.resamples < 2:
        raise LuthierError(f"expected --resamples of at least 2, found {options.resamples}")
    if options.resamples and (options.raster is not None or options.best_only):
        raise LuthierError("--resamples finds the best cell of each, so it cannot go with --raster or --best-only")
    if options.raster is not None:
        check_raster(options)
    if options.polygons and not options.output:
        raise LuthierError("--polygons needs -o, the file to write them to")
    if not 1e-6 <= options.noise <= 1e3:
        raise LuthierError(f"expected --noise from 1e-06 to 1000, found {options.noise:g}")
    if options.best_only and options.choose != "highest":
        raise LuthierError("--best-only looks for the highest score, so it cannot go with another --choose")
    if options.best_only and options.certify:
        raise LuthierError("--best-only has a proof of its own, so it cannot go with --certify")
    proven = options.best_only or options.certify
    if proven and options.whole and len(options.window) == 1:
        raise LuthierError("a proof needs a window along both axes or along none, found --whole and one --window")
    if options.best_only and (options.output or options.png or options.stream or options.heldout):
        raise LuthierError("--best-only finds no cells, so it cannot go with -o, --png, --stream or --heldout")
    if options.cluster and options.raster is None and (options.best_only or not _settings(options).stream):
        raise LuthierError("--cluster goes with --stream or --raster, found -o or --best-only")
    if options.output:
        check_table_path(options.output)
        check_apart(options.output, options.pool, options.weights, *options.axis)
    check_distinct(options.output, options.png, options.weights_out)
    picture_width(options, options.png)
    if options.weights_out:
        check_writable(options.weights_out)


def _best_only(pool: Pool, metric: Metric, options: argparse.Namespace, output: Output) -> int:
    """Prove how much the best cell scores, by boxes of the plane; return the exit code."""
    from luthier.cli.options.landscape import show_certificate
    from luthier.landscape.certified.certify import CertifyOptions, certify
    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.subspaces import read_subspace

    subspace = read_subspace(pool, options.weights, options.axis, expected=2)
    problem = ListProblem.of(pool, metric)
    settings = CertifyOptions(gap=BEST_GAP, threads=options.threads)
    found = certify(problem, _space(problem, subspace, options), subspace.start, settings)
    show_certificate(found, problem, subspace.start, options.weights_out, output)
    return STOPPED if found.stopped else 0


def _proof(report: SurfaceReport, chosen: RobustOptimum | None, options: argparse.Namespace) -> Proof:
    """Return how far the answer is from the best of the window, at most."""
    from luthier.landscape.certified.certificate import Proof
    from luthier.landscape.certified.certify import CertifyOptions, certify

    problem, weights = report.plane.problem, _weights(report, chosen)
    space = _space(problem, report.plane.subspace, options)
    found = certify(problem, space, weights, CertifyOptions(gap=0.0, limit=options.certify, threads=options.threads))
    return Proof.of(found, problem.gain(weights))


def _space(problem: ListProblem, subspace: Subspace, options: argparse.Namespace) -> Space:
    """Return the window as boxes see it."""
    from luthier.landscape.certified.windows import WindowOptions

    window = WindowOptions(window=tuple(options.window), whole=options.whole and not options.window)
    return window.space(problem, subspace)


def _plane(pool: Pool, metric: Metric, options: argparse.Namespace) -> Plane:
    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.planes.plane import Plane, read_window
    from luthier.landscape.subspaces import read_subspace

    subspace = read_subspace(pool, options.weights, options.axis, expected=2)
    problem = ListProblem.of(pool, metric)
    return Plane.make(problem, subspace, read_window(problem, subspace, options.window, whole=options.whole))


def _chosen(report: SurfaceReport, options: argparse.Namespace) -> RobustOptimum | None:
    """Return the point that --choose prefers, None where it is the optimum."""
    from luthier.landscape.planes.robust import robust_point

    if options.choose == "highest":
        return None
    return robust_point(report, options.choose, options.noise, threads=options.threads)


def _weights(report: SurfaceReport, chosen: RobustOptimum | None) -> Float64:
    return report.weights if chosen is None else report.plane.subspace.weights(chosen.position)


def _changes(
    report: SurfaceReport, chosen: RobustOptimum | None, metric: Metric, heldout: Pool | None
) -> dict[str, dict[str, float]]:
    """Return what the best weights change on these sentences, and on unseen ones, with intervals."""
    from luthier.jobs.chance import changes

    return changes(report.plane.problem, report.plane.subspace.start, _weights(report, chosen), heldout, metric)


def _settings(options: argparse.Namespace) -> SurfaceOptions:
    from luthier.landscape.planes.surface import MOST_CELLS, SurfaceOptions

    return SurfaceOptions(
        stream=options.stream or not options.output,
        keep=options.keep,
        check=options.check,
        most=options.most or MOST_CELLS,
        resamples=options.resamples or 0,
        seed=options.seed,
        threads=options.threads,
    )


def _write(report: SurfaceReport, pool: Pool, chosen: RobustOptimum | None, options: argparse.Namespace) -> Written:
    """Write the cells, the best weights and the picture where asked for; return what was written."""
    from luthier.core.files.written import Written

    written = Written()
    if options.output:
        with written.answer(options.output):
            _write_cells(report, pool, options)
    if options.weights_out:
        from luthier.kbest.derived import derived_of
        from luthier.kbest.weights import Weights, write_weights

        best = Weights.from_vector(pool.features.names, _weights(report, chosen), derived_of(pool))
        with written.answer(options.weights_out):
            write_weights(best, options.weights_out)
    if options.png:
        from pathlib import Path

        from luthier.landscape.planes.view import surface_scenes
        from luthier.report.figures.surface import draw_surface

        scenes = surface_scenes(report, threads=options.threads)
        with written.beside(options.png):
            draw_surface(report, scenes, Path(options.png), chosen, picture_width(options, options.png))
    return written


def _write_cells(report: SurfaceReport, pool: Pool, options: argparse.Namespace) -> None:
    from luthier import __version__
    from luthier.core.files.tables import write_table
    from luthier.landscape.planes.surface import all_columns, best_columns

    if report.record:
        cells = all_columns(report, pool, polygons=options.polygons)
    else:
        cells = best_columns(report, options.keep, polygons=options.polygons)
    about = {"luthier": __version__, "pool": pool.digest(), "seed": options.seed, **report.as_dict(options.keep)}
    write_table(options.output, cells, about)
