"""line: the tables, the curve in each form of file, the picture, windows, and what is refused."""

import json

import numpy as np
import pyarrow as pa
import pytest

from luthier.kbest.rerank import rerank
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.weights import read_weights
from luthier.synthetic.lists.noisy_channel import SyntheticLists

SPEC = SyntheticLists(sentences=12, k=15, vocabulary=150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("line")
    pool = SPEC.generate(1)
    save_pool(pool, home / "pool.arrow")
    (home / "w.txt").write_text("".join(f"{name} {weight}\n" for name, weight in SPEC.decoder_weights.items()))
    first, second = pool.features.names[:2]
    (home / "direction.txt").write_text(f"{first} 1\n{second} -0.5\n")
    (home / "zeros.txt").write_text(f"{first} 0\n")
    return home


def line(run_cli, folder, *arguments):
    return run_cli("line", folder / "pool.arrow", "--weights", folder / "w.txt", *arguments)


def axis_of(folder, number=1):
    return list(SPEC.decoder_weights)[number]


def test_the_tables_say_what_is_on_the_line(run_cli, folder):
    code, out, err = line(run_cli, folder, "--axis", axis_of(folder), "--verbose")
    assert code == 0
    assert "seed 20150531" in err
    for words in (
        "score at w0, weight of",
        "at weight of",
        "from weight",
        "best score",
        "too narrow to represent",
        "best intervals",
        "re-ranks to it",
    ):
        assert words in out


def test_the_start_and_the_optimum_are_what_score_finds(run_cli, folder):
    found = json.loads(line(run_cli, folder, "--axis", axis_of(folder), "--json")[1])
    optimum = folder / "optimum.txt"
    optimum.write_text("".join(f"{name} {weight!r}\n" for name, weight in found["optimum"]["weights"].items()))
    for weights, score in ((folder / "w.txt", found["start"]), (optimum, found["optimum"]["score"])):
        _, out, _ = run_cli("line", folder / "pool.arrow", "--weights", weights, "--axis", axis_of(folder), "--json")
        assert json.loads(out)["start"] == pytest.approx(score, abs=1e-12)
    assert found["check"] == {"tried": found["intervals"], "agreed": found["intervals"], "narrow": 0, "wrong": 0}
    assert found["optimum"]["score"] >= found["start"]


def test_the_same_curve_in_every_form(run_cli, folder):
    paths = {ending: folder / f"curve{ending}" for ending in (".tsv", ".json", ".arrow")}
    for path in paths.values():
        assert line(run_cli, folder, "--axis", folder / "direction.txt", "-o", path)[0] == 0
    header, *rows = paths[".tsv"].read_text().splitlines()
    assert header.split("\t") == ["low", "high", "position", "score"]
    text = np.array([[float(x) for x in row.split("\t")] for row in rows])
    kept = json.loads(paths[".json"].read_text())
    table = pa.ipc.open_file(paths[".arrow"]).read_all()
    assert (text[0, 0], text[-1, 1]) == (-np.inf, np.inf)
    assert kept["columns"]["low"] == [None, *text[1:, 0].tolist()]
    assert kept["columns"]["score"] == text[:, 3].tolist() == table["score"].to_pylist()
    assert table["high"].to_pylist() == text[:, 1].tolist()
    about = json.loads(table.schema.metadata[b"luthier.table"])
    assert about["intervals"] == len(rows) == kept["intervals"]
    assert about["optimum"]["score"] == max(text[:, 3])


def test_the_curve_to_standard_output_stands_alone(run_cli, folder):
    code, out, _ = line(run_cli, folder, "--axis", axis_of(folder), "--window=-0.2:0.3", "-o", "-")
    rows = [row.split("\t") for row in out.splitlines()]
    assert code == 0
    assert rows[0] == ["low", "high", "position", "score"]
    assert (float(rows[1][0]), float(rows[-1][1])) == (pytest.approx(-0.2), pytest.approx(0.3))


@pytest.mark.parametrize("window", [":", "-0.1:0.2", "5:"])
@pytest.mark.parametrize("axis", ["feature", "direction"])
def test_the_picture_is_a_picture(run_cli, folder, axis, window):
    name = axis_of(folder) if axis == "feature" else folder / "direction.txt"
    path = folder / "curve.png"
    assert line(run_cli, folder, "--axis", name, f"--window={window}", "--plot", path)[0] == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 5000


def test_without_weights_the_line_starts_at_equal_ones(run_cli, folder):
    code, out, _ = run_cli("line", folder / "pool.arrow", "--axis", axis_of(folder), "--json", "--metric", "ter")
    found = json.loads(out)
    assert code == 0
    assert found["optimum"]["score"] <= found["start"]
    others = {name: w for name, w in found["optimum"]["weights"].items() if name != axis_of(folder)}
    assert {abs(w) for w in others.values()} == {1.0}


def test_a_window_may_name_the_axis(run_cli, folder):
    name = axis_of(folder)
    outs = [line(run_cli, folder, "--axis", name, "--json", w)[1] for w in (f"--window={name}=-1:2", "--window=-1:2")]
    assert outs[0] == outs[1]
    assert json.loads(outs[0])["window"] == [pytest.approx(-1.0), pytest.approx(2.0)]


def test_places_are_weights_that_can_be_typed_in(run_cli, folder):
    """Of a feature; along a file they are offsets, and named so."""
    name = axis_of(folder)
    found = json.loads(line(run_cli, folder, "--axis", name, "--json")[1])
    best = found["optimum"]
    assert (found["axis_shows"], best["position"]) == ("weight", best["weights"][name])
    assert best["offset"] == pytest.approx(best["position"] - SPEC.decoder_weights[name], abs=1e-12)
    typed = folder / "typed.txt"
    changed = {**SPEC.decoder_weights, name: best["position"]}
    typed.write_text("".join(f"{feature} {weight!r}\n" for feature, weight in changed.items()))
    again = json.loads(run_cli("line", folder / "pool.arrow", "--weights", typed, "--axis", name, "--json")[1])
    assert again["start"] == best["score"]
    # the table has the same weight, and the same window shows the same interval
    assert f"{best['position']:.8g}" in line(run_cli, folder, "--axis", name)[1]
    window = f"--window={best['low']!r}:{best['high']!r}"
    inside = json.loads(line(run_cli, folder, "--axis", name, window, "--json")[1])
    assert inside["optimum"]["position"] == pytest.approx(best["position"], rel=1e-9)
    along = json.loads(line(run_cli, folder, "--axis", folder / "direction.txt", "--json")[1])
    assert (along["axis_shows"], along["optimum"]["offset"]) == ("offset", along["optimum"]["position"])
    out = line(run_cli, folder, "--axis", folder / "direction.txt", "--verbose")[1]
    assert "at offset along direction.txt" in out
    assert "from offset" in out
    (folder / "one.txt").write_text(f"{name} 1\n")  # a file that is one feature is that feature
    assert json.loads(line(run_cli, folder, "--axis", folder / "one.txt", "--json")[1])["axis"] == name


def test_threads_change_nothing(run_cli, folder):
    outs = [line(run_cli, folder, "--axis", axis_of(folder), "--json", "--threads", n)[1] for n in (1, 3)]
    assert outs[0] == outs[1]


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ((), "expected one axis, found 0"),
        (("--axis", "lm", "--axis", "tm"), "expected one axis, found 2"),
        (("--axis", "nothing"), "neither a feature nor a file"),
        (("--axis", "AXIS", "--window", "3:1"), "from low to high such as -0.5:2, found '3:1'"),
        (("--axis", "AXIS", "--window", "3:3"), "from low to high"),
        (("--axis", "AXIS", "--window", "3"), "from low to high"),
        (("--axis", "AXIS", "--window", "nan:1"), "from low to high"),
        (("--axis", "zeros.txt"), "the axis 'zeros.txt' moves no weight"),
        (("--axis", "AXIS", "--check", "-3"), "expected to check 0 intervals or more, found -3"),
        (("--axis", "AXIS", "--plot", "curve.gif"), "ends in .png, .pdf or .svg, found 'curve.gif'"),
        (("--axis", "AXIS", "--window", "other=1:3"), "is of 'other', the line along"),
        (("--axis", "AXIS", "-o", "curve.csv"), "ends in .tsv, .json"),
        (("--axis", "AXIS", "--metric", "bleu,ter"), "expected one metric, found 2"),
        (("--axis", "AXIS", "--plot", "no/such/folder/x.png"), "cannot write here"),
        (("--axis", "AXIS", "--plot-width", "column"), "none is to be drawn"),
        (("--axis", "AXIS", "--plot", "x.png", "--plot-width", "wide"), "found 'wide'"),
    ],
)
def test_what_makes_no_sense_is_refused(run_cli, folder, arguments, complaint, monkeypatch):
    monkeypatch.chdir(folder)
    code, _, err = line(run_cli, folder, *(axis_of(folder) if a == "AXIS" else a for a in arguments))
    assert code == 2
    assert complaint in err


