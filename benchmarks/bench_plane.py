"""Every cell of a plane with its BLEU: seconds, cells a second, memory, beside the limits and re-ranking each cell.

python benchmarks/bench_plane.py [--size toy] [--data FOLDER] [--seed 0]

Generated lists of 12 features, 150 × 100 and (unless --size toy) 1500 × 1000: the plane of the first two features, a
window of five times the start weight to both sides. With --data the De→En 1000-best list: LanguageModel ×
WordPenalty, ±3 about the decoder's weights. Each case runs in a process of its own that opens a saved pool; its
peak memory is that process's, the pool and BLEU's statistics included ("before" is the peak with these alone).
The rival re-ranks the lists once for every cell: its rate is measured on some dozens of vectors at once, and it would
still have to know where the cells are.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench_common import in_fresh_process, machine, parse_arguments, peak_megabytes, show, unpacked_list

CASES = {"toy": (150, 100), "paper": (1500, 1000)}
LIMITS = {"toy": 1.5, "paper": 100.0, "de-en": 25.0}  # CPU seconds, faces included
MEMORY_LIMIT = 2048  # MB
HALF_WIDTH = 5.0
SAMPLE, REPEATS, VECTORS = 200, 3, 64


def measure(case, path, weights, axes, window):
    """Print, as JSON, what it takes to pass by every cell."""
    from luthier.geometry.plane.subdivision import Window
    from luthier.kbest.rerank import rerank
    from luthier.kbest.storage.pool_file import open_pool
    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.planes.plane import Plane
    from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
    from luthier.landscape.subspaces import read_subspace
    from luthier.metrics.loading import load_metric

    pool = open_pool(path)
    subspace = read_subspace(pool, weights, axes)
    problem = ListProblem.of(pool, load_metric("bleu"))
    ready = peak_megabytes()
    small = ListProblem.of(pool.take_sentences(np.arange(3)), problem.metric)
    look_at_plane(Plane.make(small, subspace, Window(*window)), SurfaceOptions(check=1))  # warm
    runs = []
    for _ in range(1 if case == "paper" else REPEATS):
        cpu, wall = time.process_time(), time.perf_counter()
        plane = Plane.make(problem, subspace, Window(*window))
        faces = int(plane.overlay.faces.counts.sum())
        built = time.process_time() - cpu
        report = look_at_plane(plane, SurfaceOptions(threads=1, check=0))
        runs.append((time.process_time() - cpu, built, time.perf_counter() - wall))
    peak = peak_megabytes()
    rng = np.random.default_rng(0)
    low, high = np.array(window[::2]), np.array(window[1::2])
    cpu = time.process_time()
    rerank(problem.pool, subspace.weights(rng.uniform(low, high, size=(VECTORS, 2))))
    rival = VECTORS / (time.process_time() - cpu)
    checked = look_at_plane(plane, SurfaceOptions(check=SAMPLE)).check if case != "paper" else None
    total, built, wall = min(runs)
    print(json.dumps({
        "cells": report.survey.cells, "faces": faces, "built": built, "cpu": total, "wall": wall, "ready": ready,
        "peak": peak, "rival": rival, "start": report.start_score, "best": report.optimum.score,
        "checked": None if checked is None else [checked.tried, checked.representable, checked.agreed, checked.wrong],
    }))  # fmt: skip


def generated(case, folder, seed):
    """Write a pool and its weights; return what `measure` wants."""
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    sentences, k = CASES[case]
    spec = SyntheticLists(sentences=sentences, k=k, n_features=12)
    save_pool(spec.generate(seed), folder / f"{case}.arrow")
    weights = folder / f"{case}.weights.txt"
    weights.write_text("".join(f"{name} {value}\n" for name, value in spec.decoder_weights.items()))
    axes = list(spec.decoder_weights)[:2]
    reach = [HALF_WIDTH * abs(spec.decoder_weights[axis]) for axis in axes]
    return [folder / f"{case}.arrow", weights, axes, [-reach[0], reach[0], -reach[1], reach[1]]]


def real(data, folder):
    """Read the De→En list into a pool; return what `measure` wants."""
    from luthier import read_pool
    from luthier.kbest.storage.pool_file import save_pool

    pool = read_pool(unpacked_list(data, folder), refs=[str(data / "multi30k" / "val.en.gz")])
    save_pool(pool, folder / "de-en.arrow")
    axes = ["LanguageModel", "WordPenalty"]
    return [folder / "de-en.arrow", data / "kbest-de-en" / "weights.final", axes, [-3.0, 3.0, -3.0, 3.0]]


def bench(arguments):
    cases = ["toy"] if arguments.size == "toy" else list(CASES)
    columns = (
        "lists", "cells", "faces", "faces, s", "CPU s", "limit", "share of it", "cells/s", "re-ranks/s", "ratio",
        "peak MB", "limit", "before",
    )  # fmt: skip
    rows, notes = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in [*cases, *(["de-en"] if arguments.data else [])]:
            job = real(arguments.data, folder) if case == "de-en" else generated(case, folder, arguments.seed)
            found = in_fresh_process(__file__, "--measure", json.dumps([case, *job], default=str))
            rate, limit = found["cells"] / found["cpu"], LIMITS[case]
            rows.append((
                case, f"{found['cells']:,}", f"{found['faces']:,}", f"{found['built']:.2f}", f"{found['cpu']:.2f}",
                f"{limit:g}", f"{found['cpu'] / limit:.2f}", f"{rate:,.0f}", f"{found['rival']:,.0f}",
                f"{rate / found['rival']:,.0f}×", f"{found['peak']:,.0f}", f"{MEMORY_LIMIT:,}",
                f"{found['ready']:,.0f}",
            ))  # fmt: skip
            notes.append(f"{case}: BLEU {found['start']:.2f} at w0, {found['best']:.2f} at best; " + (
                "re-ranked, certain, agreed, wrong: {} {} {} {}".format(*found["checked"]) if found["checked"] else ""
            ))  # fmt: skip
    show(f"Every cell of a plane, streamed, one core ({machine()})", columns, rows)
    print("\n".join(notes))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*json.loads(sys.argv[2]))
    else:
        bench(parse_arguments(__doc__))
