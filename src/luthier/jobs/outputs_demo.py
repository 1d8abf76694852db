"""The first demonstration: outputs of a language model, read, tuned, taken apart and certified by the public jobs."""

from __future__ import annotations

import os

import numpy as np

import luthier
from luthier.core.arrays import Float64
from luthier.core.files.io import make_folder
from luthier.core.progress import notice, without_notices
from luthier.jobs.warm import SURFACE_OF_FEW, compile_ahead
from luthier.kbest.pool import Pool
from luthier.kbest.weights import write_weights
from luthier.landscape.planes.view import surface_scenes
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import with_statistics
from luthier.report.figures.surface import draw_surface
from luthier.report.tables.demo import Change, OutputsDemo
from luthier.synthetic.english.outputs import SyntheticOutputs
from luthier.tuning.validation.baselines import ALONE
from luthier.tuning.validation.report import TuningReport
from luthier.tuning.validation.weight_shares import weight_shares

METRIC = "chrf"
FOLDS, RESAMPLES, CERTIFIED, SHOWN = 5, 20, 3, 3
GAP, MOST_BOXES = 0.05, 20_000
LONGEST = 70  # characters of an output that is shown
LISTS, WEIGHTS, PICTURE = "outputs.jsonl", "tuned.txt", "surface.png"


def run_outputs_demo(folder: str | os.PathLike[str], *, seed: int, threads: int) -> OutputsDemo:
    """Write outputs of a language model, find the weights of their scorers, and say what they are worth."""
    home = make_folder(folder)
    with compile_ahead(SURFACE_OF_FEW, "luthier.geometry.plane._face_kernels", METRIC, threads=threads) as wait:
        SyntheticOutputs().write(home / LISTS, seed)
        pool = with_statistics(luthier.read_pool(home / LISTS), load_metric(METRIC))
        notice(f"tuning five weights, and again for each of {FOLDS} folds")
        with without_notices():
            tuned = luthier.tune(pool, METRIC, folds=FOLDS, seed=seed, threads=threads)
        weights = tuned.weights.normalized("l1")
        write_weights(weights, home / WEIGHTS)
        notice("leaving one scorer after another out")
        ablation = luthier.ablate(pool, METRIC, folds=FOLDS, seed=seed, threads=threads)
        by_effect = [share.name for share in sorted(weight_shares(tuned), key=lambda share: -share.share)]
        plane, axes = by_effect[:2], by_effect[:CERTIFIED]
        notice(f"bounding the score of every weight of {', '.join(axes)}")
        with without_notices():
            proof = luthier.certify(
                pool, METRIC, axis=axes, weights=weights, whole=True, gap=GAP, limit=MOST_BOXES, threads=threads
            )
        wait()
    notice(f"finding every cell of {' × '.join(plane)}, on {RESAMPLES} resamples too")
    surface = luthier.surface(
        pool, METRIC, axis=plane, weights=weights, resamples=RESAMPLES, seed=seed, threads=threads
    ).report
    draw_surface(surface, surface_scenes(surface, threads=threads), home / PICTURE)
    single, before = _single(tuned)
    counts, changes = find_changes(pool, before, weights.vector(pool.features.names))
    return OutputsDemo(
        folder=str(home), inputs=pool.n_sentences, outputs=pool.n_hypotheses, metric=METRIC, tuned=tuned,
        ablation=ablation, single=single, counts=counts, changes=changes, surface=surface, plane=tuple(plane),
        axes=tuple(axes), score=proof.start_score, certificate=proof.certificate,
        files=[str(home / name) for name in (LISTS, WEIGHTS, PICTURE)],
    )  # fmt: skip


def _single(tuned: TuningReport) -> tuple[str, Float64]:
    """Return the name of the best scorer alone on all inputs, and its weights, (D,)."""
    assert tuned.baselines is not None
    found = tuned.baselines.best_alone
    assert found is not None
    assert found.weights is not None
    return found.name.removesuffix(ALONE), found.weights


def find_changes(pool: Pool, before: Float64, after: Float64) -> tuple[tuple[int, int, int], tuple[Change, ...]]:
    """Return how many outputs change, get better and worse, and three of them: the best, the median and the worst.

    Shown are those whose earlier output is the second at the new weights: the lead over it is what explains the change.
    """
    metric, stats = load_metric(METRIC), pool.stats[load_metric(METRIC).signature].values
    old, new = (luthier.rerank(pool, weights) for weights in (before, after))
    gains = metric.gain(metric.score(stats[new])) - metric.gain(metric.score(stats[old]))
    changed = [i for i in range(pool.n_sentences) if pool.texts[old[i]] != pool.texts[new[i]]]
    changed.sort(key=lambda i: -float(gains[i]))
    better, worse = int(np.sum(gains[changed] > 0)), int(np.sum(gains[changed] < 0))
    found = [one for i in changed if (one := _change(pool, i, int(old[i]), after)) is not None]
    places = sorted({0, len(found) // 2, len(found) - 1}) if found else []
    return (len(changed), better, worse), tuple(found[place] for place in places[:SHOWN])


def _change(pool: Pool, sentence: int, old: int, weights: Float64) -> Change | None:
    """Return why an output is chosen over an earlier one; None unless that is the second now, and lines hold both."""
    told = luthier.explain(pool, sentence, weights, metric=METRIC)
    if told.second is None or told.hypotheses[told.second].text != pool.texts[old]:
        return None
    winner, second = told.winner, told.hypotheses[told.second]
    if max(len(winner.text), len(second.text)) > LONGEST:
        return None
    assert pool.sources is not None
    assert pool.references is not None
    return Change(
        source=pool.sources[sentence],
        reference=pool.references.of(sentence)[0],
        before=second.text,
        after=winner.text,
        scores=(second.metric_score, winner.metric_score),
        why={name: value - told.contributions[1][name] for name, value in told.contributions[0].items()},
    )
