"""What every file in metrics/methods must keep to; a new metric is tested without a new test."""

import dataclasses
import pickle

import numpy as np
import pytest

from luthier.core.params import ParameterError
from luthier.corpus.texts import Texts
from luthier.metrics.base import VERSION_MARK
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric, metric_names

# texts drawn at random may look raw, or tokenised otherwise than their references
pytestmark = pytest.mark.filterwarnings("ignore:the (texts|hypotheses|references) .*punctuation")

WORDS = ("the", "The", "cat", "sat", "on", "mat", ".", "Ä", "ß!", "(x)")
METRICS = [*metric_names(), "0.5*bleu_mean + 0.25*chrf++", "0.5*ter + 0.25*wer + 0.25*ter(no_punct=True) + 3"]


@pytest.fixture(params=METRICS)
def metric(request):
    return load_metric(request.param)


def make_batch(seed=0, sentences=6, k=5, n_refs=3):
    """Return lists of random texts, some empty, with a given number beside each."""
    rng = np.random.default_rng(seed)

    def text():
        return " ".join(rng.choice(WORDS, rng.integers(0, 12)))

    hyps = ["", *(text() for _ in range(sentences * k - 1))]
    refs = [text() or "mat" for _ in range(sentences * n_refs)]
    return Batch.of(
        texts=Texts.from_strings(hyps), offsets=np.arange(sentences + 1) * k,
        references=Texts.from_strings(refs), reference_offsets=np.arange(sentences + 1) * n_refs,
        columns={"score": rng.normal(size=len(hyps))},
    )  # fmt: skip


def arrays_of(batch):
    return [
        batch.hyps.data, batch.hyps.offsets, batch.refs.data, batch.refs.offsets, batch.offsets,
        batch.ref_offsets, *batch.columns.values(),
    ]  # fmt: skip


def test_statistics_have_the_declared_names_shape_and_type(metric):
    batch = make_batch()
    stats = metric.stats(batch)
    names = metric.stat_names
    assert isinstance(names, tuple)
    assert len(set(names)) == len(names)
    assert stats.shape == (batch.n_hypotheses, len(names))
    assert stats.dtype in (np.dtype(np.int64), np.dtype(np.float64))


def test_statistics_of_a_part_are_part_of_the_statistics(metric):
    """Rows depend on nothing but their own text and references."""
    batch = make_batch()
    stats = metric.stats(batch)
    for first, last in ((0, 2), (2, 6)):
        rows, refs = slice(*batch.offsets[[first, last]]), slice(*batch.ref_offsets[[first, last]])
        part = Batch.of(
            texts=batch.hyps.take(np.arange(rows.start, rows.stop)),
            offsets=batch.offsets[first : last + 1] - rows.start,
            references=batch.refs.take(np.arange(refs.start, refs.stop)),
            reference_offsets=batch.ref_offsets[first : last + 1] - refs.start,
            columns={name: column[rows] for name, column in batch.columns.items()},
        )
        np.testing.assert_array_equal(metric.stats(part), stats[rows])


