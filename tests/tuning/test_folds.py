"""Folds: no sentence is seen twice, documents stay together, and the score is one of all sentences."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import luthier
from luthier.core.errors import LuthierError
from luthier.jobs.tuning_job import TuningJob, run_job
from luthier.jobs.validation import cross_validation, out_of_fold
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions
from luthier.tuning.validation.folds import CrossMetric, fingerprints, folds_of

pytestmark = pytest.mark.compiled


def pool_of(sentences=12, **columns):
    pool = SyntheticLists(sentences=sentences, k=8, vocabulary=150).generate(2)
    values = {name: np.repeat(np.asarray(v, float), pool.list_lengths) for name, v in columns.items()}
    return dataclasses.replace(pool, columns={**pool.columns, **values})


@settings(max_examples=30)
@given(st.integers(2, 10), st.integers(0, 100), st.lists(st.integers(0, 11), max_size=8))
def test_no_sentence_is_on_both_sides(n_folds, seed, again):
    pool = pool_of().take_sentences([*range(12), *again])  # some sentences stand several times
    folds = folds_of(pool, n_folds, seed=seed)
    keys = np.array([key.hex() for key in fingerprints(pool)])
    assert set(folds) == set(range(n_folds))
    for fold in range(n_folds):
        assert not set(keys[folds == fold]) & set(keys[folds != fold])
    if not again:
        assert np.ptp(np.bincount(folds)) <= 1
    assert np.array_equal(folds, folds_of(pool, n_folds, seed=seed))


def test_documents_stay_together():
    documents = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 5]
    folds = folds_of(pool_of(doc=documents), 3, by="doc")
    for document in set(documents):
        assert len(set(folds[np.array(documents) == document])) == 1
    assert np.bincount(folds).tolist() == [4, 4, 4]


def test_documents_that_share_a_sentence_are_one():
    pool = pool_of()
    numbers = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 1, 5])
    pool = pool.take_sentences([*range(12), 0, 4])  # document 1 has a sentence of 0, document 5 one of 2
    pool = dataclasses.replace(pool, columns={"doc": np.repeat(numbers.astype(float), pool.list_lengths)})
    folds = folds_of(pool, 4, by="doc")
    kept = [set(folds[np.isin(numbers, group)]) for group in ((0, 1), (2, 5), (3,), (4,))]
    assert [len(group) for group in kept] == [1, 1, 1, 1]
    with pytest.raises(LuthierError, match="at least 5 values of 'doc' that share no sentence for as many folds"):
        folds_of(pool, 5, by="doc")


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ({"n_folds": 1}, "expected at least 2 folds, found 1"),
        ({"n_folds": 13}, "expected at least 13 different sentences for as many folds, found 12"),
        (
            {"n_folds": 5, "by": "doc"},
            "expected at least 5 values of 'doc' that share no sentence for as many folds, found 2",
        ),
        ({"n_folds": 2, "by": "nothing"}, "expected a column of the lists to fold by, found 'nothing'"),
        ({"n_folds": 2, "by": "score"}, "expected one number of 'score' for all hypotheses of a sentence"),
    ],
)
def test_what_makes_no_folds_is_said(arguments, complaint):
    with pytest.raises(LuthierError, match=complaint):
        folds_of(pool_of(doc=[0] * 6 + [1] * 6), arguments.pop("n_folds"), **arguments)


def test_one_sentence_has_no_folds():
    with pytest.raises(LuthierError, match="expected at least 2 different sentences for as many folds, found 1"):
        folds_of(pool_of(1), 2)


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_the_score_is_one_of_all_sentences_out_of_their_folds():
    job = TuningJob(tuner("mert"), ListProblem.of(pool_of(), load_metric("bleu")), RunOptions(seed=1))
    report = run_job(job)
    found = cross_validation(job, report, out_of_fold(job, 3))
    problem = report.problem
    selected = np.zeros((12, problem.stats.shape[1]), np.int64)
    answers = []
    for fold in range(3):
        others = np.flatnonzero(found.folds != fold)
        part = ListProblem.of(job.problem.pool.take_sentences(others), job.problem.metric)
        alone = run_job(dataclasses.replace(job, problem=part)).replicas[0].weights
        answers.append(alone)
        rows = problem.select(alone)
        for i in np.flatnonzero(found.folds == fold):
            selected[i] = problem.stats[rows[i]]
    assert found.score == float(problem.metric.score(selected.sum(axis=0)))
    assert found.interval[0] <= found.score <= found.interval[1]
    assert found.optimistic == report.replicas[0].scores["tune_after"]
    assert found.difference == pytest.approx(found.score - found.baseline)
    for one, other in zip(found.weights, answers, strict=True):  # of one direction
        assert one / np.linalg.norm(one) == pytest.approx(other / np.linalg.norm(other))
    assert found.as_dict()["sizes"] == [4, 4, 4]


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_ctrl_c_while_folds_run_keeps_the_answer(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("luthier.jobs.tune.out_of_fold", stop)
    with pytest.raises(luthier.Interrupted) as stopped:
        luthier.tune(pool_of(), "bleu", "mert", folds=3)
    assert len(stopped.value.result.weights) == pool_of().n_features


@pytest.mark.parametrize("options", [{"folds": 9999}, {"folds": 2, "fold_by": "none"}])
def test_what_folds_lack_is_said_before_anything_is_tuned(monkeypatch, options):
    monkeypatch.setattr("luthier.jobs.tune.run_job", lambda _: pytest.fail("it was tuned first"))
    with pytest.raises(luthier.LuthierError, match=r"expected|there is no|column"):
        luthier.tune(pool_of(), "bleu", "mert", **options)


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_other_metrics_are_those_of_the_rows_that_folds_chose():
    pool = pool_of()
    job = TuningJob(tuner("mert"), ListProblem.of(pool, load_metric("bleu")), RunOptions(seed=1))
    unseen = out_of_fold(job, 3)
    found = cross_validation(job, run_job(job), unseen, also=[load_metric("ter")])
    others = {other.metric: other for other in found.others}
    assert list(others) == ["ter", "chrf", "length", *(f"column:{name}" for name in pool.columns if name != "score")]
    for name in ("ter", "chrf"):
        metric = load_metric(name)
        rows = luthier.ListProblem.of(pool, metric).stats[unseen.tuned]
        assert others[name].tuned == float(metric.score(rows.sum(axis=0)))
        assert others[name].interval[0] <= others[name].tuned - others[name].baseline <= others[name].interval[1]
    # the rows are what the weights of each fold choose
    for fold in range(3):
        for i in np.flatnonzero(unseen.folds == fold):
            rows = range(pool.offsets[i], pool.offsets[i + 1])
            scores = [float(pool.features.dense[row] @ unseen.weights[fold]) for row in rows]
            assert unseen.tuned[i] - pool.offsets[i] == int(np.argmax(scores))


@pytest.mark.parametrize(
    "higher, interval, verdict",
    [
        (True, (0.1, 0.2), "better"),
        (False, (0.1, 0.2), "worse"),
        (None, (0.1, 0.2), "rises"),
        (None, (-0.2, -0.1), "falls"),
        (False, (-0.2, -0.1), "better"),
        (True, (-0.1, 0.2), "cannot be told"),
    ],
)
def test_what_happened_to_another_metric_is_said(higher, interval, verdict):
    assert CrossMetric("m", higher, 1.0, 1.1, interval).verdict == verdict


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_auto_takes_the_tuner_that_folds_find_best():
    found = luthier.tune(pool_of(40), "bleu", "auto", folds=3)
    tried = found.folds.tried
    assert set(tried) == {"pro", "mert", "mira-batch", "svm"}
    best = max(tried, key=tried.get)
    assert found.tuner.partition("(")[0] == best
    assert found.folds.score == tried[best]
    alone = luthier.tune(pool_of(40), "bleu", best, folds=3)
    assert alone.folds.score == tried[best]
    assert alone.folds.tried == {}
    assert dict(alone.weights) == dict(found.weights)


@pytest.mark.parametrize("also", ["column:nothing", "nosuch"])
def test_a_metric_that_cannot_be_had_is_said_before_anything_is_tuned(monkeypatch, also):
    monkeypatch.setattr("luthier.jobs.tune.run_job", lambda _: pytest.fail("it was tuned first"))
    with pytest.raises(luthier.LuthierError, match=r"there is no|unknown|metric"):
        luthier.tune(pool_of(), "bleu", "mert", folds=3, also=[also])
