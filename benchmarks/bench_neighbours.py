"""Penalties on neighbouring bins: steps with and without a factor, shapes by β, a round of PRO with 12,910 features.

python benchmarks/bench_neighbours.py
"""

import time

import numpy as np

from bench_common import machine, parse_arguments, peak_megabytes, show

USES = 8
AUTHORS_BETA = 5e6
BINS = {"P": 4096, "P2": 4096, "P3": 4096}  # and some of Noise: 12,910 columns with the values that stay


def pairs_of(x, n_pairs, scale=1.0, seed=0):
    """Return the loss of pairs of eight rules each, of which the better one is told by Σ log x."""
    from luthier.core.segments import offsets_from_counts
    from luthier.kbest.features import Features
    from luthier.tuning.ranking.pairs import PairLoss

    rng, n = np.random.default_rng(seed), len(x)
    counts = np.zeros((n_pairs, n), np.float32)
    for sign in (1.0, -1.0):
        for _ in range(USES):
            counts[np.arange(n_pairs), rng.integers(0, n, n_pairs)] += sign
    likely = 1.0 / (1.0 + np.exp(-scale * counts @ np.log(x)))
    counts *= np.where(rng.random(n_pairs) < likely, 1.0, -1.0)[:, None]
    rows, columns = np.nonzero(counts)
    offsets = offsets_from_counts(np.bincount(rows, minlength=n_pairs))
    names = tuple(f"b{j}" for j in range(n))
    return PairLoss(Features(names, np.empty((n_pairs, 0)), offsets, columns, counts[rows, columns]))


def penalty_on(loss, kind, beta):
    from luthier.kbest.groups import FeatureGroup
    from luthier.tuning.neighbours.penalty import Neighbours

    names = loss.rows.names
    return Neighbours.of((FeatureGroup("F", names),), names, kind=kind, strength=beta, gamma=2.0)


def step_rows():
    """Return the steps of a fit at the authors' β: as it comes, with a factor, with factors made anew."""
    from luthier.landscape.bounds import Bounds
    from luthier.tuning.neighbours import fit as fitting
    from luthier.tuning.neighbours.smooth_fit import Ridge, minimize

    rows = []
    for n in (256, 1024):
        loss = pairs_of(np.exp(np.linspace(np.log(1e-4), 0.0, n)), 5000, scale=0.15)
        terms, start, free = [loss, Ridge(1.0, np.zeros(n))], np.zeros(n), Bounds.none(n)
        for kind in ("lnr", "mnr"):
            term, clock = penalty_on(loss, kind, AUTHORS_BETA), time.process_time()
            plain = minimize([*terms, term], start, free, iterations=100_000, tolerance=0.0)
            seconds = [time.process_time() - clock]
            clock = time.process_time()
            found = fitting.minimize_with_neighbours(terms, term, start, free, raised=True)
            seconds.append(time.process_time() - clock)
            rows.append(
                (n, kind, plain.iterations, f"{plain.value:.2f}", f"{seconds[0]:.2f}", found.iterations,
                 f"{found.value:.2f}", f"{seconds[1]:.2f}", "yes" if found.converged else "no")
            )  # fmt: skip
    return rows


def shape_rows():
    """Return R² with log x and with x, and the share of rising neighbours, by β."""
    from luthier.landscape.bounds import Bounds
    from luthier.tuning.neighbours.fit import minimize_with_neighbours
    from luthier.tuning.neighbours.smooth_fit import Ridge

    n, rows = 64, []
    x = (np.arange(n) + 0.5) / n
    loss = pairs_of(x, 20_000)
    terms = [loss, Ridge(1.0, np.zeros(n))]
    for beta in (1e1, 1e2, 1e3, 1e4, 1e5, 1e7, 1e9, 1e11):
        row = [f"{beta:.0e}"]
        for kind in ("lnr", "mnr"):
            fit = minimize_with_neighbours(
                terms, penalty_on(loss, kind, beta), np.zeros(n), Bounds.none(n), raised=True
            )
            w = fit.weights
            explained = [np.corrcoef(z, w)[0, 1] ** 2 for z in (np.log(x), x)]
            rising = 100 * np.mean(np.diff(w) > 0)
            row += [f"{explained[0]:.4f}", f"{explained[1]:.4f}", f"{rising:.0f} %", fit.iterations]
        rows.append(tuple(row))
    return rows


def round_rows():
    """Return CPU seconds of one round of PRO with 12,910 features on 1,000 lists of 200."""
    from luthier.features.fit_bins import BinOptions, bins_of_pool
    from luthier.features.induction import induce_pool
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.synthetic.lists.planted import PlantedLists
    from luthier.tuning.base import tuner
    from luthier.tuning.run import run

    maker = PlantedLists(sentences=1000, k=200, features=3, rules=5000, noise=6.0)
    pool, metric = maker.generate(0), load_metric("column:worth")
    sizes = BinOptions(numbers={**BINS, "Noise": 619}, keep=("Noise",))
    bins = bins_of_pool(pool, [*BINS, "Noise"], sizes)
    problem = ListProblem.of(induce_pool(pool, bins), metric)
    test = ListProblem.of(induce_pool(maker.generate(1), bins), metric)
    rows = []
    one = {"gains": "sentence", "psi": 1.0, "iterations": 1, "keep": "last"}
    for kind, beta in (
        ("none", 0.0),
        ("lnr", 1e3),
        ("lnr", AUTHORS_BETA),
        ("mnr", 1e3),
        ("mnr", 1e5),
        ("mnr", AUTHORS_BETA),
    ):
        method = tuner("pro", neighbours=kind, beta=beta, **one)
        small = ListProblem.of(problem.pool.take_sentences(np.arange(3)), metric)
        run(method, small, np.zeros(problem.n_features))  # warm kernels
        found = run(method, problem, np.zeros(problem.n_features))
        did = found.traces[0].states[-1].did
        rows.append(
            (
                kind,
                f"{beta:.0e}",
                f"{found.seconds[0]:.2f}",
                did,
                f"{found.gain:.2f}",
                f"{test.gain(found.weights):.2f}",
            )
        )
    return problem, rows


def main():
    import warnings

    from luthier.core.threads import hold_blas

    parse_arguments(__doc__.splitlines()[0])
    warnings.simplefilter("ignore")
    hold_blas(1)
    print(machine())
    columns = ("bins", "kind", "plain: steps", "value", "CPU s", "factored: steps", "value", "CPU s", "converged")
    show(f"β = {AUTHORS_BETA:.0e}, 5,000 pairs, ℓ2 = 1", columns, step_rows())
    columns = ("β", "LNR: R² log x", "R² x", "rising", "steps", "MNR: R² log x", "R² x", "rising", "steps")
    show("64 bins, 20,000 pairs, ℓ2 = 1", columns, shape_rows())
    problem, rows = round_rows()
    title = f"a round of PRO: {problem.n_features} features, {problem.pool.n_hypotheses} hypotheses"
    show(title, ("kind", "β", "CPU s", "end", "tuned", "test"), rows)
    print(f"peak memory {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
