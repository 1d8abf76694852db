"""Margin and expectation tuners: CPU seconds, gains on the tuning lists and on others, the floor beside batch MIRA.

python benchmarks/bench_mira.py [--data FOLDER] [--size paper]
"""

import tempfile
from pathlib import Path

from bench_common import SIZES, cpu_seconds, machine, parse_arguments, show, unpacked_list

METHODS = ("mira-batch", "mira", "rampion", "svm", "expected")


def bench_tuners(label, tuning, other, start, seed):
    from luthier.tuning.base import tuner
    from luthier.tuning.ranking.sentence_gains import Outcomes
    from luthier.tuning.run import RunOptions, run

    order = [tuning.names.index(name) for name in other.names]
    floor, _ = cpu_seconds(lambda: tuning.pool.scores(start))
    distinct, outcomes = cpu_seconds(lambda: Outcomes.of(tuning), repeats=1)
    rows = [
        ("all rows scored once", f"{floor:.4f} s", "", "", ""),
        (f"{len(outcomes.stats):,} distinct outcomes found", f"{distinct:.2f} s", "", "", ""),
        ("start", "", f"{tuning.gain(start):.2f}", f"{other.gain(start[order]):.2f}", ""),
    ]
    for name in METHODS:
        method = tuner(name)
        seconds, result = cpu_seconds(
            lambda method=method: run(method, tuning, start, RunOptions(seed=seed)), repeats=1
        )
        steps = len(result.traces[0].states) - 2
        rows.append((
            name, f"{seconds:.2f} s", f"{result.gain:.2f}", f"{other.gain(result.weights[order]):.2f}",
            f"{steps} steps, {seconds / steps / floor:.1f} scorings of all rows each",
        ))  # fmt: skip
    show(f"tuning: {label}", ("", "CPU", "tuning set", "other set", ""), rows)


def problem(pool, metric="bleu"):
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric

    return ListProblem.of(pool, load_metric(metric))


def generated(size, seed):
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    sentences, k = size
    return problem(SyntheticLists(sentences=sentences, k=k, n_features=15).generate(seed))


def main():
    from luthier import read_pool, read_weights
    from luthier.core.threads import hold_blas

    hold_blas(1)
    arguments = parse_arguments(__doc__)
    print(machine())
    tuning = generated(SIZES[arguments.size], arguments.seed)
    other = generated(SIZES["toy"], arguments.seed + 1)
    bench_tuners(f"generated, {arguments.size}", tuning, other, tuning.default_start(), arguments.seed)
    if arguments.data:
        lists, texts = arguments.data / "kbest-de-en", arguments.data / "multi30k"
        with tempfile.TemporaryDirectory() as name:
            tuning = problem(read_pool(unpacked_list(arguments.data, Path(name)), refs=[str(texts / "val.en.gz")]))
        other = problem(read_pool(lists / "test_2016_flickr.kbest100.gz", refs=[str(texts / "test_2016_flickr.en.gz")]))
        start = read_weights(lists / "weights.final").vector(tuning.names)
        bench_tuners("De→En 1000-best, test_2016 100-best beside it", tuning, other, start, arguments.seed)


if __name__ == "__main__":
    main()
