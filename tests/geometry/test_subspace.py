import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.geometry.subspace import Subspace, origin_place
from luthier.landscape.subspaces import project, read_subspace
from luthier.synthetic.lists.noisy_channel import SyntheticLists


def test_scores_of_projected_rows_are_scores_in_full_dimension():
    pool = SyntheticLists(sentences=4, k=8, n_features=6).generate(0)
    rng = np.random.default_rng(1)
    space = Subspace(rng.normal(size=6), rng.normal(size=(3, 6)))
    points = project(pool, space)
    assert points.shape == (pool.n_hypotheses, 4)
    for position in rng.normal(size=(5, 3)):
        weights = space.weights(position)
        assert np.allclose(points @ [1.0, *position], pool.features.scores(weights))


def test_coordinate_0_is_the_score_at_the_start_to_the_bit():
    pool = SyntheticLists(sentences=3, k=5, n_features=6).generate(0)
    start = np.random.default_rng(2).normal(size=6)
    space = Subspace(start, np.eye(6)[1:3])
    points = project(pool, space)
    assert np.array_equal(points[:, 0], pool.features.scores(start))
    assert np.array_equal(points[:, 1], pool.features.column(pool.features.names[1]))


def test_one_position_or_many_give_the_same_bits():
    rng = np.random.default_rng(3)
    space = Subspace(rng.normal(size=5), rng.normal(size=(2, 5)))
    positions = rng.normal(size=(7, 2))
    assert np.array_equal(space.weights(positions), np.array([space.weights(p) for p in positions]))
    assert np.array_equal(space.weights(np.zeros(2)), space.start)


@pytest.mark.parametrize(
    ("directions", "words"),
    [
        (np.eye(3)[:2] * 0.0, "independent"),
        ([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], "independent"),
        (np.eye(4), "directions of 3 weights"),
        ([[np.nan, 1.0, 0.0]], "finite"),
    ],
)
def test_bad_axes_are_refused(directions, words):
    with pytest.raises(LuthierError, match=words):
        Subspace(np.ones(3), np.array(directions))


def test_axes_of_unlike_lengths_are_independent_where_their_directions_are():
    Subspace(np.ones(3), np.array([[1e12, 0.0, 0.0], [0.0, 1e-12, 0.0]]))
    with pytest.raises(LuthierError, match="independent"):
        Subspace(np.ones(3), np.array([[1e12, 2e12, 0.0], [1e-12, 2e-12, 0.0]]))


def test_an_axis_is_a_feature_or_a_file(tmp_path):
    pool = SyntheticLists(sentences=3, k=5, n_features=6).generate(0)
    names = pool.features.names
    (tmp_path / "both.txt").write_text(f"{names[0]} 1\n{names[2]} -2\n")
    space = read_subspace(pool, None, [names[1], str(tmp_path / "both.txt")])
    assert space.directions.tolist() == [[0, 1, 0, 0, 0, 0], [1, 0, -2, 0, 0, 0]]
    with pytest.raises(LuthierError, match="neither a feature nor a file"):
        read_subspace(pool, None, ["no-such-axis"])


@given(st.data())
def test_the_place_of_the_origin_is_exact_or_there_is_none(data):
    n_axes, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    small = st.integers(-3, 3)
    directions = np.array(
        data.draw(st.lists(st.lists(small, min_size=n, max_size=n), min_size=n_axes, max_size=n_axes))
    )
    steps = np.array(data.draw(st.lists(small, min_size=n_axes, max_size=n_axes)))
    start = -(steps @ directions)
    place = origin_place(start.astype(float), directions.astype(float))
    assert all(a + sum(x * int(d) for x, d in zip(place, column, strict=True)) == 0
               for a, column in zip(start.tolist(), directions.T, strict=True))  # fmt: skip
    # one more weight, which no direction moves
    beside = np.c_[directions, np.zeros(n_axes)].astype(float)
    assert origin_place(np.r_[start, 1e-300], beside) is None
    assert origin_place(np.r_[start, 0.0], beside) == place
