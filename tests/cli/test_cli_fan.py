"""fan: the paper's examples by one command each, lists of a pool, what is refused; and choices near w0."""

import json
import math

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.geometry.polytopes.fan import choose_by_angle, choose_on_line, planar_fan
from luthier.kbest.features import Features
from luthier.kbest.rerank import rerank
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.landscape.cones.fan_scenes import example_scene, pool_scene, regularize
from luthier.landscape.subspaces import read_axis
from luthier.report.console import show
from luthier.report.figures.fan import draw_scene
from luthier.report.tables.geometry import fan_tables
from luthier.synthetic.lists.noisy_channel import SyntheticLists


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("fans")
    pool = SyntheticLists(sentences=5, k=12, vocabulary=200).generate(1)
    save_pool(pool, home / "pool.arrow")
    save_pool(pool.take(np.flatnonzero(np.arange(pool.n_hypotheses) >= pool.offsets[1])), home / "gap.arrow")
    f = pool.features
    rows = np.arange(len(f))
    sparse = Features((*f.names, "s0"), f.dense, np.arange(len(f) + 1), np.zeros(len(f), np.int32), rows % 3 - 1.0)
    save_pool(pool.with_features(sparse), home / "sparse.arrow")
    (home / "w.txt").write_text("lm 0.5\nchannel 0.25\ndirect 1\n")
    return home


def fan(run_cli, *arguments, out):
    code, text, errors = run_cli("geometry", "fan", *arguments, "-o", out, "--json")
    assert code == 0, errors
    assert out.read_bytes().startswith(b"\x89PNG")
    return json.loads(text)


def test_table_1_and_figures_1_and_2(run_cli, tmp_path):
    data = fan(run_cli, "--example", "table1", out=tmp_path / "f.png")
    assert data["lists"] == [{"rows": 5, "corners": [1, 2, 0, 3]}]
    assert [cone["selects"] for cone in data["cones"]] == [[1], [2], [0], [3]]


def test_figure_3(run_cli, tmp_path):
    data = fan(run_cli, "--example", "figure3", out=tmp_path / "f.png")
    assert len(data["cones"]) == len(data["boundaries"]) == 6
    assert [boundary["changes"] for boundary in data["boundaries"]] == [[0], [1], [0], [1], [0], [0, 1]]


def test_figure_5_the_line_cannot_see_what_the_fan_shows(run_cli, tmp_path):
    data = fan(run_cli, "--example", "figure5", out=tmp_path / "f.png")
    near = data["regularized"]
    # the line finds h1 and h2 at the same cost: both boundaries are as far from w0 along it
    assert [data["cones"][cone]["selects"] for cone in near["line"]["best"]] == [[0], [1]]
    steps = [math.dist(weights, near["start"]) for weights in near["line"]["weights"]]
    assert steps[0] == pytest.approx(steps[1])
    # by angle h2 is much nearer, and the point taken lies strictly inside its cone
    assert data["cones"][near["fan"]["best"]]["selects"] == [1]
    chosen = dict(zip(near["fan"]["good"], near["fan"]["degrees"], strict=True))
    assert chosen[near["fan"]["best"]] < 0.5 * max(chosen.values())
    points = example_scene("figure5").lists[0]
    assert np.argmax(points @ np.array(near["fan"]["weights"])) == 1


def test_one_sentence_with_scores_and_weights_of_sparse_features_too(run_cli, folder, tmp_path):
    arguments = ("--sentence", 2, "--axis", "lm", "--axis", "s0", "--weights", folder / "w.txt", "--metric", "chrf")
    data = fan(run_cli, folder / "sparse.arrow", *arguments, out=tmp_path / "f.png")
    pool = open_pool(folder / "sparse.arrow")
    low, high = pool.offsets[2:4]
    points = np.column_stack([pool.features.column("lm"), pool.features.column("s0")])[low:high]
    assert [cone["selects"][0] for cone in data["cones"]] == planar_fan([points]).selections[:, 0].tolist()
    assert all(0 <= cone["score"] <= 100 for cone in data["cones"])


def test_two_sentences_agree_with_reranking(folder):
    pool = open_pool(folder / "pool.arrow")
    joint = pool_scene(pool, [4, 1], ["lm", "direct"], None, None).joint
    pool = pool.take_sentences([4, 1])
    for cone in range(joint.n_cones):
        weights = np.zeros(pool.n_features)
        weights[[pool.features.index("lm"), pool.features.index("direct")]] = joint.middle(cone)
        assert (rerank(pool, weights) - pool.offsets[:-1]).tolist() == joint.selections[cone].tolist()


def test_regularize_on_three_sentences_through_the_weights_themselves(run_cli, folder, tmp_path):
    sentences = [x for s in (0, 1, 3) for x in ("--sentence", s)]
    arguments = (*sentences, "--axis", folder / "w.txt", "--axis", "lm", "--weights", folder / "w.txt")
    data = fan(run_cli, folder / "pool.arrow", *arguments, "--regularize", out=tmp_path / "f.png")
    near = data["regularized"]
    assert near["start"] == pytest.approx([1.0, 0.0])
    scores = [cone["score"] for cone in data["cones"]]
    assert scores[near["fan"]["best"]] == max(scores)
    # what the fan chose is selected by a plain re-rank with the full weights
    pool = open_pool(folder / "pool.arrow").take_sentences([0, 1, 3])
    given, lm = read_axis(pool, str(folder / "w.txt")), read_axis(pool, "lm")
    x, y = near["fan"]["weights"]
    selected = rerank(pool, x * given + y * lm) - pool.offsets[:-1]
    assert selected.tolist() == data["cones"][near["fan"]["best"]]["selects"]


