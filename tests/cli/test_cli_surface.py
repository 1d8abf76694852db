"""surface: the tables, the file of cells, the picture, windows, streaming, weights out, and what is refused."""

import json
import signal

import numpy as np
import pyarrow as pa
import pytest

from luthier.kbest.features import Features
from luthier.kbest.rerank import rerank
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.kbest.weights import read_weights
from luthier.landscape.planes import view as surface_view
from luthier.synthetic.lists.noisy_channel import SyntheticLists

SPEC = SyntheticLists(sentences=10, k=12, vocabulary=150)
AXES = ("--axis", "lm", "--axis", "length")
WINDOW = ("--window=lm=-0.5:1", "--window=length=-2:2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("surface")
    pool = SPEC.generate(1)
    save_pool(pool, home / "pool.arrow")
    (home / "w.txt").write_text("".join(f"{name} {weight}\n" for name, weight in SPEC.decoder_weights.items()))
    (home / "direction.txt").write_text("lm 1\nchannel -0.5\n")
    return home


def surface(run_cli, folder, *arguments):
    return run_cli("surface", folder / "pool.arrow", "--weights", folder / "w.txt", *arguments)


def as_json(run_cli, folder, *arguments):
    return json.loads(surface(run_cli, folder, *arguments, "--json")[1])


def test_the_tables_say_what_is_on_the_plane(run_cli, folder):
    code, out, err = surface(run_cli, folder, *AXES, *WINDOW, "--check", 20, "--verbose")
    assert code == 0
    assert "seed 20150531" in err
    for words in ("cells", "faces of a list", "score at w0", "best score", "20 cells, drawn at random", "best cells"):
        assert words in out


def test_every_cell_is_in_the_file(run_cli, folder):
    path = folder / "surface.arrow"
    about = as_json(run_cli, folder, *AXES, *WINDOW, "-o", path, "--polygons", "--check", 25)
    cells = pa.ipc.open_file(path).read_all()
    kept = json.loads(cells.schema.metadata[b"luthier.table"])
    assert cells.num_rows == about["cells"] == kept["cells"]
    assert kept["pool"] == open_pool(folder / "pool.arrow").digest()
    assert {"luthier", "metric", "axes", "window", "start_weights", "seed"} <= set(kept)
    assert about["check"] == {"tried": 25, "representable": 25, "agreed": 25, "wrong": 0, "lucky": 0}
    assert about["unrepresentable"] == cells["representable"].to_pylist().count(False)
    assert about["distinct_scores"] == len(set(cells["metric"].to_pylist()))
    assert max(cells["metric"].to_pylist()) == pytest.approx(about["optimum"]["score"], abs=1e-12)
    assert sum(cells["area"].to_pylist()) == pytest.approx(1.5 * 4)
    for x, y, area, corners in zip(*(cells[name].to_pylist() for name in ("x", "y", "area", "polygon")), strict=True):
        ring = np.array(corners)
        along, away = np.roll(ring, -1, axis=0) - ring, np.array([x, y]) - ring
        across = along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0]
        assert across.min() > -1e-9  # on the left of every side: inside
        assert across.sum() / 2 == pytest.approx(area, abs=1e-12)


