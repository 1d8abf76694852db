"""`luthier engine align`: whole commands, and what is said when something is wrong."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from interrupting import START as BEGUN

from luthier.alignment.links import read_links
from luthier.synthetic.pair.pair import PairGenerator


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with s and t, 60 generated sentence pairs, and their true links."""
    folder = tmp_path_factory.mktemp("align")
    pairs = list(PairGenerator().pairs("train", 60, seed=0))
    (folder / "s").write_text("".join(f"{pair.source}\n" for pair in pairs))
    (folder / "t").write_text("".join(f"{pair.references[0]}\n" for pair in pairs))
    (folder / "true").write_text("".join(" ".join(f"{i}-{j}" for i, j in pair.links) + "\n" for pair in pairs))
    return folder


@pytest.fixture
def texts(folder):
    return str(folder / "s"), str(folder / "t")


def test_links_scores_and_model_are_written_and_reported(run_cli, texts, tmp_path, folder):
    out, scores, model = tmp_path / "l.gz", tmp_path / "s.tsv", tmp_path / "m"
    code, text, err = run_cli("engine", "align", *texts, "-o", out, "--scores", scores, "--train", model, "--json")
    assert code == 0, err
    report = json.loads(text)
    links = read_links(out)
    assert report["links"] == links.counts.sum()
    assert (report["pairs"], report["aligned"], report["empty"], report["long"]) == (60, 60, 0, 0)
    assert report["method"] == "diagonal(passes=5, alpha=0.01, null=0.08, tension=4.0, optimize_tension=False)"
    assert report["files"] == [str(out), str(scores), str(model)]
    assert [len(side) for side in report["log_likelihoods"]] == [4, 4]
    header, *rows = scores.read_text().splitlines()
    assert header == "forward\tbackward"
    assert np.array([row.split("\t") for row in rows], dtype=float).shape == (60, 2)

    code, text, err = run_cli("engine", "align", "--compare", out, folder / "true", "--json")
    assert code == 0, err
    assert 0.2 < json.loads(text)["error_rate"] < 0.6

    again = tmp_path / "again.gz"
    code, text, err = run_cli("engine", "align", *texts, "--apply", model, "-o", again)
    assert code == 0, err
    assert again.read_bytes() == out.read_bytes()
    assert "grow-diag-final-and" in text


def test_threads_give_the_same_bytes(run_cli, texts, tmp_path):
    for threads in (1, 2):
        for kind in ("diagonal", "hmm"):
            code, _, err = run_cli(
                "engine", "align", *texts, "--method", kind, "-o", tmp_path / f"{kind}{threads}", "--threads", threads,
                "--train", tmp_path / f"m{kind}{threads}",
            )  # fmt: skip
            assert code == 0, err
    for name in ("diagonal", "hmm", "mdiagonal", "mhmm"):
        assert (tmp_path / f"{name}1").read_bytes() == (tmp_path / f"{name}2").read_bytes()


def test_directions_alone_join_to_the_whole(run_cli, texts, tmp_path):
    for how in ("forward", "backward", "grow-diag"):
        assert (
            run_cli("engine", "align", *texts, "--method", "model1", "--symmetrize", how, "-o", tmp_path / how)[0] == 0
        )
    joined = tmp_path / "joined"
    code, text, err = run_cli(
        "engine",
        "align",
        "--join",
        tmp_path / "forward",
        tmp_path / "backward",
        "--symmetrize",
        "grow-diag",
        "-o",
        joined,
    )
    assert code == 0, err
    assert "grow-diag" in text
    assert joined.read_bytes() == (tmp_path / "grow-diag").read_bytes()


def test_links_on_standard_output_stand_alone(run_cli, texts):
    code, text, err = run_cli("engine", "align", *texts, "--method", "model1", "-o", "-")
    assert code == 0, err
    assert len(text.splitlines()) == 60
    assert all("-" in line for line in text.splitlines())


def test_possible_links_are_not_wrong(run_cli, tmp_path):
    for name, content in {"a": "0-0 1-1\n", "sure": "0-0\n", "possible": "1-1\n"}.items():
        (tmp_path / name).write_text(content)
    code, text, _ = run_cli(
        "engine", "align", "--compare", tmp_path / "a", tmp_path / "sure", "--possible", tmp_path / "possible"
    )
    assert code == 0
    assert [cell.strip() for cell in text.split("│")[4:7]] == ["1.0000", "1.0000", "0.0000"]


