"""The recipes of CONTRIBUTING.md, run as printed: each file joins as another distribution's plug-in would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import luthier
from luthier.kbest.readers import nested
from luthier.landscape.list_problem import ListProblem
from luthier.synthetic.lists.noisy_channel import SyntheticLists

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(luthier.__file__).parent.parent
# heading of the recipe → the module it becomes here, and the group it joins
RECIPES = {
    "add a reader": ("tabbed", "luthier.kbest.readers"),
    "add a metric": ("exact", "luthier.metrics.methods"),
    "add a scorer": ("copied", "luthier.scorers"),
    "add a tuner": ("coin_toss", "luthier.tuning.methods"),
    "add a command": ("lengths", "luthier.cli.commands"),
    "add a picture": ("lengths_picture", ""),
    "add a study": ("oracles", "luthier.jobs.lab.kinds"),
}


def recipe(heading, language="python"):
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split(f"## Recipe: {heading}\n")[1].split("\n## ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.S)
    return code.replace("luthier.report.figures.lengths", "lengths_picture").replace(
        "from ..", "from luthier.jobs.lab."
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a distribution made of all recipes, and the command line that sees it."""
    home = tmp_path_factory.mktemp("recipes")
    about = home / "recipes-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: recipes\nVersion: 1\n")
    points = ""
    for heading, (module, group) in RECIPES.items():
        (home / f"{module}.py").write_text(recipe(heading), encoding="utf-8")
        if group:
            points += f"[{group}]\n{module.replace('_', '-')} = {module}\n"
    (about / "entry_points.txt").write_text(points)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(home), str(SOURCE)])}

    def run(*words):
        command = [sys.executable, "-m", "luthier.cli.main", *words]
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    rows = "".join(f"{i}\t-{k}.5\tw{k} x{i}\n" for i in range(3) for k in range(3))
    (home / "list.txt").write_text(rows)
    (home / "refs.txt").write_text("w1 x0\nw0 x1\nw2 x2\n")
    run("pool", "list.txt", "--refs", "refs.txt", "-o", "pool.arrow")
    run.home = home
    return run


@pytest.mark.slow
def test_a_reader_that_was_added_reads(run):
    assert "tabbed" in run("list", "formats")
    assert '"hypotheses": 9' in run("pool", "list.txt", "--refs", "refs.txt", "-o", "again.arrow", "--json")


def test_a_tool_that_was_added_is_read(tmp_path, monkeypatch):
    space = {}
    exec(recipe("add a tool"), space)
    monkeypatch.setattr(nested, "PROFILES", (space["ACME"], *nested.PROFILES))
    (tmp_path / "acme.jsonl").write_text(recipe("add a tool", "json"))
    pool = luthier.read_pool(tmp_path / "acme.jsonl", format="nested")
    assert (list(pool.sentence_ids), list(pool.sources), list(pool.texts)) == (["q1"], ["klein"], ["small"])
    assert pool.features.column("fluency").tolist() == [0.75]


@pytest.mark.slow
def test_a_metric_that_was_added_scores_and_is_tuned_for(run):
    (run.home / "out.txt").write_text("w1 x0\nW0 x1\nw0 x2\n")
    # line 1 is its reference; line 2 is, without case; line 3 is not
    assert " 33.33" in run("score", "out.txt", "--refs", "refs.txt", "--metric", "exact")
    assert " 66.67" in run("score", "out.txt", "--refs", "refs.txt", "--metric", "exact(lowercase=True)")


@pytest.mark.slow
def test_a_scorer_that_was_added_scores(run):
    assert "copied" in run("list", "scorers")
    (run.home / "src.txt").write_text("W0 x0\nx1\nnone\n")
    words = ["score-with", "copied", "list.txt", "--source", "src.txt", "--name", "same", "-o", "same.arrow"]
    run(*words, "--option", "lowercase=yes")
    # w0 x0: both; w1 x0 and w2 x0: one; those of x1: one; those of x2: none
    expected = [1, 0.5, 0.5, 0.5, 0.5, 0.5, 0, 0, 0]
    assert luthier.open_pool(run.home / "same.arrow").features.column("same").tolist() == expected


@pytest.mark.slow
def test_a_tuner_that_was_added_tunes(run):
    # by the score itself w0 is selected, its opposite selects w2; each is one reference of three
    run("tune", "pool.arrow", "--metric", "exact", "--method", "coin-toss", "--size", "2", "-o", "tuned.txt")
    assert (run.home / "tuned.txt").read_text().split()[0] == "score"


@pytest.mark.slow
def test_a_command_and_a_picture_that_were_added(run):
    assert "lengths" in run("--help")
    assert "longest" in run("lengths", "pool.arrow", "--plot", "lengths.png")
    assert (run.home / "lengths.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_kind_of_study_that_was_added_runs(run):
    (run.home / "study.toml").write_text(recipe("add a study", "toml"), encoding="utf-8")
    lines, tables = run("study", "study.toml").split()
    (line,) = [json.loads(line) for line in (run.home / lines).read_text().splitlines()]
    row = f"| lists | BLEU | {line['decoder']:.2f} | {line['oracle']:.2f} |"
    assert row in (run.home / tables).read_text().splitlines()
    lists = SyntheticLists(sentences=20, k=10, vocabulary=100)
    pool = lists.generate(1)
    start = np.array([lists.decoder_weights[name] for name in pool.features.names])
    assert ListProblem.of(pool, "bleu").gain(start) == pytest.approx(line["decoder"])
    assert line["oracle"] > line["decoder"]
    before = (run.home / lines).read_bytes()
    run("study", "study.toml")
    assert (run.home / lines).read_bytes() == before  # the unit has its line