def test_changes_lead_from_cell_to_cell(run_cli, folder):
    """Changes along neighbours give every selection; lists keep their numbers though one of them is empty."""
    pool = SPEC.generate(1)
    rows = np.arange(pool.n_hypotheses)
    pool = pool.take(np.delete(rows, rows[pool.offsets[4] : pool.offsets[5]]))
    save_pool(pool, folder / "gap.arrow")
    path = folder / "gap-surface.arrow"
    code, _, _ = run_cli(
        "surface", folder / "gap.arrow", "--weights", folder / "w.txt", *AXES, *WINDOW, "-o", path, "--check", 10
    )  # fmt: skip
    assert code == 0
    cells = pa.ipc.open_file(path).read_all().to_pydict()
    start = read_weights(folder / "w.txt").vector(pool.features.names)
    at = np.repeat(start[None], len(cells["x"]), axis=0)
    at[:, pool.features.names.index("lm")] = cells["x"]
    at[:, pool.features.names.index("length")] = cells["y"]
    found = rerank(pool, at)
    assert set(found[:, 4]) == {-1}
    for cell, below in enumerate(cells["neighbour"]):
        changed = [] if below < 0 else np.flatnonzero(found[cell] != found[below]).tolist()
        assert changed == ([] if below < 0 else [cells["change_list"][cell]])
        assert not changed or found[cell, changed[0]] == cells["change_row"][cell]
    assert cells["neighbour"].count(-1) == 1
    assert max(cells["change_list"]) > 4


def test_start_and_optimum_are_what_score_finds(run_cli, folder):
    best = folder / "best.txt"
    found = as_json(run_cli, folder, *AXES, *WINDOW, "--weights-out", best, "--metric", "ter")
    assert found["optimum"]["score"] <= found["start"]
    again = json.loads(
        run_cli("surface", folder / "pool.arrow", "--weights", best, *AXES, "--metric", "ter", "--json")[1]
    )
    assert again["start"] == pytest.approx(found["optimum"]["score"], abs=1e-12)
    weights = read_weights(best)
    assert dict(weights) == found["optimum"]["weights"]
    assert (weights["lm"], weights["length"]) == (found["optimum"]["x"], found["optimum"]["y"])
    assert found["axes_show"] == ["weight", "weight"]
    for place, offset, name in zip("xy", found["optimum"]["offset"], ("lm", "length"), strict=True):
        assert offset == pytest.approx(found["optimum"][place] - SPEC.decoder_weights[name], abs=1e-12)
    out = surface(run_cli, folder, *AXES, *WINDOW, "--metric", "ter")[1]
    for name in ("lm", "length"):
        assert f"at weight of {name} " in out
        assert f"{weights[name]:.8g}" in out
    assert "weight of lm -0.5 … 1, weight of length -2 … 2" in out


def test_streamed_and_recorded_find_the_same(run_cli, folder):
    kept = folder / "kept.arrow"
    all_cells = as_json(run_cli, folder, *AXES, *WINDOW, "-o", folder / "all.arrow")
    stream = as_json(run_cli, folder, *AXES, *WINDOW, "--stream", "-o", kept, "--keep", "5", "--polygons")
    best = pa.ipc.open_file(kept).read_all()
    every = pa.ipc.open_file(folder / "all.arrow").read_all()
    assert best.num_rows == 5 == len(stream["best"])
    assert best["metric"].to_pylist() == pytest.approx(sorted(every["metric"].to_pylist())[::-1][:5], abs=1e-12)
    assert json.loads(best.schema.metadata[b"luthier.table"])["histogram"] == all_cells["histogram"]
    for name in ("cells", "start", "worst", "faces", "histogram", "window"):
        assert stream[name] == all_cells[name]
    assert stream["optimum"]["score"] == pytest.approx(all_cells["optimum"]["score"], abs=1e-12)


@pytest.mark.parametrize("ending", [".tsv", ".json"])
def test_other_tables_hold_the_same(run_cli, folder, ending):
    path = folder / f"cells{ending}"
    about = as_json(run_cli, folder, *AXES, *WINDOW, "-o", path, "--polygons")
    if ending == ".tsv":
        header, *rows = path.read_text().splitlines()
        assert header.split("\t")[:3] == ["x", "y", "metric"]
        assert len(rows) == about["cells"]
    else:
        columns = json.loads(path.read_text())["columns"]
        assert len(columns["polygon"]) == len(columns["area"]) == about["cells"]


