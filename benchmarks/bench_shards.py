"""A sharded pool: what each job on it takes and sends for a sentence, and what that comes to for a million."""

import re
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench_common import machine, parse_arguments, peak_megabytes, show
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.shards.manifest import read_manifest
from luthier.kbest.shards.shard import shard
from luthier.landscape.planes.pixels import pixels_of
from luthier.landscape.shard_work import ShardSource
from luthier.landscape.sharded_problem import ShardedProblem
from luthier.metrics.loading import load_metric

SENTENCES = {"toy": 20, "paper": 400, "large": 10_000}  # the last are one per cent of a million
K, D, PARTS, PIXELS = 1000, 50, 8, 512
BLOCK = 100 * K  # rows that are drawn at a time
MILLION = 1_000_000


def made_pool(sentences, metric, seed):
    """Return lists of 1000 × 50 numbers, of which some columns say much the same, with counts as BLEU has them."""
    rng = np.random.default_rng(seed)
    m = sentences * K
    mix, dense = rng.standard_normal((8, D)), np.empty((m, D))
    for first in range(0, m, BLOCK):
        rows = dense[first : first + BLOCK]
        rows[:] = rng.standard_normal(rows.shape) + rng.standard_normal((len(rows), 8)) @ mix
    totals = rng.integers(10, 40, m)[:, None] - np.arange(4)
    matches = rng.binomial(totals, [0.6, 0.4, 0.25, 0.15])
    stats = np.column_stack([totals[:, 0], np.full(m, 22), matches, totals])
    pool = Pool(
        offsets=offsets_from_counts([K] * sentences), features=Features.from_dense([f"f{d}" for d in range(D)], dense),
        sentence_ids=Texts.from_strings(map(str, range(sentences))),
        texts=Texts(np.arange(m + 1), np.full(m, ord("x"), np.uint8)),
        tokens=Tokens(np.arange(m + 1), np.zeros(m, np.int32)), vocab=Texts.from_strings(["x"]),
    )  # fmt: skip
    return pool.with_stats(metric.signature, metric.stat_names, stats)


def made_parts(sentences, seed, folder):
    """Cut such lists into parts; return the CPU seconds that this took. In a process of its own: it holds them all."""
    pool = made_pool(sentences, load_metric("bleu"), seed)
    begin = time.process_time()
    shard(pool, PARTS, folder)
    return time.process_time() - begin


class OwnMemory(threading.Thread):
    """The most memory of this process that is no page of a file, in MB, looked at ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most = 0.0

    def run(self):
        status = Path("/proc/self/status")
        while status.exists():  # elsewhere nothing tells
            found = re.search(r"RssAnon:\s+(\d+)", status.read_text())
            self.most = max(self.most, int(found.group(1)) / 1024 if found else 0.0)
            time.sleep(0.1)


def timed(function):
    """Return the CPU seconds of a function, run once before to warm kernels, and its result."""
    function()
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result


def main():
    arguments = parse_arguments(__doc__)
    print(machine())
    metric, n = load_metric("bleu"), SENTENCES[arguments.size]
    own = OwnMemory()
    own.start()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "parts"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as maker:
            cutting = maker.submit(made_parts, n, arguments.seed, home).result()
        manifest = read_manifest(home / "manifest.json")
        n_bytes = sum(part.size for part in manifest.parts)
        problem = ShardedProblem.of(manifest, metric)
        begin = time.process_time()
        start = problem.default_start()
        problem.gain(start)
        opening = time.process_time() - begin
        rerank, _ = timed(lambda: problem.gain(start))
        sent = problem.traffic.n_bytes
        lines, curves = timed(lambda: list(problem.curves(start, np.eye(D))))
        sent = (problem.traffic.n_bytes - sent) / 2 / D
        source = ShardSource(manifest, metric)
        plane = Subspace(start, np.eye(2, D), problem.names[:2])
        raster, _ = timed(
            lambda: pixels_of(map(source.problem, source.filled), plane, Window(-1.0, 1.0, -1.0, 1.0), PIXELS)
        )
        points = sum(len(curve.breakpoints) for curve in curves) / D / n
    scale = MILLION / n
    rows = [
        ("bytes of the parts (no texts)", f"{n_bytes / n / 1e6:.2f} MB", f"{n_bytes * scale / 1e9:.0f} GB"),
        ("cutting, CPU", f"{1e3 * cutting / n:.1f} ms", f"{cutting * scale / 3600:.1f} core hours"),
        ("opening and hashing, CPU, once", f"{1e3 * opening / n:.1f} ms", f"{opening * scale / 3600:.1f} core hours"),
        ("a re-rank", f"{1e3 * rerank / n:.3f} ms", f"{rerank * scale:.0f} core s"),
        (f"all {D} axes once", f"{1e3 * lines / n:.2f} ms", f"{lines * scale:.0f} core s"),
        ("breakpoints of a direction", f"{points:.1f}", f"{points * MILLION / 1e6:.1f} million"),
        ("sent for a direction", f"{sent / n:.0f} bytes", f"{sent * scale / 1e6:.0f} MB"),
        (f"a raster of {PIXELS} × {PIXELS}", f"{1e3 * raster / n:.1f} ms", f"{raster * scale / 60:.0f} core min"),
    ]
    show(f"{n} sentences × {K} × {D} in {PARTS} parts", ("what", "a sentence", "a million sentences"), rows)
    print(
        f"{PARTS} parts of {n_bytes / PARTS / 1e6:.0f} MB; memory of its own {own.most:.0f} MB, with the pages of "
        f"mapped files, which the system takes back when it needs them, {peak_megabytes():.0f} MB"
    )


if __name__ == "__main__":
    main()
