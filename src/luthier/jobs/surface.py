"""The score over a plane of weights: ``luthier.surface`` finds every cell, ``luthier.raster`` the score at pixels."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import Interrupted, LuthierError
from luthier.core.files.tables import write_table
from luthier.core.html import Shown
from luthier.core.params import DEFAULT_SEED, checked
from luthier.core.tasks import Engine
from luthier.evaluation.bootstrap import paired_interval
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, axes_at, cores, lists_at, pool_at, weighted
from luthier.kbest.derived import derived_of
from luthier.kbest.features import align_features
from luthier.kbest.pool import Pool
from luthier.kbest.shards.manifest import Manifest
from luthier.kbest.weights import Weights
from luthier.landscape.axes import origins
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.pixels import Pixels, pixels_of, read_whole_window, sharded_pixels
from luthier.landscape.planes.plane import Plane, read_window
from luthier.landscape.planes.robust import RobustOptimum, robust_point
from luthier.landscape.planes.surface import (
    MOST_CELLS,
    SurfaceOptions,
    SurfaceReport,
    all_columns,
    best_columns,
    look_at_plane,
)
from luthier.landscape.shard_work import ShardSource
from luthier.landscape.subspaces import read_subspace
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric

if TYPE_CHECKING:
    from luthier.landscape.certified.certificate import Proof

CHOICES = ("highest", "robust", "worst", "disc")
LEAST_NOISE, MOST_NOISE = 1e-6, 1e3


@dataclasses.dataclass(frozen=True, eq=False)
class Surface(Shown):
    """Every cell of a window, and the chosen point.

    Attributes
    ----------
    report : SurfaceReport
        Cells, scores, the optimum, the histogram; `report.record` has all cells where they were recorded.
    chosen : RobustOptimum or None
        The place that `choose` prefers to the highest score.
    proof : Proof or None
        How far the answer is from the best of the window, where `certify` asks for it.
    changes : scores before and after, with intervals, on these sentences and on held-out ones
    """

    pool: Pool
    report: SurfaceReport
    chosen: RobustOptimum | None
    proof: Proof | None
    changes: Mapping[str, Mapping[str, float]]
    seed: int
    keep: int

    @property
    def weights(self) -> Weights:
        """The weights of the answer, by name."""
        return Weights.from_vector(self.pool.features.names, _vector(self.report, self.chosen), derived_of(self.pool))

    @property
    def complete(self) -> bool:
        """Whether all cells were visited."""
        return self.report.survey.share == 1.0

    def plot(self) -> Any:
        """Return a figure of matplotlib with the score over the window, and exact cells around the optimum."""
        from luthier.landscape.planes.view import surface_scenes
        from luthier.report.figures.surface import surface_picture

        return surface_picture(self.report, surface_scenes(self.report), self.chosen)[0]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the cells themselves."""
        about = {"seed": self.seed, **self.report.as_dict(self.keep), "changes": dict(self.changes)}
        if self.chosen is not None:
            about["chosen"] = self.chosen.as_dict(origins(self.report.plane.subspace))
        if self.proof is not None:
            proof = self.proof
            about["certified"] = {"bound": proof.bound, "distance": proof.distance, "boxes": proof.boxes}
        return about

    def write_cells(self, path: str | os.PathLike[str], *, polygons: bool = False) -> None:
        """Write all recorded cells, or the best ones, as an .arrow, .tsv or .json table."""
        from luthier import __version__

        if self.report.record:
            cells = all_columns(self.report, self.pool, polygons=polygons)
        else:
            cells = best_columns(self.report, self.keep, polygons=polygons)
        about = {"luthier": __version__, "pool": self.pool.digest(), "seed": self.seed}
        write_table(path, cells, {**about, **self.report.as_dict(self.keep)})


