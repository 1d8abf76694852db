"""Several replicas: runs of their own, or said to be one."""

import dataclasses

import numpy as np
import pytest
from small_jobs import small_job

import luthier
from luthier.core.errors import LuthierWarning
from luthier.jobs.tuning_job import run_job
from luthier.tuning.base import tuner


@pytest.fixture
def job(tmp_path):
    found = small_job(tmp_path, restarts=0)
    return dataclasses.replace(found, tuner=tuner("simplex"), replicas=3, standardize=False)


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_a_tuner_that_draws_nothing_starts_each_replica_but_the_first_elsewhere(job, monkeypatch):
    said = []
    monkeypatch.setattr("luthier.jobs.tuning_job.notice", said.append)
    found = run_job(job)
    starts = [tuned.result.traces[0].states[0].weights for tuned in found.replicas]
    np.testing.assert_array_equal(starts[0], found.start)
    assert len({start.tobytes() for start in starts}) == 3
    assert "simplex draws nothing: all replicas but the first start from perturbed weights" in said
    alone = run_job(dataclasses.replace(job, replicas=1))
    np.testing.assert_array_equal(alone.replicas[0].weights, found.replicas[0].weights)


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_one_that_draws_starts_all_from_one_place(job):
    found = run_job(dataclasses.replace(job, tuner=tuner("random")))
    for tuned in found.replicas:
        np.testing.assert_array_equal(tuned.result.traces[0].states[0].weights, found.start)


@pytest.mark.filterwarnings("ignore:the answer is the start")
def test_equal_replicas_are_said():
    frame = {"id": [0, 0, 1, 1], "hyp": ["a", "b", "c", "d"], "lm": [1.0, 2, 1, 2], "comet": [0.9, 0.1, 0.8, 0.2]}
    pool = luthier.pool_from_frame(frame, columns=["comet"])
    bound = {"lm": "-1:-1"}
    with pytest.warns(LuthierWarning, match="seeds 1 and 2 ended at the same weights: they are one run"):
        luthier.tune(pool, "column:comet", "mert", start={"lm": -1.0}, bound=bound, replicas=2, seed=1)
