"""Every tuner with its defaults, and as published, from several starts: CPU seconds, scores on these and other lists.

python benchmarks/bench_tuners.py [--data FOLDER] [--size paper]

The starts are the decoder's weights, equal ones as they are, and the best baseline, which `luthier tune` starts from.
Without data, lists are generated. Each line is also printed as it is done.
"""

import sys

from bench_common import SIZES, argument_parser, generated_to_tune, machine, real_to_tune, show

SMALL_ONLY = ("certified", "fan-regularized", "lp-mert")  # they do not end on lists of this size


def bench(label, tune, test, starts):
    from luthier.core.plugins import available
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import PACKAGE, tuner
    from luthier.tuning.validation.baselines import baselines

    metric = load_metric("bleu")
    problems = ListProblem.of(tune, metric), ListProblem.of(test, metric)
    starts = {**starts, "best baseline": baselines(problems[0]).start_weights()}
    rows = [("start", "", *scores(problems, starts.values()))]
    for name in (name for name in available(PACKAGE) if name not in SMALL_ONLY):
        for published in (False, True) if tuner(name).published else (False,):
            method = tuner(name, published=published)
            if published and method == tuner(name):
                continue
            rows.append((f"{name}{' --published' * published}", *measured(method, problems, starts.values())))
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    columns = [f"{what}, from {start}" for what in ("tuned", "other lists") for start in starts]
    show(f"tuners: {label}, one run each, BLEU", ("tuner", "CPU s", *columns), rows)


def measured(method, problems, starts):
    """Return the CPU seconds of one run, the mean over starts, and the scores on both pools by start."""
    from luthier.tuning.run import run

    results = [run(method, problems[0], start) for start in starts]
    seconds = sum(result.seconds[0] for result in results) / len(results)
    return f"{seconds:.1f}", *scores(problems, [result.weights for result in results])


def scores(problems, vectors):
    """Return the scores of weights on the tuned pool, then on the other one."""
    from luthier.kbest.weights import Weights

    vectors, (problem, unseen) = list(vectors), problems
    others = [Weights.from_vector(problem.names, weights).vector(unseen.names) for weights in vectors]
    gains = [*(problem.gain(weights) for weights in vectors), *(unseen.gain(weights) for weights in others)]
    return [f"{gain:.2f}" for gain in gains]


def main():
    import numpy as np

    from luthier.core.threads import hold_blas
    from luthier.jobs.warm import warm

    hold_blas(1)
    arguments = argument_parser(__doc__, size="toy").parse_args()
    print(machine())
    warm()
    size = "toy" if arguments.data else arguments.size
    tune, test, start = generated_to_tune(SIZES[size], arguments.seed)
    bench(f"generated, {size}", tune, test, {"the decoder's": start, "equal weights": np.ones(len(start))})
    if arguments.data:
        tune, test, final = real_to_tune(arguments.data)
        bench("De→En", tune, test, {"the decoder's": final, "equal weights": np.ones(len(final))})


if __name__ == "__main__":
    main()
