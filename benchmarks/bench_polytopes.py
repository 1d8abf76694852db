"""Vertices of all lists, edges and hard-margin points, beside a linear program of HiGHS for every row.

python benchmarks/bench_polytopes.py [--data FOLDER] [--size toy]
"""

import numpy as np

from bench_common import SIZES, cpu_seconds, machine, parse_arguments, show

SAMPLE = 20  # rows that HiGHS is asked about


def one_programme(points, row):
    """Whether some weights select a row, by HiGHS: the largest margin of a list at once."""
    from scipy.optimize import linprog

    others = np.delete(points, row, axis=0) - points[row]
    n = points.shape[1]
    return linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([others, np.ones((len(others), 1))]), b_ub=np.zeros(len(others)),
        bounds=[(-1, 1)] * n + [(0, 1)],
    ).fun < -1e-9  # fmt: skip


def bench_vertices(label, offsets, features):
    from luthier.geometry.polytopes.polytope import distinct_rows, extreme_rows_of_lists

    seconds, (_, rows) = cpu_seconds(lambda: extreme_rows_of_lists(offsets, features, threads=1), 1)
    longest = int(np.argmax(np.diff(offsets)))
    points = features[offsets[longest] : offsets[longest + 1]]
    points = points[distinct_rows(points)]
    sample = np.linspace(0, len(points) - 1, SAMPLE).astype(int)
    rival, _ = cpu_seconds(lambda: [one_programme(points, row) for row in sample], 1)
    ours, theirs = seconds / len(features), rival / SAMPLE
    return (
        label, len(features), f"{len(rows) / len(features):.1%}", f"{seconds:.2f}",
        f"{1e6 * ours:.1f}", f"{1e6 * theirs:.0f}", f"{theirs / ours:.0f}×",
    )  # fmt: skip


def bench_one_list(label, points):
    from luthier.geometry.polytopes.cone import canonical_point
    from luthier.geometry.polytopes.polytope import adjacent_vertices, extreme_rows

    vertices = extreme_rows(points)
    edges_time, edges = cpu_seconds(lambda: adjacent_vertices(points, vertices), 1)
    rows = np.delete(points, vertices[0], axis=0) - points[vertices[0]]
    rows = rows[np.any(rows != 0, axis=1)]
    point_time, _ = cpu_seconds(lambda: canonical_point(rows))
    pairs = len(vertices) * (len(vertices) - 1) // 2
    return (
        label,
        len(vertices),
        len(edges),
        f"{edges_time:.2f}",
        f"{1e6 * edges_time / pairs:.1f}",
        f"{1e3 * point_time:.2f}",
    )


def sources(arguments):
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    for sentences, k in ((150, 100), SIZES["toy"] if arguments.data else SIZES[arguments.size]):
        pool = SyntheticLists(sentences=sentences, k=k, n_features=12).generate(arguments.seed)
        yield f"{sentences} × {k} × 12", pool
    if arguments.data:
        from luthier import read_pool

        parts = [str(arguments.data / "kbest-de-en" / f"val.kbest1000.part{part}.gz") for part in (1, 2)]
        yield "De→En, 15 features", read_pool(parts)


def main():
    from luthier.core.threads import hold_blas

    hold_blas(1)
    arguments = parse_arguments(__doc__)
    print(machine())
    vertices, lists = [], []
    for label, pool in sources(arguments):
        vertices.append(bench_vertices(label, pool.offsets, np.asarray(pool.features.dense)))
        lists.append(bench_one_list(f"first of {label}", np.asarray(pool.features.dense[: pool.offsets[1]])))
    columns = ("lists", "rows", "vertices", "CPU s", "µs a row", "HiGHS µs a row", "ratio")
    show("which rows can be selected, all lists, one thread", columns, vertices)
    show("one list", ("list", "vertices", "edges", "CPU s", "µs a pair", "hard-margin point, ms"), lists)


if __name__ == "__main__":
    main()
