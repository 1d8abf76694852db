"""The whole system on the synthetic language pair: corpus, alignment, models, rules, loop, test, surface."""

from __future__ import annotations

import os
from pathlib import Path

from luthier.core.arrays import Float64
from luthier.core.files.io import write_lines
from luthier.core.progress import notice
from luthier.jobs.train import train_system
from luthier.jobs.train_config import read_train_config
from luthier.jobs.trained_model import WEIGHTS
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import read_weights
from luthier.landscape.certified.certify import CertifyOptions, certify
from luthier.landscape.certified.windows import WindowOptions, feature_axes
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane, read_window
from luthier.landscape.planes.surface import SurfaceOptions, SurfaceReport, look_at_plane
from luthier.landscape.planes.view import surface_scenes
from luthier.metrics.base import Metric
from luthier.report.figures.surface import draw_surface
from luthier.report.tables.training import DemoProof, DemoResult
from luthier.synthetic.pair.pair import PairGenerator

SIZES = {"train": 10_000, "tune": 300, "heldout": 0, "test": 500}
PLANE = ("LanguageModel", "WordPenalty")
CHECKED_CELLS = 200
CERTIFIED = (*PLANE, "EgivenFCoherent")
GAP, MOST_BOXES = 0.05, 10_000
SETTINGS = """\
metric = "bleu"
seed = {seed}

[corpus]
source = "corpus/train.source.txt"
target = "corpus/train.refs.0.txt"

[tune]
source = "corpus/tune.source.txt"
refs = "corpus/tune.refs.0.txt"

[test]
source = "corpus/test.source.txt"
refs = ["corpus/test.refs.0.txt", "corpus/test.refs.1.txt", "corpus/test.refs.2.txt", "corpus/test.refs.3.txt"]

[decoder]
k = 100

[tuner]
method = "mert"

[loop]
iterations = 5
"""


def run_demo(folder: str | os.PathLike[str], *, seed: int, threads: int) -> DemoResult:
    """Make a language pair, train a system on it, tune it in a loop, test it, and find its error surface."""
    home = Path(folder)
    notice(f"making the text of two synthetic languages: {home}/corpus")
    files = PairGenerator().write(home / "corpus", **SIZES, seed=seed)
    write_lines(home / "train.toml", SETTINGS.format(seed=seed).splitlines())
    config = read_train_config(home / "train.toml", seed=seed, threads=threads)
    trained = train_system(config, str(home / "model"), threads=threads)
    notice(f"finding every cell of the plane of {' and '.join(PLANE)} on the loop's last lists: {home}/surface.png")
    lists = max((home / "model" / "loop" / "lists").glob("*.arrow"))
    problem, weights = _last_lists(home, lists, config.settings.metric)
    surface = _find_surface(problem, weights, home, seed=seed, threads=threads)
    notice("proving how far the tuned weights are from the best there are")
    certificate = certify_tuned(problem, weights, threads=threads)
    written = [home / name for name in ("train.toml", f"model/{WEIGHTS}", "model/loop/loop.png", "surface.png")]
    tuned = str(home / "model" / WEIGHTS)
    made = tuple(str(path) for path in [*files, *written])
    return DemoResult(str(home), seed, trained, surface, certificate, made, (str(lists), tuned))


def _last_lists(home: Path, lists: Path, metric: Metric) -> tuple[ListProblem, Float64]:
    """Return the problem of the loop's last lists, and the tuned weights."""
    pool = open_pool(lists)
    return ListProblem.of(pool, metric), read_weights(home / "model" / WEIGHTS).vector(pool.features.names)


def _find_surface(problem: ListProblem, weights: Float64, home: Path, *, seed: int, threads: int) -> SurfaceReport:
    """Find and draw the error surface of lists about the tuned weights."""
    subspace = feature_axes(problem, weights, PLANE)
    plane = Plane.make(problem, subspace, read_window(problem, subspace, []))
    report = look_at_plane(plane, SurfaceOptions(check=CHECKED_CELLS, seed=seed, threads=threads))
    draw_surface(report, surface_scenes(report, threads=threads), home / "surface.png")
    return report


def certify_tuned(problem: ListProblem, weights: Float64, *, threads: int) -> DemoProof:
    """Prove how far weights are from the best there are: whatever three of them are, without a window."""
    space = WindowOptions(whole=True).space(problem, feature_axes(problem, weights, CERTIFIED))
    found = certify(problem, space, weights, CertifyOptions(gap=GAP, limit=MOST_BOXES, threads=threads))
    return DemoProof(CERTIFIED, float(problem.metric.score(problem.stats[problem.select(weights)].sum(axis=0))), found)
