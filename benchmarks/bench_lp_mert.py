"""How many sentences lp-mert solves exactly in 5 s, or a minute, against the number of features and hypotheses.

TER of generated lists, sentences doubled until a proof takes longer. Beside it the merging of halves, as published.

python benchmarks/bench_lp_mert.py [--size paper]
"""

import time

import numpy as np

from bench_common import argument_parser, machine, show

LIMIT = {"toy": 5.0, "paper": 60.0, "large": 600.0}  # CPU seconds
CASES = {  # (features, hypotheses): sentences to begin with
    (2, 100): 8000, (3, 100): 2000, (4, 100): 500, (6, 100): 50, (8, 100): 20, (10, 100): 20,
    (4, 10): 1000, (6, 10): 100, (10, 10): 40,
}  # fmt: skip
MOST_SENTENCES = 16_000
MOST_LPS = 1_000_000  # where two searches are compared


def seconds_of(problem, start, limit, **options):
    """Return CPU seconds and size of a proof, or None if it takes longer than the limit."""
    from luthier.tuning.base import tuner

    begin, note = time.process_time(), ""
    for state in tuner("lp-mert", **{"max_lps": 0, **options}).steps(problem, start, np.random.default_rng(0)):
        note = state.note
        if time.process_time() - begin > limit:
            return None
    return (time.process_time() - begin, note.rsplit(": ", 1)[1]) if ", proven: " in note else None


def problem_of(sentences, k, n_features, seed):
    from luthier.landscape.list_problem import ListProblem
    from luthier.metrics.loading import load_metric
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    maker = SyntheticLists(sentences=sentences, k=k, n_features=n_features)
    return ListProblem.of(maker.generate(seed), load_metric("ter")), np.array(list(maker.decoder_weights.values()))


def main():
    from luthier.core.threads import hold_blas

    hold_blas(1)
    arguments = argument_parser(__doc__, size="toy").parse_args()
    print(machine())
    limit, rows = LIMIT[arguments.size], []
    for (n_features, k), sentences in CASES.items():
        solved = None
        while sentences <= MOST_SENTENCES:
            problem, start = problem_of(sentences, k, n_features, arguments.seed)
            found = seconds_of(problem, start, limit)
            if found is None:
                break
            solved = sentences, *found
            sentences *= 2
        if solved is not None:
            rows.append((n_features, k, solved[0], f"{solved[1]:.1f}", solved[2]))
            print(*rows[-1], flush=True)
    columns = ("features D", "hypotheses K", "sentences S", "CPU s", "proof")
    show(f"lp-mert: the most sentences, by doubling, solved exactly in {limit:.0f} s", columns, rows)
    rows = []
    for sentences, k, n_features in ((10, 20, 3), (20, 20, 3), (10, 50, 4), (20, 50, 4)):
        problem, start = problem_of(sentences, k, n_features, arguments.seed)
        both = [seconds_of(problem, start, limit, algorithm=name, max_lps=MOST_LPS) for name in ("cones", "halves")]
        shown = ["longer" if found is None else f"{found[0]:.2f} s, {found[1]}" for found in both]
        rows.append((f"{sentences} × {k} × {n_features}", *shown))
    show("the same optimum by two searches", ("S × K × D", "cones", "halves"), rows)


if __name__ == "__main__":
    main()
