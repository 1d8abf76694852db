"""The closing tables of a tuning job: what is said of an answer that is no better, or worse, than a baseline."""

import dataclasses

import pytest

import luthier
from luthier.jobs.tuning_job import TuningJob, run_job
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.report.console import show
from luthier.report.tables.tuning import tuning_tables
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions
from luthier.tuning.validation.baselines import FIRST

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")]


@pytest.fixture(scope="module", params=["bleu", "ter"])
def report(request):
    pool = SyntheticLists(sentences=40, k=8, vocabulary=150).generate(3)
    return run_job(TuningJob(tuner("random", rounds=1), ListProblem.of(pool, load_metric(request.param)), RunOptions()))


@pytest.mark.parametrize(
    "gain, said",
    [
        ((1.0, 2.0), "the answer is better than the best baseline by more than chance"),
        ((-2.0, -1.0), "the answer is worse than the best baseline by more than chance"),
        ((-1.0, 1.0), "the change from the best baseline is no more than chance"),
    ],
)
def test_the_verdict_has_a_direction(report, gain, said, capsys):
    sign = 1.0 if report.problem.metric.higher_is_better else -1.0
    low, high = sorted(sign * end for end in gain)
    changed = dataclasses.replace(report.replicas[0], interval=(low, high))
    show(tuning_tables(dataclasses.replace(report, replicas=(changed,)), []))
    assert said in " ".join(capsys.readouterr().out.split())


def test_lists_in_a_good_order_are_said(report, capsys):
    first, sign = report.baselines.named(FIRST).score, 1.0 if report.problem.metric.higher_is_better else -1.0
    for start, said in ((first - sign, True), (first + sign, False)):
        changed = dataclasses.replace(report.replicas[0], scores={**report.replicas[0].scores, "tune_before": start})
        show(tuning_tables(dataclasses.replace(report, replicas=(changed,)), []))
        told = " ".join(capsys.readouterr().out.split())
        assert (f"the first of each list, {first:.2f}, is better than the start, {start:.2f}" in told) == said


def test_folds_are_shown_against_the_best_baseline_too(capsys):
    """The first of each list and one scorer alone may both be weaker than equal weights: a straw man is no baseline."""
    pool = SyntheticLists(sentences=60, k=12, vocabulary=150).generate(5)
    found = luthier.tune(pool, "bleu", "mert", folds=3)
    show(tuning_tables(found, []))
    lines = [line for line in capsys.readouterr().out.splitlines() if "best baseline of each fold" in line]
    known = found.folds.baseline in [rival.score for rival in found.folds.rivals]
    assert len(lines) == (0 if known else 1)
    for line in lines:
        assert f"{found.folds.baseline:.2f}" in line
        assert f"{found.folds.difference:+.2f}" in line
