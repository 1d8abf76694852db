"""Whole comparisons on generated text, and the sentences that differ most."""

import dataclasses
import json

import numpy as np
import pytest
from generated import example, metrics

from luthier.core.errors import LuthierError
from luthier.core.params import ParameterError
from luthier.core.tasks import Threads
from luthier.evaluation.bootstrap import bootstrap_scores, sampling_spread
from luthier.evaluation.comparison import Settings, compare
from luthier.evaluation.randomisation import Contrast, randomisation_p
from luthier.evaluation.ranking import median_replica, most_different_sentences
from luthier.evaluation.systems import System, system_from_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists

# slow as plain Python; test_randomisation.py and the tests of metrics reach the same kernels
pytestmark = pytest.mark.compiled

FEW = Settings(draws=100, shuffles=200)


@pytest.fixture(scope="module")
def comparison():
    return compare(example()[1], metrics(), FEW)


def results_of(comparison, system):
    return {m.metric: m.results[comparison.systems.index(system)] for m in comparison.metrics}


def test_an_example_like_multevals(comparison):
    baseline, better, same = (results_of(comparison, name) for name in comparison.systems)
    for name in metrics():
        assert baseline[name].against_baseline is None
        assert dataclasses.replace(same[name], system="baseline", against_baseline=None) == baseline[name]
        nothing = same[name].against_baseline
        assert (nothing.difference, nothing.randomisation_p, nothing.replica_test.permutation_p) == (0.0, 1.0, 1.0)
        assert nothing.interval.low < 0 < nothing.interval.high  # other runs would differ
        assert nothing.interval.resampled_replicas == (3, 3)
    for name, sign in (("bleu", 1), ("ter", -1)):
        found = better[name].against_baseline
        assert found.difference * sign > 5
        assert found.randomisation_p == 1 / 201
        assert found.replica_test.smallest_p == 0.1 == pytest.approx(found.replica_test.permutation_p)
        assert found.interval.low < found.difference < found.interval.high
        assert found.interval.probability_better == 1.0
    assert better["length"].against_baseline.interval.probability_better is None


def test_every_number_is_that_of_its_part(comparison):
    systems = example()[1]
    for metric in comparison.metrics:
        score = metrics()[metric.metric].score
        for system, found in zip(systems, metric.results, strict=True):
            stats = system.stats[metric.metric]
            scores = [float(score(replica.sum(axis=0))) for replica in stats]
            assert found.scores == pytest.approx(scores)
            assert found.mean == pytest.approx(np.mean(scores))
            assert found.s_opt == pytest.approx(np.std(scores, ddof=1))
            assert found.s_sel == sampling_spread(bootstrap_scores([stats], score, draws=100)[0])
        contrast = Contrast(*(system.stats[metric.metric] for system in systems[:2]), score)
        assert metric.results[1].against_baseline.randomisation_p == randomisation_p(contrast, shuffles=200)
        assert metric.signature == metrics()[metric.metric].signature


def copies(system, count):
    """Return a system whose replicas are its first one, so many times."""
    return System(system.name, {name: stats[:1].repeat(count, axis=0) for name, stats in system.stats.items()})


def test_copies_of_a_run_change_nothing_and_are_said():
    baseline, better, _ = example()[1]
    known = {name: metrics()[name] for name in ("bleu", "length")}
    base = copies(baseline, 1)
    found = [compare([base, copies(better, count)], known, FEW) for count in (1, 3, 9)]
    for metric in range(len(known)):
        alone, *others = (part.metrics[metric].results[1].against_baseline for part in found)
        for other in others:
            assert other.randomisation_p == alone.randomisation_p
            assert other.difference == pytest.approx(alone.difference, rel=1e-12)
            assert other.interval.low == pytest.approx(alone.interval.low, rel=1e-9)
            assert other.interval.high == pytest.approx(alone.interval.high, rel=1e-9)
    assert found[0].metrics[1].results[1].against_baseline.randomisation_p > 1 / 201
    assert [part.warnings for part in found] == [
        (),
        (
            "better: 3 replicas, 1 without copies; an equal one adds no run, "
            "and makes s_opt, the interval and the tests between runs too sure",
        ),
        (
            "better: 9 replicas, 1 without copies; an equal one adds no run, "
            "and makes s_opt, the interval and the tests between runs too sure",
        ),
    ]


def test_the_difference_is_that_of_the_means_and_the_tested_one(comparison):
    systems = example()[1]
    for metric in comparison.metrics:
        first, second = metric.results[:2]
        found = second.against_baseline.difference
        assert found == pytest.approx(second.mean - first.mean, rel=1e-9)
        tested = Contrast(*(part.stats[metric.metric] for part in systems[:2]), metrics()[metric.metric].score)
        assert found == tested.difference()


def test_multevals_exchange_is_an_explicit_choice(comparison):
    systems = example()[1]
    found = compare(systems, metrics(), dataclasses.replace(FEW, exchange="multeval"))
    assert found.metrics[0].results[2].against_baseline.randomisation_p < 0.2  # the same system
    assert comparison.metrics[0].results[2].against_baseline.randomisation_p == 1.0


