"""`luthier certify` and `luthier tune --method certified`: what they print, and what they refuse."""

import json

import pytest

from luthier.cli.main import main
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.weights import Weights, write_weights
from luthier.synthetic.lists.noisy_channel import SyntheticLists

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("certify")
    pool = SyntheticLists(sentences=12, k=8, n_features=4, mean_length=8.0).generate(1)
    save_pool(pool, str(path / "pool.arrow"))
    names = pool.features.names
    write_weights(Weights(dict.fromkeys(names, 1.0)), str(path / "w.txt"))
    write_weights(Weights({name: 1.0 + 0.5 * (i < 2) for i, name in enumerate(names)}), str(path / "other.txt"))
    return path, names


def certify(folder, *more):
    path, names = folder
    axes = [part for name in names[:2] for part in ("--axis", name)]
    return ["certify", str(path / "pool.arrow"), "--weights", str(path / "w.txt"), *axes, *more]


def test_it_says_how_far_the_weights_are_and_writes_better_ones(folder, capsys):
    path, names = folder
    best = path / "best.txt"
    assert main([*certify(folder, "--reach", "1", "--gap", "0.05", "-w", str(best)), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["complete"]
    assert not told["global"]
    assert told["start_score"] <= told["score"] <= told["bound"] <= told["score"] + 0.05
    assert told["written"] == [str(best)]
    assert main(["certify", str(path / "pool.arrow"), "--weights", str(best), "--axis", names[0], "--reach", "1"]) == 0
    assert "no weights in the window score better than" in capsys.readouterr().out


def test_all_weights_and_spanned_ones(folder, capsys):
    path, names = folder
    assert main(certify(folder, "--whole", "--gap", "0.5", "--limit", "300")) == 0
    assert "no weights along the axes score better than" in capsys.readouterr().out  # others stay as they are
    start = path / "few.txt"  # other weights are 0, and stay 0
    write_weights(Weights(dict.fromkeys(names[:2], 1.0)), str(start))
    assert main([*certify(folder, "--whole", "--limit", "50"), "--weights", str(start)]) == 0
    assert "no weights along the axes score better than" in capsys.readouterr().out
    every = [part for name in names[2:] for part in ("--axis", name)]
    assert main(certify(folder, *every, "--whole", "--gap", "0.5", "--limit", "50")) == 0
    assert "no weights at all score better than" in capsys.readouterr().out
    assert main([*certify(folder, "--span", str(path / "other.txt"), "--gap", "0.5"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["complete"]


def test_a_search_is_kept_and_gone_on_with(folder, capsys):
    path, _ = folder
    search = ["--reach", "2", "--gap", "0.001", "--checkpoint", str(path / "search.npz"), "--json"]
    assert main(certify(folder, *search, "--limit", "10")) == 0
    part = json.loads(capsys.readouterr().out)
    assert main(certify(folder, *search, "--limit", "200", "--resume")) == 0
    rest = json.loads(capsys.readouterr().out)
    assert part["boxes"] < rest["boxes"]
    assert part["bound"] >= rest["bound"]


def test_tune_says_what_is_proven(folder, capsys):
    path, names = folder
    arguments = ["tune", str(path / "pool.arrow"), "--method", "certified", "--axis", names[0], "--axis", names[1],
                 "--window", f"{names[0]}=-1:1", "--window", f"{names[1]}=-0.5:1", "--gap", "0.05",
                 "-o", str(path / "tuned.txt"), "--json"]  # fmt: skip
    assert main(arguments) == 0
    replica = json.loads(capsys.readouterr().out)["replicas"][0]
    assert "below the best in the window, proven by" in json.dumps(replica)


def test_any_tuner_is_certified_on_request_and_a_surface_has_its_best_only(folder, capsys):
    path, names = folder
    pool, out = str(path / "pool.arrow"), str(path / "m.txt")
    tune = ["tune", pool, "--method", "mert", "--certify", "50", "-o", out, "--json"]
    assert main(tune) == 0
    assert "below the best of all weights there are, ties aside, proven by" in capsys.readouterr().out
    for bound in (f"{names[0]}=1:1", f"{names[0]}=0:0", f"{names[0]}=0:"):  # fixed weights are bounds, too
        assert main([*tune, "--bound", bound]) == 0
        assert "below the best of all weights within the bounds, ties aside, proven by" in capsys.readouterr().out
    window = [part for name in names[:2] for part in ("--window", f"{name}=-1:1")]
    surface = ["surface", *certify(folder)[1:], *window, "--json"]
    assert main([*surface, "--best-only"]) == 0
    best = json.loads(capsys.readouterr().out)
    assert main(surface) == 0
    enumerated = json.loads(capsys.readouterr().out)["optimum"]["score"]
    assert best["score"] - 1e-9 <= enumerated <= best["bound"]
    assert best["bound"] - best["score"] <= 0.001
    assert main([*surface, "--best-only", "--stream"]) == 2
    assert "--best-only finds no cells" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert main([*surface, "--certify", "300"]) == 0
    certified = json.loads(capsys.readouterr().out)["certified"]
    assert enumerated <= certified["bound"] + 1e-9
    assert certified["distance"] == pytest.approx(certified["bound"] - enumerated, abs=1e-9)
    assert main([*surface, "--certify", "300", "--choose", "robust"]) == 0
    steady = json.loads(capsys.readouterr().out)
    assert steady["certified"]["distance"] == pytest.approx(certified["bound"] - steady["chosen"]["score"], abs=1e-3)
    assert main([*surface[:-1], "--certify", "300"]) == 0
    assert "below the best in the window, proven by" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--best-only", "--certify", "9"], "--best-only has a proof of its own"),
        (["--best-only", "--whole", "--window", "{}=-1:1"], "a window along both axes or along none"),
        (["--certify", "9", "--whole", "--window", "{}=-1:1"], "a window along both axes or along none"),
        (["--certify", "0"], "expected --certify of at least 1, found 0"),
        (["--certify", "9", "--raster", "8"], "--raster"),
    ],
)
def test_a_surface_refuses_what_it_cannot_prove(folder, capsys, more, complaint):
    name = folder[1][0]
    assert main(["surface", *certify(folder)[1:], *(part.format(name) for part in more)]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (
            ["--whole", "--reach", "1"],
            "has no window. hint: leave out --window and --reach, or --whole",
        ),
        (["--reach", "1", "--window", "x=0:1"], "expected one kind of window, found two"),
        (["--window", "x=0:1"], "expected a window such as"),
        (["--window", "FIRST=0:"], "expected both ends of a window"),
        (["--resume"], "expected the file of a search to resume, found none. hint: give --checkpoint"),
        (["--gap", "-1"], "the 'gap' parameter of CertifyOptions must be a float in [0.0, inf), got -1.0"),
        (["--margin", "1"], "--margin is a number above 0, and needs --span"),
        (["--metric", "length"], "has no direction"),
    ],
)
def test_what_cannot_be_is_refused(folder, capsys, more, complaint):
    assert main(certify(folder, *(part.replace("FIRST", folder[1][0]) for part in more))) == 2
    assert complaint in capsys.readouterr().err
