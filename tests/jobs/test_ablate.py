"""What each scorer adds: against models tuned by hand, planted scorers that help or do not, and what is refused."""

import dataclasses
import json

import numpy as np
import pytest

import luthier
from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts
from luthier.evaluation.randomisation import detectable_effect, holm
from luthier.jobs.ablate import ablate
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.metrics.methods.column import Method as Column
from luthier.report.console import show
from luthier.report.figures.tuning import draw_ablation
from luthier.report.tables.validation import ablation_tables
from luthier.tuning.base import tuner
from luthier.tuning.validation.folds import folds_of
from small_problems import pool_of

pytestmark = pytest.mark.compiled

COLUMN = "column:worth"


def planted(seed, *, sentences, weak=0.0, k=8):
    """Return lists whose worth is a strong scorer, a weak one by a share, and noise; and a scorer that is noise."""
    rng = np.random.default_rng(seed)
    strong, second, nothing, rest = rng.normal(size=(4, sentences, k))
    worths = 50.0 + 10.0 * (strong + weak * second + rest)
    pool = pool_of(list(np.stack([strong, second, nothing], axis=2)), list(worths), ["strong", "weak", "noise"])
    own = [f"{i} {j}" for i in range(sentences) for j in range(k)]  # every sentence has texts of its own
    return dataclasses.replace(pool, texts=Texts.from_strings(own))


def with_scorer(pool, name, values):
    features = pool.features
    dense = np.column_stack([features.dense, values])
    return dataclasses.replace(pool, features=Features.from_dense([*features.names, name], dense))


def test_every_model_is_tuned_on_the_other_folds():
    pool = planted(1, sentences=24, weak=0.5)
    found = ablate(pool, COLUMN, "mert", folds=3, seed=4, forward=True)
    metric, folds = load_metric(COLUMN), folds_of(pool, 3, seed=4)
    assert found.folds.tolist() == folds.tolist()
    # a column's score is a mean, so that the score of a model of one scorer can be had by hand
    column, total = pool.columns["worth"], 0.0
    for i in range(24):
        seen = np.flatnonzero(folds != folds[i])
        gains = {}
        for sign in (1.0, -1.0):
            weights = np.array([0.0, sign, 0.0])
            rows = ListProblem.of(pool, metric).select(weights)
            gains[sign] = column[rows[seen]].mean()
        best = max(gains, key=gains.get)
        total += column[ListProblem.of(pool, metric).select(np.array([0.0, best, 0.0]))[i]]
    assert found["weak"].alone == pytest.approx(total / 24)
    assert found.first == pytest.approx(column[pool.offsets[:-1]].mean())
    for effect in found.effects:
        assert effect.difference == pytest.approx(found.score - effect.score)
        assert effect.interval[0] <= effect.difference <= effect.interval[1]
        assert effect.corrected >= effect.p
    assert [e.name for e in found.effects] == ["strong", "weak", "noise"]
    assert found.forward[0].name == "strong"
    assert found.forward[0].difference == pytest.approx(found.forward[0].score - found.first)
    assert found.forward[1].difference == pytest.approx(found.forward[1].score - found.forward[0].score)
    json.dumps(found.as_dict(), allow_nan=False)
    again = ablate(pool, COLUMN, "mert", folds=3, seed=4, forward=True, threads=2)
    assert json.dumps(again.as_dict()) == json.dumps(found.as_dict())


def test_the_whole_model_is_never_behind_a_part_of_itself_on_the_sentences_tuned_on():
    from luthier.tuning.validation import ablation

    pool = planted(3, sentences=20, weak=0.3)
    problem = ListProblem.of(pool, COLUMN)
    scorers, _ = ablation.scorers_of(problem, {})
    gains = []
    real = ablation.tuned

    def watched(tuner_, part, columns, start, rng):
        weights = real(tuner_, part, columns, start, rng)
        gains.append((len(columns), part.gain(weights)))
        return weights

    folds = folds_of(pool, 2, seed=0)
    ablation.tuned = watched
    try:
        for fold in range(2):
            gains.clear()
            given = ablation._Ablating(problem, tuner("mert"), tuple(scorers), (), folds, 0)
            ablation.ablate_fold(given, fold)
            assert max(g for n, g in gains if n == 3) >= max(g for n, g in gains if n == 2)
    finally:
        ablation.tuned = real


def test_holm_against_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(50):
        ps = rng.uniform(size=rng.integers(1, 8)) ** 2
        for level in (0.01, 0.05, 0.3):
            rejected, left = set(), set(range(len(ps)))
            while left:  # reject the least of those left at level / how many are left, until one stays
                least = min(left, key=lambda i: ps[i])
                if ps[least] > level / len(left):
                    break
                rejected.add(least)
                left.remove(least)
            assert {i for i, p in enumerate(holm(ps)) if p <= level} == rejected
    assert holm([]).tolist() == []
    with pytest.raises(LuthierError, match="p-values between 0 and 1"):
        holm([0.5, 1.5])


def test_a_detectable_effect_is_seen_in_four_of_five_draws():
    size = detectable_effect(1.0, level=0.05, tests=3)
    draws = np.random.default_rng(0).normal(size, 1.0, 100_000)
    assert np.mean(np.abs(draws) > 2.3940) == pytest.approx(0.8, abs=0.01)  # z of 1 − 0.05/6


