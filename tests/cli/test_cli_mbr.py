"""`luthier mbr`: what it writes and prints, and its errors."""

import json
import shlex
import sys

import numpy as np
import pytest

import luthier
from luthier.kbest.building.lists import ReadOptions

LISTS = """id\thyp\tlm\tn
0\ta cat sat\t1\t2
0\ta cat sits\t2\t1
0\tthe dog\t3\t1
1\tb c\t1\t1
1\tb\t2\t1
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.tsv").write_text(LISTS)
    (tmp_path / "w.txt").write_text("lm 1\n")
    pool = luthier.read_pool("list.tsv", options=ReadOptions(columns=["n"]))
    luthier.save_pool(pool, "pool.arrow")
    return tmp_path


@pytest.mark.compiled
def test_utilities_are_features(run_cli, home):
    code, out, _ = run_cli(
        "mbr", "pool.arrow", "--utility", "wer", "--utility", "bleu(order=2)", "-o", "more.arrow", "--json"
    )
    about = json.loads(out)
    assert (code, about["sentences"], about["hypotheses"], about["output"]) == (0, 2, 5, "more.arrow")
    assert [f["name"] for f in about["features"]] == ["mbr_wer", "mbr_bleu_order_2"]
    pool = luthier.open_pool("more.arrow")
    # 'a cat sat' has 0, 1 of 3 and 3 of 2 errors against the three texts: (0 + 33.3 + 150) / 3
    np.testing.assert_allclose(pool.features.column("mbr_wer")[0], -(100 / 3 + 150) / 3)
    code, out, _ = run_cli("mbr", "pool.arrow", "--utility", "chrf", "-o", "more.arrow")
    assert code == 0
    assert "mbr_chrf" in out
    code, _, err = run_cli("mbr", "more.arrow", "--utility", "chrf", "-o", "again.arrow")
    assert code == 2
    assert "there is a feature 'mbr_chrf' already. hint: leave this utility out" in err


@pytest.mark.compiled
def test_a_selection_is_a_text(run_cli, home):
    assert run_cli("mbr", "pool.arrow", "--select", "chrf", "-o", "-")[:2] == (0, "a cat sits\nb c\n")
    code, out, _ = run_cli("mbr", "list.tsv", "--column", "n", "--select", "ter", "--prune", "-o", "o.txt", "--json")
    about = json.loads(out)
    assert code == 0
    assert (home / "o.txt").read_text() == "a cat sat\nb\n"
    assert about["pairs"] == 13
    assert about["scored"] <= 13
    assert run_cli("mbr", "pool.arrow", "--rover", "--counts", "n", "-o", "-")[:2] == (0, "a cat sat\nb c\n")
    options = ["--posterior", "w.txt", "--temperature", "0.01", "-o", "-"]  # only the last of each list counts
    assert run_cli("mbr", "pool.arrow", "--select", "wer", *options)[:2] == (0, "the dog\nb\n")
    assert run_cli("mbr", "pool.arrow", "--select", "wer", "--first", "1", "-o", "-")[:2] == (0, "a cat sat\nb c\n")
    code, out, _ = run_cli("mbr", "pool.arrow", "--select", "chrf", "--aggregate", "-o", "o.txt")
    assert code == 0
    assert "pairs scored" in out


PAIRS = """import json, sys
for line in sys.stdin:
    item = json.loads(line)
    hyp, ref = set(item["hyp"].split()), set(item["ref"][0].split())
    print(len(hyp & ref) / max(len(hyp | ref), 1))
    print(item["id"], file=open("asked.txt", "a"))
