"""How far the best weights of a window are proven, by boxes and CPU seconds; beside it every cell of a plane.

BLEU of generated lists, or with --data of De→En, from the decoder's weights. Boxes may differ
between machines by last digits of sums.

python benchmarks/bench_certified.py [--data DIR]
"""

import time

import numpy as np

from bench_common import SIZES, argument_parser, generated_to_tune, machine, real_to_tune, show

NAMES = (
    "LanguageModel",
    "WordPenalty",
    "Glue",
    "CountEF",
    "EgivenFCoherent",
    "SampleCountF",
    "IsSingletonF",
    "IsSingletonFE",
)
# axes, reach or margin, along which axes or over what, gap, boxes at most
CASES = (
    (2, 3.0, "axes", 0.0005, 5_000), (3, 3.0, "axes", 0.001, 15_000), (4, 1.0, "principal", 0.01, 40_000),
    (5, 0.5, "principal", 0.02, 40_000), (6, 0.5, "principal", 0.02, 60_000), (6, 0.1, "span", 0.02, 100_000),
    (6, 1.0, "principal", 0.02, 400_000), (6, 0.5, "span", 0.05, 800_000), (8, 0.5, "principal", 0.02, 600_000),
    (2, 0.0, "whole", 0.01, 20_000), (3, 0.0, "whole", 0.02, 40_000), (4, 0.0, "whole", 0.02, 300_000),
)  # fmt: skip


def axes_of(problem, start, n_axes):
    """Return the subspace of the first features, by name where they are those of De→En."""
    from luthier.landscape.certified.windows import feature_axes

    names = NAMES if set(NAMES) <= set(problem.names) else problem.names
    return feature_axes(problem, start, names[:n_axes])


def mert_answer(problem, subspace):
    """Return what mert finds along the axes, from the start and 20 more."""
    from luthier.cli.main import DEFAULT_SEED
    from luthier.landscape.bounds import Bounds
    from luthier.tuning.base import tuner
    from luthier.tuning.run import RunOptions, run

    free = np.any(subspace.directions != 0, axis=0)
    ends = (np.where(free, end, subspace.start) for end in (-np.inf, np.inf))
    return run(
        tuner("mert"),
        problem.with_bounds(Bounds(*ends)),
        subspace.start,
        options=RunOptions(restarts=20, seed=DEFAULT_SEED),
    ).weights


def row_of(problem, start, case):
    """Return what one search proves."""
    from luthier.landscape.certified.certify import CertifyOptions, certify
    from luthier.landscape.certified.space import reach_space, span_space, whole_space

    n_axes, reach, kind, gap, limit = case
    subspace = axes_of(problem, start, n_axes)
    other = mert_answer(problem, subspace) if kind == "span" else start
    begin = time.process_time()
    if kind == "span":
        space = span_space(problem, subspace, other[None], reach, principal=True)
        window = f"spans mert's {problem.gain(other):.2f}, margin {reach:g}"
    elif kind == "whole":
        space, window = whole_space(problem, subspace), "none, ties aside"
    else:
        space = reach_space(problem, subspace, reach, principal=kind == "principal")
        window = f"±{reach:g}{', principal axes' if kind == 'principal' else ''}"
    found = certify(problem, space, start, CertifyOptions(gap=gap, limit=limit))
    seconds = time.process_time() - begin
    return (
        n_axes, window, f"{found.score:.4f}", f"{found.score_bound:.4f}", f"{found.distance:.4f}", found.boxes,
        f"{100 * found.open_share:.2g} %", f"{seconds:.1f}",
    )  # fmt: skip


def enumerated(problem, start):
    """Return the best score of all cells of the first window, and CPU seconds."""
    from luthier.geometry.plane.subdivision import Window
    from luthier.landscape.planes.plane import Plane
    from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane

    reach = CASES[0][1]
    begin = time.process_time()
    plane = Plane.make(problem, axes_of(problem, start, 2), Window(-reach, reach, -reach, reach))
    report = look_at_plane(plane, SurfaceOptions(stream=True, check=0))
    return f"{report.optimum.score:.4f}", report.survey.cells, f"{time.process_time() - begin:.1f}"


def main():
    from luthier.core.threads import hold_blas
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric

    hold_blas(1)
    arguments = argument_parser(__doc__, size="toy").parse_args()
    print(machine())
    pool, _, start = real_to_tune(arguments.data) if arguments.data else generated_to_tune(SIZES[arguments.size], 0)
    problem = ListProblem.of(pool, load_metric("bleu"))
    row_of(problem, start, (2, 0.01, "principal", 1.0, 40))  # kernels
    enumerated_row = enumerated(problem, start)
    rows = []
    for case in CASES:
        rows.append(row_of(problem, np.asarray(start), case))
        print(*rows[-1], flush=True)
    columns = ("weights", "window", "best BLEU", "bound", "gap proven", "boxes", "open", "CPU s")
    show("certified", columns, rows)
    show("every cell of the first window", ("best BLEU", "cells", "CPU s"), [enumerated_row])


if __name__ == "__main__":
    main()
