"""Symmetrisation: grids worked by hand, one for each way, and a plain twin on random links."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_links import links_of

from luthier.alignment.symmetrize import WAYS, symmetrize
from luthier.core.errors import LuthierError

# Rows are source words, columns target words; F forward only, B backward only, X both, . neither.
#
#        0 1 2 3 4 5
#     0  X . . . . .
#     1  . B . . . .     (1,1) touches (0,0), both words free: grows
#     2  . . F . . .     (2,2) touches (1,1) once that is in: grows in the same pass
#     3  . F . . . .     (3,1) touches (2,2); word 1 has a link, word 3 has none: grows
#     4  . . . . F .     (4,4) touches nothing, both words free: final-and takes it (forward comes first)
#     5  . . . . B .     (5,4) touches (4,4), which never grew; then word 4 has a link, 5 none: final only
#     6  F . . . . .     (6,0) touches nothing; word 0 has a link, word 6 none: final only
#     7  . . . . . B     (7,5) touches nothing, both words free: final-and
GRID = ("X.....", ".B....", "..F...", ".F....", "....F.", "....B.", "F.....", ".....B")
GROWN = {(0, 0), (1, 1), (2, 2), (3, 1)}
BY_HAND = {
    "intersect": {(0, 0)},
    "grow-diag": GROWN,
    "grow-diag-final-and": GROWN | {(4, 4), (7, 5)},
    "grow-diag-final": GROWN | {(4, 4), (7, 5), (5, 4), (6, 0)},
    "union": GROWN | {(4, 4), (7, 5), (5, 4), (6, 0)},
    "forward": {(0, 0), (2, 2), (3, 1), (4, 4), (6, 0)},
    "backward": {(0, 0), (1, 1), (5, 4), (7, 5)},
}

# Order decides. Final takes forward before backward: (3,2) before (4,2), although both have two free words; then
# target word 2 has a link, so final-and leaves (4,2) out and final takes it, for source word 4 has none.
#
#        0 1 2
#     0  . F .
#     1  B F .
#     2  X . .
#     3  . . F
#     4  . . B
ORDER = (".F.", "BF.", "X..", "..F", "..B")
# pass 1: (0,1): touches (1,0)? not taken; (1,1)? not taken → no. (1,0): touches (2,0), word 1 free → in. (1,1): touches
# (1,0), target word 1 free → in. (3,2): touches (2,1)? no point. → no. (4,2): no.
# pass 2: (0,1): touches (1,0), source word 0 free → in. (3,2), (4,2) touch nothing that is taken. pass 3: nothing.
ORDER_BY_HAND = {
    "grow-diag": {(2, 0), (1, 0), (1, 1), (0, 1)},
    "grow-diag-final-and": {(2, 0), (1, 0), (1, 1), (0, 1), (3, 2)},
    "grow-diag-final": {(2, 0), (1, 0), (1, 1), (0, 1), (3, 2), (4, 2)},
}


def sides_of(grid):
    points = {(i, j): mark for i, row in enumerate(grid) for j, mark in enumerate(row) if mark != "."}
    return {p for p, mark in points.items() if mark in "FX"}, {p for p, mark in points.items() if mark in "BX"}


@pytest.mark.parametrize("how", WAYS)
def test_the_grid_worked_by_hand(how):
    forward, backward = sides_of(GRID)
    assert set(symmetrize(links_of(forward), links_of(backward), how)[0]) == BY_HAND[how]


@pytest.mark.parametrize("how", ORDER_BY_HAND)
def test_the_order_of_growing_and_of_finishing(how):
    forward, backward = sides_of(ORDER)
    assert set(symmetrize(links_of(forward), links_of(backward), how)[0]) == ORDER_BY_HAND[how]


def grown_plainly(forward, backward, how):
    """Grow sets of points as the specification says."""
    union = sorted(forward | backward)
    result = set(forward & backward) if how != "union" else set(union)
    if how in ("intersect", "union"):
        return result

    def free(point):
        return [all(s != point[0] for s, _ in result), all(t != point[1] for _, t in result)]

    while True:
        size = len(result)
        for s, t in union:
            near = any((s + i, t + j) in result for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
            if (s, t) not in result and near and any(free((s, t))):
                result.add((s, t))
        if len(result) == size:
            break
    for side in (forward, backward) if "final" in how else ():
        for point in sorted(side):
            if point not in result and (all if how.endswith("and") else any)(free(point)):
                result.add(point)
    return result


POINTS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=9)
PAIRS = st.lists(st.tuples(POINTS, POINTS), min_size=1, max_size=4)


@settings(max_examples=70)
@given(PAIRS)
def test_any_links_grow_as_sets_do(pairs):
    forward, backward = links_of(*(f for f, _ in pairs)), links_of(*(b for _, b in pairs))
    results = {how: symmetrize(forward, backward, how) for how in WAYS}
    for how in WAYS[:5]:
        for k, (f, b) in enumerate(pairs):
            assert results[how][k] == sorted(grown_plainly(f, b, how))
    assert results["forward"] == forward
    assert results["backward"] == backward


def test_what_does_not_fit_is_refused():
    links = links_of([(0, 0)])
    with pytest.raises(
        LuthierError, match=r"there is no 'grow' among the ways to symmetrize\. known: grow-diag-final-and"
    ):
        symmetrize(links, links, "grow")
    with pytest.raises(LuthierError, match="expected links of as many sentence pairs, found 1 and 2"):
        symmetrize(links, links_of([], []), "union")
    assert symmetrize(links_of([]), links_of([])) == links_of([])
