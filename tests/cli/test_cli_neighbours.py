"""tune with bins: columns that are there or are made, a held-out pool, the record, clear errors."""

import json

import numpy as np
import pytest

from luthier.features.bins import Bins
from luthier.features.bins_file import write_bins
from luthier.features.fit_bins import BinOptions, bins_of_pool
from luthier.features.induction import induce_pool, with_bins
from luthier.kbest.groups import FeatureGroup
from luthier.kbest.storage.pool_file import save_pool
from luthier.synthetic.lists.planted import PlantedLists

pytestmark = pytest.mark.compiled
ROUND = ("--gains", "sentence", "--psi", "1", "--iterations", "1", "--keep", "last", "--metric", "column:worth")
MNR = ("--neighbours", "mnr", "--beta", "1e4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("neighbours")
    tune, other = (PlantedLists(sentences=40, k=20).generate(seed) for seed in (0, 1))
    bins = bins_of_pool(tune, ["P"], BinOptions(bins=8))
    write_bins(bins, home / "bins.json")
    induced = induce_pool(tune, bins)
    plain = induced.with_features(induced.features.group([]))
    for name, pool in (("tune", tune), ("other", other), ("induced", induced), ("plain", plain)):
        save_pool(pool, home / f"{name}.arrow")
    return home


def tuned(run_cli, folder, name, *arguments):
    target = folder / "w.txt"
    code, out, error = run_cli(
        "tune", folder / f"{name}.arrow", "--method", "pro", "-o", target, *ROUND, *arguments, "--json"
    )
    return code, json.loads(out) if code == 0 else out, error


def test_bins_of_a_file_and_of_the_pool_are_the_same(run_cli, folder):
    ways = [("tune", "--bins", folder / "bins.json"), ("plain", "--bins", folder / "bins.json"), ("induced",)]
    reports = [tuned(run_cli, folder, *way, *MNR)[1]["replicas"][0] for way in ways]
    assert reports[0]["weights"] == reports[1]["weights"] == reports[2]["weights"]
    record = reports[0]["record"]
    assert record["beta"] == 1e4
    assert record["beta_per_pair"] == 1e4 / record["pairs"]
    assert f"for each of {record['pairs']:,.0f} pairs" in reports[0]["note"]
    weights = [value for name, value in reports[0]["weights"].items() if name.startswith("P_")]
    assert len(weights) == 8
    assert weights == sorted(weights)  # log P rises


def test_a_held_out_pool_gets_the_same_bins(run_cli, folder):
    code, report, _ = tuned(
        run_cli, folder, "tune", "--bins", folder / "bins.json", "--heldout", folder / "other.arrow", *MNR
    )
    assert code == 0
    assert report["replicas"][0]["heldout_after"] > 80


def test_standardised_bins_have_one_scale(run_cli, folder):
    code, report, _ = tuned(run_cli, folder, "induced", "--standardize-features", *MNR)
    assert code == 0
    weights = [value for name, value in report["replicas"][0]["weights"].items() if name.startswith("P_")]
    assert weights == sorted(weights)


def test_pools_without_bins_and_files_that_are_none(run_cli, folder):
    code, _, error = tuned(run_cli, folder, "plain", *MNR)
    assert code != 0
    assert "--bins names their file" in error
    code, _, error = tuned(run_cli, folder, "tune", "--bins", folder / "tune.arrow", *MNR)
    assert code != 0
    assert "a file of bins" in error


def test_columns_that_are_there_become_groups():
    pool = PlantedLists(sentences=3, k=4).generate(0)
    bins = bins_of_pool(pool, ["P", "Words"], BinOptions(bins=3))
    induced = induce_pool(pool, bins)
    some = induced.with_features(induced.features.select([n for n in induced.features.names if n != bins.names[1]]))
    some = some.with_features(some.features.group([FeatureGroup("other", ("Noise",))]))
    groups = with_bins(some, bins).features.groups
    assert [group.name for group in groups] == ["other", "P", "Words"]
    assert groups[1].columns == (bins.names[0], bins.names[2])
    assert with_bins(pool, Bins(bins.features[:1])).features.groups[0].columns == bins.features[0].names
    assert np.array_equal(with_bins(pool, bins).features.values, induced.features.values)
