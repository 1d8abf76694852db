"""Commands that take lists in place of pools, and standard input."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from luthier import open_pool, read_weights
from luthier.metrics.methods import bleu

LUTHIER = [sys.executable, "-m", "luthier.cli.main"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    rows = [
        {"id": i, "hyp": f"w{k} x{i} y", "lm": 1.0 * k, "tm": k * i % 3, "comet": 0.1 * (k == 1), "ref": f"w1 x{i} y"}
        for i in range(6) for k in range(4)
    ]  # fmt: skip
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "list.txt").write_text(
        "".join(f"{row['id']} ||| {row['hyp']} ||| lm={row['lm']} tm={row['tm']} ||| 0\n" for row in rows)
    )
    (tmp_path / "refs.txt").write_text("".join(f"w1 x{i} y\n" for i in range(6)))
    (tmp_path / "w.txt").write_text("lm 1\ntm -1\n")
    (tmp_path / "v.txt").write_text("lm -1\ntm 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(run_cli, *words):
    code, out, err = run_cli(*words, "--json", "--quiet")
    assert (code, err) == (0, "")
    found = json.loads(out)
    found.pop("written", None)
    return found


JOBS = [
    ["inspect", "LIST"],
    ["oracle", "LIST", "--metric", "bleu"],
    ["line", "LIST", "--weights", "w.txt", "--axis", "lm", "--metric", "wer"],
    ["compare", "--pool", "LIST", "--weights", "w.txt", "--weights", "v.txt", "--metric", "wer", "--draws", "20"],
]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job[0])
def test_a_list_gives_what_its_pool_does(run_cli, home, job):
    assert run_cli("pool", "list.txt", "--refs", "refs.txt", "-o", "pool.arrow", "--quiet")[0] == 0
    of_pool = answer(run_cli, *[word.replace("LIST", "pool.arrow") for word in job])
    of_list = answer(run_cli, *[word.replace("LIST", "list.txt") for word in job], "--refs", "refs.txt")
    for found in (of_pool, of_list):
        found.pop("cpu_seconds", None)
        found.pop("seconds", None)
    assert of_list == of_pool


def test_tune_a_list_and_rerank_another_through_pipes(run_cli, home):
    tune = [
        "tune",
        "list.jsonl",
        "--column",
        "comet",
        "--metric",
        "column:comet",
        "--method",
        "mert",
        "-o",
        "tuned.txt",
    ]
    assert run_cli(*tune, "--heldout", "list.jsonl")[0] == 0
    assert list(read_weights("tuned.txt")) == ["lm", "tm"]
    lines = (home / "list.txt").read_bytes()
    done = subprocess.run(
        [*LUTHIER, "rerank", "-", "--weights", "w.txt", "-n", "2", "--to", "jsonl", "-o", "-"],
        input=lines, capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[0])["score"] == 3.0
    assert len(done.stdout.splitlines()) == 12


def test_options_of_lists_are_refused_for_pools(run_cli, home):
    assert run_cli("pool", "list.txt", "--refs", "refs.txt", "-o", "pool.arrow", "--quiet")[0] == 0
    code, _, err = run_cli("inspect", "pool.arrow", "--column", "lm")
    assert code == 2
    assert "--column is for lists, and this is a pool" in err
    code, _, err = run_cli("rerank", "list.txt", "--weights", "w.txt", "-o", "list.txt")
    assert code == 2
    assert "it is read, and would be lost" in err
    code, _, err = run_cli("rerank", "list.txt", "--weights", "w.txt", "-n", "0", "-o", "out.txt")
    assert (code, "at least 1" in err) == (2, True)


def test_a_formula_goes_from_tune_to_rerank_and_its_exponent_can_be_searched(run_cli, home):
    rows = [
        {"id": i, "hyp": "w " * (k + 1) + "x" * (i % 2), "logprob": -1.5 * (k + 1) + 0.25 * k * k, "ref": "w w x"}
        for i in range(5) for k in range(4)
    ]  # fmt: skip
    (home / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tune = ["tune", "long.jsonl", "--metric", "wer", "--method", "mert", "-o", "tuned.txt", "--quiet"]
    found = answer(run_cli, *tune, "--add", "lp=logprob/words**a", "--search", "a=0:1.5", "--normalize", "l1")
    values = [point["value"] for point in found["search"]["points"]]
    assert values == sorted(values)
    assert (values[0], values[-1], len(values) > 13) == (0.0, 1.5, True)
    best = max(found["search"]["points"], key=lambda point: point["gain"])
    assert found["search"]["best"] == best["value"]
    assert found["replicas"][0]["tune_after"] == pytest.approx(best["tuned"], abs=1e-9)
    weights = read_weights("tuned.txt")
    assert weights.derived == {"lp": f"logprob / words ** {best['value']}"}
    assert sum(map(abs, weights.values())) == pytest.approx(1)
    code, _, err = run_cli("rerank", "long.jsonl", "--weights", "tuned.txt", "-o", "out.txt", "--quiet")
    assert (code, err) == (0, "")
    (home / "five.txt").write_text("w w x\n" * 5)
    scored = answer(run_cli, "score", "out.txt", "--refs", "five.txt", "--metric", "wer")
    assert scored["translations"][0]["scores"]["wer"] == pytest.approx(best["tuned"], abs=1e-9)
    for wrong in (["--search", "a=1:0"], ["--search", "b=0:1"], ["--search", "a"]):
        assert run_cli(*tune, "--add", "lp=logprob/words**a", *wrong)[0] == 2


def test_weights_into_a_template(run_cli, home):
    (home / "moses.ini").write_text("[weight]\nlm= 0.5\ntm= 1\nUnknown0= 1\n")
    assert (
        run_cli("data", "weights", "w.txt", "tuned.ini", "--template", "moses.ini", "--normalize", "lm", "--quiet")[0]
        == 0
    )
    assert (home / "tuned.ini").read_text() == "[weight]\nlm= 1.0\ntm= -1.0\nUnknown0= 1\n"
    assert run_cli("data", "weights", "w.txt", "w.eq", "--to", "travatar", "--quiet")[0] == 0
    assert (home / "w.eq").read_text() == "lm=1.0\ntm=-1.0\n"
    assert run_cli("data", "weights", "w.txt", "w.x", "--to", "cdec", "--template", "moses.ini")[0] == 2


def test_statistics_are_kept_in_the_file_and_used(run_cli, home, monkeypatch):
    assert run_cli("pool", "list.txt", "--refs", "refs.txt", "--metric", "wer", "-o", "pool.arrow", "--quiet")[0] == 0
    assert run_cli("data", "stats", "pool.arrow", "--metric", "bleu", "--quiet")[0] == 0
    pool = open_pool("pool.arrow")
    assert [signature.partition("(")[0] for signature in pool.stats] == ["wer", "bleu"]
    assert run_cli("inspect", "pool.arrow", "--verify", "--quiet")[0] == 0
    before = answer(run_cli, "oracle", "pool.arrow", "--metric", "bleu")

    def never(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr(bleu.Method, "stats", never)
    assert answer(run_cli, "oracle", "pool.arrow", "--metric", "bleu") == before
    code, _, err = run_cli("data", "stats", "list.txt", "--metric", "bleu")
    assert (code, "expected a pool" in err) == (2, True)
