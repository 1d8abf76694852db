"""`luthier engine extract`: models, grammars in every form, and what is refused."""

import gzip
import io
import json
import sys

import pytest

from luthier.grammar.reading import read_grammar
from luthier.grammar.storage import open_grammar

SOURCE = "das haus ist klein\ndas ist ein haus\nein kleines haus\n"
TARGET = "the house is small\nthis is a house\na small house\n"
LINKS = "0-0 1-1 2-2 3-3\n0-0 1-1 2-2 3-3\n0-0 1-1 2-2\n"


@pytest.fixture
def home(tmp_path):
    for name, text in (("f", SOURCE), ("e", TARGET), ("links", LINKS), ("new", "das haus\n\nwas sonst\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def texts(home):
    return ("--source", home / "f", "--target", home / "e", "--links", home / "links")


def test_a_file_with_the_grammar_of_every_sentence(run_cli, home):
    code, out, _ = run_cli(
        "engine", "extract", *texts(home), "--for", home / "new", "-o", home / "new.grammar", "--json"
    )
    assert code == 0
    result = json.loads(out)
    assert (result["pairs"], result["left_out"], result["sentences"], result["without_rules"]) == (3, 0, 3, 2)
    grammar = open_grammar(home / "new.grammar")
    assert (grammar.n_rules, grammar.n_sides) == (result["rules"], result["source_sides"])
    assert {rule.target for rule in grammar.sentence(0).rules() if rule.source == "das"} == {"the", "this"}


def test_a_model_is_kept_and_used(run_cli, home, monkeypatch):
    code, out, _ = run_cli("engine", "extract", *texts(home), "--model", home / "model")
    assert code == 0
    assert "sentence pairs" in out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"das haus\n")))
    code, out, _ = run_cli("engine", "extract", "--model", home / "model", "--for", "-", "-o", "-")
    assert code == 0
    assert "[X] ||| das haus ||| the house ||| EgivenFCoherent=0 SampleCountF=0.301029995664 " in out
    assert all(line.startswith("[X] ||| ") for line in out.splitlines())
    code, _, err = run_cli(
        "engine", "extract", "--model", home / "model", "--for", home / "new", "-o", "-", "--max-symbols", "6"
    )
    assert code == 2
    assert "expected an index at least 6 words deep" in err


def test_a_folder_and_one_text(run_cli, home):
    assert run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", f"{home / 'grammars'}/")[0] == 0
    assert sorted(p.name for p in (home / "grammars").iterdir()) == [f"grammar.{k}.gz" for k in range(3)]
    assert (
        run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", home / "all.gz", "--features", "all")[0]
        == 0
    )
    assert b"P_EgivenFCoherent=0.5" in gzip.decompress((home / "all.gz").read_bytes())
    one, all_rules = read_grammar(home / "grammars" / "grammar.0.gz"), read_grammar(home / "all.gz")
    assert one.n_rules == all_rules.n_rules
    code, _, err = run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", f"{home / 'grammars'}/")
    assert code == 2
    assert "it is there already" in err


def test_threads_do_not_change_a_byte(run_cli, home):
    for threads in ("1", "2"):
        out = home / f"{threads}.grammar"
        assert run_cli("engine", "extract", *texts(home), "--for", home / "f", "-o", out, "--threads", threads)[0] == 0
    assert (home / "1.grammar").read_bytes() == (home / "2.grammar").read_bytes()


def test_leaving_one_out(run_cli, home):
    command = ("engine", "extract", *texts(home), "--for", home / "f", "-o", home / "held.grammar", "--leave-one-out")
    code, out, _ = run_cli(*command, "--json")
    assert code == 0
    assert json.loads(out)["in_corpus"] == 3
    grammar = open_grammar(home / "held.grammar")
    # klein stands in the first pair only, so its own grammar does not know it
    assert not [rule for rule in grammar.sentence(0).rules() if "klein" in rule.source.split()]
    assert [rule.target for rule in grammar.sentence(0).rules() if rule.source == "das"] == ["this"]
    code, _, err = run_cli(*command[:-3], "-o", home / "again.grammar", "--leave-one-out", "--for", home / "new")
    assert code == 0
    assert "3 of 3 sentences are not in the corpus" in err


REFUSED = [
    (["--max-span", "0"], "an int in [1, 100]"),
    (["--features", "logs"], "expected features of the kinds log, raw, counts, all, found 'logs'"),
    (["--samples", "many"], "must be an int in [1, 1000000]"),
    (["--max-words", "2"], "expected at least one pair with 1 to 2 words on each side"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_options_out_of_range(run_cli, home, options, words):
    code, _, err = run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", home / "out", *options)
    assert code == 2
    assert words in err
    assert not (home / "out").exists()


BROKEN = [
    ("links", LINKS.replace("3-3", "4-3", 1), "links:1: expected a source word from 0 to 3, found 4"),
    ("links", LINKS.replace("3-3", "3-x", 1), "links:1: expected links such as 0-0 1-2"),
    ("links", LINKS.rsplit("\n", 2)[0] + "\n", "expected a line of links for each of the 3 sentence pairs, found 2"),
    ("e", TARGET + "more\n", "e:4: expected as many lines as"),
    ("f", SOURCE.replace("klein\n", "[X,1]\n"), "f:1: expected words that cannot be taken for the signs of a grammar"),
    ("f", "", "expected at least one line, found an empty file"),
    ("new", "", "expected at least one line, found an empty file"),
]


@pytest.mark.parametrize(("name", "text", "words"), BROKEN)
def test_broken_input_is_told_and_leaves_nothing(run_cli, home, name, text, words):
    (home / name).write_text(text)
    before = sorted(p.name for p in home.iterdir())
    code, _, err = run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", home / "out")
    assert code == 2
    assert words in err
    assert sorted(p.name for p in home.iterdir()) == before


def test_bad_utf8(run_cli, home):
    (home / "f").write_bytes(b"das haus ist klein\ndas \xff ein haus\nein kleines haus\n")
    code, _, err = run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", home / "out")
    assert code == 2
    assert f"{home / 'f'}:2: expected UTF-8 text" in err


MISSING = [
    ([], "expected a parallel text"),
    (["--source", "f"], "found less. hint: give --source, --target and --links, or --model"),
    (["--model", "m"], "nothing to do"),
    (["--model", "m", "--for", "new"], "hint: --for names the text, -o the place"),
    (["--model", "nowhere", "--for", "new", "-o", "out"], "expected a folder with a model"),
    (["--model", "m", "--for", "new", "-o", "no/where/"], "there is no folder to make it in"),
]


@pytest.mark.parametrize(("options", "words"), MISSING)
def test_what_is_missing_is_said(run_cli, home, monkeypatch, options, words):
    monkeypatch.chdir(home)
    code, _, err = run_cli("engine", "extract", *options)
    assert code == 2
    assert words in err


def test_nothing_that_is_read_is_written_over(run_cli, home):
    code, _, err = run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", home / "new")
    assert code == 2
    assert "it is read, and would be lost" in err
    assert (home / "new").read_text().startswith("das haus")


def test_a_full_disk_is_told(run_cli, home, monkeypatch):
    import errno
    import os

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    before = sorted(p.name for p in home.iterdir())
    code, _, err = run_cli("engine", "extract", *texts(home), "--for", home / "new", "-o", home / "out")
    assert code == 2
    assert "no space left on device" in err
    assert sorted(p.name for p in home.iterdir()) == before
