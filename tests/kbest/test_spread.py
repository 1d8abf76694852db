"""The spread of features within lists, of any lengths, beside a plain sum over lists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from luthier.kbest.features import ROWS_ABREAST, Features
from luthier.kbest.spread import SHORT_LIST_ROWS, spread_in_lists
from small_problems import pool_of


def plain_spread(offsets, dense):
    """Return the same by its definition, a list at a time."""
    lists = [dense[a:b] for a, b in itertools.pairwise(offsets)]
    squares = sum(((rows - rows.mean(axis=0)) ** 2).sum(axis=0) for rows in lists if len(rows))
    return np.sqrt(squares / len(dense))


@pytest.mark.parametrize(
    "lengths", [(1, 1, 1), (3,) * 50, (1, 7, 2, 7, 1, 2), (SHORT_LIST_ROWS // 2,) * 3, (SHORT_LIST_ROWS, 5)]
)
def test_the_spread_is_that_of_each_list_about_its_own_mean(lengths):
    rng = np.random.default_rng(len(lengths))
    lists = [rng.normal(size=(n, 3)) * [1.0, 100.0, 0.01] for n in lengths]
    pool = pool_of(lists, [np.zeros(n) for n in lengths])
    expected = plain_spread(pool.offsets, pool.features.dense)
    assert spread_in_lists(pool) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("n_rows", [0, 1, ROWS_ABREAST - 1, ROWS_ABREAST, ROWS_ABREAST + 1, 5 * ROWS_ABREAST])
@pytest.mark.parametrize("n_dense", [0, 1, 4])
def test_largest_sizes_are_those_of_columns(n_rows, n_dense):
    dense = np.random.default_rng(n_rows).normal(size=(n_rows, n_dense)) - 1.0
    features = Features.from_dense([f"f{i}" for i in range(n_dense)], dense)
    assert features.sizes.tolist() == np.abs(dense).max(axis=0, initial=0.0).tolist()
