"""The whole error surface over a plane of weights: every cell counted and scored, the best found, some re-ranked.

On a cell all lists select one row each, so the metric is constant there. The cells of a plane are finitely many and
all of them are found, each once [waite2015]: nothing is sampled. *Recorded*, each has a row in a table; *streamed*,
they pass by, and a histogram, the best and a fair sample stay.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.files.tables import Ragged
from luthier.core.jit import Stopwatch
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.segments import offsets_from_counts
from luthier.core.tasks import Engine
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.cells import Cell
from luthier.geometry.plane.raster import raster
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.landscape.axes import axes_of, origins
from luthier.landscape.planes.plane import Plane, shown_window
from luthier.landscape.planes.stability import PlaneStability, plane_stability
from luthier.landscape.planes.survey import KEPT_AT_LEAST, Survey, SurveyOptions, survey

CELLS_AT_ONCE = 256


@dataclasses.dataclass(frozen=True)
class Check:
    """How many cells were re-ranked, and with what outcome.

    Attributes
    ----------
    representable : int
        Cells that a re-rank is certain to find, in spite of rounding.
    agreed, wrong : int
        Of these, the ones at which every list selects what the cell says, and the others. There are no others, or
        there is a mistake in this program.
    lucky : int
        Of the cells that are not certain, those at which every list selects it all the same.
    """

    tried: int = 0
    representable: int = 0
    agreed: int = 0
    wrong: int = 0
    lucky: int = 0


def check_cells(plane: Plane, keys: Int64, recorded: tuple[Float64, Bool] | None = None, *, threads: int = 1) -> Check:
    """Re-rank the lists inside the cells of some keys, (n, 2).

    `recorded` is where, (n, 2), and whether that is certain to find them, (n,); by default the cells say both.
    """
    found = Check()
    with progress("re-ranking cells", len(keys)) as advance:
        for first in range(0, len(keys), CELLS_AT_ONCE):
            part = slice(first, first + CELLS_AT_ONCE)
            cells = list(plane.overlay.cells(keys[part]))
            if recorded is None:
                positions, certain = np.array([cell.position for cell in cells]), certain_cells(plane, cells)
            else:
                positions, certain = recorded[0][part], recorded[1][part]
            selected = rerank(plane.problem.pool, plane.subspace.weights(positions), threads=threads)  # (W, N)
            agrees = np.all(selected == np.array([cell.selection for cell in cells]), axis=1)
            found = _plus(found, agrees, certain)
            advance(len(cells))
    return found


def certain_cells(plane: Plane, cells: list[Cell]) -> Bool:
    """Return which cells a re-rank is certain to find."""
    positions: Float64 = np.array([cell.position for cell in cells]).reshape(-1, 2)
    sums = np.array([plane.judge.columns[cell.selection].sum(axis=0) for cell in cells]).reshape(-1, 2)
    return plane.judge.judge(positions, np.array([cell.radius for cell in cells]), sums)


def _plus(so_far: Check, agrees: Bool, certain: Bool) -> Check:
    return Check(
        tried=so_far.tried + len(agrees),
        representable=so_far.representable + int(certain.sum()),
        agreed=so_far.agreed + int(np.sum(agrees & certain)),
        wrong=so_far.wrong + int(np.sum(~agrees & certain)),
        lucky=so_far.lucky + int(np.sum(agrees & ~certain)),
    )


MOST_CELLS = 4_000_000  # that are recorded: some 400 bytes of memory each
BINS = 100  # about so many bins between the scores that a coarse raster shows
PROBES = 24
ON_BORDER = 1e-12  # of a corner on the window's border


@dataclasses.dataclass(frozen=True)
class SurfaceOptions:
    """How a surface is looked at.

    Attributes
    ----------
    stream : bool
        Do not record the cells.
    keep : int
        How many of the best cells are described.
    check : int
        How many cells, drawn at random, are re-ranked.
    most : int
        More cells than these are not recorded.
    resamples : int
        Resamples of the sentences on which the optimum is found again; 0 for none.
    """

    stream: bool = True
    keep: int = 20
    check: int = 200
    most: int = MOST_CELLS
    resamples: int = 0
    seed: int = 0
    threads: int = 1


@dataclasses.dataclass(frozen=True, eq=False)
class SurfaceCell:
    """A cell with its polygon, its score, and whether floating-point weights reach it for certain."""

    cell: Cell
    score: float
    representable: bool

    def as_dict(self, origin: Float64) -> dict[str, Any]:
        """Return it for JSON, places as `origin`, (2,), has them; what is infinite is None."""
        x, y = (self.cell.position + origin).tolist()
        numbers = {
            "score": self.score,
            "x": x,
            "y": y,
            "area": self.cell.area,
            "radius": self.cell.radius,
        }
        return {
            **{name: value if np.isfinite(value) else None for name, value in numbers.items()},
            "offset": self.cell.position.tolist(),
            "representable": self.representable,
            "polygon": [
                [value if np.isfinite(value) else None for value in corner]
                for corner in (self.cell.polygon + origin).tolist()
            ],
        }


@dataclasses.dataclass(frozen=True, eq=False)
class SurfaceReport:
    """What was found on a plane.

    Attributes
    ----------
    plane : Plane
    survey : Survey
    start_score : float
        At w0, by re-ranking.
    best : the best cells, as many as were wanted and those that are as good as the last; the best first, if scores are
        equal the one with the most room
    check : Check
        Of cells drawn at random.
    record : Arrangement, optional
        All cells, where they are recorded.
    seconds : float
    stability : where the optimum is on resamples of the sentences; None without them
    """

    plane: Plane
    survey: Survey
    start_score: float
    best: tuple[SurfaceCell, ...]
    check: Check
    record: Arrangement | None
    seconds: float
    stability: PlaneStability | None = None

    @property
    def optimum(self) -> SurfaceCell:
        """The best cell that floating-point weights reach for certain; if none is, the best."""
        return next((cell for cell in self.best if cell.representable), self.best[0])

    @property
    def cut(self) -> tuple[str, ...]:
        """The axes at whose ends the window cuts the optimum's cell: better ones may lie beyond."""
        corners, ends = self.optimum.cell.polygon, np.array(self.plane.window.limits).reshape(2, 2)
        at_end = np.isclose(corners[:, :, None], ends, rtol=ON_BORDER, atol=0.0) & np.isfinite(ends)
        return tuple(np.array(self.plane.subspace.names)[at_end.any(axis=(0, 2))].tolist())

    @property
    def weights(self) -> Float64:
        """The weights of the optimum, (D,)."""
        return self.plane.subspace.weights(self.optimum.cell.position)

    @functools.cached_property
    def scores(self) -> Float64:
        """The score of every recorded cell, (n,)."""
        return np.zeros(0) if self.record is None else self.plane.score(self.record.sums)

    @property
    def worst(self) -> float:
        """The worst score of all cells."""
        return float(self.survey.extremes[0 if self.plane.problem.metric.higher_is_better else 1])

    @property
    def distinct_scores(self) -> int | None:
        """How many different scores there are, where the cells are recorded."""
        return None if self.record is None else len(np.unique(self.scores[self.record.sized]))

    @property
    def unrepresentable(self) -> int | None:
        """How many cells with an area floating-point weights do not reach for certain, where the cells are recorded."""
        return None if self.record is None else int(np.sum(self.record.sized & ~self.record.representable))

    def as_dict(self, keep: int = 20) -> dict[str, Any]:
        """Return the report for JSON, without the cells themselves, but with the first `keep` of the best ones."""
        problem, subspace = self.plane.problem, self.plane.subspace
        counts = self.plane.overlay.faces.counts
        origin = origins(subspace)
        ends = np.array(self.plane.window.limits) + np.repeat(origin, 2)
        x_low, x_high, y_low, y_high = (end if np.isfinite(end) else None for end in ends.tolist())
        return {
            "metric": problem.metric.signature,
            "axes": list(subspace.names),
            "axes_show": [axis.kind for axis in axes_of(subspace)],
            "window": {subspace.names[0]: [x_low, x_high], subspace.names[1]: [y_low, y_high]},
            "start_weights": dict(zip(problem.names, subspace.start.tolist(), strict=True)),
            "cells": self.survey.cells,
            "without_area": self.survey.without_area,
            "complete": self.survey.share == 1.0,
            "walked": self.survey.share,
            "faces": {"least": int(counts.min()), "most": int(counts.max()), "mean": float(counts.mean())},
            "distinct_scores": self.distinct_scores,
            "unrepresentable": self.unrepresentable,
            "start": self.start_score,
            "worst": self.worst,
            "optimum": {
                **self.optimum.as_dict(origin),
                "cut_by_window": list(self.cut),
                "weights": dict(zip(problem.names, self.weights.tolist(), strict=True)),
            },
            "best": [cell.as_dict(origin) for cell in self.best[:keep]],
            "histogram": self.survey.histogram.as_dict(),
            "check": dataclasses.asdict(self.check),
            **({} if self.stability is None else {"stability": self.stability.as_dict(origin)}),
        }


