"""`luthier surface --raster`: scores at the pixels of a window, of a pool or a sharded one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from luthier.cli.options.cluster import cluster_from
from luthier.cli.options.landscape import picture_width
from luthier.cli.options.lists import manifest_from, pool_from
from luthier.cli.output import Output
from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.geometry.plane.subdivision import Window
    from luthier.geometry.subspace import Subspace
    from luthier.kbest.pool import Pool
    from luthier.landscape.planes.pixels import Pixels
    from luthier.metrics.base import Metric

WITHOUT = ("whole", "best_only", "certify", "polygons", "stream", "heldout")


def check_raster(options: argparse.Namespace) -> None:
    """Raise where something was asked for that a raster has not."""
    for name in WITHOUT:
        if getattr(options, name):
            raise LuthierError(f"--raster has pixels and no cells, so it cannot go with --{name.replace('_', '-')}")
    if options.choose != "highest":
        raise LuthierError("--raster has pixels and no cells, so it cannot go with another --choose")


def raster_surface(options: argparse.Namespace, metric: Metric, output: Output) -> None:
    """Find the raster, write what was asked for, show what is best."""
    from luthier.core.files.written import Written
    from luthier.report.console import table

    pixels, about, pool = _pixels(options, metric)
    written = Written()
    if options.output:
        from luthier.core.files.tables import write_table

        with written.answer(options.output):
            write_table(options.output, pixels.columns(), {**about, **pixels.as_dict()})
    if options.weights_out:
        from luthier.kbest.derived import derived_of
        from luthier.kbest.weights import Weights, write_weights

        best = Weights.from_vector(pool.features.names, pixels.weights, derived_of(pool))
        with written.answer(options.weights_out):
            write_weights(best, options.weights_out)
    if options.png:
        from luthier.report.figures.surface import draw_pixels

        with written.beside(options.png):
            draw_pixels(pixels, Path(options.png), picture_width(options, options.png))
    said = {**pixels.as_dict(), "written": written.paths}
    rows = [(name, str(value)) for name, value in said.items()]
    output.emit(said, lambda: table("raster", ("what", "value"), rows))
    written.check()


def _pixels(options: argparse.Namespace, metric: Metric) -> tuple[Pixels, dict[str, str], Pool]:
    """Return the raster, what it is of, and a pool with its features."""
    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.planes.pixels import pixels_of

    manifest = manifest_from(options, options.pool)
    if manifest is None:
        if options.cluster:
            raise LuthierError("--raster on a --cluster takes a sharded pool. hint: luthier data shard POOL -o DIR")
        pool = pool_from(options, options.pool)
        subspace, window = _plane(options, pool)
        problems = iter([ListProblem.of(pool, metric)])
        found = pixels_of(problems, subspace, window, options.raster, threads=options.threads)
        return found, {"pool": pool.digest()}, pool
    from luthier.kbest.shards.shard import open_shard
    from luthier.landscape.planes.pixels import sharded_pixels
    from luthier.landscape.shard_work import ShardSource

    source, pool = ShardSource(manifest, metric), open_shard(manifest, 0)  # its features are those of all
    subspace, window = _plane(options, pool)
    if options.cluster:
        with cluster_from(options) as engine:
            found = sharded_pixels(source, subspace, window, options.raster, engine=engine)
    else:
        problems = (source.problem(number) for number in source.filled)
        found = pixels_of(problems, subspace, window, options.raster, threads=options.threads)
    return found, {"pool": manifest.pool}, pool


def _plane(options: argparse.Namespace, pool: Pool) -> tuple[Subspace, Window]:
    """Return the plane and the window that were asked for."""
    from luthier.landscape.planes.pixels import read_whole_window
    from luthier.landscape.subspaces import read_subspace

    subspace = read_subspace(pool, options.weights, options.axis, expected=2)
    return subspace, read_whole_window(subspace, options.window)