def test_an_interval_that_does_not_hold_is_told_loudly(run_cli, folder, monkeypatch):
    from luthier.landscape.lines import line_report

    monkeypatch.setattr(line_report, "rerank", lambda pool, weights, threads: 0 * rerank(pool, weights))
    code, _, err = line(run_cli, folder, "--axis", axis_of(folder), "--quiet")
    assert code == 1
    assert "re-rank to another selection" in err


def test_weights_of_the_optimum_are_the_start_moved_along_the_axis(run_cli, folder):
    found = json.loads(line(run_cli, folder, "--axis", axis_of(folder), "--json")[1])
    start = read_weights(folder / "w.txt").vector(tuple(SPEC.decoder_weights), source="w.txt")
    moved = np.array(list(found["optimum"]["weights"].values())) - start
    expected = np.where(np.arange(len(start)) == 1, found["optimum"]["offset"], 0.0)
    np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_a_place_that_lasts_can_be_chosen_and_written(run_cli, folder):
    axis, path = axis_of(folder), folder / "lasting.txt"
    for choice in ("robust", "worst", "disc"):
        more = ("--choose", choice, "--noise", 0.3, "-w", path)
        code, out, _ = line(run_cli, folder, "--axis", axis, *more, "--json")
        chosen = json.loads(out)["chosen"]
        assert (code, chosen["choice"]) == (0, choice)
        assert read_weights(path)[axis] == pytest.approx(chosen["position"], rel=1e-12)
        assert "mean under noise" in line(run_cli, folder, "--axis", axis, *more)[1]
    code, _, err = line(run_cli, folder, "--axis", axis, "--choose", "robust", "--noise", "nan")
    assert (code, "expected --noise from 1e-06 to 1000" in err) == (2, True)
