"""Precision, recall and error rate: by hand, and against sets."""

import pytest
from hypothesis import given, settings
from test_links import links_of
from test_symmetrize import PAIRS

from luthier.alignment.summary import compare_links
from luthier.core.errors import LuthierError


def test_by_hand():
    # A has 4 links, S 3, P 4 (S and one more); A ∩ S = 2, A ∩ P = 3.
    judged = links_of([(0, 0), (1, 1), (2, 0)], [(0, 1)])
    sure = links_of([(0, 0), (1, 1)], [(1, 1)])
    possible = links_of([(2, 0)], [])
    plain = compare_links(judged, sure)
    assert (plain.links, plain.sure, plain.sure_found, plain.possible_found) == (4, 3, 2, 2)
    assert plain.precision == 2 / 4
    assert plain.recall == 2 / 3
    assert plain.error_rate == pytest.approx(1 - 4 / 7)
    wide = compare_links(judged, sure, possible)
    assert (wide.possible, wide.possible_found) == (4, 3)
    assert wide.precision == 3 / 4
    assert wide.recall == 2 / 3
    assert wide.error_rate == pytest.approx(1 - 5 / 7)


@settings(max_examples=60)
@given(PAIRS)
def test_against_sets(pairs):
    first = {(k, *link) for k, (a, _) in enumerate(pairs) for link in a}
    second = {(k, *link) for k, (_, b) in enumerate(pairs) for link in b}
    found = compare_links(links_of(*(a for a, _ in pairs)), links_of(*(b for _, b in pairs)))
    assert found.sure_found == found.possible_found == len(first & second)
    assert (found.links, found.sure) == (len(first), len(second))
    back = compare_links(links_of(*(b for _, b in pairs)), links_of(*(a for a, _ in pairs)))
    assert (back.precision, back.recall) == (found.recall, found.precision)
    assert back.error_rate == found.error_rate


def test_nothing_to_compare():
    nothing, one = links_of([]), links_of([(0, 0)])
    empty = compare_links(nothing, nothing)
    assert (empty.precision, empty.recall, empty.error_rate) == (1.0, 1.0, 0.0)
    assert compare_links(nothing, one).error_rate == compare_links(one, nothing).error_rate == 1.0
    with pytest.raises(LuthierError, match="found 1 and 2"):
        compare_links(one, links_of([], []))
