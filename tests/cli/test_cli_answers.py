"""What every command answers: help in two lengths, JSON with a schema, errors as JSON, completion."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import luthier
from luthier.cli.commands.completion import SHELLS, whole_parser
from luthier.cli.commands.tune import FIRST_OPTIONS
from luthier.cli.main import COMMANDS, GROUPS
from luthier.cli.output import SCHEMA
from luthier.core.plugins import available
from luthier.kbest.storage.pool_file import save_pool
from luthier.report.console import code_of
from luthier.synthetic.lists.noisy_channel import SyntheticLists

NAMES = [*available(COMMANDS), *(f"{group} {name}" for group in GROUPS for name in available(f"{COMMANDS}.{group}"))]


def test_help_of_tune_has_what_most_people_need_and_the_rest_on_demand(run_cli):
    short, whole = (run_cli("tune", option)[1] for option in ("--help", "--help-all"))
    for option in FIRST_OPTIONS[1:]:
        assert f"{option} " in short
    assert "--checkpoint" not in short
    assert "--checkpoint" in whole
    assert "'luthier tune --help-all' shows all" in short
    assert len(short.splitlines()) < len(whole.splitlines()) / 2


@pytest.mark.parametrize("arguments", [("rerank",), ("data", "split"), ("geometry",), ()], ids=str)
def test_help_is_a_command_too(run_cli, arguments):
    assert run_cli("help", *arguments) == run_cli(*arguments, "--help")


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_option_is_an_error_in_json_too(run_cli, name):
    code, out, err = run_cli(*name.split(), "--no-such-option", "--json")
    answer = json.loads(out)
    assert code == 2
    assert (answer["luthier"], answer["schema"]) == (luthier.__version__, SCHEMA)
    assert answer["error"]["exit_code"] == 2
    assert "there is no option --no-such-option" in answer["error"]["message"]
    assert err == f"luthier {name}: error: {answer['error']['message']}\n"


def test_an_error_in_a_list_says_its_place_in_json(run_cli, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": 0, "hyp": "a", "lm": 1}\n{"id": 0, "hyp": "b", "lm": }\n')
    code, out, err = run_cli("inspect", path, "--json")
    error = json.loads(out)["error"]
    assert code == 2
    assert (error["path"], error["line"]) == (str(path), 2)
    assert error["message"] in err
    assert error["expected"]


def test_an_answer_says_its_schema_and_command(run_cli):
    answer = json.loads(run_cli("list", "metrics", "--json")[1])
    assert (answer["luthier"], answer["schema"]) == (luthier.__version__, SCHEMA)
    assert answer["command"] == "list metrics"


@pytest.mark.parametrize(("kind", "package", "one", "option"), [
    ("metrics", "luthier.metrics.methods", "bleu", "smoothing"),
    ("formats", "luthier.kbest.readers", "fairseq", "text"),
    ("scorers", "luthier.scorers", "ngram", "model"),
    ("tuners", "luthier.tuning.methods", "pro", "draws"),
])  # fmt: skip
def test_lists_have_a_line_for_each_name_and_the_options_of_those_that_are_named(run_cli, kind, package, one, option):
    names = list(available(package))
    code, out, err = run_cli("list", kind)
    assert (code, err) == (0, "")
    assert all(f" {name} " in out for name in names)
    assert " allowed " not in out
    assert len(out.splitlines()) < 4 * len(names) + 8
    told = json.loads(run_cli("list", kind, one, "--json")[1])[kind]
    assert [item["name"] for item in told] == [one]
    assert option in [item["name"] for item in told[0]["options"]]
    shown = run_cli("list", kind, one)[1]
    assert " allowed " in shown
    assert f" {option} " in shown
    assert all(run_cli("list", kind, name)[0] == 0 for name in names)
    everything = run_cli("list", kind, "--verbose")[1]
    assert all(f"{name}: " in everything for name in names)
    assert run_cli("list", kind, "no-such")[0] == 2


def test_readme_counts_the_tuners():
    known = set(available("luthier.tuning.methods")) - {"auto", "mert", "pro", "mira"}
    numbers = {18: "eighteen", 19: "nineteen", 20: "twenty", 21: "twenty-one"}
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"MERT, PRO, MIRA and {numbers[len(known)]} other tuners" in readme


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command(run_cli, tmp_path, shell):
    pytest.importorskip("shtab")
    code, out, _ = run_cli("completion", shell)
    assert code == 0
    for name in ("tune", "synthetic", "outputs", "folds"):
        assert name in out
    if shutil.which(shell):
        (tmp_path / "script").write_text(out)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_completion_has_the_options_of_every_command():
    parser = whole_parser()
    assert parser.parse_args(["tune", "pool.arrow", "-o", "w", "--folds", "5"]).folds == 5
    assert parser.parse_args(["data", "split", "p", "--into", "a=1"]).command == "data"


ANSWERS = {
    "tune": ("--folds", "3", "-o", "w.txt"),
    "ablate": ("--folds", "3"),
    "certify": ("--axis", "lm", "--axis", "length", "--limit", "50"),
    "line": ("--axis", "lm"),
    "surface": ("--axis", "lm", "--axis", "length", "--window", "lm=0:0.1", "--window", "length=0:0.1"),
    "oracle": (),
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "pool.arrow"
    save_pool(SyntheticLists(sentences=25, k=8, n_features=5, vocabulary=150).generate(1), path)
    return path


@pytest.mark.parametrize("command", ANSWERS)
def test_an_answer_is_short_and_fits_eighty_columns(run_cli, pool, tmp_path, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    short, whole = (
        run_cli(command, pool, *ANSWERS[command], "--quiet", *more)[1].splitlines() for more in ((), ("--verbose",))
    )
    assert max(map(len, short)) <= 80, max(short, key=len)
    assert len([line for line in short if line[:1] not in "┏┡└"]) <= 22
    assert [line for line in short if "|luthier:" in line] == []
    assert [line for line in whole if "|luthier:" in line]
    assert len(whole) > len(short)


def test_a_short_code_stands_for_a_signature():
    spec = luthier.load_metric("bleu")
    assert code_of(spec.signature) == code_of(luthier.load_metric("bleu(order=4)").signature)
    assert code_of(spec.signature) != code_of(luthier.load_metric("bleu(order=2)").signature)
    assert code_of(spec.signature).startswith("bleu#")
