"""Tuners that learn to rank: CPU seconds of their parts and of whole runs, and what they reach.

python benchmarks/bench_pro.py [--data FOLDER] [--size paper]

The sparse lists have as many features as a discretised grammar, some twenty in each row, with
neighbours in a list much alike. One evaluation of the objective is an epoch.
"""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np

from bench_common import SIZES, cpu_seconds, machine, parse_arguments, peak_megabytes, show, unpacked_list

N_SPARSE, ACTIVE, CHANGED = 12_910, 20, 5
TUNERS = {"pro": {}, "pro (sentence gains)": {"gains": "sentence", "psi": 1.0, "iterations": 1}, "adagrad": {},
          "listwise": {}, "pro-all": {}}  # fmt: skip


def sparse_problem(sentences, seed):
    """Return lists of 100 to 1000 hypotheses with sparse features, of which some make them better."""
    from luthier.core.segments import offsets_from_counts
    from luthier.corpus.texts import Texts, Tokens
    from luthier.kbest.features import Features
    from luthier.kbest.pool import Pool
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric

    rng = np.random.default_rng(seed)
    lengths = rng.integers(100, 1001, sentences)
    m = int(lengths.sum())
    base = np.repeat(rng.integers(0, N_SPARSE, (sentences, ACTIVE)), lengths, axis=0)  # (M, 20)
    at = rng.integers(0, ACTIVE, (m, CHANGED))
    # frequent features are more frequent by far
    base[np.arange(m)[:, None], at] = (N_SPARSE * rng.random((m, CHANGED)) ** 3).astype(np.int64)
    indices = np.sort(base, axis=1)
    first = np.diff(indices, axis=1, prepend=-1) > 0
    truth = rng.normal(size=N_SPARSE)
    dense = rng.normal(size=(m, 3))
    worth = 40 + 4 * np.where(first, truth[indices], 0.0).sum(axis=1) + 3 * dense[:, 0] + rng.normal(size=m)
    names = ["a", "b", "c", *(f"s{d}" for d in range(N_SPARSE))]
    features = Features(
        tuple(names), dense, offsets_from_counts(first.sum(axis=1)), indices[first], np.ones(first.sum())
    )
    ids = Texts.from_strings([str(s) for s in range(sentences)])
    empty = Texts(np.zeros(m + 1, np.int64), np.zeros(0, np.uint8))
    pool = Pool(
        offsets_from_counts(lengths), features, ids, empty,
        Tokens(np.zeros(m + 1, np.int64), np.zeros(0, np.int32)), Texts.from_strings([]),
        columns={"worth": np.clip(worth, 0, 100)},
    )  # fmt: skip
    return ListProblem.of(pool, load_metric("column:worth"))


def dense_problem(arguments):
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    sentences, k = SIZES[arguments.size]
    pool = SyntheticLists(sentences=sentences, k=k).generate(arguments.seed)
    return ListProblem.of(pool, load_metric("bleu"))


def parts_of(problem):
    """Return the CPU seconds of the parts of a round, and one evaluation of each loss."""
    from luthier.tuning.ranking.ordered import AllPairsLoss, OrderedLists, OrderLoss
    from luthier.tuning.ranking.pairs import PairSampling, sample_pairs
    from luthier.tuning.ranking.sentence_gains import corpus_gains

    gains, w = problem.sentence_gains, problem.default_start()
    sampling = PairSampling(draws=5000, kept=50, least_gap=5.0)
    rows = [
        (
            "sampling 5000×50",
            cpu_seconds(lambda: sample_pairs(problem, gains, sampling, np.random.default_rng(0)))[0],
            "",
        )
    ]
    rows.append(("corpus gains", cpu_seconds(lambda: corpus_gains(problem, w))[0], ""))
    seconds, lists = cpu_seconds(lambda: OrderedLists.of(problem.offsets, gains))
    rows.append(("ordering lists", seconds, ""))
    n_pairs = lists.pair_weights(by_gap=False).sum()
    for loss in ("logistic", "hinge"):
        for by_gap in (False, True):
            term = AllPairsLoss(problem, lists, loss=loss, by_gap=by_gap)
            seconds, _ = cpu_seconds(lambda term=term: term.value_and_gradient(0.1 * w), repeats=2)
            each = f"{1e9 * seconds / n_pairs:.2f} ns a pair of {n_pairs / 1e6:.0f} M"
            rows.append((f"all pairs, {loss}{', by difference' if by_gap else ''}", seconds, each))
    term = OrderLoss(problem, lists, 10)
    rows.append(("Plackett–Luce, 10 stages", cpu_seconds(lambda: term.value_and_gradient(0.1 * w))[0], ""))
    return rows


