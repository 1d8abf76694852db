"""`luthier ablate`: what it prints, draws and refuses."""

import json

import pytest

from luthier.cli.main import main
from luthier.kbest.storage.pool_file import save_pool
from luthier.synthetic.lists.noisy_channel import SyntheticLists

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    path = tmp_path_factory.mktemp("ablate") / "pool.arrow"
    save_pool(SyntheticLists(sentences=30, k=20, n_features=4, vocabulary=150).generate(3), str(path))
    return str(path)


def test_a_table_a_picture_and_numbers(lists, tmp_path, capsys):
    picture = tmp_path / "a.png"
    command = ["ablate", lists, "--method", "mert", "--folds", "3", "--group", "two=lm,channel", "--forward"]
    assert main([*command, "--plot", str(picture)]) == 0
    told = capsys.readouterr().out
    for words in ("each scorer left out", "two (lm, channel)", "one scorer after another", "seen from", "a.png"):
        assert words in told
    assert picture.stat().st_size > 5000
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [effect["name"] for effect in found["effects"]] == ["two", "direct", "lex"]
    assert found["sentences"] == 30
    assert found["folds"] == 3
    assert len(found["forward"]) == 3
    assert all(effect["verdict"] in ("helps", "hurts", "cannot be told") for effect in found["effects"])


@pytest.mark.parametrize(
    "more, complaint",
    [
        (["--folds", "31"], "expected at least 31 different sentences for as many folds, found 30"),
        (["--group", "lm"], "--group"),
        (["--group", "g=nothing"], "nothing"),
        (["--plot", "a.txt"], "ends in .png, .pdf or .svg"),
        (["--metric", "bleu,ter"], "expected one metric, found 2"),
        (["--method", "merd"], "merd"),
        (["--level", "0"], "expected a level between 0 and 1, found 0"),
        (["--bound", "lm=2:1"], "expected a range lo:hi"),
    ],
)
def test_what_is_refused_is_said_in_a_sentence(lists, more, complaint, capsys):
    assert main(["ablate", lists, "--quiet", *more]) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert "Traceback" not in told
