"""A tuning job on two small pools in files, and all that its runs did."""

import dataclasses

from luthier.jobs.trace_file import GrowingTrace, write_trace
from luthier.jobs.tuning_job import TuningJob, run_job
from luthier.kbest.storage.pool_file import PoolFile, open_pool, save_pool
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions


def small_job(folder, restarts):
    """Return a job whose pools are files of a folder."""
    for name, seed in (("dev", 1), ("watch", 2)):
        save_pool(SyntheticLists(sentences=6, k=8, vocabulary=100).generate(seed), folder / name)
    problem = ListProblem.of(open_pool(folder / "dev"), load_metric("bleu"), file=PoolFile.of(folder / "dev"))
    return TuningJob(
        tuner=tuner("random", rounds=2, batch=5),
        problem=problem,
        options=RunOptions(seed=3, restarts=restarts),
        heldout=ListProblem.beside(problem, open_pool(folder / "watch"), file=PoolFile.of(folder / "watch")),
        standardize=True,
    )


def trace(job, path):
    """Return every state of every run of a job, as it is written; what grew meanwhile has the same lines."""
    with GrowingTrace(str(path)) as grown:
        report = run_job(dataclasses.replace(job, watch=grown.watch))
    lines = path.read_bytes().splitlines()
    write_trace(report, str(path))
    assert sorted(lines) == sorted(path.read_bytes().splitlines())
    return path.read_bytes()
