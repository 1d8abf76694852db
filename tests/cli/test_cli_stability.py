"""`luthier line --resamples` and `luthier surface --resamples`: what they print, draw and refuse."""

import json

import pytest

from luthier import save_pool
from luthier.cli.main import main
from luthier.synthetic.lists.noisy_channel import SyntheticLists

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    path = tmp_path_factory.mktemp("stability") / "pool.arrow"
    save_pool(SyntheticLists(sentences=15, k=10, n_features=4, vocabulary=150).generate(3), str(path))
    return str(path)


def test_a_line_has_the_region_of_its_optimum(lists, tmp_path, capsys):
    command = ["line", lists, "--axis", "lm", "--resamples", "20"]
    assert main([*command, "--plot", str(tmp_path / "a.png"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["stability"]
    low, high = found["region"]
    assert sum(low <= place <= high for place in found["positions"]) >= 18
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert main(command) == 0
    assert "of 90% of 20 resamples, weight" in capsys.readouterr().out


def test_a_surface_has_the_region_of_its_optimum(lists, tmp_path, capsys):
    command = ["surface", lists, "--axis", "lm", "--axis", "channel", "--resamples", "5"]
    assert main([*command, "--png", str(tmp_path / "a.png"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["stability"]
    assert len(found["positions"]) == 5
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert main(command) == 0
    assert "optima of 90% of 5 resamples" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more, complaint",
    [
        (["line", "--axis", "lm", "--resamples", "1"], "expected --resamples of at least 2, found 1"),
        (
            ["surface", "--axis", "lm", "--axis", "lex", "--resamples", "0"],
            "expected --resamples of at least 2, found 0",
        ),
        (
            ["surface", "--axis", "lm", "--axis", "lex", "--resamples", "5", "--best-only"],
            "looks at these sentences",
        ),
    ],
)
def test_what_is_refused_is_said_in_a_sentence(lists, more, complaint, capsys):
    assert main([more[0], lists, *more[1:], "--quiet"]) == 2
    assert complaint in capsys.readouterr().err