def test_the_whole_plane_has_cells_without_end(run_cli, folder):
    path = folder / "whole.arrow"
    about = as_json(run_cli, folder, *AXES, "--whole", "-o", path, "--png", folder / "whole.png", "--check", 30)
    assert about["window"] == {"lm": [None, None], "length": [None, None]}
    cells = pa.ipc.open_file(path).read_all()
    assert np.isinf(cells["area"].to_pylist()).sum() > 3
    assert np.isfinite(cells["x"].to_pylist()).all()
    assert about["check"]["wrong"] == 0
    assert (folder / "whole.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("metric, most_polygons", [("bleu", 10), ("ter", 100_000)])
def test_the_picture_is_a_picture(run_cli, folder, monkeypatch, metric, most_polygons):
    monkeypatch.setattr(surface_view, "MOST_POLYGONS", most_polygons)
    monkeypatch.setattr(surface_view, "CLOSE_CELLS", 60)
    path = folder / "surface.png"
    axes = ("--axis", folder / "direction.txt", "--axis", "length")
    code, out, _ = surface(run_cli, folder, *axes, "--png", path, "--metric", metric)
    assert code == 0
    assert "surface.png" in out
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000
    assert "at offset along direction.txt" in out
    assert "at weight of length" in out


def test_a_best_cell_that_the_window_cuts_is_told(run_cli, folder):
    axes = ("--axis", "lm", "--axis", "length", "--whole")
    inside = as_json(run_cli, folder, *axes)["optimum"]
    assert inside["cut_by_window"] == []
    assert "touches the window's border" not in surface(run_cli, folder, *axes)[1]
    x, y = inside["x"], inside["y"]
    cutting = ("--window", f"lm={x - 1e-3}:{x}", "--window", f"length={y - 1e3}:{y + 1e3}")
    assert as_json(run_cli, folder, *axes, *cutting)["optimum"]["cut_by_window"] == ["lm"]
    out = surface(run_cli, folder, *axes, *cutting)[1]
    assert (
        f"touches the window's border: there may be better ones beyond. hint: a window of lm={x - 1.5e-3:.4g}:" in out
    )
    assert "a window of lm=:" in surface(run_cli, folder, *axes, "--window", f"lm=:{x}")[1]


def test_what_is_read_is_not_written_over(run_cli, folder):
    before = (folder / "pool.arrow").read_bytes()
    code, _, err = surface(run_cli, folder, *AXES, "-o", folder / "pool.arrow")
    assert code == 2
    assert "would be lost" in err
    assert (folder / "pool.arrow").read_bytes() == before


def test_threads_change_nothing(run_cli, folder):
    outs = []
    for threads in (1, 3):
        path = folder / f"threads-{threads}.arrow"
        outs.append(as_json(run_cli, folder, *AXES, *WINDOW, "-o", path, "--polygons", "--threads", threads))
        outs[-1].pop("written")
    assert outs[0] == outs[1]
    assert (folder / "threads-1.arrow").read_bytes() == (folder / "threads-3.arrow").read_bytes()


def test_a_cell_that_does_not_hold_is_told_loudly(run_cli, folder, monkeypatch):
    from luthier.landscape.planes import surface as surface_check

    monkeypatch.setattr(surface_check, "rerank", lambda pool, weights, threads: 0 * rerank(pool, weights))
    code, _, err = surface(run_cli, folder, *AXES, *WINDOW, "--check", 5, "--quiet")
    assert code == 1
    assert "re-rank to another selection" in err


@pytest.fixture
def interrupted_stream(monkeypatch):
    """Press Ctrl-C at every block of cells."""
    from luthier.geometry.plane.overlay import Overlay

    blocks = Overlay.blocks

    def interrupted(self, *arguments, **more):
        for part in blocks(self, *arguments, **more):
            signal.raise_signal(signal.SIGINT)
            yield part

    monkeypatch.setattr(Overlay, "blocks", interrupted)


def test_ctrl_c_ends_the_survey_and_says_how_far_it_came(run_cli, folder, interrupted_stream):
    code, out, _ = surface(run_cli, folder, *AXES, *WINDOW, "--threads", 1)  # more would have begun all of it
    assert code == 130
    assert "% of the edges walked" in out


def test_a_table_of_all_cells_is_whole_or_is_not_written(run_cli, folder, interrupted_stream):
    code, _, err = surface(run_cli, folder, *AXES, *WINDOW, "-o", folder / "cut.arrow", "--threads", 1)
    assert code == 130
    assert "no output was written" in err
    assert not (folder / "cut.arrow").exists()


def test_a_table_on_standard_output_stands_alone(run_cli, folder):
    code, out, _ = surface(run_cli, folder, *AXES, *WINDOW, "-o", "-")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("x\ty\tmetric")
    assert {line.count("\t") for line in lines} == {9}


def test_a_window_inside_one_cell_is_drawn(run_cli, folder):
    ends = ("--window=lm=0.1:0.100000001", "--window=length=0.1:0.100000001")
    about = as_json(run_cli, folder, *AXES, *ends, "--png", folder / "one.png")
    assert about["cells"] == 1
    assert (folder / "one.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ((), "expected 2 axes, found 0"),
        (("--axis", "lm"), "expected 2 axes, found 1"),
        (("--axis", "lm", "--axis", "lm"), "axes that are independent"),
        (("--axis", "lm", "--axis", "nothing"), "neither a feature nor a file"),
        ((*AXES, "--window", "lm=3:1"), "from low to high such as -0.5:2, found '3:1' in 'lm=3:1'"),
        ((*AXES, "--window", "lm=3:3"), "from low to high"),
        ((*AXES, "--window=lm=0:1", "--window=lm=2:3"), "expected one window for each axis, found another for 'lm'"),
        ((*AXES, "--png", "-"), "ends in .png, .pdf or .svg, found '-'"),
        ((*AXES, "--window", "channel=1:3"), "expected a window such as lm=lo:hi or length=lo:hi"),
        ((*AXES, "-o", "surface.csv"), "ends in .tsv, .json"),
        ((*AXES, "--polygons"), "--polygons needs -o"),
        ((*AXES, "--keep", "0"), "expected --keep of at least 1"),
        ((*AXES, "--png", "no/such/folder/x.png"), "cannot write here"),
        ((*AXES, "--most", "10", "-o", "x.arrow"), "there are more than 10 cells"),
    ],
)
def test_what_makes_no_sense_is_refused(run_cli, folder, arguments, complaint, monkeypatch):
    monkeypatch.chdir(folder)
    code, _, err = surface(run_cli, folder, *arguments)
    assert code == 2
    assert complaint in err
    assert not (folder / "x.arrow").exists()