def test_pairs_left_out_get_an_empty_line_and_are_counted(run_cli, tmp_path):
    (tmp_path / "s").write_text("a b\n\nc\n" + "x " * 500 + "\na\n")
    (tmp_path / "t").write_text("A B\nX\n \nY\nA\n")
    code, text, err = run_cli("engine", "align", tmp_path / "s", tmp_path / "t", "-o", tmp_path / "l", "--json")
    assert code == 0, err
    report = json.loads(text)
    assert (report["pairs"], report["aligned"], report["empty"], report["long"]) == (5, 2, 2, 1)
    assert (tmp_path / "l").read_text().splitlines()[1:4] == ["", "", ""]


def test_one_sentence(run_cli, tmp_path):
    (tmp_path / "s").write_text("a\n")
    (tmp_path / "t").write_text("b\n")
    assert run_cli("engine", "align", tmp_path / "s", tmp_path / "t", "-o", tmp_path / "l")[0] == 0
    assert (tmp_path / "l").read_text() == "0-0\n"


BAD = {
    "counts": ("a\nb\n", "x\n", [], "s:2: expected as many lines as {t} has, 1, found 2."),
    "utf8": (b"a\n\xff\n", "x\ny\n", [], "s:2: expected UTF-8 text, found the bytes '"),
    "empty": ("\n\n", "x\ny\n", [], "s: expected at least one pair with 1 to 100 words on each side, found none in 2."),
    "no method": (
        "a\n",
        "x\n",
        ["--method", "giza"],
        "there is no 'giza' among the methods. known: diagonal, fertility, hmm, model1",
    ),
    "parameter": (
        "a\n",
        "x\n",
        ["--null", "2"],
        "the 'null' parameter of diagonal must be a float in [0.0, 0.999], got 2.0",
    ),
    "words": ("a\n", "x\n", ["--max-words", "0"], "--max-words: expected a whole number from 1 to 1000, found '0'"),
    "no model": (
        "a\n",
        "x\n",
        ["--apply", "none"],
        "none: expected a model that 'luthier engine align' wrote, found no such",
    ),
    "both": (
        "a\n",
        "x\n",
        ["--apply", "m", "--null", "0.1"],
        "a kept model (--apply) has its method and options: leave",
    ),
    "ending": ("a\n", "x\n", ["--scores", "scores.txt"], "expected a file that ends in .tsv, .json"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_job_says_why_and_leaves_nothing(run_cli, tmp_path, case, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, target, options, words = BAD[case]
    for name, content in (("s", source), ("t", target)):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run_cli("engine", "align", "s", "t", "-o", "l.gz", *options)
    assert code == 2
    assert out == ""
    assert words.format(t="t") in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "t"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["s", "-o", "l"], "expected two texts, SRC and TRG"),
        (["s", "t"], "nothing to write. hint: name a file of links (-o), a model (--train) or scores (--scores)"),
        (["s", "t", "-o", "s"], "s: cannot write here: it is read, and would be lost"),
        (["s", "t", "-o", "none/l"], "cannot write here: there is no folder"),
        (
            ["s", "t", "--train", "m", "--apply", "m"],
            "a kept model is not trained again. hint: leave out --train, or --apply",
        ),
        (["--join", "good", "good"], "nothing to write. hint: name a file of links (-o)"),
        (["--compare", "good", "short"], "short: expected as many lines as good has, 2, found 1."),
        (["--compare", "good", "bad"], "bad:2: expected links such as 0-0 1-2"),
        (["--join", "good", "short", "-o", "l"], "short: expected as many lines as good has, 2, found 1."),
    ],
)
def test_a_job_that_cannot_end_well_is_refused(run_cli, tmp_path, arguments, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"s": "a\n", "t": "x\n", "good": "0-0\n0-0\n", "short": "0-0\n", "bad": "0-0\n0=0\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    code, out, err = run_cli("engine", "align", *arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_leaves_nothing(folder, tmp_path):
    for name in ("s", "t"):
        (tmp_path / name).write_text((folder / name).read_text() * 200)
    command = [
        sys.executable, "-c", BEGUN, "engine", "align", "s", "t", "--passes", "1000", "-o", "l.gz", "--train", "m",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr.readline() == "begun\n"
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "t"]


def test_packed_texts_are_read(run_cli, texts, tmp_path):
    with gzip.open(tmp_path / "s.gz", "wb") as file:
        file.write(Path(texts[0]).read_bytes())
    assert run_cli("engine", "align", tmp_path / "s.gz", texts[1], "--method", "model1", "-o", tmp_path / "l")[0] == 0
    assert run_cli("engine", "align", *texts, "--method", "model1", "-o", tmp_path / "plain")[0] == 0
    assert (tmp_path / "l").read_bytes() == (tmp_path / "plain").read_bytes()
