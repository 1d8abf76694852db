"""`luthier tradeoff`: what it prints and writes."""

import json

import pytest

import luthier

ROWS = [(0, "a", 0, 0, 3, 0), (0, "b", 2, 1, 2, 2), (0, "c", 3, 0, 0, 3), (1, "d", 1, 0, 1, 1), (1, "e", 0, 1, 2, 0)]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("id", "hyp", "lm", "tm", "p", "q")
    frame = {name: [row[i] for row in ROWS] for i, name in enumerate(names)}
    luthier.save_pool(luthier.pool_from_frame(frame, columns=["p", "q"]), "pool.arrow")
    return tmp_path


@pytest.mark.compiled
def test_a_front_with_its_files(run_cli, home):
    command = ["tradeoff", "pool.arrow", "--metric", "column:p", "--metric", "column:q"]
    code, out, _ = run_cli(*command, "--axis", "lm", "-o", "f.json", "-w", "w.txt", "--plot", "f.svg", "--json")
    about = json.loads(out)
    assert (code, about["where"], about["exact"]) == (0, "line", True)
    assert about["written"] == ["f.json", "w.txt", "f.svg"]
    assert all((home / name).exists() for name in about["written"])
    mix = about["front"][about["mix"]["point"]]
    assert dict(luthier.read_weights("w.txt")) == pytest.approx(mix["weights"])
    code, out, _ = run_cli(*command, "--axis", "lm", "--axis", "tm", "--heldout", "pool.arrow", "--plot", "f.png")
    assert code == 0
    assert "Pareto front, plane" in out
    assert "held out: column:p" in out
    code, out, _ = run_cli("tradeoff", "pool.arrow", "--metric", "column:p,column:q", "--starts", "3")
    assert code == 0
    assert "inner Pareto front, all weights" in out
    assert "other weights may beat it" in out


def test_errors(run_cli, home):
    code, _, err = run_cli("tradeoff", "pool.arrow", "--metric", "column:p")
    assert (code, "expected two metrics or more" in err) == (2, True)
    code, _, err = run_cli("tradeoff", "pool.arrow", "--metric", "bleu,chrf", "--plot", "f.txt")
    assert code == 2
    assert "expected a picture's name" in err


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_tuning_for_several_metrics(run_cli, home):
    tune = ["tune", "pool.arrow", "--method", "mert", "-o", "w.txt"]
    code, out, _ = run_cli(*tune, "--worst-of", "column:p,column:q", "--constraint", "column:p>=1", "--json")
    parts = json.loads(out)["parts"]
    assert code == 0
    assert [part["metric"] for part in parts] == ["column", "column2", "column>=1"]
    assert parts[2]["tuned"] >= 1
    code, out, _ = run_cli(*tune, "--metric", "column:p", "--constraint", "column:q>=1")
    assert code == 0
    assert "each metric on the tuning sentences" in out
    code, _, err = run_cli(*tune, "--constraint", "length>98")
    assert (code, "expected a constraint such as 'length>=98' or 'ter<=50', found 'length>98'" in err) == (2, True)
    code, _, err = run_cli(*tune, "--worst-of", "column:p")
    assert (code, "expected two metrics or more, of which the worst counts, found 1" in err) == (2, True)
