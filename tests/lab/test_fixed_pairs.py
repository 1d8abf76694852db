"""Studies on fixed pairs: the path in β and learned bins on planted lists, their lines, tables, figures and files."""

import itertools
import json
import math

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.features.bins_file import parse_bins
from luthier.features.induction import induce_pool
from luthier.jobs.lab.base import Place, read_study, run_study
from luthier.jobs.lab.kinds import learned_bins, penalty_path
from luthier.jobs.lab.lines import unpack_statistics, unpack_text, unpack_weights
from luthier.jobs.lab.pairs.fixed import FixedPairs
from luthier.kbest.storage.pool_file import save_pool
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.planted import PlantedLists
from luthier.tuning.neighbours.smooth_fit import Ridge, objective

COMMON = """
name = "small"
seed = 5
metric = "column:worth"
plain = ["P"]
own = ["Words", "Noise", "Glue"]
cut = ["P"]
"""
DATA = """
[[data]]
name = "planted"
planted = { sentences = 40, k = 12, rules = 300 }
"""
PATH = f'kind = "penalty-path"\n{COMMON}\nbits = [2, 4]\nridges = [1.0]\ngap = 1e-3\n{DATA}'
BINS = f'kind = "learned-bins"\n{COMMON}\nbits = [2, 4]\nfolds = 3\nridges = [1.0]\nbetas = [1.0, 1e3]\n{DATA}'


