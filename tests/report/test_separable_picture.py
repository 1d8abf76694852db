"""The picture of separable pairs: points that keep the scores of the weights, and proofs that cancel in the plane."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from luthier.jobs.separable import separable
from luthier.report.figures.separable import CANCEL, CONFLICT, PAIR, WRONG, draw_separability, view


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("n_features", [1, 2, 3, 7])
def test_a_point_is_on_the_side_of_the_weights_that_rank_its_pair(n_features, scale):
    rng = np.random.default_rng(n_features)
    differences = scale * rng.integers(-3, 4, (40, n_features))
    weights = rng.normal(size=n_features)
    points, labels, normal = view(differences, weights, [f"f{k}" for k in range(n_features)])
    expected = differences @ weights / np.linalg.norm(weights)
    assert points.shape == (40, 2)
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert np.allclose(points @ normal, expected, rtol=1e-9, atol=1e-9 * scale)
    assert labels == {1: ("Δ f0", ""), 2: ("Δ f0", "Δ f1")}.get(n_features, ("along the weights", "across the weights"))


def test_the_features_that_differ_are_the_axes():
    differences = np.array([[0.0, 2.0, 0.0, -1.0], [0.0, 1.0, 0.0, 5.0]])
    points, labels, normal = view(differences, None, ["a", "b", "c", "d"])
    assert points.tolist() == [[2.0, -1.0], [1.0, 5.0]]
    assert labels == ("Δ b", "Δ d")
    assert normal is None


@pytest.mark.parametrize("rows", [np.zeros((0, 3)), np.zeros((2, 3)), np.zeros((3, 0))])
def test_pairs_that_nothing_tells_apart_lie_on_0(rows):
    points, labels, normal = view(rows, None, ["f"] * rows.shape[1])
    assert points.tolist() == [[0.0, 0.0]] * len(rows)
    assert labels == ("", "")
    assert normal is None


def test_without_weights_the_view_shows_most_of_the_differences():
    rng = np.random.default_rng(5)
    differences = rng.normal(size=(60, 5)) * np.array([1.0, 0.1, 7.0, 0.1, 3.0])
    points, _, _ = view(differences, None, list("abcde"))
    _, sizes, _ = np.linalg.svd(differences)
    assert np.square(points).sum() == pytest.approx(np.square(sizes[:2]).sum())


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))

    def draw(found):
        path = tmp_path / "pairs.png"
        draw_separability(found.models, path)
        assert path.read_bytes().startswith(b"\x89PNG")
        return figures[-1]

    return draw


def lines(axis, label):
    return [line.get_xydata() for line in axis.get_lines() if line.get_label() == label]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "local"),
    [
        ("figure4", [[-2, 0], [2, 0]], None),
        ("figure5", [[0, 0]], [[2, -1]]),
        ("figure6", [[-2, 1], [2, 1], [-1, -1], [1, -6]], None),
    ],
)
def test_figures_of_the_paper(drawn, name, given, local):
    found = separable(example=name)
    figure = drawn(found)
    titles = [f"{model.name}: {'' if model.pairs.together.separable else 'not '}separable" for model in found.models]
    assert [axis.get_title() for axis in figure.axes] == titles
    first, _, last = figure.axes
    assert np.concatenate(lines(first, CONFLICT)).tolist() == given  # differences by hand, from the paper's table
    (points,) = lines(last, PAIR)
    if local:
        assert points.tolist() == local
    ends = [line[1] for line in lines(first, CANCEL)]
    shares = [float(share) for share in found.models[0].pairs.together.contradiction.exact]
    assert np.abs(np.array(shares) @ np.array(ends)).max() < 1e-12
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == [PAIR, CONFLICT, WRONG, CANCEL]
