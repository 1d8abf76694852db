"""Files that a manifest, settings or a folder names: links to devices, pipes and folders are refused at once."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from luthier.kbest.shards.shard import shard
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.storage.writer import write_pool
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import with_statistics
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.synthetic.lists.planted import PlantedLists
from luthier.synthetic.pair.pair import PairGenerator

pytestmark = [pytest.mark.compiled, pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")]
SECONDS = 600

CHOICE = """
tune = "planted.arrow"
heldout = "planted2.arrow"
metric = "column:worth"
order = "grid"
start = "planted.w"
[bins]
features = ["P"]
bits = [1, 2]
[tuner]
method = "pro"
"""
STUDY = """
kind = "starts"
name = "tiny"
seed = 5
starts = { count = 2, kind = "few", size = 0.5 }
[[tuner]]
name = "search"
method = "random"
parameters = { rounds = 1, batch = 4 }
[[metric]]
name = "BLEU"
spec = "bleu"
[test]
by = "BLEU"
metrics = { "BLEU" = "bleu" }
[[data]]
name = "given"
source = "files"
start = "w.txt"
tune = { lists = ["list.txt"], refs = ["refs.txt"] }
test = { lists = ["list.txt"], refs = ["refs.txt"] }
"""
TRAINING = """
[corpus]
source = "pair/train.source.txt"
target = "pair/train.refs.0.txt"
[alignment]
method = "model1"
[lm]
order = 2
text = "pair/train.refs.0.txt"
[tune]
source = "pair/tune.source.txt"
refs = "pair/tune.refs.0.txt"
[start]
file = "w.txt"
[decoder]
k = 4
pops = 10
[tuner]
method = "simplex"
[loop]
iterations = 1
"""
RECORDED = """
[tune]
source = "pair/tune.source.txt"
refs = "pair/tune.refs.0.txt"
[decoder]
recorded = "model/loop"
[start]
file = "model/loop/weights/000.json"
[tuner]
method = "simplex"
[loop]
iterations = 1
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with a sharded pool, settings of all kinds, and a trained model."""
    home = tmp_path_factory.mktemp("whole")
    lists = SyntheticLists(sentences=4, k=5, vocabulary=100).generate(1)
    write_pool(lists, str(home / "list.txt"), None)
    shard(with_statistics(lists, load_metric("bleu")), 2, home / "parts")
    for seed, name in enumerate(("planted", "planted2")):
        save_pool(PlantedLists(sentences=4, k=5).generate(seed), home / f"{name}.arrow")
    PairGenerator().write(home / "pair", train=40, tune=3, heldout=0, test=0, seed=0)
    texts = {
        "refs.txt": "a b\n" * 4, "w.txt": "lm 1\n", "planted.w": "P 1\n", "choice.toml": CHOICE, "study.toml": STUDY,
        "train.toml": TRAINING, "recorded.toml": RECORDED, "src": "a\n",
    }  # fmt: skip
    for name, text in texts.items():
        (home / name).write_text(text)
    return home


@pytest.fixture(scope="module")
def trained(whole):
    from luthier.jobs.train import train_system
    from luthier.jobs.train_config import read_train_config

    (whole / "plain.toml").write_text(TRAINING.replace('[start]\nfile = "w.txt"\n', ""))
    train_system(read_train_config(whole / "plain.toml", seed=1, threads=1), str(whole / "model"), threads=1)
    return whole


def to_device(path):
    path.symlink_to("/dev/zero")


def to_folder(path):
    path.mkdir()


PUT = {"device": to_device, "pipe": os.mkfifo, "folder": to_folder}


def refused(run_cli, line, name, kind):
    """Put something else in a file's place, run a command, and put the file back; return what was said."""
    path = Path(name)
    kept = path.with_name(f"{path.name}.kept")
    path.rename(kept)
    PUT[kind](path)
    signal.signal(signal.SIGALRM, hang)
    signal.alarm(SECONDS)
    try:
        code, _, said = run_cli(*line.split())
    finally:
        signal.alarm(0)
        shutil.rmtree(path) if kind == "folder" else path.unlink()
        kept.rename(path)
    assert code == 2, said
    assert path.name in said
    return said


def hang(*_):
    raise AssertionError("the command hangs")


@pytest.mark.parametrize("kind", PUT)
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("oracle parts", "parts/part-2.arrow"),
        ("rerank parts --weights w.txt -o out.txt", "parts/part-1.arrow"),
        ("tune parts --method mert -o out.txt", "parts/part-2.arrow"),
        ("engine sweep choice.toml -o out", "planted.arrow"),
        ("engine sweep choice.toml -o out", "planted2.arrow"),
        ("engine sweep choice.toml -o out", "planted.w"),
        ("study study.toml --data . -o out", "list.txt"),
        ("study study.toml --data . -o out", "refs.txt"),
        ("study study.toml --data . -o out", "w.txt"),
        ("train train.toml -o out", "pair/train.source.txt"),
        ("train train.toml -o out", "pair/train.refs.0.txt"),
        ("train train.toml -o out", "pair/tune.source.txt"),
        ("train train.toml -o out", "pair/tune.refs.0.txt"),
        ("train train.toml -o out", "w.txt"),
    ],
)
def test_what_a_file_names_is_a_regular_file(whole, run_cli, monkeypatch, line, name, kind):
    monkeypatch.chdir(whole)
    said = refused(run_cli, line, name, kind)
    assert f"found a {kind}" in said
    shutil.rmtree("out", ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PUT)
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("translate model", "model/weights.json"),
        ("engine decode src --model model", "model/model.json"),
        ("engine decode src --model model", "model/lm.arpa.gz"),
        ("engine decode src --model model", "model/rules.luthier"),
        ("loop recorded.toml -o out", "model/loop/iterations.jsonl"),
        ("loop recorded.toml -o out", "model/loop/weights/000.json"),
    ],
)
def test_what_stands_in_a_folder_of_ours_is_a_regular_file(trained, run_cli, monkeypatch, line, name, kind):
    monkeypatch.chdir(trained)
    refused(run_cli, line, name, kind)
    shutil.rmtree("out", ignore_errors=True)
