"""From the options of `luthier surface` to a report, and from it to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier import __version__
from luthier.core.arrays import Int64
from luthier.core.errors import LuthierError
from luthier.core.io import check_apart, check_writable
from luthier.core.segments import offsets_from_counts
from luthier.core.tables import Ragged, check_table_path, write_table
from luthier.kbest.storage import open_pool
from luthier.kbest.weights import Weights, write_weights
from luthier.landscape.planes.plane import Plane, read_window, shown_window
from luthier.landscape.planes.surface import MOST_CELLS, SurfaceOptions, SurfaceReport, look_at_plane
from luthier.landscape.planes.view import close_window, polygon_scene, window_scene
from luthier.landscape.problem import Problem
from luthier.landscape.subspaces import read_subspace
from luthier.metrics.base import Metric
from luthier.report.figures.surface import SurfaceFigure, count_of, draw_surface
from luthier.report.pictures import check_picture_path

Columns = dict[str, npt.NDArray[Any] | Ragged]


def surface_from_options(options: Any, metric: Metric) -> SurfaceReport:
    """Check all that can be checked before the work, then find the cells."""
    for name, least in (("keep", 1), ("check", 0), ("most", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise LuthierError(f"expected --{name} of at least {least}, found {value}")
    if options.polygons and not options.output:
        raise LuthierError("--polygons needs -o, the file to write them to")
    if options.output:
        check_table_path(options.output)
        check_apart(options.output, options.pool, options.weights, *options.axis)
    if options.png:
        check_picture_path(options.png)
    if options.weights_out:
        check_writable(options.weights_out)
    pool = open_pool(options.pool)
    subspace = read_subspace(pool, options.weights, options.axis, expected=2)
    problem = Problem.make(pool, metric)
    window = read_window(problem, subspace, options.window, whole=options.whole)
    settings = SurfaceOptions(
        stream=options.stream or not options.output,
        keep=options.keep,
        check=options.check,
        most=options.most or MOST_CELLS,
        seed=options.seed,
        threads=options.threads,
    )
    return look_at_plane(Plane.make(problem, subspace, window), settings)


def write_surface(report: SurfaceReport, options: Any) -> list[str]:
    """Write the cells, the picture and the best weights where asked for; return the paths."""
    if options.output:
        pool = open_pool(options.pool)
        full = np.flatnonzero(pool.list_lengths > 0)
        cells = (
            _all_columns(report, full, polygons=options.polygons)
            if report.record
            else _best_columns(report, options.keep, polygons=options.polygons)
        )
        about = {"luthier": __version__, "pool": pool.digest(), "seed": options.seed, **report.as_dict(options.keep)}
        write_table(options.output, cells, about)
    if options.png:
        draw_report(report, options.png, threads=options.threads)
    if options.weights_out:
        write_weights(Weights.from_vector(report.plane.problem.names, report.weights), options.weights_out)
    return [path for path in (options.output, options.png, options.weights_out) if path]


def _all_columns(report: SurfaceReport, full: Int64, *, polygons: bool) -> Columns:
    """Return the columns of all cells; lists have their numbers in the pool, where the `full` ones have rows."""
    record = report.record
    assert record is not None  # the caller has looked
    changed = record.change_list
    return {
        "x": record.position[:, 0],
        "y": record.position[:, 1],
        "metric": report.scores,
        "area": record.area,
        "margin": record.margin,
        "radius": record.radius,
        "representable": record.representable,
        "neighbour": record.neighbour,
        "change_list": np.where(changed < 0, -1, full[changed]),
        "change_row": record.change_row,
        **({"polygon": Ragged(*record.polygons(np.arange(len(record))))} if polygons else {}),
    }


def _best_columns(report: SurfaceReport, keep: int, *, polygons: bool) -> Columns:
    best = report.best[:keep]
    corners = [one.cell.polygon for one in best]
    return {
        "x": np.array([one.cell.position[0] for one in best]),
        "y": np.array([one.cell.position[1] for one in best]),
        "metric": np.array([one.score for one in best]),
        "area": np.array([one.cell.area for one in best]),
        "margin": np.array([one.cell.margin for one in best]),
        "radius": np.array([one.cell.radius for one in best]),
        "representable": np.array([one.representable for one in best]),
        **(
            {"polygon": Ragged(offsets_from_counts([len(c) for c in corners]), np.concatenate(corners))}
            if polygons
            else {}
        ),
    }


def draw_report(report: SurfaceReport, path: str | Path, *, threads: int = 1) -> None:
    """Draw the window, and exact cells around the optimum."""
    plane, best, metric = report.plane, report.optimum, report.plane.problem.metric
    x, y = best.cell.position.tolist()
    window = shown_window(plane, best.cell.position[None])
    scenes = [window_scene(plane, window, report.survey.cells, threads=threads)]
    close = close_window(plane, window, best.cell.position, report.survey.cells, threads=threads)
    if close is not None:
        scenes.append(polygon_scene(plane, close, threads=threads))
    histogram, axes = report.survey.histogram, plane.subspace.names
    draw_surface(
        SurfaceFigure(
            scenes=tuple(scenes),
            labels=(_label(plane, 0), _label(plane, 1)),
            metric=metric.name,
            higher_is_better=bool(metric.higher_is_better),
            start=(0.0, 0.0, report.start_score),
            best=(x, y, best.score),
            where="the window" if plane.window.bounded else "a part",
            title=f"{metric.name} over {axes[0]} × {axes[1]}: {_cells(report)}",
            bars=(histogram.edges, histogram.width, histogram.shares),
        ),
        Path(path),
    )


def _cells(report: SurfaceReport) -> str:
    """Say how many cells there are, and of what."""
    ends = np.isfinite(report.plane.window.limits)
    where = "" if ends.all() else " in a window without end" if ends.any() else " on the whole plane"
    return ("" if report.survey.share == 1.0 else "stopped after ") + f"{count_of(report.survey.cells)}{where}"


def _label(plane: Plane, axis: int) -> str:
    name = Path(plane.subspace.names[axis]).name
    symbol = "xy"[axis]
    moving = np.flatnonzero(plane.subspace.directions[axis])
    if len(moving) == 1 and plane.problem.names[moving[0]] == plane.subspace.names[axis]:
        return f"${symbol}$, added to the weight of {name} ({plane.subspace.start[moving[0]]:.4g})"
    return f"${symbol}$, times the direction {name}"
