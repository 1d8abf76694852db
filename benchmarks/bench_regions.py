"""The region of the optimum over resamples, along a line and over a plane: CPU seconds beside the curve or the cells.

python benchmarks/bench_regions.py [--size toy] [--data FOLDER] [--seed 0]

Generated lists of 12 features; with --data the De→En 1000-best list about the decoder's weights. 200 resamples along
the first axis, 32 over a window of both.
"""

import time

from bench_common import SIZES, generated_to_tune, machine, parse_arguments, real_to_tune, show

LINE, PLANE = 200, 32
LIMITS = 0.5, 0.3  # CPU seconds of a line; µs of a plane per cell and resample


def bench(label, pool, weights, axes, share):
    from luthier.geometry.plane.subdivision import Window
    from luthier.landscape.lines.stability import line_stability
    from luthier.landscape.list_problem import ListProblem
    from luthier.landscape.planes.plane import Plane
    from luthier.landscape.planes.stability import plane_stability
    from luthier.landscape.subspaces import Subspace

    problem = ListProblem.of(pool, "bleu")
    columns = [problem.index(axis) for axis in axes]
    units = [weights * 0, weights * 0]
    for unit, column in zip(units, columns, strict=True):
        unit[column] = 1.0
    line = Subspace(weights, units[0][None], (axes[0],))
    line_stability(problem, line, resamples=2)  # lists made ready for lines
    clock = time.process_time()
    line_stability(problem, line, resamples=LINE)
    along = time.process_time() - clock
    reach = [share * abs(weights[column]) for column in columns]
    window = Window(-reach[0], reach[0], -reach[1], reach[1])
    plane = Plane.make(problem, Subspace(weights, np.array(units), tuple(axes)), window)
    cells = plane.overlay.count()
    clock = time.process_time()
    plane_stability(plane, resamples=PLANE)
    over = (time.process_time() - clock) / cells / PLANE * 1e6
    return label, f"{along:.2f}", f"{LIMITS[0]:g}", f"{cells:,}", f"{over:.2f}", f"{LIMITS[1]:g}"


def main():
    from luthier.core.threads import hold_blas

    hold_blas(1)
    arguments = parse_arguments(__doc__)
    tune, _, start = generated_to_tune(SIZES[arguments.size], arguments.seed)
    rows = [bench(f"generated, {arguments.size}", tune, start, list(tune.features.names[:2]), 5.0)]
    if arguments.data:
        tune, _, final = real_to_tune(arguments.data)
        rows.append(bench("De→En", tune, final, ["LanguageModel", "WordPenalty"], 0.1))
    columns = ("lists", f"line, {LINE} resamples, CPU s", "limit", "cells", "plane, µs per cell and resample", "limit")
    show(f"regions of the optimum, BLEU, one core ({machine()})", columns, rows)


if __name__ == "__main__":
    import numpy as np

    main()
