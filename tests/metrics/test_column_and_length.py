import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts
from luthier.metrics.batch import Batch
from luthier.metrics.methods.column import Method as Column
from luthier.metrics.methods.length import Method as Length


def batch_with(values):
    texts = Texts.from_strings(["a"] * len(values))
    return Batch.of(texts=texts, offsets=[0, len(values)], columns={"comet": np.array(values)})


def test_column_is_a_mean_and_needs_no_references():
    metric = Column("comet", scale=100.0)
    stats = metric.stats(batch_with([0.5, 0.75]))
    assert stats.tolist() == [[0.5, 1.0], [0.75, 1.0]]
    assert metric.score(stats.sum(0)) == 62.5
    assert metric.score(np.zeros(2)) == 0


def test_column_says_its_direction():
    assert Column("comet").higher_is_better is True
    assert Column("latency", maximize=False).higher_is_better is False


def test_column_complains():
    with pytest.raises(LuthierError, match="no column 'bleurt' beside the hypotheses"):
        Column("bleurt").stats(batch_with([1.0]))
    with pytest.raises(LuthierError, match="found nan in row 1"):
        Column("comet").stats(batch_with([1.0, np.nan]))


def test_length_is_a_ratio_without_direction():
    metric = Length()
    stats = metric.stats(Batch.from_lines(["a b c", ""], [["a b", "x y"]]))
    assert stats.tolist() == [[3, 2], [0, 2]]
    assert metric.score(stats).tolist() == [150.0, 0.0]
    assert metric.score(stats.sum(0)) == 75.0
    assert metric.higher_is_better is None
