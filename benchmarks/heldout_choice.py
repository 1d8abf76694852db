"""What a held-out set should choose among: ends of runs or all their states, with or without a standard-error rule.

  python benchmarks/heldout_choice.py [--splits 4]

For several metrics and splits of generated lists: tune on 400 sentences with 5 restarts, let 100 held-out sentences
choose by each rule, and score the answer on 1,000 other sentences. Printed are the mean gains there, and by how much a
rule is behind the best rule of a split at most. Everything is generated: nothing is chosen on anybody's test set.
"""

from __future__ import annotations

import argparse

import numpy as np

from bench_common import show
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.answer import End, choose_end
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run

METRICS = ("bleu", "chrf", "ter")
METHODS = ("mert",)
TUNE, HELDOUT, TEST, K = 400, 100, 1000, 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--data", help="not used: everything is generated")
    options = parser.parse_args()
    rows = []
    for metric_name in METRICS:
        metric = load_metric(metric_name)
        for method in METHODS:
            found = np.array([one_split(metric, method, split) for split in range(options.splits)])  # (splits, rules)
            behind = found.max(axis=1, keepdims=True) - found
            rows.append((
                metric_name, method,
                *(f"{m:.2f} (−{w:.2f})" for m, w in zip(found.mean(axis=0), behind.max(axis=0), strict=True)),
            ))  # fmt: skip
    heads = ("metric", "method", "no held-out set", "all states", "ends", "ends, one standard error")
    show("gain on 1,000 test sentences: mean over splits (most behind the best rule of a split)", heads, rows)


def one_split(metric, method, split):
    """Return the gain on the test sentences of the answer by each rule."""
    pool = SyntheticLists(sentences=TUNE + HELDOUT + TEST, k=K).generate(1000 + split)
    order = np.random.default_rng(split).permutation(pool.n_sentences)
    parts = np.split(order, [TUNE, TUNE + HELDOUT])
    tune, heldout, test = (ListProblem.of(pool.take_sentences(np.sort(part)), metric) for part in parts)
    result = run(tuner(method), tune, None, RunOptions(seed=split, restarts=5), heldout=heldout)
    start = tune.default_start()
    ends = [End(t.states[-1].weights, t.states[-1].gain, t.heldout_gains[-1]) for t in result.traces]
    states = [
        (gain, state.weights) for t in result.traces for gain, state in zip(t.heldout_gains, t.states, strict=True)
    ]
    chosen = [
        max(ends, key=lambda end: end.gain).weights,
        max(states, key=lambda pair: pair[0])[1],
        max(ends, key=lambda end: end.heldout_gain).weights,
        ends[choose_end(ends, End(start, tune.gain(start), heldout.gain(start)), heldout)[0]].weights,
    ]
    return test.gains(np.array(chosen))


if __name__ == "__main__":
    main()
