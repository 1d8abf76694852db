"""Whether weights that last (`--choose robust`) are better on unseen sentences than the highest ones.

  python benchmarks/robust_choice.py [--splits 10] [--methods mert,plane,certified] [--pool FILE] [--data FOLDER]
                                     [--axis FEATURE …]

Half of the sentences are tuned on and the other half judges, for several random splits: of generated lists; or of a
pool of one's own (`--pool`, with references); or of the De→En 1000-best list, its first 100 hypotheses (`--data`).
With --axis, `certified` begins where `mert` ends and moves the weights of these features only.
Printed are BLEU on the unseen halves, the mean difference robust − highest over splits, and its 95 % interval by
Student's t. The splits of one data set share sentences, so an interval is a little too narrow.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from bench_common import real_to_tune, show
from luthier.kbest.storage.pool_file import open_pool
from luthier.landscape.list_problem import ListProblem
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.answer import robust_state
from luthier.tuning.base import State, tuner
from luthier.tuning.run import RunOptions, run

SENTENCES, K = 400, 30
PARAMETERS = {"mert": {}, "plane": {"coordinates": 20, "planes": "coordinates"}, "certified": {"limit": 2000}}
NOISES = (0.02, 0.05, 0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--methods", default="mert")
    parser.add_argument("--pool", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--axis", action="append", default=[])
    options = parser.parse_args()
    lists = {}
    if not options.pool and not options.data:
        lists["generated"] = SyntheticLists(sentences=SENTENCES, k=K).generate(77)
    if options.pool:
        lists[options.pool.stem] = open_pool(options.pool)
    if options.data:
        pool = real_to_tune(options.data)[0]
        firsts = [np.arange(a, min(a + 100, b)) for a, b in zip(pool.offsets[:-1], pool.offsets[1:], strict=True)]
        lists["De→En"] = pool.take(np.concatenate(firsts))
    rows = []
    for name, pool in lists.items():
        for method in options.methods.split(","):
            axes = tuple(options.axis) if method == "certified" else ()
            found = np.array([one_split(pool, method, axes, split) for split in range(options.splits)])
            rows += rows_of(name, method, found)
    heads = ("lists", "method", "noise", "tuned", "unseen", "robust − highest, unseen", "better on")
    show(f"BLEU, {options.splits} splits in halves", heads, rows)


def one_split(pool, method, axes, split):
    """Return BLEU on the tuned and the unseen half, of the highest weights and of those that last: (1 + noises, 2)."""
    order = np.random.default_rng(split).permutation(pool.n_sentences)
    halves = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    tune, unseen = (ListProblem.of(pool.take_sentences(half), "bleu") for half in halves)
    made = tuner(method, **PARAMETERS[method], **({"axis": axes} if axes else {}))
    start = run(tuner("mert"), tune, None, RunOptions(seed=split)).weights if axes else None
    highest = run(made, tune, start, RunOptions(seed=split))
    found = [highest.weights]
    end = State(highest.weights, highest.gain)
    for noise in NOISES:  # what `tune --choose robust` does with the end of a run
        found.append(robust_state(tune, [end], noise=noise, draws=RunOptions().noise_draws, seed=split).weights)
    return np.array([[tune.gain(w), unseen.gain(w)] for w in found])


def rows_of(name, method, found):
    """Return a row for the highest weights and one for each noise; `found` is (splits, 1 + noises, 2)."""
    means, rows = found.mean(axis=0), []
    for k, noise in enumerate(("highest", *NOISES)):
        said = ""
        won = ""
        if k:
            differences = found[:, k, 1] - found[:, 0, 1]
            half = stats.t.ppf(0.975, len(differences) - 1) * differences.std(ddof=1) / np.sqrt(len(differences))
            said = f"{differences.mean():+.3f} ({differences.mean() - half:+.3f} … {differences.mean() + half:+.3f})"
            won = f"{np.sum(differences > 0)} of {len(differences)}"
        rows.append((name, method, str(noise), f"{means[k, 0]:.2f}", f"{means[k, 1]:.2f}", said, won))
    return rows


if __name__ == "__main__":
    main()