def test_of_identical_scorers_either_may_go():
    pool = planted(5, sentences=200)
    pool = with_scorer(pool, "copy", pool.features.dense[:, 0])
    found = ablate(pool, COLUMN, "mert")
    assert "strong and copy are identical: either may go" in found.notes
    assert [found[name].verdict for name in ("strong", "copy")] == ["cannot be told"] * 2
    assert abs(found["copy"].difference) < 1.0 < abs(found["copy"].alone - found.first)
    together = ablate(pool, COLUMN, "mert", groups={"both": ["strong", "copy"]})
    assert together["both"].verdict == "helps"
    assert together["both"].scorers == ("strong", "copy")


def test_a_scorer_that_never_differs_is_left_aside_in_a_sentence():
    pool = with_scorer(planted(5, sentences=40), "bias", np.repeat(np.arange(40.0), 8))
    found = ablate(pool, COLUMN, "mert", groups={"pair": ["weak", "bias"]})
    assert "bias is the same for all hypotheses of every list: it can go" in found.notes
    assert [e.name for e in found.effects] == ["pair", "strong", "noise"]
    assert found["pair"].scorers == ("weak",)


def test_a_combination_of_others_is_named():
    pool = planted(5, sentences=40)
    found = ablate(with_scorer(pool, "sum", pool.features.dense @ [1.0, 2.0, 0.0]), COLUMN, "mert")
    assert found.notes == ("sum is a combination of others: it may go",)


def test_a_single_scorer_is_compared_with_the_first_of_each_list():
    pool = planted(2, sentences=100)
    pool = dataclasses.replace(pool, features=pool.features.select(["strong"]))
    found = ablate(pool, COLUMN, "mert")
    assert found["strong"].score == found.first
    assert found["strong"].verdict == "helps"
    assert found["strong"].alone == found.score


def test_a_metric_of_errors_helps_downwards():
    pool = planted(2, sentences=100)
    pool = dataclasses.replace(pool, columns={"worth": 100.0 - pool.columns["worth"]})
    found = ablate(pool, Column(column="worth", maximize=False), "mert")
    assert found["strong"].difference < 0
    assert found["strong"].verdict == "helps"


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ({"folds": 1}, "expected at least 2 folds, found 1"),
        ({"folds": 13}, "expected at least 13 different sentences for as many folds, found 12"),
        ({"groups": {"g": ["strng"]}}, "did you mean 'strong'"),
        ({"groups": {"a": ["weak"], "b": ["weak"]}}, "expected each scorer in one group, found 'weak' in 'a' and 'b'"),
        ({"groups": {"weak": ["noise"]}}, "expected a name of its own and scorers for a group, found 'weak'"),
        ({"groups": {"g": []}}, "expected a name of its own and scorers"),
        ({"level": 1.0}, "expected a level between 0 and 1, found 1"),
        ({"metric": "length"}, "no direction"),
        ({"method": tuner("mert"), "sweeps": 3}, "expected parameters inside the tuner that was given, found sweeps"),
    ],
)
def test_what_cannot_be_ablated_is_said(arguments, complaint):
    with pytest.raises(LuthierError, match=complaint):
        ablate(planted(1, sentences=12), **{"metric": COLUMN, **arguments})


def test_one_sentence_and_scorers_without_difference_are_said():
    with pytest.raises(LuthierError, match="expected at least 5 different sentences for as many folds, found 1"):
        ablate(planted(1, sentences=1), COLUMN)
    flat = planted(1, sentences=6)
    flat = dataclasses.replace(flat, features=Features.from_dense(["one"], np.ones((48, 1))))
    with pytest.raises(LuthierError, match="expected a scorer that differs within some list, found none"):
        ablate(flat, COLUMN)
    rng = np.random.default_rng(0)
    features = Features.from_dense([f"f{d}" for d in range(65)], rng.normal(size=(48, 65)))
    many = dataclasses.replace(flat, features=features)
    with pytest.raises(LuthierError, match="expected at most 64 scorers or groups of them, found 65"):
        ablate(many, COLUMN)


def test_verdicts_and_the_picture(tmp_path, capsys):
    found = luthier.ablate(planted(6, sentences=150, weak=1.0), COLUMN, "mert", forward=True)
    assert [e.verdict for e in found.effects] == ["helps", "helps", "cannot be told"]
    show(ablation_tables(found, []))
    shown = capsys.readouterr().out
    line = next(line for line in shown.splitlines() if "noise" in line)
    assert "cannot be told" in line
    assert f"{found['noise'].detectable:.2f}" in line
    draw_ablation(found, tmp_path / "a.png")
    draw_ablation(found, tmp_path / "a.pdf", 3.4)
    assert (tmp_path / "a.png").stat().st_size > 5000
    with pytest.raises(LuthierError, match="nothing was said of 'lm'"):
        found["lm"]


@pytest.mark.slow
def test_noise_is_seldom_called_helpful():
    called = [
        ablate(planted(1000 + seed, sentences=60, weak=0.5), COLUMN, "mert", seed=seed)["noise"].verdict
        for seed in range(100)
    ]
    assert called.count("helps") <= 10


@pytest.mark.slow
def test_a_weak_scorer_is_found_with_enough_sentences():
    """Its share of the worth is 0.4, its effect 1.1 points: 800 sentences find it, 30 do not."""
    few, many = (
        [ablate(planted(s, sentences=n, weak=0.4), COLUMN, "mert", seed=s)["weak"].verdict for s in range(10)]
        for n in (30, 800)
    )
    assert many.count("helps") >= 9
    assert few.count("helps") <= 3
