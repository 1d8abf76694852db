"""Groups of features: kept, and kept true, by everything that is done to features."""

from __future__ import annotations

import dataclasses

import pytest
from small_pools import make_features, make_pool

from luthier.core.errors import LuthierError
from luthier.kbest.features import align_features, concatenate_features
from luthier.kbest.groups import FeatureGroup
from luthier.kbest.merge import merge

BINS = FeatureGroup("lm", ("lm<1", "lm<2", "lm>2"))
NAMES = ("x", "lm<2", "lm>2", "lm<1")


def binned(**more):
    return make_features([(1, 2, 3, 4)], NAMES, sparse=3, **more).group([BINS])


def test_what_is_done_to_features_is_done_to_their_groups():
    features = binned()
    assert features.take([0, 0]).groups == (BINS,)
    assert features.scale({"x": 2}).groups == (BINS,)
    assert features.call_costs(["x"]).groups == (BINS,)
    assert features.select(["lm>2", "lm<1"]).groups == (FeatureGroup("lm", ("lm<1", "lm>2")),)
    assert features.select(["x"]).groups == ()
    assert features.rename({"lm<1": "low"}).groups == (FeatureGroup("lm", ("low", "lm<2", "lm>2")),)
    assert align_features(features, ("lm<1", "y"), 1).groups == (FeatureGroup("lm", ("lm<1",)),)


@pytest.mark.parametrize(
    "groups, message",
    [
        ([FeatureGroup("lm", ("nobody",))], "no feature: 'nobody'"),
        ([BINS, FeatureGroup("lm", ("x",))], "a name twice"),
        ([BINS, FeatureGroup("x", ("x", "lm>2"))], "in two groups"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, message):
    with pytest.raises(LuthierError, match=message):
        binned().group(groups)


def test_a_group_has_different_columns():
    for columns in ((), ("a", "a")):
        with pytest.raises(LuthierError, match="different columns"):
            FeatureGroup("g", columns)


def test_tables_put_together_keep_the_longest_group():
    some = make_features([(1, 2)], ("lm<1", "lm>2")).group([FeatureGroup("lm", ("lm<1", "lm>2"))])
    none = make_features([(1,)], ("x",))
    for parts in ([binned(), some, none], [none, some, binned()]):
        assert concatenate_features(parts).groups == (BINS,)
    other = some.group([FeatureGroup("lm", ("lm>2", "lm<1"))])
    with pytest.raises(LuthierError, match="different bins of 'lm'"):
        concatenate_features([binned(), other])


def test_pools_keep_groups_and_are_others_by_them():
    pool = make_pool([[("a", (1, 2, 3, 4))]], NAMES)
    grouped = pool.with_features(pool.features.group([BINS]))
    assert grouped.digest() != pool.digest()
    assert grouped.take([0]).features.groups == (BINS,)
    assert merge([grouped, pool]).features.groups == (BINS,)
    assert dataclasses.replace(grouped, features=grouped.features.group([])).digest() == pool.digest()