"""


@pytest.mark.compiled
def test_a_program_scores_pairs_and_its_answers_are_kept(run_cli, home):
    (home / "pairs.py").write_text(PAIRS)
    command = ["mbr", "pool.arrow", "--score-with", f"jaccard={shlex.quote(sys.executable)} -S -E pairs.py"]
    assert run_cli(*command, "-o", "more.arrow")[0] == 0
    column = luthier.open_pool("more.arrow").features.column("mbr_jaccard")
    np.testing.assert_allclose(column, [(1 + 0.5) / 3, (0.5 + 1) / 3, 1 / 3, 0.75, 0.75])
    assert len((home / "asked.txt").read_text().split()) == 9 + 4
    code, out, _ = run_cli(*command, "--select", "jaccard", "--cache", "more.arrow.scores", "-o", "o.txt", "--json")
    assert (code, json.loads(out)["pairs"]) == (0, 13)
    assert (home / "o.txt").read_text() == "a cat sat\nb c\n"
    assert len((home / "asked.txt").read_text().split()) == 13  # nothing was asked twice
    options = ["--select", "jaccard", "--prune", "--bounds", "jaccard=0,1", "-o", "-"]
    assert run_cli(*command, *options)[:2] == (0, "a cat sat\nb c\n")
    code, _, err = run_cli(*command, *options[:-3], "jaccard=0", "-o", "-")
    assert code == 2
    assert "expected --bounds NAME=VALUE, found 'jaccard=0'" in err


@pytest.mark.compiled
def test_samples_are_counted_where_they_are_read(run_cli, home):
    rows = ["a b", "x y z", "a b", "x y c", "a b"]
    (home / "samples.jsonl").write_text("".join(json.dumps({"id": 0, "hyp": t, "lm": 1}) + "\n" for t in rows))
    for more in (["--counts", "drawn"], ["--keep-duplicates"]):  # three of five draws are 'a b'
        assert run_cli("mbr", "samples.jsonl", *more, "--select", "wer", "-o", "-")[:2] == (0, "a b\n")
    assert luthier.mbr("samples.jsonl", select="wer", counts="drawn").texts == ["a b"]
    assert run_cli("mbr", "samples.jsonl", "--select", "wer", "-o", "-")[:2] == (0, "x y z\n")
    code, _, err = run_cli("tune", "pool.arrow", "--counts", "drawn")
    assert code == 2
    assert "there is no column 'drawn' to count by. known: n" in err


@pytest.mark.compiled
def test_matrices_from_elsewhere(run_cli, home):
    tables = {"0": np.array([[0, 0, 0], [1, 2, 3], [0, 0, 1.0]]), "1": np.array([[1, 0], [5, 1.0]])}
    np.savez("pairs.npz", **tables)
    assert run_cli("mbr", "pool.arrow", "--matrix", "comet=pairs.npz", "-o", "more.arrow")[0] == 0
    assert luthier.open_pool("more.arrow").features.column("mbr_comet").tolist() == pytest.approx([0, 2, 1 / 3, 0.5, 3])
    np.savez("pairs.npz", **{"0": tables["0"]})
    code, _, err = run_cli("mbr", "pool.arrow", "--matrix", "comet=pairs.npz", "-o", "bad.arrow")
    assert code == 2
    assert "pairs.npz: expected a matrix of the sentence '1', found none" in err
    assert not (home / "bad.arrow").exists()
    whole = (home / "pairs.npz").read_bytes()
    for damaged in (b"", b"PK", whole[:60], whole.replace(b"NUMPY", b"NUMBY"), b"text\n" * 9):
        (home / "pairs.npz").write_bytes(damaged)
        code, _, err = run_cli("mbr", "pool.arrow", "--matrix", "comet=pairs.npz", "-o", "bad.arrow")
        assert (code, "luthier: error: pairs.npz: expected" in err) == (2, True)
    np.savez("pairs.npz", **{"0": np.array([["a"] * 3] * 3), "1": tables["1"]})
    code, _, err = run_cli("mbr", "pool.arrow", "--matrix", "comet=pairs.npz", "-o", "bad.arrow")
    assert (code, "expected numbers for the sentence '0'" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "found none of these jobs. hint: give --utility, --select or --rover"),
        (
            ["--select", "chrf", "--rover"],
            "expected features to add or one text of each list to find, found 2 of these jobs",
        ),
        (
            ["--utility", "chrf", "--prune"],
            "pruning leaves out candidates that cannot be selected. hint: give --select",
        ),
        (["--utility", "chrf", "--temperature", "2"], "hint: give its weights too (--posterior)"),
        (["--utility", "length"], "length has no score of pairs of hypotheses. known: chrf, bleu"),
        (["--utility", "chrf", "--utility", "chrf"], "two utilities have one name"),
        (["--utility", "bleau"], "did you mean 'bleu'?"),
        (["--utility", "wer", "--counts", "k"], "there is no column 'k' to count by. known: n"),
        (["--utility", "wer", "--first", "0"], "expected at least 1 hypothesis"),
        (["--matrix", "m=none.npz"], "none.npz: expected a .npz file of matrices, found"),
        (["--select", "ter", "--aggregate"], "ter has no aggregated references. known: chrf, bleu"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(run_cli, home, options, said):
    code, out, err = run_cli("mbr", "pool.arrow", "-o", "bad.arrow", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert not (home / "bad.arrow").exists()


def test_a_posterior_is_of_no_utility(run_cli, home):
    run_cli("mbr", "pool.arrow", "--utility", "wer", "-o", "more.arrow")
    (home / "v.txt").write_text("mbr_wer 1\nlm 0\n")
    code, _, err = run_cli("mbr", "more.arrow", "--utility", "per", "--posterior", "v.txt", "-o", "bad.arrow")
    assert code == 2
    assert "a posterior is of model features, and 'mbr_wer' is a utility" in err