def test_the_order_of_sentences_does_not_change_the_score(metric):
    batch = make_batch()
    back = np.arange(len(batch.offsets) - 1)[::-1]
    rows = np.concatenate([np.arange(*batch.offsets[[i, i + 1]]) for i in back])
    refs = np.concatenate([np.arange(*batch.ref_offsets[[i, i + 1]]) for i in back])
    turned = Batch.of(
        texts=batch.hyps.take(rows), offsets=np.concatenate([[0], np.cumsum(np.diff(batch.offsets)[back])]),
        references=batch.refs.take(refs),
        reference_offsets=np.concatenate([[0], np.cumsum(np.diff(batch.ref_offsets)[back])]),
        columns={name: column[rows] for name, column in batch.columns.items()},
    )  # fmt: skip
    scores = [metric.score(metric.stats(part).sum(axis=0)) for part in (batch, turned)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


def some_sums(metric, count=20):
    """Return sums over random parts of a corpus, (count, S)."""
    stats = metric.stats(make_batch(sentences=30))
    chosen = np.random.default_rng(1).random((count, len(stats))) < 0.5
    return np.array([stats[rows].sum(axis=0) for rows in chosen], dtype=np.float64)


def test_a_declared_rate_is_the_score_but_for_a_constant(metric):
    if metric.rates is None:
        return
    names, sums = metric.stat_names, some_sums(metric)
    shares = [r.factor * sums[:, names.index(r.numerator)] / sums[:, names.index(r.denominator)] for r in metric.rates]
    rest = metric.score(sums) - np.sum(shares, axis=0)
    np.testing.assert_allclose(rest, getattr(metric, "constant", 0.0), atol=1e-9)


def test_slopes_are_those_of_central_differences(metric):
    for sums in some_sums(metric, 5):
        moving = np.flatnonzero(sums)  # a statistic that is 0 in every row needs no slope
        steps = np.diag(1e-5 * sums)[moving]
        theirs = (metric.score(sums + steps) - metric.score(sums - steps)) / (2e-5 * sums[moving])
        score, slopes = metric.smooth_score(sums, 0.0)
        assert score == metric.score(sums)
        np.testing.assert_allclose(slopes[moving], theirs, rtol=1e-5, atol=1e-7)
        if metric.slopes(sums) is not None:
            np.testing.assert_array_equal(metric.slopes(sums), slopes)


@pytest.mark.parametrize("method", ["score", "sentence_score"])
def test_broadcast_equals_loop(metric, method):
    stats = metric.stats(make_batch())
    score = getattr(metric, method)
    flat = score(stats)
    assert flat.shape == (len(stats),)
    np.testing.assert_allclose(flat, [score(row) for row in stats], rtol=1e-12)
    np.testing.assert_array_equal(score(stats.reshape(5, 6, -1)), flat.reshape(5, 6))
    assert np.shape(score(stats[0])) == ()
    assert score(stats[:0]).shape == (0,)


def test_scores_are_finite_even_of_nothing(metric):
    batch = Batch.of(
        texts=Texts.from_strings(["", "", "a"]), offsets=[0, 1, 3],
        references=Texts.from_strings(["the cat", ""]), reference_offsets=[0, 1, 2],
        columns={"score": np.zeros(3)},
    )  # fmt: skip
    stats = metric.stats(batch)
    for values in (stats, stats.sum(axis=0), np.zeros_like(stats)):
        assert np.isfinite(metric.score(values)).all()
        assert np.isfinite(metric.sentence_score(values)).all()


def test_no_sentences_have_no_statistics(metric):
    empty = Batch.of(texts=Texts.from_strings([]), offsets=[0], columns={"score": np.zeros(0)})
    assert metric.stats(empty).shape == (0, len(metric.stat_names))


def test_inputs_are_not_changed(metric):
    batch = make_batch()
    before = [array.copy() for array in arrays_of(batch)]
    stats = metric.stats(batch)
    for array, copy in zip(arrays_of(batch), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    kept = stats.copy()
    stats.setflags(write=False)
    metric.score(stats)
    metric.sentence_score(stats)
    np.testing.assert_array_equal(stats, kept)


def test_the_same_twice_is_the_same(metric):
    batch = make_batch()
    first = metric.stats(batch)
    np.testing.assert_array_equal(metric.stats(batch), first)
    np.testing.assert_array_equal(metric.stats(make_batch()), first)


def test_improvement_has_a_direction_or_none(metric):
    assert metric.higher_is_better in (True, False, None)
    if metric.higher_is_better is not None:
        gains = metric.gain(np.array([1.0, 2.0]))
        assert (gains[1] > gains[0]) == metric.higher_is_better


def test_signature_round_trips(metric):
    assert VERSION_MARK in metric.signature
    again = load_metric(metric.signature)
    assert again == metric
    assert again.signature == metric.signature
    assert hash(again) == hash(metric)
    assert pickle.loads(pickle.dumps(metric)) == metric


@pytest.mark.parametrize("name", metric_names())
def test_every_parameter_is_checked(name):
    method = type(load_metric(name))
    for field in dataclasses.fields(method):
        assert field.metadata.get("help"), field.name
        with pytest.raises(ParameterError, match=f"the '{field.name}' parameter of .* must be .*, got"):
            method(**{field.name: object()})


def judges():
    """Return the metrics that know a perfect translation: not a given number, nor what has no direction."""
    return [name for name in metric_names() if name != "column" and load_metric(name).higher_is_better is not None]


@pytest.mark.parametrize("name", judges())
def test_a_perfect_translation_is_not_worse_than_another(name):
    metric = load_metric(name)
    refs = ["the cat sat on the mat .", "on the mat sat the cat ."]
    stats = metric.stats(Batch.from_lines([*refs, "the mat", "a dog"], [[*refs, *refs]]))
    gains = metric.gain(metric.sentence_score(stats))
    assert gains[:2].min() > gains[2:].max()
    perfect = 100.0 if metric.higher_is_better else 0.0
    assert metric.score(stats[:2].sum(axis=0)) == pytest.approx(perfect)
