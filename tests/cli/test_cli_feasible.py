"""`luthier geometry feasible`: verdicts, their exit codes, files of selections and what can be wrong with them."""

import json

import numpy as np
import pytest

from luthier.kbest.features import Features
from luthier.kbest.rerank import rerank
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.kbest.weights import read_weights
from luthier.landscape.selections.feasibility import Choice, choose, judge
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from small_problems import pool_of


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("feasible") / "pool.arrow"
    save_pool(SyntheticLists(sentences=12, k=15, n_features=4, vocabulary=200).generate(3), path)
    return path


def written(tmp_path, numbers):
    path = tmp_path / "picks.txt"
    path.write_text("".join(f"{number}\n" for number in numbers))
    return path


def test_a_selection_of_some_weights_is_feasible_and_they_are_written(run_cli, path, tmp_path):
    pool = open_pool(path)
    rows = rerank(pool, np.array([0.3, -1.0, 0.2, 0.7]))
    picks = written(tmp_path, rows - pool.offsets[:-1])
    code, out, err = run_cli("geometry", "feasible", path, "--select", picks, "-o", tmp_path / "w.txt", "--json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["feasible"]
    assert told["selects"]
    assert told["margin"] > 0.0
    weights = read_weights(tmp_path / "w.txt")
    assert dict(weights) == told["weights"]
    assert (rerank(pool, weights.vector(pool.features.names)) == rows).all()
    code, out, _ = run_cli("geometry", "feasible", path, "--select", picks)
    assert code == 0
    assert "Some weights make this selection." in out
    code, out, _ = run_cli("geometry", "feasible", path, "--select", picks, "-o", "-")
    assert out == (tmp_path / "w.txt").read_text()


@pytest.mark.parametrize("select", ["oracle", "sentence-oracle"])
def test_an_oracle_is_infeasible_and_the_contradiction_is_one(run_cli, path, tmp_path, select):
    code, out, err = run_cli("geometry", "feasible", path, "--select", select, "-o", tmp_path / "w.txt", "--json")
    told, pool = json.loads(out), open_pool(path)
    assert (code, err) == (1, "")
    assert not told["feasible"]
    assert not (tmp_path / "w.txt").exists()
    h, total = pool.features.dense, np.zeros(4)
    for constraint in told["contradiction"]:
        start = pool.offsets[constraint["sentence"]]
        assert pool.texts[int(start + constraint["other"])] == constraint["other_text"]
        total += constraint["multiplier"] * (h[start + constraint["other"]] - h[start + constraint["wanted"]])
    np.testing.assert_allclose(total, 0.0, atol=1e-12)
    code, out, _ = run_cli("geometry", "feasible", path, "--select", select)
    assert code == 1
    assert f"{len(told['contradiction'])} constraints that contradict each other" in out


def test_the_oracle_is_of_the_metric(run_cli, path):
    ter = json.loads(run_cli("geometry", "feasible", path, "--select", "oracle", "--metric", "ter", "--json")[1])
    assert ter["metric"].startswith("ter")


def test_sentences_can_be_left_out(run_cli, path, tmp_path):
    picks = written(tmp_path, [0, *["-"] * 11])
    told = json.loads(run_cli("geometry", "feasible", path, "--select", picks, "--json")[1])
    assert told["sentences"] == 1
    assert told["feasible"]


def test_sentences_without_hypotheses_and_sparse_features(run_cli, path, tmp_path):
    pool = open_pool(path).take_sentences(np.arange(4))
    n = int(pool.offsets[3])
    small = pool.take(np.arange(n))  # the fourth sentence has no hypotheses left
    marks = (np.arange(n) == 2).astype(float)
    names, dense = (*pool.features.names, "s"), small.features.dense
    small = small.with_features(Features(names, dense, np.arange(n + 1), np.zeros(n, np.int32), marks))
    save_pool(small, tmp_path / "sparse.arrow")
    told = json.loads(run_cli("geometry", "feasible", tmp_path / "sparse.arrow", "--select", "first", "--json")[1])
    assert told["sentences"] == 3
    picks = written(tmp_path, [2, "-", "-", ""])
    told = json.loads(run_cli("geometry", "feasible", tmp_path / "sparse.arrow", "--select", picks, "--json")[1])
    assert told["feasible"]  # only this hypothesis has the sparse feature
    assert told["weights"]["s"] > 0.0


@pytest.mark.parametrize(
    "lines, message",
    [
        (["0"] * 11, "picks.txt:11: expected 12 lines, one for each sentence, found 11."),
        (["0"] * 13, "picks.txt:13: expected 12 lines, one for each sentence, found 13."),
        (["0", "15", *["0"] * 10], "picks.txt:2: expected a number from 0 to 14 for sentence 1"),
        (["0", "0", "-1", *["0"] * 9], "picks.txt:3: expected a number from 0 to 14 for sentence 2"),
        (["0", "0", "", *["0"] * 9], "picks.txt:3: expected a number from 0 to 14 for sentence 2"),
    ],
)
def test_faults_of_a_file_are_named(run_cli, path, tmp_path, lines, message):
    code, out, err = run_cli("geometry", "feasible", path, "--select", written(tmp_path, lines))
    assert (code, out) == (2, "")
    assert message in err


def test_a_selection_is_needed(run_cli, path):
    assert run_cli("geometry", "feasible", path)[0] == 2
    code, _, err = run_cli("geometry", "feasible", path, "--select", "nothing.txt")
    assert code == 2
    assert "nothing.txt" in err


@pytest.mark.parametrize("n_features", [2, 4])
@pytest.mark.parametrize("select", ["first", "oracle"])
def test_proofs_are_drawn(run_cli, tmp_path, n_features, select):
    save_pool(SyntheticLists(sentences=6, k=8, n_features=n_features, vocabulary=200).generate(3), tmp_path / "p.arrow")
    code, _, err = run_cli(
        "geometry", "feasible", tmp_path / "p.arrow", "--select", select, "--plot", tmp_path / "p.png"
    )
    assert (code, err) == ((0 if select == "first" else 1), "")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("n_features", [2, 3])
def test_where_nothing_is_to_be_kept_apart_any_weights_do(run_cli, tmp_path, n_features):
    pool = SyntheticLists(sentences=3, k=4, n_features=n_features, vocabulary=200).generate(3)
    same = Features.from_dense(pool.features.names, np.ones_like(pool.features.dense))
    save_pool(pool.with_features(same), tmp_path / "p.arrow")
    code, out, err = run_cli(
        "geometry", "feasible", tmp_path / "p.arrow", "--select", "first", "--plot", tmp_path / "p.png"
    )
    assert (code, err) == (0, "")
    assert "any weights make this selection" in out
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_wishes_bound_the_cone_and_cancel(path):

    pool = open_pool(path)
    planar = pool.with_features(pool.features.select(pool.features.names[:2]))
    rows = rerank(planar, np.array([0.7, 0.4]))
    verdict = judge(planar, Choice("these", rows))
    _, constraints = verdict.constraints()
    weights = verdict.proof.weights
    assert (constraints @ weights).min() == pytest.approx(verdict.proof.margin)
    for angle in np.linspace(
        0.0, 2.0 * np.pi, 721
    ):  # inside all constraints, and inside them only, the selection is made
        w = np.array([np.cos(angle), np.sin(angle)])
        if np.abs(constraints @ w).min() > 1e-6:
            assert (constraints @ w > 0.0).all() == (rerank(planar, w) == verdict.proof.rows).all()
    verdict = judge(pool, choose(pool, "oracle", load_metric("bleu")))
    names, constraints = verdict.constraints()
    assert len(names) == len(verdict.contradiction())
    np.testing.assert_allclose(constraints.sum(axis=0), 0.0, atol=1e-12)


def sparse_pool(path, n_features, n_varying):
    """Save a pool of 3 lists x 4 rows with sparse features, of which only some differ within a list."""
    rng = np.random.default_rng(0)
    m = 12
    values = np.ones((m, n_features))
    values[:, :n_varying] = rng.integers(1, 4, (m, n_varying))
    indices = np.tile(np.arange(n_features, dtype=np.int32), m)
    names = tuple(f"s{i}" for i in range(n_features))
    features = Features(
        names, np.empty((m, 0)), n_features * np.arange(m + 1), indices, values.reshape(-1), frozenset()
    )
    lists = [np.zeros((4, 1))] * 3
    pool = pool_of(lists, [np.arange(4.0)] * 3).with_features(features)
    save_pool(pool, path)
    return pool


def test_of_sparse_features_those_that_differ_within_a_list_count(run_cli, tmp_path):
    sparse_pool(tmp_path / "pool.arrow", 3000, 4)
    for command in (
        ["geometry", "feasible", "--select", "first"],
        ["geometry", "bounds", "--sample", "3", "--orders", "1"],
    ):
        code, out, _ = run_cli(
            *command[:2], tmp_path / "pool.arrow", *command[2:], "--metric", "column:worth", "--json"
        )
        assert code in (0, 1)
        assert json.loads(out)
    sparse_pool(tmp_path / "wide.arrow", 3000, 900)
    code, _, err = run_cli("geometry", "bounds", tmp_path / "wide.arrow", "--metric", "column:worth")
    assert code == 2
    assert "expected at most 100 features that differ within a list, found 900" in err
    code, out, _ = run_cli("geometry", "feasible", tmp_path / "wide.arrow", "--select", "first")
    assert code == 0
    assert "others may have a larger margin" in out


def test_bounds_follow_from_sizes_alone(run_cli, tmp_path):
    code, out, _ = run_cli("geometry", "bounds", "--sizes", "1502x1000", "--features", "12", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["log10_index_vectors"] == pytest.approx(4506.0)
    assert found["theorem"]["least_dimensions"] == 493  # as the paper has it
    assert found["theorem"]["log10_percent"] == pytest.approx(-4403.1, abs=0.05)
    code, out, _ = run_cli("geometry", "bounds", "--sizes", "2x3,1x4", "--features", "2", "--json")
    assert 10 ** json.loads(out)["log10_index_vectors"] == pytest.approx(3 * 3 * 4)
    for arguments, said in (
        (("--sizes", "3", "--features", "2"), "expected sentences x hypotheses"),
        (("--sizes", "3x0", "--features", "2"), "expected from 1 to 20,000 lists"),
        (("--sizes", "99999999999x9", "--features", "2"), "expected from 1 to 20,000 lists"),
        (("--sizes", "3x3", "--features", "0"), "expected from 1 to 2,000 features"),
        (("--sizes", "3x3"), "expected a pool, or --sizes and --features together"),
        ((), "expected a pool"),
    ):
        code, _, err = run_cli("geometry", "bounds", *arguments)
        assert code == 2
        assert said in err


def test_what_pro_can_rank_lp_mert_can_select(run_cli, tmp_path):
    """One feature 2.1, 0, 1, 2 with gains 1, .9, .5, 0: the oracle is feasible, the order of all pairs is not."""
    values = [np.array([[2.1], [0.0], [1.0], [2.0]]), np.array([[3.0], [2.0], [1.0], [0.0]])]
    save_pool(pool_of(values, [[100.0, 90.0, 50.0, 0.0], [9.0, 8.0, 7.0, 6.0]]), tmp_path / "two.arrow")
    arguments = ("geometry", "separable", tmp_path / "two.arrow", "--metric", "column:worth", "--pairs", "all")
    code, out, _ = run_cli(*arguments)
    assert code == 0
    rows = [[part.strip() for part in line.split("│")] for line in out.splitlines() if "sentence alone" in line]
    assert "PRO only" in out
    found = json.loads(run_cli(*arguments, "--json")[1])["models"][0]
    assert [found[kind]["sentences_separable_alone"] for kind in ("oracle", "pairs")] == [2, 1]
    assert rows[-1][-5:-1] == ["1", "1", "0", "0"]


def test_pairs_are_drawn_beside_their_verdicts(run_cli, tmp_path):
    arguments = ("geometry", "separable", "--example", "figure5")
    code, out, err = run_cli(*arguments, "--plot", tmp_path / "pairs.svg")
    assert (code, err) == (0, "")
    assert out == run_cli(*arguments)[1]
    assert (tmp_path / "pairs.svg").read_bytes().startswith(b"<?xml")
    code, out, err = run_cli(*arguments, "--plot", tmp_path / "pairs.gif")
    assert (code, out) == (2, "")
    assert "ends in .png, .pdf or .svg" in err