def look_at_plane(plane: Plane, options: SurfaceOptions, *, engine: Engine | None = None) -> SurfaceReport:
    """Find every cell of a plane's window; Ctrl-C ends a stream early, and the report says so.

    An engine passes by the cells; by default it is threads of this process.
    """
    stopwatch, problem = Stopwatch(), plane.problem
    found = survey(
        plane.overlay,
        problem,
        SurveyOptions(
            width=bin_width(plane, threads=options.threads),
            keep=options.keep,
            sample=options.check if options.stream else 0,
            most=None if options.stream else options.most,
            seed=options.seed,
            threads=options.threads,
        ),
        engine=engine,
    )
    record = None
    if not options.stream:
        if found.share < 1.0:  # a table of all cells is whole or is not
            raise KeyboardInterrupt
        record = Arrangement.make(plane.overlay, problem.stats, judge=plane.judge, threads=options.threads)
    moved = None
    if options.resamples and found.share == 1.0:
        moved = plane_stability(plane, resamples=options.resamples, seed=options.seed, threads=options.threads)
    return SurfaceReport(
        plane=plane,
        survey=found,
        start_score=float(problem.metric.gain(np.array(problem.gain(plane.subspace.start)))),
        best=_describe(plane, *_best_keys(plane, found, record, options.keep), options.keep),
        check=_check(plane, found, record, options),
        record=record,
        seconds=stopwatch.seconds()[1],
        stability=moved,
    )


