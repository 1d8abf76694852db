"""What every command answers: help in two lengths, JSON with a schema, errors as JSON, completion."""

import json
import shutil
import subprocess

import pytest

import luthier
from luthier.cli.commands.completion import SHELLS, whole_parser
from luthier.cli.commands.tune import FIRST_OPTIONS
from luthier.cli.main import COMMANDS, GROUPS
from luthier.cli.output import SCHEMA
from luthier.core.plugins import available

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
