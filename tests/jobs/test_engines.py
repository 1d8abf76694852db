"""Whole jobs by every engine: the same bytes from this process, its threads and other processes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_jobs import small_job, trace

from luthier.core.errors import LuthierError
from luthier.core.tasks import Processes, Threads
from luthier.evaluation.bootstrap import bootstrap_scores
from luthier.evaluation.randomisation import Contrast, randomisation_p
from luthier.kbest.storage.pool_file import save_pool
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists

pytestmark = pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")  # of pools so small


@pytest.fixture
def job(tmp_path):
    return small_job(tmp_path, restarts=2)


@pytest.mark.parametrize("replicas", [1, 3])
def test_threads_change_nothing(job, tmp_path, replicas):
    job = dataclasses.replace(job, replicas=replicas)
    expected = trace(job, tmp_path / "here")
    assert expected.count(b"\n") >= 3 * replicas
    assert trace(dataclasses.replace(job, engine=Threads(2)), tmp_path / "there") == expected


@pytest.mark.slow
@pytest.mark.compiled
def test_other_processes_open_the_pools_themselves_and_change_nothing(job, tmp_path):
    expected = trace(job, tmp_path / "here")
    assert trace(dataclasses.replace(job, engine=Processes(2)), tmp_path / "there") == expected


def test_a_worker_refuses_another_pool_than_the_one_meant(job):
    recipe = job.recipe()
    assert recipe.open().problem.pool.digest() == job.problem.pool.digest()
    save_pool(SyntheticLists(sentences=5, k=8, vocabulary=100).generate(1), job.problem.file.path)
    with pytest.raises(LuthierError, match=f"dev: expected the pool {job.problem.file.digest}, found another, "):
        recipe.open()


@pytest.mark.slow
@pytest.mark.compiled
def test_replicas_on_pools_that_are_in_no_file_change_nothing_either(job, tmp_path):
    bare = [dataclasses.replace(problem, file=None) for problem in (job.problem, job.heldout)]
    job = dataclasses.replace(job, problem=bare[0], heldout=bare[1], replicas=2)
    assert trace(dataclasses.replace(job, engine=Processes(1)), tmp_path / "there") == trace(job, tmp_path / "here")


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("engine", [Threads(2), Processes(1)], ids=str)
def test_resamples_and_shuffles_change_nothing(engine, monkeypatch):
    monkeypatch.setattr("luthier.evaluation.bootstrap.BLOCK_SIZE", 200)
    metric = load_metric("bleu")
    rng = np.random.default_rng(0)
    first, second = (rng.integers(1, 9, size=(2, 30, len(metric.stat_names))) for _ in range(2))
    here, there = (bootstrap_scores([first, second], metric.score, draws=40, engine=e) for e in (None, engine))
    assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
    ps = [randomisation_p(Contrast(first, second, metric.score), shuffles=1500, engine=e) for e in (None, engine)]
    assert ps[0] == ps[1]
