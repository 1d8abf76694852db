"""Lattice MERT in the loop: the same turns, tuned on all that the searches have seen."""

import numpy as np
import pytest

import luthier
from luthier.core.errors import LuthierError
from luthier.jobs import tune as tune_job
from luthier.jobs.loop import run_loop
from luthier.jobs.loop_config import read_config
from luthier.jobs.train import train_system
from luthier.jobs.train_config import read_train_config
from luthier.synthetic.pair.pair import PairGenerator
from small_system import SMALL_SYSTEM

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

TRAINING = f"""
{SMALL_SYSTEM}refs = ["corpus/test.refs.0.txt", "corpus/test.refs.1.txt"]
[decoder]
k = 3
pops = 20
forests = true
[tuner]
method = "mert"
sweeps = 1
[loop]
iterations = 2
"""
LOOP = """
metric = "bleu"
[tune]
source = "corpus/tune.source.txt"
refs = "corpus/tune.refs.0.txt"
[decoder]
model = "model"
k = 3
forests = {forests}
[tuner]
method = "{method}"
[loop]
iterations = 3
patience = 0
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("forests in a loop")
    PairGenerator().write(home / "corpus", train=150, tune=6, heldout=0, test=6, seed=0)
    (home / "train.toml").write_text(TRAINING)
    train_system(read_train_config(home / "train.toml", seed=1, threads=1), str(home / "model"), threads=1)
    return home


def settings(home, *, forests="true", method="mert"):
    path = home / f"{method}-{forests}.toml"
    path.write_text(LOOP.format(forests=forests, method=method))
    return read_config(path, seed=1, threads=1)


def files_of(folder):
    timed = "times.jsonl", "weights.run.json", "loop.png"
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in timed]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_weights_are_tuned_on_forests_and_forests_are_kept(home, tmp_path):
    found = run_loop(settings(home), str(tmp_path / "loop"), resume=False)
    turns = found.iterations
    assert len(turns) >= 2
    assert all(turn.after >= turn.before for turn in turns)
    refs = [str(home / "corpus" / "tune.refs.0.txt")]
    first = luthier.open_forests(tmp_path / "loop" / "forests" / "000")
    # with one search's forests the loop's scores are those of tuning on them
    problem = tune_job.forest_problem(first, refs, luthier.load_metric("bleu"))
    vector = np.array([found.start.get(name, 0.0) for name in problem.names])
    assert problem.score(vector) == turns[0].before
    vector = np.array([turns[0].weights.get(name, 0.0) for name in problem.names])
    assert problem.score(vector) == turns[0].after


def test_a_loop_resumes_to_the_same_bytes_for_any_number_of_threads(home, tmp_path):
    config = settings(home)
    run_loop(config, str(tmp_path / "whole"), resume=False)
    run_loop(config, str(tmp_path / "cut"), resume=False, threads=2)
    cut = tmp_path / "cut"
    lines = (cut / "iterations.jsonl").read_bytes().splitlines(keepends=True)
    (cut / "iterations.jsonl").write_bytes(b"".join(lines[:3]))  # as if killed in the second turn
    (cut / "weights.json").unlink()
    run_loop(config, str(cut), resume=True)
    assert files_of(cut) == files_of(tmp_path / "whole")


def test_damaged_forests_are_named(home, tmp_path):
    config, folder = settings(home), tmp_path / "loop"
    run_loop(config, str(folder), resume=False)
    lines = (folder / "iterations.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "iterations.jsonl").write_bytes(b"".join(lines[:3]))
    path = folder / "forests" / "000" / "forests.luthier"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LuthierError, match=r"forests\.luthier"):
        run_loop(config, str(folder), resume=True)


def test_a_tuner_that_looks_into_lists_is_refused_before_anything_is_decoded(home, tmp_path):
    with pytest.raises(LuthierError, match="pro looks into lists"):
        run_loop(settings(home, method="pro"), str(tmp_path / "loop"), resume=False)
    assert not (tmp_path / "loop" / "forests").exists()


def test_training_tunes_on_forests_too(home):
    assert sorted(path.name for path in (home / "model" / "loop" / "forests").iterdir())[0] == "000"
