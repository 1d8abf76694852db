import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.params import ParameterError
from luthier.metrics.batch import Batch
from luthier.metrics.expression import Expression
from luthier.metrics.loading import load_metric, metric_names
from luthier.metrics.methods.bleu import Method as Bleu
from luthier.metrics.methods.chrf import Method as Chrf
from luthier.metrics.methods.column import Method as Column
from luthier.metrics.methods.length import Method as Length


@pytest.mark.parametrize(
    "spec, metric",
    [
        ("bleu", Bleu()),
        ("bleu_ibm", Bleu()),
        ("bleu_nist", Bleu(reference_length="shortest")),
        ("bleu_mean", Bleu(reference_length="mean")),
        ("bleu_nist(order=2)", Bleu(reference_length="shortest", order=2)),
        ("bleu(3, smoothing=add_k, smoothing_value=0.5)", Bleu(3, smoothing="add-k", smoothing_value=0.5)),
        ("bleu(tokenizer='13a', lowercase=True)", Bleu(tokenizer="13a", lowercase=True)),
        ("chrf++", Chrf(word_order=2)),
        ("chrf++(beta=1)", Chrf(word_order=2, beta=1)),
        ("column:comet", Column("comet")),
        ("column(column='a:b|luthier:chrf++')", Column("a:b|luthier:chrf++")),
        ("column:latency.ms", Column("latency.ms")),
        ("(bleu)", Bleu()),
        ("1*bleu + 0*length", Bleu()),
        ("bleu/2 + bleu*0.5", Bleu()),
        ("-bleu", Expression((Bleu(),), (-1.0,))),
        ("100 - bleu", Expression((Bleu(),), (-1.0,), 100.0)),
        ("0.5*(bleu + 2*chrf) - +1.5", Expression((Bleu(), Chrf()), (0.5, 1.0), -1.5)),
        ("minimize(length)", Expression((Length(),), (1.0,), 0.0, False)),
        ("maximize(bleu - chrf)", Expression((Bleu(), Chrf()), (1.0, -1.0), 0.0, True)),
    ],
)
def test_reads(spec, metric):
    loaded = load_metric(spec)
    assert loaded == metric
    assert load_metric(loaded.signature) == metric
    assert load_metric(loaded.signature).signature == loaded.signature


@pytest.mark.parametrize(
    "spec, message",
    [
        ("", "expected a metric"),
        ("bleu bleu", "expected a metric"),
        ("bleu * chrf", "expected a metric"),
        ("1 / bleu", "expected a metric"),
        ("bleu / 0", "expected a metric"),
        ("bleu ** 2", "expected a metric"),
        ("True * bleu", "expected a metric"),
        ("__import__('os').system('true')", "expected a metric"),
        ("bleu(order=[x])", "expected a metric"),
        ("3", "no metric in '3'"),
        ("0 * bleu", "no metric in"),
        ("blue", "there is no metric 'blue'. hint: did you mean 'bleu'"),
        ("bleu_foo", "there is no metric 'bleu_foo'"),
        ("bleu(ordre=2)", "bleu has no parameter 'ordre'"),
        ("length(1, 2, 3)", "length has no parameter"),
        ("1e999 * bleu", "finite coefficients"),
        ("bleu - chrf", r"pull in different directions \(bleu up, chrf down\).*minimize or to maximize"),
        ("bleu + length", "neither way"),
    ],
)
def test_complains(spec, message):
    with pytest.raises(LuthierError, match=message):
        load_metric(spec)


def test_a_parameter_outside_its_domain():
    with pytest.raises(ParameterError, match=r"the 'order' parameter of bleu must be an int in \[1, 16\], got 0"):
        load_metric("bleu(order=0)")


def test_defaults_reach_the_metrics_that_have_them():
    metric = load_metric("bleu + chrf", defaults={"tokenizer": "13a"})
    assert metric.parts == (Bleu(tokenizer="13a"), Chrf())
    assert load_metric("bleu(tokenizer=none)", defaults={"tokenizer": "13a"}) == Bleu()
    with pytest.raises(LuthierError, match="no metric in 'chrf' has a parameter 'tokenizer'"):
        load_metric("chrf", defaults={"tokenizer": "13a"})


def test_direction_follows_or_is_said():
    assert load_metric("100 - bleu").higher_is_better is False
    assert load_metric("bleu + chrf").higher_is_better is True
    assert load_metric("bleu - chrf", maximize=True).higher_is_better is True
    assert load_metric("length", maximize=False).higher_is_better is False
    assert load_metric("bleu", maximize=False).higher_is_better is False
    assert load_metric("bleu", maximize=True) == Bleu()
    with pytest.raises(LuthierError, match="says itself"):
        load_metric("minimize(bleu)", maximize=True)


def test_names_contain_files_and_variants():
    assert {"bleu", "bleu_nist", "chrf", "chrf_pp", "column", "length"} <= set(metric_names())


def test_expression_is_the_sum_of_its_parts():
    batch = Batch.from_lines(["a b c", "a"], [["a b d", "a b"]])
    metric = load_metric("0.5*chrf + 2*bleu_mean - 3")
    stats = metric.stats(batch)
    assert stats.shape == (2, len(metric.stat_names))
    assert stats.dtype == np.float64
    parts = [Chrf(), Bleu(reference_length="mean")]
    for score in ("score", "sentence_score"):
        first, second = (getattr(part, score)(part.stats(batch)) for part in parts)
        np.testing.assert_allclose(getattr(metric, score)(stats), 0.5 * first + 2 * second - 3)


def test_statistics_of_parts_with_one_name_stay_apart():
    names = load_metric("bleu(order=1) + bleu(order=2)").stat_names
    assert len(set(names)) == len(names)
    assert "bleu2.matches_2" in names
