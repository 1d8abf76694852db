"""Sweep constants: a grid, axis after axis, resuming, processes, files that are no choice."""

import pickle

import pytest

from luthier.core.errors import LuthierError
from luthier.core.files.journal import read_journal, seal
from luthier.features.bins_file import read_bins
from luthier.features.induction import with_bins
from luthier.jobs import sweep as choosing_job
from luthier.jobs.sweep import choose
from luthier.jobs.sweep_config import read_sweep
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.kbest.weights import read_weights
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.planted import PlantedLists

pytestmark = pytest.mark.compiled
CONFIG = """
tune = "tune.arrow"
heldout = "heldout.arrow"
metric = "column:worth"
order = "ORDER"
[bins]
features = ["P"]
bits = [1, 3]
[tuner]
method = "pro"
[tuner.parameters]
gains = "sentence"
psi = 1.0
iterations = 1
keep = "last"
neighbours = "mnr"
beta = [0.0, 1e3]
"""


@pytest.fixture
def folder(tmp_path):
    for name, seed in (("tune", 0), ("heldout", 1)):
        save_pool(PlantedLists(sentences=15, k=12).generate(seed), tmp_path / f"{name}.arrow")
    return tmp_path


def written(folder, text=CONFIG, order="grid"):
    (folder / "c.toml").write_text(text.replace("ORDER", order))
    return folder / "c.toml"


def two_bits(text=CONFIG):
    return text.replace("[1, 3]", "[2, 3]")


def test_a_grid_and_what_is_written(folder):
    chosen, paths = choose(written(folder, two_bits()), folder / "out")
    assert [point.values for point in chosen.points] == [
        {"bits": b, "beta": beta} for b in ("2", "3") for beta in ("0", "1000")
    ]
    assert chosen.best.heldout == max(point.heldout for point in chosen.points)
    assert [point.features for point in chosen.points] == [7] * 2 + [11] * 2
    assert chosen.points[1].record["beta_per_pair"] == 1000.0 / chosen.points[1].record["pairs"]
    assert not chosen.points[0].record  # no penalty where β is 0
    # the best point's files give its score
    bins, weights = read_bins(folder / "out" / "bins.json"), read_weights(folder / "out" / "weights.txt")
    problem = ListProblem.of(with_bins(open_pool(folder / "heldout.arrow"), bins), load_metric("column:worth"))
    assert problem.gain(weights.vector(problem.names)) == pytest.approx(chosen.best.gain)
    assert (folder / "out" / "choice.png").read_bytes().startswith(b"\x89PNG")
    assert len(paths) == 4


def test_it_goes_on_where_it_was(folder, monkeypatch):
    config = written(folder, two_bits())
    first, _ = choose(config, folder / "out")
    lines = (folder / "out" / "points.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "out" / "points.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:20])  # killed while it wrote
    tried, plain = [], choosing_job.Points.tried
    monkeypatch.setattr(choosing_job.Points, "tried", lambda self, point: tried.append(point) or plain(self, point))
    second, _ = choose(config, folder / "out")
    assert len(tried) == 2
    strip = [{**point.__dict__, "cpu_seconds": 0} for point in first.points]
    assert [{**point.__dict__, "cpu_seconds": 0} for point in second.points] == strip
    choose(config, folder / "out")
    assert len(tried) == 2
    # another seed is another point
    choose(written(folder, "seed = 5\n" + two_bits()), folder / "out")
    assert len(tried) == 6
    line = (folder / "out" / "points.jsonl").read_bytes().replace(b'"tuned": ', b'"tuned": 1', 1)
    (folder / "out" / "points.jsonl").write_bytes(line)
    with pytest.raises(LuthierError, match="changed after it was written"):
        choose(config, folder / "out")


def test_lines_that_lie_under_a_seal_that_fits_are_refused(folder):
    config = written(folder, two_bits())
    choose(config, folder / "out")
    records, _ = read_journal(folder / "out" / "points.jsonl", "")
    for lie in ({"note": 0.5}, {"features": "7"}, {"values": {"bits": 1}}, {"record": {"a": ""}}):
        (folder / "out" / "points.jsonl").write_bytes(b"".join(map(seal, [records[0] | lie, *records[1:]])))
        with pytest.raises(LuthierError, match="expected a point of a choice"):
            choose(config, folder / "out")
    (folder / "out" / "points.jsonl").write_bytes(b"".join(map(seal, [records[0] | {"values": {}}, *records[1:]])))
    again, _ = choose(config, folder / "out")
    assert [dict(point.values) for point in again.points] == [dict(record["values"]) for record in records]


def test_one_axis_after_another(folder):
    chosen, _ = choose(written(folder, two_bits(), "axes"), folder / "out")
    values = [tuple(point.values.values()) for point in chosen.points]
    assert values[:2] == [("2", "0"), ("3", "0")]
    assert len(values) == 3
    better = values[int(chosen.points[1].gain > chosen.points[0].gain)][0]
    assert values[2] == (better, "1000")


def test_bins_too_few_for_neighbours_are_refused(folder):
    with pytest.raises(LuthierError, match="three or more neighbouring bins"):
        choose(written(folder, CONFIG.replace("[0.0, 1e3]", "[1e3]")), folder / "out")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('order = "ORDER"', 'order = "odd"', "order must be one of grid, axes"),
        ("bits = [1, 3]", "bits = 3\nextra = 1", "no 'extra' here. known: bits"),
        ("[1, 3]", "[1, 99]", "bits must be from 0 to 20"),
        ("[1, 3]", "[3, 3]", "a value twice"),
        ("[0.0, 1e3]", "[-1.0]", "beta"),
        ("bits = [1, 3]", "bits = []", "an axis has no values"),
        ('features = ["P"]', "", "the key 'features'"),
        ('method = "pro"', 'method = "prop"', "prop"),
        ("psi = 1.0", "phi = 1.0", "phi"),
        ('metric = "column:worth"', 'metric = "bleu"\nmodel = "m"', "no 'model' here"),
        ('metric = "column:worth"', 'metric = "bleu"\ndecode = true', "'tune'"),
        ("seed", "seed", ""),
    ],
)
def test_files_that_are_no_choice(folder, old, new, words):
    text = CONFIG.replace(old, new)
    if not words:
        text, words = "[[", "a choice in TOML"
    with pytest.raises(LuthierError) as error:
        read_sweep(written(folder, text))
    assert words in str(error.value)
    assert "c.toml" in str(error.value) or old in ("psi = 1.0", 'method = "pro"', "[0.0, 1e3]")


def test_another_process_gets_the_same_point_by_the_recipe(folder):
    config = written(folder, two_bits())
    points = choosing_job.Points(read_sweep(config))
    recipe = pickle.loads(pickle.dumps(choosing_job.SweepRecipe(str(config), "", points.digests)))
    point = pickle.loads(pickle.dumps(next(read_sweep(config).grid())))
    here, there = (choosing_job.try_point(each, point) for each in (points, recipe.open()))
    assert {**here, "cpu_seconds": 0} == {**there, "cpu_seconds": 0}
    with pytest.raises(LuthierError, match="not the same here"):
        choosing_job.SweepRecipe(str(config), "", ("a", "b")).open()


def test_the_table(run_cli, folder):
    code, out, _ = run_cli("engine", "sweep", written(folder, two_bits().replace("[0.0, 1e3]", "[1e3]")))
    assert code == 0
    assert "chosen" in out
    assert (folder / "choice" / "points.jsonl").exists()
    assert run_cli("engine", "sweep", folder / "c.toml", "--jobs", "0")[0] != 0
    assert run_cli("engine", "sweep", folder / "none.toml")[0] != 0
