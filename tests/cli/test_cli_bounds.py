"""geometry: the tables, the same as JSON, the picture, and what is refused."""

import json

import numpy as np
import pytest

from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists

SPEC = SyntheticLists(sentences=12, k=10, vocabulary=150)
QUICK = ("--sample", "10", "--orders", "2")
CURVES = ("--draws", "2", "--timed-draws", "1", "--timed-sentences", "3", "--timed-k", "4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("geometry")
    save_pool(SPEC.generate(1), home / "pool.arrow")
    (home / "w.txt").write_text("".join(f"{name} {weight}\n" for name, weight in SPEC.decoder_weights.items()))
    return home


def geometry(run_cli, folder, *arguments):
    return run_cli("geometry", "bounds", folder / "pool.arrow", *QUICK, *arguments)


def test_the_tables_say_how_constrained_the_model_is(run_cli, folder):
    code, out, err = geometry(run_cli, folder)
    assert code == 0
    assert "seed 20150531" in err
    for words in ("Theorem 1", "cells of the arrangement", "stops binding at", "extreme: some weights select them",
                  "its index vector", "feasible on so many sentences", "of 10 feasible"):  # fmt: skip
        assert words in out


def test_the_report_as_json(run_cli, folder):
    found = json.loads(geometry(run_cli, folder, "--json")[1])
    pool = open_pool(folder / "pool.arrow")
    assert (found["sentences"], found["features"]) == (12, pool.n_features)
    assert found["hypotheses"]["total"] == pool.n_hypotheses
    assert found["extreme"]["total"] <= found["distinct"]["total"] <= found["hypotheses"]["total"]
    assert found["theorem"]["least_dimensions"] <= found["arrangement"]["least_dimensions"]
    assert found["sample"]["tested"] == 10
    subset = found["subset"]
    assert 1 <= subset["sentences"] == len(subset["ids"]) <= found["oracle"]["extreme"] <= 12
    assert subset["holds"]
    assert set(subset["weights"]) == set(pool.features.names)
    if not found["oracle"]["feasible"]:
        assert sum(c["multiplier"] for c in found["oracle"]["contradiction"]) == pytest.approx(1.0)


def test_the_numbers_do_not_depend_on_threads(run_cli, folder):
    one, other = (geometry(run_cli, folder, "--json", "--threads", n)[1] for n in (1, 3))
    assert one == other


def test_given_weights_change_the_order_in_which_sentences_are_tried(run_cli, folder):
    arguments = ("--weights", folder / "w.txt", "--sample", "10", "--orders", "1", "--json")
    found = json.loads(run_cli("geometry", "bounds", folder / "pool.arrow", *arguments)[1])
    assert found["subset"]["order"] == "nearest to the weights first"


@pytest.mark.parametrize("against", ["dims", "sentences", "dims,sentences"])
def test_the_picture_is_a_picture(run_cli, folder, against):
    path = folder / "constraints.png"
    code, out, _ = geometry(run_cli, folder, "--against", against, *CURVES, "--plot", path)
    assert code == 0
    assert "share of oracle selections that are feasible" in out
    assert "lp-mert on the first 4 hypotheses" in out
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 8000
    assert path.name in out


def test_curves_as_json(run_cli, folder):
    found = json.loads(geometry(run_cli, folder, "--against", "sentences", *CURVES, "--json")[1])["against"]
    assert {cost["axis"] for cost in found["costs"]} == {"sentences"}
    assert all(0 <= share["feasible"] <= share["draws"] == 2 for share in found["shares"])


def test_sentences_are_numbered_as_in_the_pool(run_cli, tmp_path):
    pool = SPEC.generate(1)
    gap = pool.take(np.flatnonzero(np.arange(pool.n_hypotheses) >= pool.offsets[2]))  # two lists are empty
    save_pool(gap, tmp_path / "gap.arrow")
    found = json.loads(run_cli("geometry", "bounds", tmp_path / "gap.arrow", *QUICK, "--json")[1])
    told = json.loads(run_cli("geometry", "feasible", tmp_path / "gap.arrow", "--select", "oracle", "--json")[1])
    constraints = found["oracle"]["contradiction"]
    assert constraints == told["contradiction"]
    assert min(constraint["sentence"] for constraint in constraints) >= 2
    for constraint in constraints:
        assert gap.texts[int(gap.offsets[constraint["sentence"]]) + constraint["wanted"]] == constraint["wanted_text"]


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (("--against", "words"), "expected dims, sentences or dims,sentences, found 'words'. hint: see --against"),
        (("--against", "dims,dims"), "hint: see --against"),
        (("--plot", "x.png"), "--plot shows what --against draws"),
        (("--against", "dims", "--plot", "no/such/folder/x.png"), "cannot write here"),
        (("--metric", "bleu,ter"), "expected one metric, found 2"),
        (("--sample", "-1"), "sample"),
    ],
)
def test_what_makes_no_sense_is_refused(run_cli, folder, arguments, complaint):
    code, _, err = geometry(run_cli, folder, *arguments)
    assert code == 2
    assert complaint in err
