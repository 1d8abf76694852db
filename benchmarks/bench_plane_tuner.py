"""The tuner `plane` beside `mert`, each with 20 restarts from the same starts: CPU seconds and BLEU.

python benchmarks/bench_plane_tuner.py [--size paper] [--data FOLDER] [--seed 0]

With --data on the De→En 1000-best list from the decoder's own weights, else on generated lists of the given
size. Both kinds of restarts that pay are run: random ones, for which `plane` cannot end below `mert`, and short
walks. The last column is BLEU of unseen lists re-ranked by the weights found.
"""

from bench_common import SIZES, argument_parser, generated_to_tune, machine, real_to_tune, show

RESTARTS = 20
KINDS = (("random", 1.0), ("walk", 0.3))


def bench(label, tune, test, start, seed):
    from luthier.kbest.weights import Weights
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.tuning.base import tuner
    from luthier.tuning.run import RunOptions, run

    metric = load_metric("bleu")
    problem, unseen = ListProblem.of(tune, metric), ListProblem.of(test, metric)

    def on_unseen(weights):
        return unseen.gain(Weights.from_vector(problem.names, weights).vector(unseen.names))

    rows = [("start", "", "", f"{problem.gain(start):.2f}", f"{on_unseen(start):.2f}")]
    for kind, size in KINDS:
        ends = {}
        for name in ("mert", "plane"):
            options = RunOptions(seed=seed, restarts=RESTARTS, restart_kind=kind, restart_size=size)
            result = run(tuner(name), problem, start, options)
            ends[name] = result.gain
            found = (f"{result.seconds[0]:.0f}", f"{result.gain:.2f}", f"{on_unseen(result.weights):.2f}")
            rows.append((name, kind, *found))
        assert kind == "walk" or ends["plane"] >= ends["mert"]
    show(f"{label}, {RESTARTS} restarts, BLEU", ("tuner", "restarts", "CPU s", "tuned", "other lists"), rows)


def main():
    from luthier.core.threads import hold_blas
    from luthier.jobs.warm import warm

    hold_blas(1)
    arguments = argument_parser(__doc__, size="toy").parse_args()
    print(machine())
    warm()
    if arguments.data:
        bench("De→En", *real_to_tune(arguments.data), arguments.seed)
    else:
        bench(f"generated, {arguments.size}", *generated_to_tune(SIZES[arguments.size], arguments.seed), arguments.seed)


if __name__ == "__main__":
    main()