def test_threads_and_company_change_nothing(comparison):
    systems = example()[1]
    assert compare(systems, metrics(), FEW, engine=Threads(2)) == comparison
    alone = compare([systems[0], systems[1]], {"ter": metrics()["ter"]}, FEW)
    assert alone.metrics[0].results == comparison.metrics[1].results[:2]


def test_json_has_room_for_all_of_it(comparison):
    text = json.dumps(comparison.as_dict(), allow_nan=False)
    assert json.loads(text)["metrics"][0]["results"][1]["against_baseline"]["randomisation_p"] == 1 / 201


def test_single_replicas_and_single_systems():
    systems = [
        System(part.name, {name: stats[:1] for name, stats in part.stats.items()}, part.texts[:1])
        for part in example()[1]
    ]
    found = compare(systems, metrics(), FEW)
    row = found.metrics[0].results[1]
    assert row.s_opt is None
    assert row.against_baseline.replica_test.permutation_p == 1.0
    assert row.against_baseline.randomisation_p < 0.05
    assert compare(systems[:1], metrics(), FEW).metrics[0].results == found.metrics[0].results[:1]


def test_the_clearest_sentences_come_first():
    references, (baseline, better, same) = example()
    found = most_different_sentences(baseline, better, ("ter", metrics()["ter"]), count=7, references=[references])
    ter, replicas = metrics()["ter"], []
    for part in (baseline, better):
        stats = part.stats["ter"]
        replicas.append(median_replica([float(ter.score(stats[r].sum(axis=0))) for r in range(3)]))
    before, after = (part.stats["ter"][r] for part, r in zip((baseline, better), replicas, strict=True))
    differences = ter.sentence_score(after) - ter.sentence_score(before)
    assert [abs(one.difference) for one in found] == pytest.approx(sorted(np.abs(differences), reverse=True)[:7])
    for one in found:
        i = one.sentence
        assert one.difference == pytest.approx(differences[i])
        changed = before.copy()
        changed[i] = after[i]
        assert one.effect == pytest.approx(ter.score(changed.sum(axis=0)) - ter.score(before.sum(axis=0)))
        assert one.baseline_text == baseline.texts[replicas[0]][i]
        assert one.system_text == better.texts[replicas[1]][i]
        assert one.references == (references[i],)
    assert most_different_sentences(baseline, same, ("ter", ter)) == []


def test_medians():
    assert [median_replica(scores) for scores in ([1.0], [2.0, 1.0], [5.0, 9.0, 7.0], [1.0, 1.0, 1.0])] == [0, 0, 2, 1]


def test_systems_of_a_pool():
    pool = SyntheticLists(sentences=5, k=8).generate(0)
    weights = np.random.default_rng(0).normal(size=(2, pool.n_features))
    numbers = np.arange(pool.n_hypotheses)[:, None]
    found = system_from_pool("w", pool, weights, {"row": numbers})
    assert (found.n_replicas, found.n_sentences) == (2, 5)
    for r in range(2):
        scores = pool.scores(weights[r])
        for i in range(5):
            rows = slice(pool.offsets[i], pool.offsets[i + 1])
            row = pool.offsets[i] + np.argmax(scores[rows])
            assert found.stats["row"][r, i, 0] == row
            assert found.texts[r][i] == pool.texts[int(row)]
    assert system_from_pool("w", pool, weights[0], {"row": numbers}).n_replicas == 1
    hole = pool.take(np.arange(pool.offsets[1], pool.n_hypotheses))
    with pytest.raises(LuthierError, match="hypotheses for every sentence"):
        system_from_pool("w", hole, weights, {"row": numbers})


def test_faults():
    systems = example()[1]
    few = {name: stats[:, :9] for name, stats in systems[1].stats.items()}
    with pytest.raises(LuthierError, match="different names"):
        compare([systems[0], systems[0]], metrics())
    with pytest.raises(LuthierError, match="60 sentences of system 'short'"):
        compare([systems[0], System("short", few)], metrics())
    with pytest.raises(LuthierError, match="no statistics of bleu"):
        compare([System("a", {"ter": systems[0].stats["ter"]})], metrics())
    with pytest.raises(LuthierError, match="at least one"):
        compare([], metrics())
    with pytest.raises(LuthierError, match="no statistics of any"):
        System("a", {})
    with pytest.raises(LuthierError, match="same replicas"):
        System("a", {"x": np.zeros((3, 4, 1)), "y": np.zeros((2, 4, 1))})
    with pytest.raises(LuthierError, match="translations"):
        System("a", {"x": np.zeros((1, 2, 1))}, [["only one"]])
    with pytest.raises(LuthierError, match="sentences"):
        most_different_sentences(systems[0], System("short", few), ("ter", metrics()["ter"]))
    with pytest.raises(ParameterError, match="draws"):
        Settings(draws=1)
