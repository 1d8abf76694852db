"""minkowski: streams that can be read, selections that a re-rank confirms, searches that stop and go on."""

import contextlib
import json

import numpy as np
import pyarrow.feather
import pytest

from luthier.kbest.features import Features
from luthier.kbest.rerank import rerank
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.kbest.weights import read_weights
from luthier.landscape.cones.search_state import read_state, write_state
from luthier.landscape.subspaces import read_subspace
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import pool_statistics, score_selections
from luthier.synthetic.lists.noisy_channel import SyntheticLists

AXES = ("--axis", "lm", "--axis", "length")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Draw few directions and pixels: kernels may run as plain Python."""
    monkeypatch.setattr("luthier.geometry.minkowski.checks.MOST_DIRECTIONS", 1000)
    monkeypatch.setattr("luthier.landscape.cones.minkowski_view.PIXELS", 40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("minkowski")
    spec = SyntheticLists(sentences=7, k=8, vocabulary=100)
    pool = spec.generate(3)
    save_pool(pool.take(np.flatnonzero(np.repeat(np.arange(7), pool.list_lengths) != 4)), home / "pool.arrow")
    (home / "w.txt").write_text("".join(f"{name} {value}\n" for name, value in spec.decoder_weights.items()))
    return home


def search(run_cli, folder, output, *arguments, axes=AXES):
    return run_cli(
        "geometry", "cones", folder / "pool.arrow", "--weights", folder / "w.txt", *axes, "-o", output, *arguments
    )  # fmt: skip


def cones(path):
    return pyarrow.feather.read_table(path).to_pydict()


def selections(table, n_sentences):
    """Return the hypotheses of every vertex, (V, N), from the changes; −1 for sentences without any."""
    rows = np.full((len(table["vertex"]), n_sentences), -1)
    for v in table["vertex"]:
        if table["parent"][v] >= 0:
            rows[v] = rows[table["parent"][v]]
        rows[v, table["sentences"][v]] = table["hypotheses"][v]
    return rows


def keys(path):
    found = cones(path)["key"]
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize("axes", [AXES[:2], AXES, (*AXES, "--axis", "channel")])
def test_cones_hold_weights_that_select_what_they_say(run_cli, folder, tmp_path, axes):
    code, out, _ = search(run_cli, folder, tmp_path / "c.arrow", "--json", axes=axes)
    report, table = json.loads(out), cones(tmp_path / "c.arrow")
    pool = open_pool(folder / "pool.arrow")
    assert code == 0
    assert report["complete"]
    assert report["found"] == report["usable"] == len(table["vertex"]) > 5
    names = list(axes[1::2])
    space = read_subspace(pool, str(folder / "w.txt"), names)
    coordinates = np.array(table["coordinates"])
    assert np.all(coordinates[:, 0] == 1.0)
    weights = space.weights(coordinates[:, 1:])
    rows = selections(table, pool.n_sentences)
    absolute = np.where(rows >= 0, rows + pool.offsets[:-1], -1)
    chosen = rerank(pool, weights)
    certain = np.array(table["certain"])
    assert certain.mean() > 0.9
    # of rows that look the same from within the subspace the lowest is named
    seen = pool.features.scores(space.matrix).T
    assert np.array_equal(seen[absolute[certain]], seen[chosen[certain]])
    metric = load_metric("bleu")
    scores = score_selections(pool_statistics(pool, metric), absolute, metric)
    assert table["metric"] == pytest.approx(scores)
    best = int(np.argmax(scores))
    assert report["best_score"] == pytest.approx(scores.max())
    assert report["best_vertex"] == best
    assert report["start_score"] == pytest.approx(scores[0])
    named = read_weights(folder / "w.txt").vector(pool.features.names, source="w")
    for name, start, found in zip(pool.features.names, named, report["weights"].values(), strict=True):
        assert (name in names) or start == found


def test_every_order_stopped_or_not_finds_the_same(run_cli, folder, tmp_path):
    search(run_cli, folder, tmp_path / "all.arrow")
    everything = keys(tmp_path / "all.arrow")
    for order in ("depth", "best", "breadth"):
        path, same = tmp_path / f"{order}.arrow", ("--order", order, "--json")
        code, out, _ = search(run_cli, folder, path, *same, "--limit", "20")
        report = json.loads(out)
        assert code == 0
        assert (report["found"], report["complete"]) == (20, False)
        assert 0 < report["covered"]["share"] < 1
        assert report["covered"]["directions"] > 0
        assert len(keys(path)) == 20
        code, _, err = search(run_cli, folder, path, *same)
        assert code == 2
        assert "--resume goes on from it" in err
        rows = tmp_path / f"{order}.arrow.rows"
        rows.write_bytes(rows.read_bytes() + b"what a killed search left")
        report = json.loads(search(run_cli, folder, path, *same, "--resume", "--threads", "2")[1])
        assert report["complete"]
        assert report["covered"] == {"share": 1.0, "error": 0.0, "directions": 0}
        assert keys(path) == everything
        assert not rows.exists()
        again = json.loads(search(run_cli, folder, path, *same, "--resume")[1])
        assert again["found"] == len(everything)
        assert keys(path) == everything
        assert search(run_cli, folder, path, *same)[0] == 0, "a search that is complete may be done anew"


def test_ctrl_c_leaves_a_search_that_can_be_gone_on_with(run_cli, folder, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def at_once(stop):
        stop.set()
        yield

    with monkeypatch.context() as patch:
        patch.setattr("luthier.landscape.cones.minkowski.stopping_gently", at_once)
        code, out, _ = search(run_cli, folder, tmp_path / "c.arrow")
    assert code == 130
    assert "stopped; it can be resumed" in out
    assert len(keys(tmp_path / "c.arrow")) == 1
    code, out, _ = search(run_cli, folder, tmp_path / "c.arrow", "--resume")
    assert code == 0
    search(run_cli, folder, tmp_path / "all.arrow")
    assert keys(tmp_path / "c.arrow") == keys(tmp_path / "all.arrow")


def test_a_whole_search_has_the_vertices_that_partial_sums_say(run_cli, folder, tmp_path):
    code, out, _ = search(run_cli, folder, tmp_path / "sum.arrow", "--whole", "--checksum", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["checksum"]["expected"] >= report["checksum"]["found"] == report["found"]
    assert report["checksum"]["sums"] == 6 + 15  # lists and pairs of six lists that have rows, in three dimensions
    code, _, err = search(run_cli, folder, tmp_path / "part.arrow", "--checksum")
    assert code == 2
    assert "a checksum counts the whole fan. hint: add --whole" in err


def test_a_whole_search_counts_what_the_plane_does_not_meet(run_cli, folder, tmp_path):
    search(run_cli, folder, tmp_path / "plane.arrow")
    report = json.loads(search(run_cli, folder, tmp_path / "whole.arrow", "--whole", "--json")[1])
    table = cones(tmp_path / "whole.arrow")
    usable = np.array(table["usable"])
    assert report["found"] > report["usable"] == usable.sum()
    assert {key for key, use in zip(table["key"], usable, strict=True) if use} == keys(tmp_path / "plane.arrow")
    coordinates = np.array(table["coordinates"])
    assert np.all(coordinates[usable, 0] == 1.0)
    assert np.all(coordinates[~usable, 0] <= 0.0)


def test_pictures_tables_and_no_metric(run_cli, folder, tmp_path):
    code, out, err = search(run_cli, folder, tmp_path / "c.arrow", "--metric", "none", "--plot", tmp_path / "c.png")
    assert code == 0
    assert "best cone" not in out
    assert "vertices found" in out
    assert "seed" in err
    assert "metric" not in cones(tmp_path / "c.arrow")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = search(run_cli, folder, tmp_path / "d.arrow", "--metric", "ter", "--limit", "30")
    assert code == 0
    assert "best score found" in out


def test_a_lower_score_is_the_best_where_lower_is_better(run_cli, folder, tmp_path):
    report = json.loads(search(run_cli, folder, tmp_path / "c.arrow", "--metric", "ter", "--json")[1])
    assert report["best_score"] == min(cones(tmp_path / "c.arrow")["metric"]) <= report["start_score"]


def test_sparse_features_are_searched_like_dense_ones(run_cli, folder, tmp_path):
    pool = open_pool(folder / "pool.arrow")
    f = pool.features
    kept, last = f.dense[:, :-1], f.dense[:, -1]
    entries = np.flatnonzero(last)
    indptr = np.searchsorted(entries, np.arange(len(f) + 1)).astype(np.int64)
    sparse = Features(f.names, kept, indptr, np.zeros(len(entries), np.int32), last[entries], f.costs)
    save_pool(pool.with_features(sparse), tmp_path / "pool.arrow")
    (tmp_path / "w.txt").write_text((folder / "w.txt").read_text())
    axes = ("--axis", f.names[-1], "--axis", "lm")
    search(run_cli, folder, tmp_path / "dense.cones", axes=axes)
    search(run_cli, tmp_path, tmp_path / "sparse.cones", axes=axes)
    assert keys(tmp_path / "dense.cones") == keys(tmp_path / "sparse.cones")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--limit", "0"], "--limit of at least 1"),
        (["--metric", "none", "--order", "best"], "needs a metric"),
        (["--metric", "length"], "no direction"),
        (["--metric", "bleu,ter"], "expected one metric"),
        (["--resume"], "no search to resume"),
        (["--axis", "nosuch"], "neither a feature nor a file"),
        (["--axis", "channel", "--plot", "p.png"], "expected 2 axes"),
        (["--plot", "p.gif"], "ends in .png"),
    ],
)
def test_what_minkowski_does_not_take(run_cli, folder, tmp_path, arguments, message):
    code, _, err = search(run_cli, folder, tmp_path / "c.arrow", *arguments)
    assert code == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_lists_without_a_choice_have_one_cone(run_cli, folder, tmp_path):
    pool = open_pool(folder / "pool.arrow")
    save_pool(pool.take(pool.offsets[:-1][pool.list_lengths > 0]), tmp_path / "pool.arrow")
    (tmp_path / "w.txt").write_text((folder / "w.txt").read_text())
    code, out, _ = search(run_cli, tmp_path, tmp_path / "c.arrow", "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["found"], report["complete"], report["best_margin"]) == (1, True, None)
    assert search(run_cli, tmp_path, tmp_path / "d.arrow", "--plot", tmp_path / "d.png")[0] == 0


def test_cones_do_not_go_to_standard_output(run_cli, folder):
    code, _, err = search(run_cli, folder, "-")
    assert code == 2
    assert "cannot go to standard output" in err


def test_a_state_belongs_to_its_search(run_cli, folder, tmp_path):
    search(run_cli, folder, tmp_path / "c.arrow", "--limit", "5")
    code, _, err = search(run_cli, folder, tmp_path / "c.arrow", "--resume", "--metric", "ter")
    assert code == 2
    assert "its metric is not the same" in err


def test_torn_and_foreign_states_are_refused(run_cli, folder, tmp_path):
    path, state = tmp_path / "c.arrow", tmp_path / "c.arrow.state"
    search(run_cli, folder, path, "--limit", "5")
    whole, rows = state.read_bytes(), path.read_bytes()
    turned = bytearray(whole)
    turned[len(turned) // 2] ^= 0xFF
    with np.load(state) as kept:
        fewer = {name: kept[name] for name in kept.files if name != "number"}
    with state.open("wb") as file:
        np.savez(file, **fewer)
    for wrong in (state.read_bytes(), b"nonsense", b"", whole[:500], whole[:-50], bytes(turned)):
        state.write_bytes(wrong)
        code, _, err = search(run_cli, folder, path, "--resume")
        assert code == 2
        assert "expected the state of a search" in err
        assert "hint" in err
    assert path.read_bytes() == rows  # nothing was cut off


def test_a_state_without_its_cones_is_refused(run_cli, folder, tmp_path):
    path, kept = tmp_path / "c.arrow", tmp_path / "c.arrow.rows"
    search(run_cli, folder, tmp_path / "other.arrow")
    search(run_cli, folder, path, "--limit", "5")
    rows = kept.read_bytes()
    for wrong in (rows[:-8], b"", b"x" * 100_000, (tmp_path / "other.arrow").read_bytes()):
        kept.write_bytes(wrong)
        code, _, err = search(run_cli, folder, path, "--resume")
        assert code == 2
        assert "expected the 5 vertices found before" in err
        assert kept.read_bytes() == wrong
    kept.write_bytes(rows + b"half a block")
    assert search(run_cli, folder, path, "--resume")[0] == 0
    assert keys(path) == keys(tmp_path / "other.arrow")


def test_what_is_read_is_not_written_over(run_cli, folder, tmp_path):
    pool = tmp_path / "pool.arrow"
    pool.write_bytes((folder / "pool.arrow").read_bytes())
    (tmp_path / "w.txt").write_text((folder / "w.txt").read_text())
    for output in (pool, tmp_path / "w.txt"):
        before = output.read_bytes()
        code, _, err = search(run_cli, tmp_path, output)
        assert code == 2
        assert "would be lost" in err
        assert output.read_bytes() == before


def lying_states(kept):
    """Yield states whose hash is right and whose numbers are not."""
    for name, change in {
        "local": lambda a: a + 60000, "inner": lambda a: a * np.nan, "depth": lambda a: -1 - a, "skip": lambda a: a - 5,
        "number": lambda a: a + 10**9, "counts": lambda a: -a, "goal": lambda a: a * 2.0, "priority": lambda a: a[:0],
    }.items():  # fmt: skip
        yield {**kept, name: change(kept[name]).astype(kept[name].dtype)}
    yield {**kept, "local": kept["local"].astype(np.int64)}
    yield {**kept, "number": kept["number"][:-1]}


def test_a_state_that_lies_is_refused(run_cli, folder, tmp_path):
    path = tmp_path / "c.arrow"
    search(run_cli, folder, path, "--limit", "5")
    identity, tally, kept = read_state(f"{path}.state")
    wrong = [(tally, state) for state in lying_states(kept)]
    wrong += [({**tally, **more}, kept) for more in ({"found": 4}, {"usable": 7}, {"best": 5}, {"best_gain": np.nan})]
    wrong += [({**tally, **more}, kept) for more in ({"length": -1}, {"length": 1.5}, {"best_position": [1]}, {"x": 1})]
    for tally_now, state in wrong:
        write_state(f"{path}.state", identity, tally_now, state)
        code, _, err = search(run_cli, folder, path, "--resume")
        assert code == 2
        assert "expected the state of a search" in err
    write_state(f"{path}.state", identity, tally, kept)
    assert search(run_cli, folder, path, "--resume")[0] == 0


def test_a_list_in_other_units_loses_no_vertex_and_an_outlier_is_told(run_cli, folder, tmp_path):
    pool = open_pool(folder / "pool.arrow")
    dense = pool.features.dense.copy()
    low, high = pool.offsets[2:4]
    dense[low:high] *= 2.0**-40
    (tmp_path / "w.txt").write_text((folder / "w.txt").read_text())
    save_pool(pool.with_features(Features.from_dense(pool.features.names, dense)), tmp_path / "pool.arrow")
    search(run_cli, folder, tmp_path / "all.arrow")
    code, _, err = search(run_cli, tmp_path, tmp_path / "c.arrow")
    assert (code, "warning" in err) == (0, False)
    assert keys(tmp_path / "c.arrow") == keys(tmp_path / "all.arrow")
    dense[low, pool.features.index("lm")] = -1e12
    save_pool(pool.with_features(Features.from_dense(pool.features.names, dense)), tmp_path / "pool.arrow")
    code, _, err = search(run_cli, tmp_path, tmp_path / "d.arrow")
    assert code == 0
    assert "1 list spread 2^30 times as far as others" in " ".join(err.split())


def test_both_outputs_are_arrow_files(run_cli, folder, tmp_path):
    search(run_cli, folder, tmp_path / "c.arrow", "--limit", "5")
    assert pyarrow.feather.read_table(tmp_path / "c.arrow").num_rows == 5
