"""The main job on generated lists: read, inspect, re-rank, judge; it grows with the package."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.progress import notice
from luthier.core.rng import make_rng
from luthier.kbest.inspection import PoolSummary, inspect
from luthier.kbest.pool import Pool
from luthier.kbest.reading import ReadOptions, read_lists
from luthier.kbest.rerank import rerank
from luthier.kbest.reranking import write_selection
from luthier.kbest.spread import spread_in_lists
from luthier.kbest.storage import open_pool, save_pool
from luthier.kbest.synthetic import SyntheticLists, write
from luthier.kbest.weights import Weights, read_weights, write_weights
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import pool_statistics, score_selections
from luthier.report.weight_curves import draw_weight_curves

RANDOM_VECTORS = 500
CURVE_POINTS = 81


@dataclasses.dataclass(frozen=True, eq=False)
class DemoResult:
    """All that the demonstration made, for tables and for programs."""

    folder: str
    seed: int
    pool: PoolSummary
    metric: str
    rows: list[dict[str, Any]]
    picture: str
    files: list[str]

    def summary(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **{key: getattr(self, key) for key in ("folder", "seed", "metric", "rows", "picture", "files")},
            "pool": dataclasses.asdict(self.pool),
        }


def run_demo(folder: str | os.PathLike[str], *, seed: int, threads: int) -> DemoResult:
    """Make lists, read them as a user would, re-rank them by several weights, and draw what weights do."""
    home = Path(folder)
    notice(f"1. generating lists of a noisy channel into {home}/lists")
    made = write(SyntheticLists().generate(seed), home / "lists")
    notice(f"2. reading them into {home}/pool.arrow, and looking inside")
    reading = read_lists(
        [str(home / "lists" / "list.moses.gz")],
        [str(home / "lists" / "refs.0.txt")],
        str(home / "lists" / "source.txt"),
        ReadOptions(),
    )
    save_pool(reading.pool, home / "pool.arrow")
    pool = open_pool(home / "pool.arrow")
    notice("3. re-ranking by the decoder's weights, by equal ones, by each scorer alone, by random ones")
    candidates = _weights_to_compare(pool, home / "lists" / "weights.txt", seed)
    metric = load_metric("bleu")
    stats = pool_statistics(pool, metric)
    vectors = np.array(list(candidates.values()))
    selections = rerank(pool, vectors, threads=threads)
    scores = score_selections(stats, selections, metric)
    rows = _rows(list(candidates), scores, selections, pool)
    best = vectors[int(np.argmax(scores))]
    write_weights(Weights.from_vector(pool.features.names, best), home / "best-random.weights.txt")
    write_selection(pool, rerank(pool, best), str(home / "best-random.out.txt"))
    notice(f"4. drawing what each weight does to BLEU: {home}/weights.png")
    start = candidates["the decoder's"]
    positions, curves = weight_curves(pool, start, stats, metric, threads=threads)
    picture = home / "weights.png"
    draw_weight_curves(pool.features.names, start, positions, curves, picture)
    files = [
        *made,
        home / "pool.arrow",
        home / "best-random.weights.txt",
        home / "best-random.out.txt",
        picture,
    ]
    return DemoResult(
        str(home), seed, inspect(pool), metric.signature, rows, str(picture), [str(path) for path in files]
    )


def _weights_to_compare(pool: Pool, decoder: Path, seed: int) -> dict[str, Float64]:
    names = pool.features.names
    candidates = {"the decoder's": read_weights(decoder).vector(names), "all equal": np.ones(len(names))}
    for d, name in enumerate(names):
        candidates[f"{name} alone"] = np.eye(len(names))[d]
    scale = spread_in_lists(pool).clip(min=1e-12)
    drawn = np.abs(make_rng(seed).standard_normal((RANDOM_VECTORS, len(names)))) / scale
    drawn *= np.sign(candidates["the decoder's"])  # what is known beforehand: which way each scorer points
    candidates |= {f"random {i}": vector for i, vector in enumerate(drawn)}
    return candidates


def _rows(names: list[str], scores: Float64, selections: Int64, pool: Pool) -> list[dict[str, Any]]:
    """Return a row for each vector, the random ones by their best and their median."""
    rows = [
        {
            "weights": name,
            "score": float(score),
            "not_first": int(np.count_nonzero(selection != pool.offsets[:-1])),
        }
        for name, score, selection in zip(names, scores, selections, strict=True)
    ]
    fixed = [row for row in rows if not str(row["weights"]).startswith("random")]
    drawn = sorted((row for row in rows if row not in fixed), key=lambda row: -float(str(row["score"])))
    chosen = [
        {**drawn[0], "weights": f"best of {len(drawn)} random vectors"},
        {**drawn[len(drawn) // 2], "weights": f"median of {len(drawn)} random vectors"},
    ]
    return fixed + chosen


def weight_curves(pool: Pool, start: Float64, stats: Any, metric: Any, *, threads: int) -> tuple[Float64, Float64]:
    """Return the score as one weight at a time moves: positions (D, P) and scores (D, P).

    Each weight goes so far to both sides that its feature's effect is six times the mean effect of one.
    """
    spread = spread_in_lists(pool).clip(min=1e-12)
    reach = 6 * np.mean(np.abs(start) * spread) / spread  # (D,)
    positions = reach[:, None] * np.linspace(-1, 1, CURVE_POINTS)  # (D, P)
    vectors = np.repeat(start[None, None], len(start) * CURVE_POINTS, axis=0).reshape(-1, len(start))
    which = np.repeat(np.arange(len(start)), CURVE_POINTS)
    vectors[np.arange(len(vectors)), which] = positions.reshape(-1)
    scores = score_selections(stats, rerank(pool, vectors, threads=threads), metric)
    return positions, scores.reshape(positions.shape)
