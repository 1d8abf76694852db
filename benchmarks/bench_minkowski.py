"""Reverse search over Minkowski sums: vertices a second, one core, beside the same search with HiGHS for its LPs.

python benchmarks/bench_minkowski.py [--data FOLDER] [--seed 0]

150 generated lists × 100 hypotheses, projected to (w0, axes). Two axes: every vertex whose cone meets the
plane; more axes: the first so many, nearest to the start. The rival decides by HiGHS (highspy, one model kept
warm) which boundaries of a cone are facets, a constraint being weighed against the facets found so far
[clarkson1994]; points and parents it takes from our kernels, since these are no linear programs. It is asked
about a sample of the same vertices and must find the same children. With --data, the De→En 1000-best list.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from bench_common import machine, parse_arguments, peak_megabytes, show, unpacked_list

SENTENCES, K = 150, 100
LIMITS = {2: None, 3: 20_000, 4: 4_000}  # axes → vertices
SAMPLE = 12  # vertices that HiGHS is asked about
WARM_UP = 600


def projected(seed, n_axes):
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    spec = SyntheticLists(sentences=SENTENCES, k=K, n_features=12)
    pool = spec.generate(seed)
    start = np.array(list(spec.decoder_weights.values()))
    matrix = np.stack([start, *np.eye(len(start))[:n_axes]])
    return pool.offsets, np.ascontiguousarray(pool.features.scores(matrix).T)


def make_search(summands, **options):
    from luthier.geometry.minkowski.reverse_search import ReverseSearch

    start = np.eye(summands.n_dims)[0]
    return ReverseSearch(summands, start, limits=-start[None], order="breadth", **options)


def timed(summands, limit, **options):
    """Return the rate and the count of a search on one core, after one that warms the kernels."""
    list(make_search(summands, **options).run(WARM_UP))
    search = make_search(summands, **options)
    begin, found, deepest = time.process_time(), 0, 0
    for block in search.run(limit):
        found, deepest = found + len(block), max(deepest, int(block.depths.max()))
    seconds = time.process_time() - begin
    return found / seconds, found, deepest, seconds, search.complete


def facets_by_highs(steps, selection, inner):
    """Return an edge of each facet that leads away from the start, by linear programs."""
    import highspy

    s = steps.summands
    edges = np.concatenate([np.arange(s.edge_first[c], s.edge_first[c + 1]) for c in selection])
    rows = np.concatenate([s.directions[edges], steps.limits])
    classes = np.concatenate([s.edge_class[edges], steps.limit_classes])
    first = np.unique(classes, return_index=True)[1]
    units = rows[first] / np.linalg.norm(rows[first], axis=1)[:, None]
    depths = units @ inner
    n = units.shape[1]
    solver = highspy.Highs()
    solver.silent()
    solver.addVars(n, np.full(n, -1.0), np.ones(n))
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
    columns, found = np.arange(n, dtype=np.int32), set()

    def shoot(ray):
        gains = units @ ray
        ratios = np.where(gains > 1e-13, depths / np.where(gains > 1e-13, gains, 1.0), np.inf)
        hit = int(np.argmin(ratios))
        new = hit not in found
        if new:
            found.add(hit)
            solver.addRow(-highspy.kHighsInf, 0.0, n, columns, units[hit])
        return new

    for axis in range(2 * n):
        shoot(np.where(np.arange(n) == axis // 2, (-1.0) ** axis, 0.1))
    for j in range(len(units)):
        while j not in found:
            solver.changeColsCost(n, columns, units[j])
            solver.run()
            if solver.getInfo().objective_function_value <= 1e-9:
                break
            if not shoot(np.array(solver.getSolution().col_value)):
                found.add(j)
    facets = first[sorted(found)]
    facets = facets[facets < len(edges)]
    facets = facets[(rows[facets] @ steps.goal < 0) & ~np.isin(classes[facets], steps.limit_classes)]
    return edges[facets[np.argsort(classes[facets])]]


def beside_highs(summands, rng):
    """Return seconds a vertex: ours, ours without the shortcut, HiGHS; all must find the same children."""
    from luthier.geometry.minkowski.search_steps import Steps

    class ByHighs(Steps):
        def facets(self, selections, inner):
            found = [facets_by_highs(self, *vertex) for vertex in zip(selections, inner, strict=True)]
            return np.repeat(np.arange(len(found)), [len(part) for part in found]), np.concatenate(found)

    search = make_search(summands)
    list(search.run(3000))
    asked = search.frontier.pop(256)
    chosen = rng.choice(len(asked["number"]), SAMPLE, replace=False)
    start = np.eye(summands.n_dims)[0]
    answers, seconds = [], []
    for kind, shortcut, which, repeats in (
        (Steps, True, slice(None), 20), (Steps, False, slice(None), 3), (ByHighs, False, chosen, 1),
    ):  # fmt: skip
        steps = kind(summands, start, limits=-start[None], shortcut=shortcut)
        selections = asked["local"][which].astype(np.int64) + summands.corner_first[:-1]
        best = np.inf
        for _ in range(repeats):
            begin = time.process_time()
            children, _ = steps.children(selections, asked["inner"][which], None, 1)
            best = min(best, (time.process_time() - begin) / len(selections))
        seconds.append(best)
        numbers = np.arange(len(asked["number"]))[which][children.owners]
        keep = np.isin(numbers, chosen)
        answers.append(
            sorted(zip(numbers[keep].tolist(), search.keys(children.selections[keep]).tolist(), strict=True))
        )
    assert answers[0] == answers[1] == answers[2], "the rival found other children"
    return seconds


def bench_generated(seed):
    from luthier.geometry.minkowski.summands import Summands

    rows, ratios = [], []
    for n_axes, limit in LIMITS.items():
        offsets, features = projected(seed, n_axes)
        begin = time.process_time()
        summands = Summands.of(offsets, features)
        ready = time.process_time() - begin
        rate, found, deepest, seconds, complete = timed(summands, limit)
        rows.append((
            n_axes + 1, f"{len(summands.corner_rows):,}", f"{ready:.1f}", found, "yes" if complete else "", deepest,
            f"{seconds:.1f}", f"{rate:,.0f}",
        ))  # fmt: skip
        ours, general, highs = beside_highs(summands, np.random.default_rng(seed))
        ratios.append((
            n_axes + 1, f"{1e6 * ours:.0f}", f"{1e6 * general:.0f}", f"{1e6 * highs:,.0f}", f"{highs / ours:,.0f}×",
            f"{highs / general:,.0f}×",
        ))  # fmt: skip
    columns = ("D", "corners", "hulls, CPU s", "vertices", "all", "depth", "CPU s", "vertices/s")
    show(f"Reverse search, {SENTENCES} × {K}, breadth-first ({machine()})", columns, rows)
    columns = ("D", "ours", "ours, general", "HiGHS", "ratio", "ratio of general")
    show("CPU µs for a vertex and its children", columns, ratios)
    print(f"peak memory {peak_megabytes():.0f} MB")


def bench_real(data):
    from luthier import read_pool
    from luthier.geometry.minkowski.summands import Summands

    named = dict(line.split() for line in (data / "kbest-de-en" / "weights.final").read_text().splitlines())
    with tempfile.TemporaryDirectory() as folder:
        pool = read_pool(unpacked_list(data, Path(folder)))
    names = pool.features.names
    matrix = np.zeros((3, len(names)))
    matrix[0] = [float(named[name]) for name in names]
    for row, start in ((1, "LanguageModel"), (2, "WordPenalty")):
        matrix[row, next(d for d, name in enumerate(names) if name.startswith(start))] = 1.0
    begin = time.process_time()
    summands = Summands.of(pool.offsets, np.ascontiguousarray(pool.features.scores(matrix).T))
    ready = time.process_time() - begin
    rate, found, deepest, seconds, _ = timed(summands, 20_000)
    columns = ("lists", "corners", "hulls, CPU s", "vertices", "depth", "CPU s", "vertices/s")
    row = (
        len(summands.active),
        len(summands.corner_rows),
        f"{ready:.1f}",
        found,
        deepest,
        f"{seconds:.1f}",
        f"{rate:,.0f}",
    )
    show("De→En, LanguageModel × WordPenalty, the nearest to the decoder's weights", columns, [row])


if __name__ == "__main__":
    arguments = parse_arguments(__doc__)
    bench_generated(arguments.seed)
    if arguments.data is not None:
        bench_real(arguments.data)
