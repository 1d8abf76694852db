"""Vectors that cancel, by elimination: against the rational programme, with ties, and where there is no such proof."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.geometry.lp.rational import Cancelled, cancelling, settle

ROWS = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d).filter(any), min_size=1, max_size=d + 1)
)


@settings(max_examples=200)
@given(ROWS)
def test_what_is_found_cancels_and_what_must_be_found_is(vectors):
    found = cancelling(vectors)
    if found is not None:
        assert sum(found) == 1
        assert min(found) > 0
        assert all(
            sum(share * v[k] for share, v in zip(found, vectors, strict=True)) == 0 for k in range(len(vectors[0]))
        )
    exact = settle(vectors)
    if isinstance(exact, Cancelled):  # a basis of the programme has one dependence, and it is positive
        used = [vectors[i] for i in exact.indices]
        assert cancelling(used) == exact.multipliers
    else:
        assert found is None


def test_by_hand():
    assert cancelling([[3, 0], [-1, 0]]) == (Fraction(1, 4), Fraction(3, 4))
    assert cancelling([[1, 1], [1, 1]]) is None  # one dependence, of both signs
    assert cancelling([[1], [-1], [-2]]) is None  # two dependences
    assert cancelling([[2**80, 1], [-(2**80), -1]]) == (Fraction(1, 2), Fraction(1, 2))