@checked
def surface(
    pool: AnyPool,
    metric: str | Metric = "bleu",
    *,
    axis: Sequence[AnyPath],
    weights: AnyWeights | None = None,
    window: str | Sequence[str] = (),
    whole: bool = False,
    record: bool = False,
    most: int | None = None,
    keep: int = 20,
    check: int = 200,
    resamples: int | None = None,
    choose: str = "highest",
    noise: float = 0.1,
    certify: int | None = None,
    heldout: AnyPool | None = None,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    engine: Engine | None = None,
) -> Surface:
    """Find every cell of a plane of weights with its score: the whole error surface.

    Parameters
    ----------
    pool, metric
        Lists, or where they are; a metric or its name.
    axis
        Two axes: features by their names, or files of ``name value`` lines.
    weights
        w0, the origin of the plane: by name, a vector or a file (default: 1 for each feature, −1 for costs).
    window, whole
        ``"lm=-1:1"`` for one or both axes (default: about w0, as far as matters), or the whole plane.
    record, most
        Keep all cells in `report.record`, and no more than so many; otherwise the best ones and a histogram stay.
    keep, check
        How many of the best cells are described, and how many, drawn at random, are re-ranked.
    resamples
        Find the optimum on so many resamples of the sentences, too: `report.stability`. Each visits all cells again.
    choose, noise
        Which point is the answer: ``highest``, ``robust``, ``worst`` or ``disc``, under noise of the weights.
    certify
        Prove by so many boxes how far the answer is from the best of the window.
    heldout
        Unseen lists on which the answer is tried.

    Raises
    ------
    Interrupted
        If Ctrl-C is pressed while cells stream; its `result` is what was found so far.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0, 0], "hyp": ["a", "b", "c"], "lm": [1.0, 2, 0], "tm": [0.0, 1, 2], "q": [0.2, 0.5, 0.9]}
    >>> found = surface(pool_from_frame(frame, columns=["q"]), "column:q", axis=["lm", "tm"], whole=True)
    >>> found.report.survey.cells, found.report.optimum.score
    (3, 0.9)
    """
    check_at_least(keep=keep, check=check, most=most, certify=certify)
    check_choice(choose, noise)
    check_resamples(resamples)
    windows = [window] if isinstance(window, str) else list(map(str, window))
    if certify and whole and len(windows) == 1:
        raise LuthierError("a proof needs a window along both axes or along none, found `whole` and one `window`")
    threads = cores(threads)
    pool, start = weighted(pool, weights)
    problem = ListProblem.of(pool, as_metric(metric))
    subspace = read_subspace(pool, start, axes_at(axis), expected=2)
    unseen = None if heldout is None else pool_at(heldout)
    plane = Plane.make(problem, subspace, read_window(problem, subspace, windows, whole=whole), threads=threads)
    settings = SurfaceOptions(
        stream=not record,
        keep=keep,
        check=check,
        most=most or MOST_CELLS,
        resamples=resamples or 0,
        seed=seed,
        threads=threads,
    )
    report = look_at_plane(plane, settings, engine=engine)
    chosen = None if choose == "highest" else robust_point(report, choose, noise, threads=threads)
    answer = _vector(report, chosen)
    proof = _proof(plane, answer, windows, limit=certify, threads=threads, whole=whole) if certify else None
    found = _changes(problem, subspace.start, answer, unseen, problem.metric)
    result = Surface(pool, report, chosen, proof, found, seed, keep)
    if not result.complete:
        raise Interrupted(result)
    return result


def _vector(report: SurfaceReport, chosen: RobustOptimum | None) -> Float64:
    return report.weights if chosen is None else report.plane.subspace.weights(chosen.position)


def _proof(plane: Plane, answer: Float64, windows: Sequence[str], *, limit: int, threads: int, whole: bool) -> Proof:
    """Return how far an answer is from the best of the window."""
    from luthier.landscape.certified.certificate import Proof
    from luthier.landscape.certified.certify import CertifyOptions, certify
    from luthier.landscape.certified.windows import WindowOptions

    space = WindowOptions(window=tuple(windows), whole=whole and not windows).space(plane.problem, plane.subspace)
    proven = certify(plane.problem, space, answer, CertifyOptions(gap=0.0, limit=limit, threads=threads))
    return Proof.of(proven, plane.problem.gain(answer))


def _changes(
    problem: ListProblem, start: Float64, weights: Float64, heldout: Pool | None, metric: Metric
) -> dict[str, dict[str, float]]:
    """Return scores at two weight vectors with the interval of their difference: on these sentences, on held-out ones.

    Intervals are by paired bootstrap, 95 %. On the sentences on which the weights were chosen they flatter.
    """
    found = {"these": _change(problem, start, weights)}
    if heldout is not None:
        features = align_features(heldout.features, problem.names, problem.pool.features.n_dense)
        found["heldout"] = _change(ListProblem.of(heldout.with_features(features), metric), start, weights)
    return found


