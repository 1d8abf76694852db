"""A small comparison in the shape of MultEval's example: three systems of three replicas each."""

import functools

import numpy as np

from luthier.evaluation.systems import System
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric

WORDS = [f"w{i}" for i in range(60)]


@functools.cache
def metrics():
    return {name: load_metric(name) for name in ("bleu", "ter", "length")}


def corrupted(line, rng, *, rate):
    """Return a translation that is wrong in some words, lacks some and has some too many."""
    out = []
    for word in line.split():
        draw = rng.random()
        if draw < 0.6 * rate:
            out.append(str(rng.choice(WORDS)))
        elif draw < 0.8 * rate:
            out += [word, word]
        elif draw > rate * 1.2:
            out.append(word)
    return " ".join(out)


def system(name, replicas, references):
    stats = {
        key: np.stack([metric.stats(Batch.from_lines(lines, [references])) for lines in replicas])
        for key, metric in metrics().items()
    }
    return System(name, stats, replicas)


@functools.cache
def example(n=60):
    """Return (references, [baseline, a better system, the baseline again])."""
    rng = np.random.default_rng(11)
    references = [" ".join(rng.choice(WORDS, rng.integers(4, 20))) for _ in range(n)]
    outputs = [[[corrupted(line, rng, rate=rate) for line in references] for _ in range(3)] for rate in (0.4, 0.2)]
    return references, [
        system("baseline", outputs[0], references),
        system("better", outputs[1], references),
        system("same", outputs[0], references),
    ]
