"""`luthier engine lm` and `luthier engine perplexity`: a model made, used and refused."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

TEXT = "the cat sat\nthe dog sat down\n\na cat and a dog\n"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "text").write_text(TEXT)
    return tmp_path


def test_a_model_is_made_and_expects_its_own_text_best(run_cli, home):
    model = home / "lm.arpa.gz"
    code, out, err = run_cli("engine", "lm", home / "text", "--order", "3", "-o", model, "--json")
    assert code == 0
    assert "too few n-grams to estimate discounts of order 1, 2, 3" in err
    result = json.loads(out)
    assert (result["sentences"], result["words"], len(result["orders"])) == (4, 12, 3)
    assert gzip.decompress(model.read_bytes()).startswith(b"\\data\\\nngram 1=10\n")
    (home / "other").write_text("dog the a down\nnever heard\n")
    own = json.loads(run_cli("engine", "perplexity", model, home / "text", "--json")[1])
    other = json.loads(run_cli("engine", "perplexity", model, home / "other", "--json")[1])
    assert own["with_unknown"] == own["without_unknown"] < other["without_unknown"] < other["with_unknown"]
    assert (other["n_unknown"], own["n_sentences"], own["n_words"]) == (2, 4, 12)


def test_tables_say_what_was_made(run_cli, home):
    code, out, _ = run_cli("engine", "lm", home / "text", "--order", "2", "--prune", "0", "1", "-o", home / "lm.arpa")
    assert code == 0
    assert "language model of 4 sentences, 12 words" in out
    assert "fallback" in out
    assert f"written to {home / 'lm.arpa'}" in out
    code, out, _ = run_cli("engine", "perplexity", home / "lm.arpa", home / "text", "--per-line", home / "lines.tsv")
    assert code == 0
    assert "perplexity without unknown words" in out
    lines = (home / "lines.tsv").read_text().splitlines()
    assert lines[0] == "line\twords\tunknown\tlog10_prob\tperplexity"
    assert len(lines) == 5
    assert lines[3].startswith("3\t0\t0\t")


def test_the_same_text_gives_the_same_bytes(run_cli, home):
    for name in ("a.arpa.gz", "b.arpa.gz"):
        assert (
            run_cli("engine", "lm", home / "text", "-o", home / name, "--threads", "1" if name[0] == "a" else "2")[0]
            == 0
        )
    assert (home / "a.arpa.gz").read_bytes() == (home / "b.arpa.gz").read_bytes()


def test_standard_input_and_output(run_cli, home, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    code, out, _ = run_cli("engine", "lm", "-", "--order", "2", "-o", "-")
    assert code == 0
    assert run_cli("engine", "lm", home / "text", "--order", "2", "-o", home / "lm.arpa")[0] == 0
    assert out == (home / "lm.arpa").read_text()


def test_marks_are_dropped_on_request(run_cli, home):
    (home / "marked").write_text("<s> the cat </s>\n")
    code, _, err = run_cli("engine", "lm", home / "marked", "-o", home / "lm.arpa")
    assert code == 2
    assert f"{home / 'marked'}:1: expected words only, found '<s>', which a model keeps for itself" in err
    assert run_cli("engine", "lm", home / "marked", "-o", home / "lm.arpa", "--skip-symbols")[0] == 0
    code, _, err = run_cli("engine", "perplexity", home / "lm.arpa", home / "marked")
    assert code == 2
    assert ":1: expected words only, found '<s>'" in err
    assert run_cli("engine", "perplexity", home / "lm.arpa", home / "marked", "--skip-symbols")[0] == 0


@pytest.mark.parametrize(
    "content, options, message",
    [
        (b"a b\n\xff c\n", [], "text:2: expected UTF-8 text"),
        (b"", [], "text: expected at least one line, found an empty file"),
        (b"\n\n", [], "text: expected at least one word, found 2 empty lines"),
        (b"a\n", ["--order", "0"], "'order' parameter of EstimateOptions must be an int in [1, 10], got 0"),
        (b"a\n", ["--order", "12"], "'order' parameter of EstimateOptions must be an int in [1, 10], got 12"),
        (b"a\n", ["--prune", "0", "2", "1"], "expected at most 5 thresholds to prune by"),
        (b"a\n", ["--prune", "0", "-1"], "expected at most 5 thresholds to prune by"),
    ],
)
def test_what_cannot_be_estimated_is_refused_and_nothing_is_written(run_cli, home, content, options, message):
    (home / "text").write_bytes(content)
    code, out, err = run_cli("engine", "lm", home / "text", "-o", home / "lm.arpa", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(path.name for path in home.iterdir()) == ["text"]


def test_a_full_disk_leaves_what_was_there(run_cli, home, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    (home / "lm.arpa").write_text("before")
    monkeypatch.setattr("luthier.core.files.io.os.fsync", full)
    code, _, err = run_cli("engine", "lm", home / "text", "-o", home / "lm.arpa")
    assert code == 2
    assert f"{home / 'lm.arpa'}: cannot write here: no space left on device; nothing was kept" in err
    assert (home / "lm.arpa").read_text() == "before"
    assert sorted(path.name for path in home.iterdir()) == ["lm.arpa", "text"]


def test_a_full_device_is_told(run_cli, home):
    code, _, err = run_cli("engine", "lm", home / "text", "-o", "/dev/full")
    assert code == 2
    assert "/dev/full: cannot write here: no space left on device" in err


def test_the_text_is_not_written_over(run_cli, home):
    code, _, err = run_cli("engine", "lm", home / "text", "-o", home / "text")
    assert code == 2
    assert "it is read, and would be lost" in err
    assert (home / "text").read_text() == TEXT


def test_a_broken_model_is_told_with_its_line_and_nothing_is_kept(run_cli, home):
    (home / "lm.arpa").write_text("\\data\\\nngram 1=1\n\n\\1-grams:\nminus\ta\n\n\\end\\\n")
    code, out, err = run_cli("engine", "perplexity", home / "lm.arpa", home / "text")
    assert (code, out) == (2, "")
    assert f"{home / 'lm.arpa'}:5: expected a log10 probability, found 'minus'" in err
    assert sorted(path.name for path in home.iterdir()) == ["lm.arpa", "text"]