def _change(problem: ListProblem, start: Float64, weights: Float64) -> dict[str, float]:
    before, after = problem.metric.gain(problem.gains(np.array([start, weights]))).tolist()  # gain is its own inverse
    low, high = paired_interval(problem.metric, *problem.selected(np.array([start, weights])))
    return {"before": before, "after": after, "low": low, "high": high, "sentences": problem.n_sentences}


def check_at_least(**numbers: int | None) -> None:
    """Raise where a number of cells or boxes is too small."""
    for name, value in numbers.items():
        least = 0 if name == "check" else 1
        if value is not None and value < least:
            raise LuthierError(f"expected `{name}` of at least {least}, found {value}")


def check_choice(choose: str, noise: float) -> None:
    """Raise where a line or a plane has no such choice, or noise is out of range."""
    if choose not in CHOICES:
        raise LuthierError(f"expected to choose {', '.join(CHOICES)}, found {choose!r}")
    if not LEAST_NOISE <= noise <= MOST_NOISE:
        raise LuthierError(f"expected `noise` from {LEAST_NOISE:g} to {MOST_NOISE:g}, found {noise:g}")


def check_resamples(resamples: int | None) -> None:
    """Raise where there are too few resamples to say anything."""
    if resamples is not None and resamples < 2:
        raise LuthierError(f"expected `resamples` of at least 2, found {resamples}")


@dataclasses.dataclass(frozen=True, eq=False)
class Raster(Shown):
    """The scores at the pixels of a window, and the pool, or the shards of one, that they are of."""

    pixels: Pixels
    digest: str
    derived: Mapping[str, str]
    names: tuple[str, ...]

    @property
    def weights(self) -> Weights:
        """The weights at the best pixel's centre, by name."""
        return Weights.from_vector(self.names, self.pixels.weights, self.derived)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the pixels."""
        return self.pixels.as_dict()

    def write_pixels(self, path: str | os.PathLike[str]) -> None:
        """Write every pixel with its score, as an .arrow, .tsv or .json table."""
        write_table(path, self.pixels.columns(), {"pool": self.digest, **self.as_dict()})


@checked
def raster(
    pool: AnyPool | Manifest,
    metric: str | Metric = "bleu",
    *,
    axis: Sequence[AnyPath],
    window: Sequence[str],
    side: int,
    weights: AnyWeights | None = None,
    threads: int | None = None,
    engine: Engine | None = None,
) -> Raster:
    """Find the exact scores at the centres of `side` × `side` pixels of a window of weights.

    It finds no cells, so its time grows with the sentences only. It takes a sharded pool, too, whose shards an `engine`
    may work on. Axes, weights and windows are those of `surface`; a window has two ends along both axes.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0], "hyp": ["a", "b"], "lm": [1.0, 2], "tm": [2.0, 1], "q": [0.2, 0.5]}
    >>> lists = pool_from_frame(frame, columns=["q"])
    >>> raster(lists, "column:q", axis=["lm", "tm"], window=["lm=0:1", "tm=0:1"], side=2).pixels.scores.tolist()
    [[0.2, 0.5], [0.2, 0.2]]
    """
    found, metric, threads = lists_at(pool), as_metric(metric), cores(threads)
    if isinstance(found, Pool):
        if engine is not None:
            raise LuthierError("a raster by an engine takes a sharded pool, found a whole one. hint: data shard")
        first, digest = found, found.digest()
    else:
        from luthier.kbest.shards.shard import open_shard

        first, digest = open_shard(found, 0), found.pool  # its features are those of all
    first, start = weighted(first, weights)
    subspace = read_subspace(first, start, axes_at(axis), expected=2)
    limits = read_whole_window(subspace, list(window))
    if isinstance(found, Pool):
        pixels = pixels_of(iter([ListProblem.of(first, metric)]), subspace, limits, side, threads=threads)
    else:
        source = ShardSource(found, metric)
        if engine is not None:
            pixels = sharded_pixels(source, subspace, limits, side, engine=engine)
        else:
            problems = (source.problem(number) for number in source.filled)
            pixels = pixels_of(problems, subspace, limits, side, threads=threads)
    return Raster(pixels, digest, derived_of(first), first.features.names)
