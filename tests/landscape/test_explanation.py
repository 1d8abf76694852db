"""Why a hypothesis won, and which sentences change: against plain re-ranking of the one list."""

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.kbest.rerank import rerank
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.explanation import changes_between, explanation_of
from luthier.synthetic.lists.noisy_channel import SyntheticLists

SPEC = SyntheticLists(sentences=8, k=12, vocabulary=100)


@pytest.fixture(scope="module", params=["bleu", "ter"])
def problem(request):
    return ListProblem.of(SPEC.generate(2), request.param)


@pytest.fixture(scope="module")
def weights():
    return np.array(list(SPEC.decoder_weights.values()))


def winner(problem, weights, sentence):
    """The text that a plain maximum over the list finds, ties to the first."""
    rows = range(*problem.offsets[sentence : sentence + 2])
    scores = [sum(w * h for w, h in zip(weights, problem.pool.features.dense[row], strict=True)) for row in rows]
    return problem.pool.texts[rows[int(np.argmax(scores))]]


def test_the_list_is_in_the_order_of_its_scores(problem, weights):
    for sentence in range(8):
        found = explanation_of(problem, weights, sentence)
        assert found.rows[0] == rerank(problem.pool, weights)[sentence]
        assert np.all(np.diff(found.scores) <= 0)
        assert sorted(found.rows) == list(range(*problem.offsets[sentence : sentence + 2]))
        np.testing.assert_allclose(found.contributions[0].sum(), found.scores[0], rtol=1e-12)
        gains = problem.metric.gain(found.metric_scores)
        assert gains[found.oracle] == gains.max()
        texts = [problem.pool.texts[int(row)] for row in found.rows]
        assert found.second == next(i for i, text in enumerate(texts) if text != texts[0])
        assert found.gap == found.scores[0] - found.scores[found.second]


def test_just_beyond_an_overturn_other_words_win_and_just_before_they_do_not(problem, weights):
    seen = 0
    for sentence in range(8):
        found = explanation_of(problem, weights, sentence)
        here = problem.pool.texts[int(found.rows[0])]
        for item in found.overturns:
            for share, expected in ((1 - 1e-6, here), (1 + 1e-6, problem.pool.texts[item.row])):
                moved = weights.copy()
                moved[item.feature] += share * item.change
                assert winner(problem, moved, sentence) == expected
            assert item.effect == abs(item.change) * problem.spread[item.feature]
            seen += 1
        effects = [item.effect for item in found.overturns]
        assert effects == sorted(effects)
    assert seen > 20


def test_no_smaller_change_overturns(problem, weights):
    rng = np.random.default_rng(0)
    for sentence in range(8):
        found = explanation_of(problem, weights, sentence)
        here = problem.pool.texts[int(found.rows[0])]
        nearest = {(item.feature, item.change > 0): abs(item.change) for item in found.overturns}
        for _ in range(40):
            feature, sign = int(rng.integers(len(weights))), rng.choice([-1, 1])
            limit = nearest.get((feature, sign > 0), 100.0)
            moved = weights.copy()
            moved[feature] += sign * limit * rng.uniform(0, 0.999)
            assert winner(problem, moved, sentence) == here


def test_changes_are_sentences_with_other_words(problem, weights):
    other = weights + np.random.default_rng(3).normal(size=len(weights))
    before, after = rerank(problem.pool, weights), rerank(problem.pool, other)
    found = changes_between(problem, before, after)
    texts = problem.pool.texts
    assert found.sentences.tolist() == [i for i in range(8) if texts[int(before[i])] != texts[int(after[i])]]
    gains = problem.sentence_gains
    np.testing.assert_array_equal(found.gains, (gains[after] - gains[before])[found.sentences])
    assert np.all(np.diff(found.gains[found.ordered("worst")]) >= 0)
    assert np.all(np.diff(found.gains[found.ordered("best")]) <= 0)
    assert found.ordered("sentence").tolist() == list(range(len(found)))
    assert len(changes_between(problem, before, before)) == 0


def test_one_hypothesis_cannot_be_overturned():
    problem = ListProblem.of(SyntheticLists(sentences=3, k=1, vocabulary=100).generate(0), "bleu")
    found = explanation_of(problem, problem.default_start(), 1)
    assert (found.second, found.gap, found.overturns, found.oracle) == (None, None, (), 0)
    with pytest.raises(LuthierError, match="from 0 to 2, found 3"):
        explanation_of(problem, problem.default_start(), 3)
