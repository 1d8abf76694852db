"""`luthier engine decode`: texts, lists, forests, links, trees, reports, and what is refused."""

import json

import pytest

import luthier
from luthier.decoding.forests.files import open_forests

pytestmark = pytest.mark.compiled
RULES = """[X] ||| das haus ||| the house ||| p=1 ||| 0-0 1-1
[X] ||| das haus ||| that house ||| p=0.5 ||| 0-0 1-1
[X] ||| ist klein ||| is small ||| p=1 ||| 0-0 1-1
"""
ARPA = """\\data\\
ngram 1=6

\\1-grams:
-1 <unk>
-99 <s>
-1 </s>
-0.5 the
-0.6 that
-0.5 house

\\end\\
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"src": "das haus ist klein\n\nwas\n", "g": RULES, "lm": ARPA, "w": "p 1\nLanguageModel 1\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


MODELS = ("--grammar", "g", "--lm", "lm", "--weights", "w", "--threads", "1")


def test_the_best_translations_go_to_standard_output(run_cli, home):
    code, out, err = run_cli("engine", "decode", "src", *MODELS)
    assert code == 0
    assert out == "the house is small\n\nwas\n"
    assert "features have no weight, which counts 0" in err


def test_lists_and_everything_else_in_files(run_cli, home):
    code, out, _ = run_cli(
        "engine", "decode", "src", *MODELS, "-k", "5", "-o", "k.arrow", "--text", "t", "--links", "a", "--trees", "d",
        "--report", "r", "--forests", "f", "--json", "--unique",
    )  # fmt: skip
    assert code == 0
    pool = luthier.open_pool("k.arrow")
    assert pool.list_lengths.tolist() == [5, 0, 1]
    assert json.loads(out)["hypotheses"] == 6
    assert pool.derivations.tree is not None
    assert (home / "t").read_text() == "the house is small\n\nwas\n"
    assert (home / "a").read_text() == "0-0 1-1 2-2 3-3\n\n0-0\n"
    trees = (home / "d").read_text().splitlines()
    assert trees[0].startswith("([Goal] ||| [S,1] ||| [S,1] 0:4 ([S]")
    assert trees[1] == ""
    reports = [json.loads(line) for line in (home / "r").read_text().splitlines()]
    assert [report["words"] for report in reports] == [4, 0, 1]
    assert reports[2]["before_models"] == {"nodes": 3, "edges": 3, "log10_derivations": 0.0}
    assert reports[1]["before_models"] is None
    assert [forest.n_nodes > 0 for forest in open_forests("f").forests] == [True, False, True]


def test_forests_without_models_are_kept_and_what_is_missing_is_said_once(run_cli, home):
    code, _, err = run_cli(
        "engine", "decode", "src", "--grammar", "g", "--weights", "w", "--threads", "1", "--forests", "f"
    )
    assert code == 0
    assert err.count("have no weight, which counts 0") == 1
    kept = open_forests("f")
    assert [forest.state_features.shape for forest in kept.forests] == [(f.n_edges, 0) for f in kept.forests]
    assert kept.weights[kept.rules.names.index("p")] == 1.0
    assert [path.name for path in (home / "f").iterdir()] == ["forests.luthier"]


@pytest.mark.parametrize("name", ["k.jsonl", "k.gz", "k.moses"])
def test_lists_as_text_read_back(run_cli, home, name):
    assert run_cli("engine", "decode", "src", *MODELS, "-k", "4", "-o", name)[0] == 0
    pool = luthier.read_pool(name)
    assert pool.n_hypotheses == 5
    assert pool.texts[0] == "the house is small"


def test_default_weights_are_stated(run_cli, home):
    code, out, err = run_cli("engine", "decode", "src", *MODELS[:4], "--threads", "1", "-o", "t")
    assert code == 0
    assert "no weights are given; the default ones are used: Glue -0.1, PassThrough -5," in err
    assert "LanguageModel_OOV -1, all others 0" in err
    assert "have no weight" not in err
    assert "written to" in out


def test_a_trace_shows_cells_and_the_tree(run_cli, home):
    code, out, _ = run_cli("engine", "decode", "src", *MODELS, "--trace", "0")
    assert code == 0
    assert "X 0:2" in out
    assert "the winning tree" in out
    assert "[X] ||| das haus ||| the house" in out
    code, _, err = run_cli("engine", "decode", "src", *MODELS, "--trace", "3")
    assert (code, "expected a sentence from 0 to 2 to trace, found 3" in err) == (2, True)
    code, _, err = run_cli("engine", "decode", "src", *MODELS, "--trace", "1")
    assert (code, "expected a sentence with words to trace, found an empty one: 1" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("src", *MODELS, "-k", "3"), "expected a place for the lists (-o) with -k"),
        (("src", *MODELS, "-o", "src"), "cannot write here: it is read, and would be lost"),
        (("src", *MODELS, "--pops", "0"), "'pops' parameter of SearchOptions must be an int in [1, 1000000], got 0"),
        (("src", "--grammar", "src"), "src:1: expected a grammar in one of the formats"),
        (("src",), "expected a trained model or rules, found neither. hint: give one of --model and --grammar"),
        (("src", "--model", ".", *MODELS), "expected a trained model or rules, found both"),
        (("src", "--model", ".", "--lm", "lm"), "expected a trained model alone, found language models too"),
        (("src", "--model", "."), "expected a folder with a trained model (model.json)"),
    ],
)
def test_what_is_refused(run_cli, home, arguments, words):
    before = sorted(home.iterdir())
    code, out, err = run_cli("engine", "decode", *arguments)
    assert code == 2
    assert words in err
    assert out == ""
    assert sorted(home.iterdir()) == before


def test_a_label_that_is_none_of_ours_is_named_with_its_rule(run_cli, home):
    (home / "g").write_text(RULES + "[NP] ||| was ||| what ||| p=1 ||| 0-0\n")
    code, _, err = run_cli("engine", "decode", "src", *MODELS)
    assert code == 2
    assert "g:4: expected a rule with the label [X], found '[NP]'" in err