def with_features(folder, name, dense):
    """Save the pool with other features, a, b, …; return its path."""
    pool = open_pool(folder / "pool.arrow")
    save_pool(pool.with_features(Features.from_dense(tuple("abc"[: dense.shape[1]]), dense)), folder / name)
    return folder / name


def whole_numbers(folder):
    n = len(open_pool(folder / "pool.arrow").features)
    return np.random.default_rng(0).integers(-3, 4, size=(n, 3)).astype(float)


def test_on_whole_numbers_cells_with_an_area_are_counted_and_200_are_re_ranked(run_cli, folder):
    pool = with_features(folder, "whole-numbers.arrow", whole_numbers(folder))
    axes = ("--axis", "a", "--axis", "b", "--whole")
    code, out, _ = run_cli("surface", pool, *axes, "-o", folder / "cells.arrow", "--json")
    about = json.loads(out)
    cells = pa.ipc.open_file(folder / "cells.arrow").read_all()
    areas = np.array(cells["area"].to_pylist())
    assert code == 0
    assert about["cells"] == np.sum(areas > 1e-9)
    assert about["without_area"] == np.sum(areas < 1e-9) > 100
    assert sum(about["histogram"]["counts"]) == about["cells"]
    assert about["check"]["tried"] == min(200, about["cells"])
    assert about["check"]["wrong"] == 0
    assert "cells without area" in run_cli("surface", pool, *axes, "--verbose")[1]


