"""Every tuner with its defaults from one start: CPU seconds, the score it tunes, and the score on other lists.

python benchmarks/bench_tuners.py [--data FOLDER] [--size toy]
"""

from bench_common import SIZES, generated_to_tune, machine, parse_arguments, real_to_tune, show


def bench(label, tune, test, start):
    from luthier.core.plugins import available
    from luthier.kbest.weights import Weights
    from luthier.landscape.problem import Problem
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import PACKAGE, tuner
    from luthier.tuning.run import run

    metric = load_metric("bleu")
    problem, unseen = Problem.make(tune, metric), Problem.make(test, metric)

    def on_unseen(weights):
        return unseen.gain(Weights.from_vector(problem.names, weights).vector(unseen.names))

    rows = [("start", None, f"{problem.gain(start):.2f}", f"{on_unseen(start):.2f}")]
    for name in available(PACKAGE):
        result = run(tuner(name), problem, start)
        seconds = f"{result.seconds[0]:.1f}"
        rows.append((name, seconds, f"{result.gain:.2f}", f"{on_unseen(result.weights):.2f}"))
    show(f"tuners: {label}, one run each, BLEU", ("tuner", "CPU s", "tuned", "other lists"), rows)


def main():
    from luthier.core.threads import hold_blas
    from luthier.pipelines.warm import warm

    hold_blas(1)
    arguments = parse_arguments(__doc__)
    print(machine())
    warm()
    size = "toy" if arguments.data else arguments.size
    bench(f"generated, {size}", *generated_to_tune(SIZES[size], arguments.seed))
    if arguments.data:
        bench("De→En", *real_to_tune(arguments.data))


if __name__ == "__main__":
    main()