def _check(plane: Plane, found: Survey, record: Arrangement | None, options: SurfaceOptions) -> Check:
    """Re-rank cells drawn at random: of all that are recorded, or of all that visited."""
    if record is None:
        return check_cells(plane, found.sample.keys, threads=options.threads)
    sized = np.flatnonzero(record.sized)
    drawn = make_rng(options.seed).choice(len(sized), size=min(options.check, len(sized)), replace=False)
    tried = sized[np.sort(drawn)]
    recorded = record.position[tried], record.representable[tried]
    return check_cells(plane, record.keys[tried], recorded, threads=options.threads)


def bin_width(plane: Plane, *, threads: int = 1) -> float:
    """Return a round width for bins of scores: about `BINS` of them between those that a coarse raster shows."""
    x_low, x_high, y_low, y_high = shown_window(plane, np.zeros((1, 2))).limits
    share, rows = (np.arange(PROBES) + 0.5) / PROBES, plane.overlay.rows
    sums = raster(
        np.searchsorted(rows, plane.problem.offsets),
        plane.points[rows],
        plane.problem.stats[rows],
        x_low + share * (x_high - x_low),
        y_low + share * (y_high - y_low),
        threads=threads,
    )
    scores = plane.score(sums)
    spread = float(scores.max() - scores.min())
    return float(10.0 ** np.floor(np.log10(spread / BINS * 2))) if spread > 0.0 else 1.0


def _best_keys(plane: Plane, found: Survey, record: Arrangement | None, keep: int) -> tuple[Int64, Float64]:
    """Return keys and gains of the best cells; where all are recorded, the roomiest come first if gains are equal."""
    if record is None:
        return found.best.keys, found.best.gains
    gains = plane.problem.metric.gain(plane.score(record.sums))
    order = np.lexsort((-record.radius, ~record.representable, -gains, ~record.sized))
    order = order[: min(max(keep, KEPT_AT_LEAST), int(record.sized.sum()))]
    return record.keys[order], gains[order]


def _describe(plane: Plane, keys: Int64, gains: Float64, keep: int) -> tuple[SurfaceCell, ...]:
    """Return the first `keep` cells and those that are as good; where none is certain, all. Gains fall.

    If gains are equal, certain cells come first, and the roomiest of these.
    """
    last = int(np.searchsorted(-gains, -gains[: max(keep, 1)][-1], side="right")) if len(gains) else 0
    cells = list(plane.overlay.cells(keys[:last]))
    certain = certain_cells(plane, cells)
    if last < len(keys) and not certain.any():
        return _describe(plane, keys, gains, len(keys))
    gains = gains[:last]
    scores = plane.problem.metric.gain(gains)
    radii = np.array([cell.radius for cell in cells])
    order = np.lexsort((-radii, ~certain, -gains))
    return tuple(SurfaceCell(cells[i], float(scores[i]), bool(certain[i])) for i in order)


# Cells of a plane as columns of a table: all that are recorded, or the best ones.

Columns = dict[str, npt.NDArray[Any] | Ragged]


def all_columns(report: SurfaceReport, pool: Pool, *, polygons: bool) -> Columns:
    """Return the columns of all cells; lists have their numbers in the pool, whose empty ones the report left out."""
    record = report.record
    assert record is not None  # the caller has looked
    origin = origins(report.plane.subspace)
    changed, sentences = record.change_list, np.flatnonzero(pool.list_lengths > 0)
    offsets, corners = record.polygons(np.arange(len(record) if polygons else 0))
    return {
        "x": record.position[:, 0] + origin[0],
        "y": record.position[:, 1] + origin[1],
        "metric": report.scores,
        "area": record.area,
        "margin": record.margin,
        "radius": record.radius,
        "representable": record.representable,
        "neighbour": record.neighbour,
        "change_list": np.where(changed < 0, -1, sentences[changed]),
        "change_row": record.change_row,
        **({"polygon": Ragged(offsets, corners + origin)} if polygons else {}),
    }


def best_columns(report: SurfaceReport, keep: int, *, polygons: bool) -> Columns:
    """Return the columns of the best cells alone."""
    best = report.best[:keep]
    origin = origins(report.plane.subspace)
    corners = [one.cell.polygon + origin for one in best]
    return {
        "x": np.array([one.cell.position[0] for one in best]) + origin[0],
        "y": np.array([one.cell.position[1] for one in best]) + origin[1],
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