def test_what_is_certain_from_an_oblique_plane_through_the_origin_is_so(run_cli, folder):
    dense = whole_numbers(folder)[:, :2]
    pool = with_features(folder, "oblique.arrow", dense)
    (folder / "one.txt").write_text("a 0.61\nb 0.31\n")
    (folder / "two.txt").write_text("a -0.29\nb 0.83\n")
    axes = ("--axis", folder / "one.txt", "--axis", folder / "two.txt", "--whole")
    code, out, _ = run_cli("surface", pool, *axes, "--check", 10_000, "--json")
    about = json.loads(out)
    assert code == 0
    # through the weights 0 pass all boundaries, so a cell is what lies between two of them
    normals = [b - a for rows in np.split(dense, 10) for a in rows for b in rows if np.any(a != b)]
    assert about["cells"] <= len({round(float(np.arctan2(q, p)), 9) for p, q in normals})
    assert about["check"]["wrong"] == 0
    assert about["check"]["representable"] == about["check"]["tried"] == about["cells"]


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_features_of_any_size_are_divided(run_cli, folder, scale):
    dense = whole_numbers(folder)[:, :2]
    counts = []
    for name, factor in (("plain", 1.0), ("scaled", scale)):
        pool = with_features(folder, f"{name}.arrow", factor * dense)
        counts.append(json.loads(run_cli("surface", pool, "--axis", "a", "--axis", "b", "--json")[1])["cells"])
    assert counts[0] == counts[1]


def test_axes_out_of_all_proportion_are_told(run_cli, folder):
    pool = with_features(folder, "mixed.arrow", whole_numbers(folder)[:, :2] * [1e150, 1e-150])
    code, _, err = run_cli("surface", pool, "--axis", "a", "--axis", "b")
    assert code == 2
    assert "expected axes that change scores by comparable amounts" in err
    pool = with_features(folder, "plain.arrow", whole_numbers(folder)[:, :2])
    code, _, err = run_cli("surface", pool, "--axis", "a", "--axis", "b", "--window", "a=1e60:2e60")
    assert code == 2
    assert "out of all proportion" in err


def test_a_point_that_lasts_can_be_chosen_and_drawn_for_print(run_cli, folder):
    path, picture = folder / "lasting.txt", folder / "lasting.svg"
    found = as_json(run_cli, folder, *AXES, *WINDOW, "--choose", "robust", "-w", path, "--png", picture)
    assert found["chosen"]["mean"] <= found["optimum"]["score"] + 1e-9
    assert read_weights(path)["lm"] == found["chosen"]["position"][0]
    assert found["chosen"]["offset"][0] == pytest.approx(found["chosen"]["position"][0] - SPEC.decoder_weights["lm"])
    assert picture.read_bytes().startswith(b"<?xml")
    code, _, err = surface(run_cli, folder, *AXES, "--choose", "disc", "--noise", 0)
    assert (code, "expected --noise from 1e-06 to 1000" in err) == (2, True)


def test_few_sentences_do_not_tell_chance(run_cli, tmp_path):
    rows = [(-2, 1, 0.9), (-1, 3, 0.1), (-3, 2, 0.5)]
    lists = "".join(
        f'{{"id": 0, "hyp": "{k}", "lm": {a}, "n": {b}, "comet": {c}}}\n' for k, (a, b, c) in enumerate(rows)
    )
    (tmp_path / "list.jsonl").write_text(lists)
    (tmp_path / "w.txt").write_text("lm 1\nn 1\n")
    code, out, err = run_cli(
        "surface", tmp_path / "list.jsonl", "--column", "comet", "--metric", "column:comet",
        "--weights", tmp_path / "w.txt", "--axis", "lm", "--axis", "n",
    )  # fmt: skip
    assert code == 0, err
    assert "too few to tell" in out
