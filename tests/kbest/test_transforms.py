"""What a user can have done to features on the way, in one order."""

from __future__ import annotations

import pytest
from small_pools import content, make_pool

from luthier.core.errors import LuthierError
from luthier.kbest.merge import Transforms

LISTS = [[("a", (1, 2, 3)), ("b", (4, 5, 6)), ("c", (7, 8, 9))]]


def applied(**options):
    return Transforms(**options).apply(make_pool(LISTS, ("x", "y", "z"), sparse=1))


def test_nothing_asked_nothing_done():
    pool = make_pool(LISTS)
    assert Transforms().apply(pool) is pool


def test_each_alone():
    assert applied(select=["z", "x"]).features.names == ("x", "z")
    assert applied(drop=["y"]).features.names == ("x", "z")
    assert applied(rename={"x": "y", "y": "x"}).features.names == ("y", "x", "z")
    assert applied(scale={"z": -1.0}).features.column("z").tolist() == [-3, -6, -9]
    assert applied(costs=["y"]).features.costs == {"y"}
    assert [text for text, _ in content(applied(cap=2))["0"]] == ["a", "b"]


def test_all_in_one_order_with_old_names_first_and_new_names_then():
    pool = applied(drop=["x"], rename={"y": "x", "z": "y"}, scale={"x": 2.0}, costs=["y"], cap=1)
    assert content(pool) == {"0": [("a", {"x": 4, "y": 3})]}
    assert pool.features.costs == {"y"}
    done = [step["operation"] for step in pool.provenance["operations"]]
    assert done == ["select", "rename", "scale", "costs", "cap"]


def test_costs_add_up():
    pool = Transforms(costs=["x"]).apply(applied(costs=["y"]))
    assert pool.features.costs == {"x", "y"}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"select": ["x"], "drop": ["y"]}, "not both"),
        ({"drop": ["x", "y", "z"]}, "no feature would be left"),
        ({"drop": ["q"]}, "no feature is called 'q'"),
        ({"select": ["q"]}, "no feature is called 'q'"),
        ({"rename": {"x": "y"}}, "'y' stands twice"),
        ({"scale": {"x": 0.0}}, "other than 0"),
        ({"costs": ["q"]}, "no feature is called 'q'"),
        ({"cap": 0}, "at least 1"),
    ],
)
def test_what_cannot_be_done(options, message):
    with pytest.raises(LuthierError, match=message):
        applied(**options)
