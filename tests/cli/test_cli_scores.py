"""Scores from files on the command line: lists and pools with a join, add and export; several lists to tune on."""

import json

import pytest

from luthier.kbest.storage.pool_file import open_pool

ROWS = [(i, k, f"w{(i + k) % 3} x{k}", -float(k)) for i in range(6) for k in range(3)]


@pytest.fixture
def files(tmp_path):
    lines = [
        json.dumps({"id": i, "hyp": t, "lm": lm, "source": f"s{i}", "url": f"u{i}"}) + "\n" for i, _, t, lm in ROWS
    ]
    (tmp_path / "list.jsonl").write_text("".join(lines))
    (tmp_path / "a.jsonl").write_text("".join(lines[:9]))
    (tmp_path / "b.jsonl").write_text("".join(lines[9:]))
    (tmp_path / "kiwi.txt").write_text("".join(f"{(7 * i + 3 * k) % 5}\n" for i, k, *_ in ROWS))
    (tmp_path / "comet.txt").write_text("".join(f"{(5 * i + 2 * k) % 7}\n" for i, k, *_ in ROWS))
    return tmp_path


JOIN = ("--join", "kiwi={0}/kiwi.txt", "--join", "{0}/comet.txt", "--column", "comet")


def joins(files):
    return [part.format(files) for part in JOIN]


def test_a_list_a_pool_and_two_lists_are_tuned_alike(run_cli, files):
    tuning = ("--metric", "column:comet", "--method", "mert")
    code, out, err = run_cli("tune", files / "list.jsonl", *joins(files), *tuning, "-o", files / "w.txt")
    assert code == 0, err
    code, _, err = run_cli("tune", files / "a.jsonl", files / "b.jsonl", *joins(files), *tuning, "-o", files / "w2.txt")
    assert code == 0, err
    assert run_cli("pool", files / "list.jsonl", "-o", files / "pool.arrow")[0] == 0
    code, out, err = run_cli(
        "add", files / "pool.arrow", f"kiwi={files / 'kiwi.txt'}", files / "comet.txt", "--column", "comet", "-o",
        files / "pool2.arrow",
    )  # fmt: skip
    assert code == 0, err
    assert "kiwi" in out
    assert open_pool(files / "pool2.arrow").features.names == ("lm", "kiwi")
    assert run_cli("tune", files / "pool2.arrow", *tuning, "-o", files / "w3.txt")[0] == 0
    assert run_cli("tune", files / "pool.arrow", *joins(files), *tuning, "-o", files / "w4.txt")[0] == 0
    assert len({(files / f"w{n}.txt").read_text() for n in ("", "2", "3", "4")}) == 1
    outs = []
    for name in ("list.jsonl", "pool.arrow"):
        to = files / f"{name}.out"
        code, _, err = run_cli("rerank", files / name, *joins(files), "--weights", files / "w.txt", "-o", to)
        assert code == 0, err
        outs.append(to.read_text())
    assert outs[0] == outs[1]


def test_the_table_alone(run_cli, files):
    tuning = ("--metric", "column:comet", "--method", "mert")
    code, out, err = run_cli("tune", files / "list.jsonl", *joins(files), *tuning)
    assert code == 0, err
    assert "kiwi" in out
    assert "written" not in out
    code, _, err = run_cli("tune", files / "list.jsonl", *joins(files), *tuning, "--template", files / "x.ini")
    assert (code != 0, "--template and --average-replicas need -o" in err) == (True, True)


def test_heldout_lists_have_scores_of_their_own(run_cli, files):
    lines = (files / "kiwi.txt").read_text().splitlines(keepends=True)
    (files / "kiwi_b.txt").write_text("".join(lines[9:]))
    (files / "kiwi_a.txt").write_text("".join(lines[:9]))
    (files / "refs").write_text("w1 x1\n" * 6)
    common = ("tune", files / "a.jsonl", "--join", f"kiwi={files / 'kiwi_a.txt'}", "--heldout", files / "b.jsonl")
    common = (*common, "--refs", files / "refs", "--heldout-refs", files / "refs", "--method", "mert", "--allow-empty")
    code, out, err = run_cli(*common, "--heldout-join", f"kiwi={files / 'kiwi_b.txt'}")
    assert code == 0, err
    assert "held-out" in out


def test_export_and_its_errors(run_cli, files):
    code, out, err = run_cli("export", files / "list.jsonl", "--for", "comet", "-o", files / "out")
    assert code == 0, err
    assert (files / "out" / "src.txt").read_text().splitlines() == [f"s{i}" for i, *_ in ROWS]
    code, out, _ = run_cli("export", files / "list.jsonl", "--for", "metricx", "-o", files / "out", "--json")
    assert json.loads(out)["hypotheses"] == len(ROWS)
    assert run_cli("pool", files / "list.jsonl", "-o", files / "pool.arrow")[0] == 0
    (files / "short.txt").write_text("1\n2\n3\n")
    before = (files / "pool.arrow").read_bytes()
    code, _, err = run_cli("add", files / "pool.arrow", f"x={files / 'short.txt'}", "-o", files / "pool.arrow")
    assert code != 0
    assert "expected 18 numbers, one for each hypothesis, found 3: none for hypothesis 0 of sentence '1'" in err
    assert (files / "pool.arrow").read_bytes() == before  # the pool that was there stays whole


def test_names_on_the_command_line(run_cli, files):
    (files / "own.jsonl").write_text('{"nr": 1, "answers": [{"a": "x", "p": 1.5}, {"a": "y", "p": 2.5}], "q": "s"}\n')
    code, _, err = run_cli(
        "pool", files / "own.jsonl", "--format-option", "id=nr,text=a,list=answers,source=q", "-o", files / "own.arrow"
    )
    assert code == 0, err
    pool = open_pool(files / "own.arrow")
    assert (list(pool.sentence_ids), list(pool.texts), list(pool.sources)) == (["1"], ["x", "y"], ["s"])
    code, _, err = run_cli("pool", files / "own.jsonl", "--format-option", "beams=3", "-o", files / "own.arrow")
    assert (code != 0, "--format-option needs --format" in err) == (True, True)
    (files / "rows.csv").write_text("prompt,output,reward,rank\np,a,1,0\nq,b,2,0\np,c,3,1\n")
    code, out, err = run_cli("pool", files / "rows.csv", "--group-by", "source", "-o", files / "rows.arrow")
    assert code == 0, err
    assert "rank" in out  # said to be left out
    assert "told apart by their sources" in " ".join(out.split())
    assert open_pool(files / "rows.arrow").list_lengths.tolist() == [2, 1]
