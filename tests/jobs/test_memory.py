"""What a job takes of memory beside a pool's mapped file: arrays of our own, as NumPy tells them to tracemalloc."""

import tracemalloc

import pytest

import luthier
from luthier.jobs.rerank import RerankOptions, rerank_files
from luthier.jobs.tune import tune
from luthier.synthetic.lists.noisy_channel import SyntheticLists

pytestmark = [pytest.mark.slow, pytest.mark.compiled]
BESIDE = 10 << 20  # of modules, kernels and tables that do not grow with the lists


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "pool.arrow"
    spec = SyntheticLists(sentences=60, k=1000, n_features=15)
    luthier.save_pool(spec.generate(1), path)
    weights = path.with_name("weights.txt")
    weights.write_text("".join(f"{name} {value}\n" for name, value in spec.decoder_weights.items()))
    return path, str(weights)


def peak_of(job):
    """Return how many bytes were held at most, of those that were made in the second of two runs."""
    job()
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name, share", [("inspect", 0.1), ("rerank", 0.1), ("tune", 1.0)])
def test_a_mapped_pool_stays_mapped(lists, tmp_path, monkeypatch, name, share):
    path, weights = lists
    out = str(tmp_path / "best.txt")
    monkeypatch.setattr("luthier.metrics.base.ROWS_AT_ONCE", 1 << 10)
    monkeypatch.setattr("luthier.kbest.inspect.ROWS_AT_ONCE", 1 << 10)
    jobs = {
        "inspect": lambda: luthier.inspect(luthier.open_pool(path)),
        "rerank": lambda: rerank_files([luthier.open_pool(path)], [weights], [out], RerankOptions()),
        "tune": lambda: tune(luthier.open_pool(path), "bleu", "mert", sweeps=1, threads=1),
    }
    size = path.stat().st_size
    assert size > BESIDE
    assert peak_of(jobs[name]) < share * size + BESIDE