def test_the_table_names_what_is_selected(capsys):
    scene = example_scene("figure5")
    show(fan_tables(scene, regularize(scene), "f.png"))
    out = capsys.readouterr().out
    assert "│    2 │ h1      │" in out
    assert "by angle: cone 0, 21.37°" in out


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["pool.arrow", "--sentence", 0, "--axis", "lm"], "expected two axes, found 1"),
        (["pool.arrow", "--axis", "lm", "--axis", "channel"], "at least one sentence"),
        (["pool.arrow", "--sentence", 5, "--axis", "lm", "--axis", "channel"], "from 0 to 4"),
        (["gap.arrow", "--sentence", 0, "--axis", "lm", "--axis", "channel"], "no hypotheses"),
        (["pool.arrow", "--sentence", 0, "--axis", "lm", "--axis", "lm"], "independent"),
        (["pool.arrow", "--sentence", 0, "--axis", "lm", "--axis", "channel", "--regularize"], "need weights and"),
        (["pool.arrow", *(3 * ["--sentence", 0]), "--axis", "lm", "--axis", "channel"], "one or two sentences"),
        (["--example", "figure9"], "table1"),
        ([], "a pool or --example"),
        (["--example", "figure5", "--tolerance", -1], "0 or more"),
        (["--example", "figure5", "--tolerance", "nan"], "a finite tolerance of 0 or more, found nan"),
        (["--example", "figure5", "--strength", "inf"], "a finite strength of 0 or more, found inf"),
        (["--example", "table1", "--strength", 1], "settings of --regularize"),
        (["--example", "table1", "--axis", "lm"], "leave those options out"),
        (["--example", "table1", "--regularize"], "figure5 has both"),
    ],
)
def test_what_is_refused(run_cli, folder, tmp_path, arguments, complaint):
    arguments = [folder / a if str(a).endswith(".arrow") else a for a in arguments]
    code, _, errors = run_cli("geometry", "fan", *arguments, "-o", tmp_path / "f.png")
    assert code == 2
    assert complaint in errors
    assert not (tmp_path / "f.png").exists()


@pytest.mark.parametrize("name", ["f.gif", "-"])
def test_a_picture_is_called_a_picture(run_cli, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code, _, errors = run_cli("geometry", "fan", "--example", "table1", "-o", name)
    assert code == 2
    assert f"ends in .png, .pdf or .svg, found '{name}'" in errors
    assert not any(tmp_path.iterdir())


def test_features_of_very_unlike_sizes_are_drawn(tmp_path):
    points = np.array([[0.0, 0.0], [2e150, 1e-150], [1e150, 3e-150], [1e150, 1e-150]])
    pool = SyntheticLists(sentences=1, k=4, vocabulary=200).generate(2)
    pool = pool.with_features(Features.from_dense(("a", "b"), points))
    for name, sentences in (("one.png", [0]), ("two.png", [0, 0])):
        draw_scene(pool_scene(pool, sentences, ["a", "b"], None, None), None, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0], [3.0, 2.0]]])
def test_lists_with_little_to_choose_from_are_drawn(tmp_path, points):
    pool = SyntheticLists(sentences=1, k=len(points), vocabulary=200).generate(2)
    pool = pool.with_features(Features.from_dense(("a", "b"), np.array(points)))
    for name, sentences in (("one", [0]), ("two", [0, 0])):
        scene = pool_scene(pool, sentences, ["a", "b"], None, None)
        assert scene.joint.n_cones == len({tuple(p) for p in points})
        draw_scene(scene, None, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_choices_against_a_search_of_many_directions():
    rng = np.random.default_rng(4)
    for _ in range(30):
        found = planar_fan([rng.integers(-3, 4, (6, 2)).astype(float) for _ in range(2)])
        gains = rng.integers(0, 3, found.n_cones).astype(float)
        start = rng.standard_normal(2)
        choice = choose_by_angle(found, gains, start, tolerance=0.5)
        turns = np.linspace(-math.pi, math.pi, 4001)
        around = np.array([math.atan2(start[1], start[0])]) + turns
        good = gains[[found.cone_at([math.cos(t), math.sin(t)]) for t in around]] >= gains.max() - 0.5
        nearest = np.abs(turns[good]).min() if good.any() else math.inf
        if nearest < math.pi / 2 - 0.01:
            assert choice.angles.min() == pytest.approx(nearest, abs=2e-3)
            assert found.cone_at(choice.weights) == choice.best
            assert gains[choice.best] >= gains.max() - 0.5
        elif nearest > math.pi / 2 + 0.01:
            assert choice.best == -1
        direction = rng.standard_normal(2)
        line = choose_on_line(found, gains, start, direction, strength=0.3)
        steps = np.linspace(-40, 40, 2001)
        cones = [found.cone_at(start + t * direction) for t in steps]
        sampled = 0.3 * steps**2 * (direction @ direction) - gains[cones]
        assert line.costs.min() <= sampled.min() + 1e-9
        for i, cone in enumerate(line.cones):
            assert found.cone_at(start + line.inside[i] * direction) == cone


def test_regularizing_needs_scores_and_a_start():
    with pytest.raises(LuthierError, match="need weights and"):
        regularize(example_scene("table1"))
