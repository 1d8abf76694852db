"""The problem of a sharded pool is that of the pool in one piece, to the last bit."""

import dataclasses

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.tasks import Threads
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.shards.manifest import read_manifest
from luthier.kbest.shards.shard import shard
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes import pixels as rasters
from luthier.landscape.planes.pixels import pixels_of, sharded_pixels
from luthier.landscape.shard_work import ShardSource, ShardsRecipe, shard_selections
from luthier.landscape.sharded_problem import ShardedProblem
from luthier.metrics.loading import load_metric
from luthier.metrics.oracle import all_selections, sentence_oracle
from luthier.metrics.pools import with_statistics
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run

pytestmark = pytest.mark.compiled
METRICS = {"whole numbers": "bleu", "other numbers": "column:score"}


def made_pool():
    """Return a pool with ties, lists of one row, and empty lists, some of which fill whole parts."""
    pool = SyntheticLists(sentences=66, k=12, vocabulary=100).generate(4)
    rng = np.random.default_rng(0)
    keep = rng.random(pool.n_hypotheses) < 0.8
    for sentence in [0, 1, 2, 30, 31, 65]:
        keep[pool.offsets[sentence] : pool.offsets[sentence + 1]] = False
    keep[pool.offsets[7] + 1 : pool.offsets[8]] = False
    dense = np.round(pool.features.dense)  # ties
    return pool.with_features(dataclasses.replace(pool.features, dense=dense)).take(np.flatnonzero(keep))


@pytest.fixture(scope="module")
def pool():
    found = made_pool()
    for name in METRICS.values():
        found = with_statistics(found, load_metric(name))
    return found


@pytest.fixture(scope="module", params=[1, 3, 64])
def manifest(pool, request, tmp_path_factory):
    return read_manifest(shard(pool, request.param, tmp_path_factory.mktemp("parts")).path)


def bytes_of(curves):
    return [(c.breakpoints.tobytes(), c.gains.tobytes(), c.bends.tobytes()) for c in curves]


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_gains_and_curves_are_those_of_the_whole(pool, manifest, metric):
    metric = load_metric(metric)
    whole = ListProblem.of(pool, metric)
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((5, pool.n_features))
    for engine in (None, Threads(2)):
        parted = ShardedProblem.of(manifest, metric, engine=engine)
        assert parted.gains(weights).tobytes() == whole.gains(weights).tobytes()
        assert parted.gain(weights[0]) == whole.gain(weights[0])
        assert parted.selected(weights).tobytes() == whole.selected(weights).tobytes()
        directions = np.concatenate([np.eye(pool.n_features), weights[1:]])
        assert bytes_of(parted.curves(weights[0], directions)) == bytes_of(whole.curves(weights[0], directions))
        assert parted.errors_of_differences(weights, 2).tobytes() == whole.errors_of_differences(weights, 2).tobytes()
        assert parted.spread.tobytes() == whole.spread.tobytes()
        assert parted.default_start().tobytes() == whole.default_start().tobytes()
        assert parted.oracle_score() == sentence_oracle(metric, whole.stats, whole.offsets).score
        assert (parted.identity(), parted.n_sentences) == (whole.identity(), whole.n_sentences)
        asked = len([part for part in manifest.parts if part.filled])
        assert (parted.traffic.answers, parted.traffic.lines) == (asked * 6, len(directions))
        assert parted.traffic.n_bytes > 16 * sum(len(c.breakpoints) for c in whole.curves(weights[0], directions))


def test_sparse_features_too(pool, tmp_path):
    f = pool.features
    where = np.nonzero(f.dense[:, 2:])
    sparse = dataclasses.replace(
        f, dense=f.dense[:, :2], indptr=np.concatenate([[0], np.cumsum(np.count_nonzero(f.dense[:, 2:], axis=1))]),
        indices=where[1], values=f.dense[:, 2:][where],
    )  # fmt: skip
    metric = load_metric("bleu")
    whole = ListProblem.of(pool.with_features(sparse), metric)
    parted = ShardedProblem.of(shard(pool.with_features(sparse), 4, tmp_path), metric)
    start = whole.default_start()
    assert parted.spread.tobytes() == whole.spread.tobytes()
    assert bytes_of(parted.curves(start, np.eye(len(start)))) == bytes_of(whole.curves(start, np.eye(len(start))))
    assert parted.gain(start) == whole.gain(start)


def test_runs_are_the_same_and_go_on_from_a_checkpoint_of_the_whole(pool, manifest, tmp_path):
    metric = load_metric("bleu")
    options = RunOptions(seed=2, restarts=1, threads=2, checkpoint=str(tmp_path / "kept"))
    method = tuner("mert", directions="both", random=2, sweeps=1)
    whole = run(method, ListProblem.of(pool, metric), options=options)
    expected = [[(s.weights.tobytes(), s.gain, s.did) for s in trace.states] for trace in whole.traces]
    kept = (tmp_path / "kept").read_text().splitlines(keepends=True)
    for checkpoint in ("", "".join(kept[:2])):  # a head and one run
        (tmp_path / "kept").write_text(checkpoint)
        again = dataclasses.replace(options, resume=bool(checkpoint), checkpoint=options.checkpoint * bool(checkpoint))
        parted = run(method, ShardedProblem.of(manifest, metric), options=again)
        assert [[(s.weights.tobytes(), s.gain, s.did) for s in trace.states] for trace in parted.traces] == expected


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_oracles_are_those_of_the_whole(pool, manifest, metric):
    metric = load_metric(metric)
    whole = all_selections(metric, pool.stats[metric.signature].values, pool.offsets, 5)
    for engine in (None, Threads(2)):
        for name, found in shard_selections(manifest, metric, 5, engine=engine).items():
            assert found.rows.tolist() == whole[name].rows.tolist(), name
            assert (found.score, found.passes) == (whole[name].score, whole[name].passes), name


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("most", [1, rasters.MOST_BYTES])
def test_the_raster_is_that_of_the_whole(pool, manifest, metric, most, monkeypatch):
    monkeypatch.setattr(rasters, "ROWS", 4)
    monkeypatch.setattr(rasters, "MOST_BYTES", most)
    metric = load_metric(metric)
    rng = np.random.default_rng(3)
    plane = Subspace(rng.standard_normal(pool.n_features), rng.standard_normal((2, pool.n_features)))
    window = Window(-1.0, 1.0, -2.0, 1.0)
    whole = pixels_of([ListProblem.of(pool, metric)], plane, window, 9)
    for engine in (None, Threads(2)):
        found = sharded_pixels(ShardSource(manifest, metric), plane, window, 9, engine=engine)
        assert found.scores.tobytes() == whole.scores.tobytes()
        assert (found.xs.tobytes(), found.ys.tobytes()) == (whole.xs.tobytes(), whole.ys.tobytes())


def test_what_parts_lack_is_said(pool, manifest):
    with pytest.raises(LuthierError, match=r"expected parts with the statistics of ter.*hint: make the parts anew"):
        ShardedProblem.of(manifest, load_metric("ter"))
    with pytest.raises(LuthierError, match="pro cannot be used here: it needs lists"):
        run(tuner("pro"), ShardedProblem.of(manifest, load_metric("bleu")))
    recipe = ShardsRecipe.of(ShardSource(manifest, load_metric("bleu")))
    assert recipe.open().manifest == manifest
    with pytest.raises(LuthierError, match=f"expected the manifest {'0' * 32}, found another, {manifest.seal}"):
        dataclasses.replace(recipe, seal="0" * 32).open()
