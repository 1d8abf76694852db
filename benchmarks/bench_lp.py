"""Linear programs in few unknowns a second, beside HiGHS; facets of cones; joint feasibility of a selection.

python benchmarks/bench_lp.py [--size paper] [--data FOLDER] [--seed 0] [--many N [--columns D]]

The programmes: 750 random half-spaces around the origin, a box far outside, many objectives. HiGHS (highspy,
where it is installed) keeps its model and starts each objective from the last basis; scipy's linprog starts
anew. The optima are compared. Feasibility: can one vector of 12 weights select given rows of all lists at
once? Beside it the time of one re-rank, which has to look at the same numbers once. With --data also on the
De→En 1000-best list. With --many N only this: N lists of N rows over N features (or D), 20 of them in a row, by floats
that are checked without rounding; rows that some weights select, the same after noise, and rows at random, of all lists
and of so few that some weights nearly select them.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from bench_common import SIZES, argument_parser, cpu_seconds, machine, peak_megabytes, show, unpacked_list

ROWS, OBJECTIVES, BOX = 750, 2000, 1e4


def half_spaces(d, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((ROWS, d))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    return rows, 1.0 + 0.1 * rng.random(ROWS), rng.standard_normal((OBJECTIVES, d))


def highs_warm(rows, limits, objectives):
    """Return the optima by HiGHS, one model for all; None if it is not there."""
    try:
        import highspy
    except ImportError:
        return None
    m, d = rows.shape
    columns = np.arange(d, dtype=np.int32)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.addVars(d, np.full(d, -BOX), np.full(d, BOX))
    starts = np.arange(0, m * d, d, dtype=np.int32)
    below = np.full(m, -highspy.kHighsInf)
    solver.addRows(m, below, limits, rows.size, starts, np.tile(columns, m), rows.ravel())
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
    values = []
    for objective in objectives:
        solver.changeColsCost(d, columns, objective)
        solver.run()
        values.append(solver.getInfo().objective_function_value)
    return np.array(values)


def by_linprog(rows, limits, objectives):
    from scipy.optimize import linprog

    return np.array([-linprog(-c, A_ub=rows, b_ub=limits, bounds=(-BOX, BOX)).fun for c in objectives])


def bench_programmes(seed):
    from luthier.geometry.lp.lp import maximize

    table = []
    for d in (3, 4, 5, 12):
        rows, limits, objectives = half_spaces(d, seed)
        ours, optima = cpu_seconds(lambda p=(rows, limits, objectives): maximize(*p, box=BOX), repeats=5)
        rate = OBJECTIVES / ours
        cells = [d, f"{rate:,.0f}", f"{optima.pivots.mean():.1f}", int(np.count_nonzero(optima.pivots < 0))]
        for solve, n in ((highs_warm, 100), (by_linprog, 20)):
            theirs, values = cpu_seconds(lambda p=(rows, limits, objectives[:n]), f=solve: f(*p), repeats=2)
            if values is None:
                cells += ["highspy is not installed", ""]
                continue
            np.testing.assert_allclose(values, optima.values[:n], rtol=1e-6)
            cells += [f"{n / theirs:,.0f}", f"{rate * theirs / n:,.0f}×"]
        table.append(cells)
    columns = ("unknowns", "ours", "pivots", "given up", "HiGHS, warm", "ratio", "linprog", "ratio")
    show(f"Programmes a second, {ROWS} rows, one core ({machine()})", columns, table)


def bench_facets(seed):
    from luthier.geometry.lp.lp import irredundant, maximize

    table = []
    for d, m in ((3, 300), (3, 1500), (5, 750), (12, 300)):
        rng = np.random.default_rng(seed)
        rows, inside = rng.standard_normal((m, d)), rng.standard_normal(d)
        rows *= -np.sign(rows @ inside)[:, None]
        ours, facets = cpu_seconds(lambda p=(rows, inside): irredundant(*p), repeats=5)

        def one_each(rows=rows, m=m):
            return [maximize(np.delete(rows, i, 0), np.zeros(m - 1), rows[i]).values[0] > 1e-9 for i in range(m)]

        slow, expected = cpu_seconds(one_each, repeats=1)
        assert facets.tolist() == expected
        table.append((d, m, int(facets.sum()), f"{1e3 * ours:.2f}", f"{1e3 * slow:.1f}", f"{slow / ours:.0f}×"))
    columns = ("unknowns", "rows", "facets", "ours, ms", "a programme for each row, ms", "ratio")
    show("Facets of a cone", columns, table)


def bench_feasibility(title, pool, seed):
    from luthier.geometry.lp.certificates import Feasible
    from luthier.geometry.lp.feasibility import feasibility
    from luthier.kbest.rerank import rerank
    from luthier.metrics.loading import load_metric
    from luthier.metrics.oracle import sentence_oracle
    from luthier.metrics.pools import pool_statistics

    rng, metric = np.random.default_rng(seed), load_metric("bleu")
    h, offsets = pool.features.dense, pool.offsets
    assert h.shape[1] == pool.n_features
    assert np.diff(offsets).min() > 0
    weights = rng.standard_normal(pool.n_features)
    selections = {
        "re-rank by random weights": rerank(pool, weights),
        "first of each list": offsets[:-1],
        "oracle of each sentence": sentence_oracle(metric, pool_statistics(pool, metric), offsets).rows,
        "random rows": rng.integers(offsets[:-1], offsets[1:]),
    }
    once, _ = cpu_seconds(lambda: rerank(pool, weights))
    table = []
    for name, selection in selections.items():
        seconds, proof = cpu_seconds(lambda s=selection: feasibility(offsets, h, s))
        if isinstance(proof, Feasible):
            assert (rerank(pool, proof.weights) == proof.rows).all()
            told = f"feasible, margin {proof.margin:.2g}"
        else:
            told = f"infeasible, {len(proof.rows)} rows contradict"
        table.append((name, f"{seconds:.3f}", f"{seconds / once:.1f}×", told))
    size = f"{pool.n_sentences:,} lists, {pool.n_hypotheses:,} × {pool.n_features}"
    show(f"Joint feasibility, {title}: {size}", ("selection", "CPU s", "a re-rank", "verdict"), table)


def bench_many_features(n, n_columns, seed):
    from luthier.corpus.texts import Texts, Tokens
    from luthier.geometry.lp.certificates import Feasible
    from luthier.kbest.features import Features
    from luthier.kbest.pool import Pool
    from luthier.landscape.selections.feasibility import Choice, judge

    rng, m, per_row = np.random.default_rng(seed), n * n, 20
    columns = np.sort(rng.integers(0, n_columns, (m, per_row)), axis=1)
    kept = np.ones(columns.shape, bool)
    kept[:, 1:] = columns[:, 1:] != columns[:, :-1]
    ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    values = rng.integers(1, 4, columns.shape)[kept].astype(float)
    names = tuple(f"f{d}" for d in range(n_columns))
    pool = Pool(
        offsets=np.arange(0, m + 1, n),
        features=Features(names, np.zeros((m, 0)), ends, columns[kept].astype(np.int32), values),
        sentence_ids=Texts.from_strings(list(map(str, range(n)))),
        texts=Texts.from_strings(["x"] * m),
        tokens=Tokens(np.arange(m + 1), np.zeros(m, np.int32)),
        vocab=Texts.from_strings(["x"]),
        columns={},
    )
    scores = np.add.reduceat(values * rng.standard_normal(n_columns)[columns[kept]], ends[:-1])
    noise = scores.std() * rng.standard_normal(m)
    by_chance, few = rng.random(m), n_columns // 6
    wanted = {
        "planted": (scores, n),
        "planted, noise of a quarter": (scores + 0.25 * noise, n),
        "planted, noise of a half": (scores + 0.5 * noise, n),
        f"random, of {min(few, n):,} lists": (by_chance, few),
        "random": (by_chance, n),
    }
    table = []
    for name, (values, lists) in wanted.items():
        rows = np.arange(n) * n + np.argmax(values.reshape(n, n), axis=1)
        rows[lists:] = -1
        start = time.process_time()
        verdict = judge(pool, Choice(name, rows))
        seconds = time.process_time() - start
        if isinstance(verdict.proof, Feasible):
            told = f"feasible, {'selected' if verdict.selects else 'not selected'} by a re-rank"
        else:
            told = f"infeasible, {len(verdict.proof.rows):,} rows contradict, ε {verdict.proof.epsilon:.1g}"
        table.append((name, f"{seconds:.1f}", told))
    size = f"{n:,} lists, {m:,} rows, {n_columns:,} features, {per_row} in a row; {peak_megabytes():,.0f} MB"
    show(f"Joint feasibility of many features: {size}", ("rows wanted", "CPU s", "verdict"), table)


if __name__ == "__main__":
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    parser = argument_parser(__doc__)
    parser.add_argument("--many", type=int, metavar="N", help="only N lists of N rows over N features")
    parser.add_argument("--columns", type=int, metavar="D", help="with --many: over D features")
    arguments = parser.parse_args()
    if arguments.many:
        bench_many_features(arguments.many, arguments.columns or arguments.many, arguments.seed)
        raise SystemExit
    bench_programmes(arguments.seed)
    bench_facets(arguments.seed)
    sentences, k = SIZES[arguments.size]
    lists = SyntheticLists(sentences=sentences, k=k, n_features=12).generate(arguments.seed)
    bench_feasibility("generated", lists, arguments.seed)
    if arguments.data is not None:
        from luthier import read_pool

        with tempfile.TemporaryDirectory() as folder:
            path = unpacked_list(arguments.data, Path(folder))
            real = read_pool(path, refs=[str(arguments.data / "multi30k" / "val.en.gz")])
        bench_feasibility("De→En", real, arguments.seed)