def written(folder, text):
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def lines_of(folder):
    return [json.loads(line) for line in (folder / "units.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    home = tmp_path_factory.mktemp("path")
    return home, run_study(written(home, PATH), home / "out")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    home = tmp_path_factory.mktemp("bins")
    return home, run_study(written(home, BINS), home / "out")


@pytest.mark.slow
@pytest.mark.compiled
class TestPath:
    def test_lines_have_all_points_and_their_weights(self, traced):
        home, paths = traced
        study = read_study(home / "study.toml")
        lists = FixedPairs.here(study.settings, study.data[0], None)
        lines = lines_of(home / "out")
        assert [(line["bits"], line["features"]) for line in lines] == [(2, 7), (4, 19)]
        for line in lines:
            binned = lists.binned(lists.uniform(line["bits"]))
            betas = [point["beta"] for point in line["lnr"]]
            assert (betas[0], betas[-1]) == (0.0, None)
            assert 0 < line["gap"] <= 1e-3
            assert unpack_text(line["names"], "names").split("\n") == list(binned.tune.names)
            weights = unpack_statistics(line["weights"], line["features"])
            for kind, points, own in (
                ("lnr", line["lnr"][:-1], weights[: len(betas)]), ("mnr", line["mnr"], weights[len(betas) :])
            ):  # fmt: skip
                for point, w in zip(points, own, strict=False):
                    terms = [binned.loss, Ridge(1.0, np.zeros(len(w))), binned.neighbours(kind, point["beta"])]
                    assert point["value"] == pytest.approx(objective(terms, w)[0], rel=1e-9)
                    assert point["penalty"] == pytest.approx(terms[2].value_and_gradient(w)[0], rel=1e-6, abs=1e-9)
                    assert point["heldout"] == pytest.approx(float(binned.heldout.gain(w)))
            best = max(point["heldout"] for point in line["lnr"])
            stats = unpack_statistics(line["statistics"]["LNR, best"], binned.heldout.stats.shape[1])
            assert float(binned.heldout.metric.score(stats.sum(axis=0))) == pytest.approx(best)
        assert {path.rsplit("/", 1)[1] for path in paths} == {"units.jsonl", "tables.md", "planted.path.png"}

    def test_pairs_are_the_same_whatever_the_bins(self, traced):
        home, _ = traced
        study = read_study(home / "study.toml")
        lists = FixedPairs.here(study.settings, study.data[0], None)
        losses = [lists.binned(lists.uniform(bits)).loss for bits in (2, 4)]
        assert losses[0].counts.tolist() == losses[1].counts.tolist()
        words = [loss.rows.column("Words").tolist() for loss in losses]
        assert words[0] == words[1]
        gains = lists.plain[0].sentence_gains
        pairs, counts = lists.drawn
        assert (gains[pairs.better] > gains[pairs.worse]).all()
        assert counts.mean() == pytest.approx(1.0)

    def test_tables_of_the_lines_alone_and_no_second_run(self, traced, monkeypatch):
        home, _ = traced
        before = {path.name: path.read_bytes() for path in (home / "out").iterdir() if path.suffix != ".lock"}
        monkeypatch.setattr(penalty_path.PathUnits, "run", None)
        run_study(home / "study.toml", home / "out")
        assert {name: (home / "out" / name).read_bytes() for name in before} == before
        tables = before["tables.md"].decode()
        assert "| planted | 40 | 40 | 12 | 1 | 2 |" in tables
        assert "## planted, 4 bits, ridge 1\n" in tables
        assert "| ∞ |" in tables
        assert tables.count(" … ") == 2 * 4  # four differences of each path


@pytest.mark.slow
@pytest.mark.compiled
class TestLearnedBins:
    def test_folds_first_and_one_judgement(self, learned):
        home, paths = learned
        lines = lines_of(home / "out")
        order = [("uniform", 2), ("uniform", 4), ("learned", 2), ("learned", 4), ("judged", 0)]
        assert [(line["where"], line["bits"]) for line in lines] == order
        for line in lines[2:4]:
            losses = [loss for _, loss in line["trace"][:-1]]
            assert all(after < before for before, after in itertools.pairwise(losses))
            assert line["loss"] == min(loss for _, loss in line["trace"])
        best = min(lines[2:4], key=lambda line: line["loss"])
        assert list(lines[-1]["systems"]) == [
            "plain",
            "uniform, 2 bits",
            "uniform, 4 bits",
            f"learned, {best['bits']} bits",
        ]
        assert "heldout" not in json.dumps(lines[:4])  # what is on folds has not seen it
        assert any(path.endswith("planted.bins.png") for path in paths)
        tables = (home / "out" / "tables.md").read_text()
        assert "## planted, judged" in tables
        assert tables.count(" … ") == 3

    def test_what_was_judged_can_be_made_again_from_its_line(self, learned):
        home, _ = learned
        study = read_study(home / "study.toml")
        heldout = study.data[0].pools(None)[1]
        for name, found in lines_of(home / "out")[-1]["systems"].items():
            if name == "plain":
                continue
            bins, weights = parse_bins(unpack_text(found["made"], "bins"), "line"), unpack_weights(found["weights"])
            assert len(bins.names) == found["bins"] == sum(found["by_feature"])
            own = heldout.with_features(heldout.features.select(["Words", "Noise", "Glue"]))
            problem = ListProblem.of(induce_pool(own, bins), load_metric("column:worth"))
            assert problem.gain(np.array([weights[n] for n in problem.names])) == pytest.approx(found["heldout"])

    def test_uniform_bins_are_those_of_the_package(self, learned):
        home, _ = learned
        found = lines_of(home / "out")[-1]["systems"]["uniform, 4 bits"]
        study = read_study(home / "study.toml")
        lists = FixedPairs.here(study.settings, study.data[0], None)
        assert parse_bins(unpack_text(found["made"], "bins"), "line").names == lists.uniform(4).names
        place = Place(str(home / "study.toml"), home / "out")
        units = study.units(study.data[0], place)
        assert isinstance(units, learned_bins.BinsUnits)
        assert math.isfinite(found["heldout"])


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (PATH, "gap = 1e-3", "gap = 0.0", "expected a gap between 0 and 1, found 0.0"),
        (PATH, "bits = [2, 4]", "bits = [2, 2]", "expected numbers from 1 to 12 as 'bits', each once"),
        (PATH, "ridges = [1.0]", "ridges = [0.0]", "expected numbers above 0 as 'ridges'"),
        (PATH, "ridges = [1.0]", "ridges = [1.0, 1.0]", "expected each of 'ridges' once"),
        (PATH, 'cut = ["P"]', "cut = []", "expected something for 'cut', found an empty list"),
        (BINS, "folds = 3", "folds = 1", "expected two folds or more, found 1"),
        (BINS, "betas = [1.0, 1e3]", "betas = [-1.0]", "expected numbers above 0 as 'betas'"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_run(tmp_path, text, old, new, message):
    with pytest.raises(LuthierError, match=message):
        read_study(written(tmp_path, text.replace(old, new)))


@pytest.mark.compiled
def test_files_of_a_folder_and_none(tmp_path):
    for name, seed in (("tune", 1), ("heldout", 2)):
        save_pool(PlantedLists(sentences=6, k=5, rules=50).generate(seed), tmp_path / f"{name}.arrow")
    files = '[[data]]\nname = "lists"\ntune = "tune.arrow"\nheldout = "heldout.arrow"\ngrammar = "tune.grammar"\n'
    study = read_study(written(tmp_path, PATH.replace(DATA, files)))
    assert study.units(study.data[0], Place("", tmp_path)) is None
    units = study.units(study.data[0], Place("", tmp_path, str(tmp_path)))
    assert units.lists.size == [5, 6, 6]
    missing = read_study(written(tmp_path, PATH.replace(DATA, files).replace('"Glue"', '"LM"')))
    with pytest.raises(LuthierError, match="expected lists with the feature 'LM', found none"):
        missing.units(missing.data[0], Place("", tmp_path, str(tmp_path))).lists.plain  # noqa: B018
