"""Small lists with statistics of a metric: with ties, empty hypotheses and references of uneven length."""

import numpy as np

from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from small_problems import pool_of

SPECS = ("bleu", "bleu_nist", "bleu(smoothing='add-k')", "chrf(char_order=2)", "ter", "wer", "column:worth",
         "minimize(0.5*wer - 0.5*bleu)")  # fmt: skip


def draw_problem(spec, seed, *, sentences=5, k=7, n_features=3, scale=1.0, whole=True):
    """Return a problem; `whole` features are small whole numbers, so that rows tie and repeat."""
    rng = np.random.default_rng(seed)
    shape = (sentences, k, n_features)
    features = rng.integers(-2, 3, shape) if whole else rng.normal(size=shape)
    worths = rng.integers(-5, 6, (sentences, k))
    pool = pool_of(list(scale * features), list(worths))
    metric = load_metric(spec)
    parts = getattr(metric, "parts", (metric,))
    stats = np.concatenate([_statistics(part, pool, rng, sentences, k) for part in parts], axis=1)
    return ListProblem(pool, metric, stats, Bounds.none(n_features))


def _statistics(metric, pool, rng, sentences, k):
    """Return statistics that hypotheses may have: an empty one now and then, references of several lengths."""
    n = sentences * k
    lengths = rng.integers(0, 9, n)
    references = rng.integers(1, 12, n)  # the closest of several references differs by row
    if metric.name == "bleu":
        totals = np.maximum(lengths[:, None] - np.arange(metric.order), 0)
        matches = np.minimum.accumulate(rng.integers(0, totals + 1), axis=1)
        return np.concatenate([lengths[:, None], references[:, None], matches, totals], axis=1)
    if metric.name == "chrf":
        columns = []
        for order in range(metric.char_order):
            hyp, ref = np.maximum(lengths - order, 0), np.maximum(references - order, 0)
            columns += [hyp, ref, rng.integers(0, np.minimum(hyp, ref) + 1)]
        return np.stack(columns, axis=1)
    if metric.name == "column":
        return np.stack([pool.columns["worth"] / 3.0, np.ones(n)], axis=1)
    if metric.name == "ter":
        fixed = np.repeat(rng.integers(1, 12, sentences) / 3.0, k)
        return np.stack([rng.integers(0, 9, n).astype(float), fixed], axis=1)
    return np.stack([rng.integers(0, 9, n), references], axis=1)
