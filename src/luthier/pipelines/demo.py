"""The main job on generated lists: read, inspect, bound, tune, compare, draw; it grows with the package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.progress import notice
from luthier.core.tasks import Threads
from luthier.evaluation.comparison import Settings, compare
from luthier.geometry.subspace import Subspace
from luthier.invented.lists.synthetic import SyntheticLists, write
from luthier.kbest.inspection import inspect
from luthier.kbest.pool import Pool
from luthier.kbest.reading.lists import ReadOptions, read_lists
from luthier.kbest.rerank import rerank
from luthier.kbest.reranking import write_selection
from luthier.kbest.storage import open_pool, save_pool
from luthier.kbest.weights import Weights, read_weights, write_weights
from luthier.landscape.planes.plane import Plane, read_window
from luthier.landscape.planes.surface import SurfaceOptions, SurfaceReport, look_at_plane
from luthier.landscape.planes.view import surface_scenes
from luthier.landscape.problem import Problem
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.pipelines.compare import systems_from_weights
from luthier.pipelines.scoring import pool_oracles
from luthier.report.figures.surface import draw_surface
from luthier.report.figures.weight_curves import draw_weight_curves
from luthier.report.tables.demo import DemoResult, MethodScores
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run

# Tuners shown, with parameters that keep the demonstration short.
TUNERS: dict[str, dict[str, Any]] = {
    "random": {"rounds": 5},
    "simplex": {},
    "mert": {},
    "pro": {},
    "mira-batch": {"epochs": 20},
    "expected": {},
}
REPLICAS = 3
PLANE = ("lm", "length")
CHECKED_CELLS = 200
CURVE_POINTS = 81


def run_demo(folder: str | os.PathLike[str], *, seed: int, threads: int) -> DemoResult:
    """Make lists, read them as a user would, look inside, tune in several ways, judge on unseen lists."""
    home, metric = Path(folder), load_metric("bleu")
    notice(f"1. generating lists of a noisy channel, to tune on and to test on: {home}/tune, {home}/test")
    pools, files = {}, []
    for part, part_seed in (("tune", seed), ("test", seed + 1)):
        files += write(SyntheticLists().generate(part_seed), home / part)
        pools[part] = _read(home / part, home / f"{part}.arrow")
        files.append(home / f"{part}.arrow")
    notice(f"2. reading them into {home}/tune.arrow and {home}/test.arrow; what do they hold at best?")
    oracles = pool_oracles(pools["tune"], metric, seed=seed)
    notice(f"3. tuning the decoder's weights by {', '.join(TUNERS)}: {REPLICAS} seeds each")
    start = read_weights(home / "tune" / "weights.txt").vector(pools["tune"].features.names)
    tuned, groups = _tune(pools, metric, start, home, seed=seed, threads=threads)
    best = max(tuned, key=lambda row: row.tune).weights
    notice(f"4. comparing the decoder's weights with {best}'s on the test lists")
    chosen = [[str(home / "tune" / "weights.txt")], groups[best]]
    systems, _ = systems_from_weights(pools["test"], chosen, {"bleu": metric}, threads=threads)
    comparison = compare(systems, {"bleu": metric}, Settings(seed=seed), engine=Threads(threads))
    final = read_weights(groups[best][0]).vector(pools["test"].features.names)
    write_selection(pools["test"], rerank(pools["test"], final), str(home / "test.out.txt"))
    notice(f"5. drawing what each weight does to BLEU: {home}/weights.png")
    positions, curves = weight_curves(Problem.make(pools["tune"], metric), start)
    draw_weight_curves(pools["tune"].features.names, start, positions, curves, home / "weights.png")
    notice(f"6. finding every cell of the plane of {' and '.join(PLANE)} about {best}'s weights: {home}/surface.png")
    surface = _find_surface(pools["tune"], metric, final, home / "surface.png", seed=seed, threads=threads)
    files += [Path(path) for group in groups.values() for path in group]
    files += [home / name for name in ("test.out.txt", "weights.png", "surface.png")]
    return DemoResult(
        folder=str(home),
        seed=seed,
        pool=inspect(pools["tune"]),
        metric=metric.signature,
        oracles=oracles,
        tuned=tuned,
        comparison=comparison,
        surface=surface,
        files=[str(f) for f in files],
    )


def _read(lists: Path, output: Path) -> Pool:
    reading = read_lists(
        [str(lists / "list.moses.gz")], [str(lists / "refs.0.txt")], str(lists / "source.txt"), ReadOptions()
    )
    save_pool(reading.pool, output)
    return open_pool(output)


def _tune(
    pools: dict[str, Pool], metric: Metric, start: Float64, home: Path, *, seed: int, threads: int
) -> tuple[list[MethodScores], dict[str, list[str]]]:
    """Tune by each method and seed; return a row for each method, and its files of weights."""
    problem, test = Problem.make(pools["tune"], metric), Problem.make(pools["test"], metric)
    rows = [MethodScores("the decoder's", problem.gain(start), test.gain(start))]
    groups: dict[str, list[str]] = {"the decoder's": [str(home / "tune" / "weights.txt")]}
    for name, parameters in TUNERS.items():
        results = [
            run(tuner(name, **parameters), problem, start, RunOptions(seed=seed + r, restarts=1, threads=threads))
            for r in range(REPLICAS)
        ]
        groups[name] = []
        for r, result in enumerate(results, start=1):
            groups[name].append(str(home / f"{name}.{r}.weights.txt"))
            write_weights(Weights.from_vector(problem.names, result.weights), groups[name][-1])
        on_test = [test.gain(result.weights) for result in results]
        rows.append(
            MethodScores(
                weights=name,
                tune=float(np.mean([result.gain for result in results])),
                test=float(np.mean(on_test)),
                spread=float(np.std(on_test, ddof=1)),
                seconds=float(np.mean([result.seconds[0] for result in results])),
            )
        )
    return rows, groups


def _find_surface(
    pool: Pool, metric: Metric, weights: Float64, path: Path, *, seed: int, threads: int
) -> SurfaceReport:
    """Find and draw the error surface about `weights`."""
    problem, names = Problem.make(pool, metric), pool.features.names
    subspace = Subspace(weights, np.eye(len(names))[[names.index(name) for name in PLANE]], PLANE)
    plane = Plane.make(problem, subspace, read_window(problem, subspace, []))
    report = look_at_plane(plane, SurfaceOptions(check=CHECKED_CELLS, seed=seed, threads=threads))
    draw_surface(report, surface_scenes(report, threads=threads), path)
    return report


def weight_curves(problem: Problem, start: Float64) -> tuple[Float64, Float64]:
    """Return the gain as one weight at a time moves: positions (D, P) and gains (D, P).

    Each weight goes so far to both sides that its feature's effect is six times the mean effect of one.
    """
    spread = problem.spread.clip(min=1e-12)
    reach = 6 * np.mean(np.abs(start) * spread) / spread  # (D,)
    positions = reach[:, None] * np.linspace(-1, 1, CURVE_POINTS)  # (D, P)
    vectors = np.repeat(start[None], len(start) * CURVE_POINTS, axis=0)
    which = np.repeat(np.arange(len(start)), CURVE_POINTS)
    vectors[np.arange(len(vectors)), which] = positions.reshape(-1)
    return positions, problem.gains(vectors).reshape(positions.shape)