def run_of(name, options, problem, start=None):
    from luthier.tuning.base import tuner
    from luthier.tuning.run import run

    result = run(tuner(name.split(" ")[0], **options), problem, start)
    return result.seconds[0], result


def real_rows(data):
    """Return a line for each tuner on the De→En lists: tuned on one set, re-ranking the other."""
    from luthier import read_pool, read_weights
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric

    bleu = load_metric("bleu")
    with tempfile.TemporaryDirectory() as folder:
        val = read_pool(unpacked_list(data, Path(folder)), refs=[str(data / "multi30k" / "val.en.gz")])
    test = read_pool(
        data / "kbest-de-en" / "test_2016_flickr.kbest100.gz",
        refs=[str(data / "multi30k" / "test_2016_flickr.en.gz")],
    )
    val, test = ListProblem.of(val, bleu), ListProblem.of(test, bleu)
    weights = read_weights(data / "kbest-de-en" / "weights.final")
    start = weights.vector(val.names)
    test = dataclasses.replace(test, pool=test.pool.with_features(test.pool.features.select(val.names)))
    rows = [("start", "", f"{val.gain(start):.2f}", f"{test.gain(weights.vector(test.names)):.2f}")]
    for name, options in TUNERS.items():
        seconds, result = run_of(name, options, val, start)
        order = [val.names.index(feature) for feature in test.names]
        rows.append((name, f"{seconds:.2f}", f"{result.gain:.2f}", f"{test.gain(result.weights[order]):.2f}"))
    return rows


def main():
    from luthier.core.threads import hold_blas

    arguments = parse_arguments(__doc__.splitlines()[0])
    hold_blas(1)
    print(machine())
    small = sparse_problem(2, arguments.seed)
    for name, options in TUNERS.items():  # warm kernels
        run_of(name, options, small)
    problem = sparse_problem(SIZES[arguments.size][0], arguments.seed)
    one = {"gains": "sentence", "psi": 1.0, "iterations": 1, "keep": "last"}
    start = np.zeros(problem.n_features)
    rows = []
    for name, options in (("pro", one), ("adagrad", {"epochs": 5})):
        seconds, result = run_of(name, options, problem, start)
        did = result.traces[0].states[-1].did
        rows.append((name, f"{seconds:.2f}", f"{result.start_gain:.2f} → {result.gain:.2f}", did))
    title = f"{problem.n_features} features, {problem.pool.n_hypotheses} hypotheses"
    show(title, ("tuner", "CPU s", "mean worth", "end"), rows)
    problem = dense_problem(arguments)
    rows = [(what, f"{seconds:.3f}", note) for what, seconds, note in parts_of(problem)]
    show(f"generated lists, {arguments.size}", ("part", "CPU s", ""), rows)
    start = np.array(list(problem.pool.provenance["decoder_weights"].values()))
    rows = []
    for name, options in TUNERS.items():
        seconds, result = run_of(name, options, problem, start)
        rows.append((name, f"{seconds:.2f}", f"{result.start_gain:.2f} → {result.gain:.2f}"))
    show("whole runs", ("tuner", "CPU s", "BLEU"), rows)
    if arguments.data:
        show("De→En, 1000-best", ("tuner", "CPU s", "val BLEU", "test BLEU"), real_rows(arguments.data))
    print(f"peak memory {peak_megabytes():.0f} MB")


if __name__ == "__main__":
    main()
