"""tune and tuners: options of every method, files written, guards, resuming, the same bytes again."""

import json

import numpy as np
import pytest

from luthier.core.plugins import available
from luthier.kbest.features import Features
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.kbest.weights import read_weights
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import PACKAGE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("tuning")
    for part, seed in (("tune", 1), ("heldout", 2)):
        save_pool(SyntheticLists(sentences=25, k=20, vocabulary=200).generate(seed), home / f"{part}.arrow")
    return home


def tune(run_cli, folder, *arguments, method="random"):
    return run_cli("tune", folder / "tune.arrow", "--method", method, *arguments)


@pytest.mark.parametrize("name", available(PACKAGE))
def test_every_tuner_shows_its_options(run_cli, folder, name):
    code, out, _ = run_cli("tune", "--method", name, "--help")
    assert code == 0
    assert f"options of {name}:" in out


def test_tuners_are_listed(run_cli):
    listed = {item["name"] for item in json.loads(run_cli("list", "tuners", "--json")[1])["tuners"]}
    assert listed == set(available(PACKAGE))
    assert {
        "mert",
        "mert-regularized",
        "simplex",
        "armijo",
        "pro",
        "pro-all",
        "mira",
        "mira-batch",
        "rampion",
    } <= listed
    assert {"svm", "expected", "listwise", "adagrad", "random", "grid"} <= listed


def test_weights_replicas_average_trace_and_picture(run_cli, folder, tmp_path):
    arguments = ("--rounds", "3", "--replicas", "2", "--average-replicas", "--heldout", folder / "heldout.arrow")
    files = ("-o", tmp_path / "w.txt", "--trace", tmp_path / "t.jsonl", "--plot", tmp_path / "p.png")
    code, out, _ = tune(run_cli, folder, *arguments, *files, "--json")
    report = json.loads(out)
    assert code == 0
    names = ["p.png", "t.jsonl", "w.1.txt", "w.2.txt", "w.run.json", "w.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    found = report["replicas"][1]["weights"]
    size = sum(map(abs, found.values()))
    assert dict(read_weights(tmp_path / "w.2.txt")) == pytest.approx({name: w / size for name, w in found.items()})
    first = {name: share["weight"] for name, share in report["weights"]["features"].items()}
    assert dict(read_weights(tmp_path / "w.1.txt")) == first  # the table's numbers
    assert report["weights"]["as_found"] is False
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * 4
    assert rows[0]["did"] == "start"
    assert all(row["heldout_gain"] is not None for row in rows)
    units = [np.array(list(replica["weights"].values())) for replica in report["replicas"]]
    mean = np.mean([unit / np.linalg.norm(unit) for unit in units], axis=0)
    assert list(report["average"].values()) == pytest.approx(mean)


@pytest.mark.parametrize("method", ["random", "mert", "pro"])
def test_the_same_seed_gives_the_same_bytes_with_one_thread_or_two(run_cli, folder, tmp_path, method):
    for threads in (1, 2):
        more = ("--restarts", "2", "--threads", threads, "-o", tmp_path / f"w{threads}.txt")
        assert tune(run_cli, folder, *more, "--trace", tmp_path / f"t{threads}.jsonl", method=method)[0] == 0
    assert (tmp_path / "w1.txt").read_bytes() == (tmp_path / "w2.txt").read_bytes()
    assert (tmp_path / "t1.jsonl").read_bytes() == (tmp_path / "t2.jsonl").read_bytes()


def test_resuming_a_finished_job_gives_the_same_answer(run_cli, folder, tmp_path):
    same = ("--restarts", "2", "--checkpoint", tmp_path / "c.json")
    assert tune(run_cli, folder, *same, "-o", tmp_path / "a.txt")[0] == 0
    code, _, err = tune(run_cli, folder, *same, "-o", tmp_path / "b.txt")
    assert code == 2
    assert "--resume goes on from it" in err
    assert tune(run_cli, folder, *same, "--resume", "-o", tmp_path / "b.txt")[0] == 0
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()
    code, _, err = tune(run_cli, folder, *same, "--resume", "--rounds", "2", "-o", tmp_path / "c.txt")
    assert code == 2
    assert "of another job: its tuner is not the same" in err


def test_bounds_are_kept(run_cli, folder, tmp_path):
    bounds = ("--bound", "lm=0.5", "--bound", "channel=:0.1", "--bound", "noise_0=0:0")
    start = tmp_path / "start.txt"
    start.write_text("lm 0.5\nlength 1\n")
    code, _, err = tune(run_cli, folder, *bounds, "--start", start, "-o", tmp_path / "w.txt")
    weights = read_weights(tmp_path / "w.txt")
    assert code == 0
    assert "have no weight and count 0" in err
    assert weights["lm"] == 0.5
    assert weights["channel"] <= 0.1
    assert weights["noise_0"] == 0


def test_standardized_tuning_answers_in_the_features_own_units(run_cli, folder, tmp_path):
    code, out, _ = tune(run_cli, folder, "--standardize-features", "-o", tmp_path / "w.txt", "--json")
    replica = json.loads(out)["replicas"][0]
    assert code == 0
    assert replica["tune_after"] > replica["tune_before"]
    code, out, _ = run_cli(
        "rerank", folder / "tune.arrow", "--weights", tmp_path / "w.txt", "-o", tmp_path / "out.txt"
    )  # fmt: skip
    assert code == 0


def test_guards_speak(run_cli, folder, tmp_path):
    pool = open_pool(folder / "tune.arrow")
    f = pool.features
    names = (*f.names, "huge", "still", "twin")
    rng = np.random.default_rng(0)
    dense = np.column_stack([f.dense, 1e6 * rng.standard_normal(len(f)), np.ones(len(f)), f.dense[:, 0] + 1])
    save_pool(pool.with_features(Features.from_dense(names, dense)), tmp_path / "odd.arrow")
    code, _, err = run_cli(
        "tune", tmp_path / "odd.arrow", "--method", "random", "--rounds", "1", "-o", tmp_path / "w.txt"
    )  # fmt: skip
    assert code == 0
    assert "the same within each list, so that its weight cannot matter: 'still'" in err
    assert "standardizing them evens that out" in err
    assert "'twin' can be computed from the other features" in err


def test_equal_features_are_said(run_cli, folder, tmp_path):
    pool = open_pool(folder / "tune.arrow")
    f = pool.features
    dense = np.column_stack([f.dense, f.dense[:, 0]])
    save_pool(pool.with_features(Features.from_dense((*f.names, "copy"), dense)), tmp_path / "twins.arrow")
    code, _, err = run_cli(
        "tune", tmp_path / "twins.arrow", "--method", "random", "--rounds", "1", "-o", tmp_path / "w"
    )
    assert code == 0
    assert "the same number in every hypothesis: 'lm', 'copy'; only the sum of their weights counts" in err


def test_held_out_sentences_that_were_tuned_on_are_said(run_cli, folder, tmp_path):
    pool, held = open_pool(folder / "tune.arrow"), open_pool(folder / "heldout.arrow")
    save_pool(pool.take_sentences([3, 5, 7]), tmp_path / "seen.arrow")
    more = ("--rounds", "1", "-o", tmp_path / "w.txt", "--heldout")
    _, _, err = tune(run_cli, folder, *more, tmp_path / "seen.arrow")
    assert "3 of 3 held-out sentences are tuning sentences too, by their source: they are not unseen" in err
    assert pool.sources[3].split()[0] in err
    assert "held-out sentences are" not in tune(run_cli, folder, *more, folder / "heldout.arrow")[2]
    assert held.n_sentences == 25


def test_the_table_has_every_baseline_on_both_sets(run_cli, folder, tmp_path):
    more = ("--rounds", "1", "--heldout", folder / "heldout.arrow", "-o", tmp_path / "w.txt")
    code, out, _ = tune(run_cli, folder, *more, "--verbose")
    assert code == 0
    found = json.loads(tune(run_cli, folder, *more, "--json")[1])
    best, replica = found["baselines"]["best"], found["replicas"][0]
    assert replica["baseline"] == best == found["heldout_baselines"]["best"]
    assert f"the baseline is {best!r}, the best of those below on the tuning sentences" in " ".join(out.split())
    scores = {c["name"]: c["score"] for c in found["baselines"]["choices"]}
    usable = {c["name"]: c["score"] for c in found["baselines"]["choices"] if c["baseline"]}
    assert replica["tune_baseline"] == scores[best] == max(usable.values())
    held = {c["name"]: c["score"] for c in found["heldout_baselines"]["choices"]}
    assert (held.keys(), replica["heldout_baseline"]) == (scores.keys(), held[best])
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    for name in ("random choice", "first of each list", "equal weights", "oracle"):
        assert [name, f"{scores[name]:.2f}", f"{held[name]:.2f}"] in rows
    assert ["tuned", f"{replica['tune_after']:.2f}", f"{replica['heldout_after']:.2f}"] in rows
    change, (low, high) = replica["tune_after"] - scores[best], replica["interval"]
    assert low <= change <= high


TWO = """\
{"id": 0, "hyp": "a b", "lm": -2, "still": 1, "comet": 0.9}
{"id": 0, "hyp": "a", "lm": -1, "still": 1, "comet": 0.1}
"""


@pytest.mark.parametrize(
    "arguments, said, unsaid",
    [
        ((), "'still'", "grew until nothing else counts"),  # nothing else ever counted
        (("--ignore", "lm"), "cannot matter: 'still'", "all weights are zero"),
        (("--bound", "lm=-1"), "it scores as the oracle does, and there is nothing to tune", "try restarts"),
        (
            ("--add", "c=2*comet"),
            "made of the column 'comet', which is tuned for, so that tuning on it cheats: 'c'",
            "try",
        ),
    ],
)
def test_guards_say_no_more_than_is_so(run_cli, tmp_path, arguments, said, unsaid):
    (tmp_path / "two.jsonl").write_text(TWO)
    common = ("--column", "comet", "--metric", "column:comet", "--method", "mert", "-o", tmp_path / "w.txt")
    code, out, err = run_cli("tune", tmp_path / "two.jsonl", *common, *arguments)
    assert code == 0, err
    assert said in err
    assert unsaid not in err
    assert "1 sentence is too few to tell a change from chance" in out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--normalize", "zz"], "cannot normalize by 'zz': no feature is called 'zz'"),
        (["--normalize", ""], "cannot normalize by ''"),
        (["--template", "/nowhere.ini"], "/nowhere.ini: expected a readable file"),
    ],
)
def test_what_cannot_be_written_is_said_before_tuning(run_cli, folder, tmp_path, arguments, message):
    code, _, err = tune(run_cli, folder, "-o", tmp_path / "w.txt", *arguments)
    assert code == 2
    assert message in err
    assert "1 run" not in err


def test_weights_that_cannot_be_written_as_asked_are_not_lost(run_cli, folder, tmp_path):
    code, _, err = tune(
        run_cli, folder, "-o", tmp_path / "w.txt", "--bound", "lm=0", "--normalize", "lm", "--rounds", "1"
    )
    assert code == 2
    assert f"cannot normalize by 'lm': that is 0. The weights as they were found are in {tmp_path}/w.txt.json" in err
    assert json.loads((tmp_path / "w.txt.json").read_text())["lm"] == 0
    assert not (tmp_path / "w.txt").exists()


def test_an_option_of_a_tuner_is_given_once(run_cli, folder, tmp_path):
    code, _, err = tune(run_cli, folder, "-o", tmp_path / "w.txt", "--rounds", "1", "--rounds", "2")
    assert code == 2
    assert "--rounds was given twice: 1 and 2" in err


def test_few_held_out_sentences_prove_nothing(run_cli, tmp_path):
    (tmp_path / "two.jsonl").write_text(TWO)
    code, out, err = run_cli(
        "tune", tmp_path / "two.jsonl", "--heldout", tmp_path / "two.jsonl", "--column", "comet",
        "--metric", "column:comet", "--method", "mert", "-o", tmp_path / "w.txt",
    )  # fmt: skip
    assert code == 0, err
    assert "1 sentence is too few to tell a change from chance" in out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--search", "a=0:1", "--search", "b=0:1"], "expected one constant to search, found --search 2 times"),
        (["--search", ""], "expected a constant and its range such as a=0:1.5 to search, found ''"),
        (["--search", "a=-1e300:1"], "expected a constant and its range"),
        (["--search", "lm=0:1"], "'lm': the lists have that already"),
        ([], "no feature is called 'a'. known: lm, still, comet, words, chars. hint: if it is a constant, 'luthier "
             "tune' finds its value with --search a=LOW:HIGH"),
    ],
)  # fmt: skip
def test_what_a_search_does_not_take(run_cli, tmp_path, arguments, message):
    (tmp_path / "two.jsonl").write_text(TWO)
    code, _, err = run_cli(
        "tune", tmp_path / "two.jsonl", "--column", "comet", "--metric", "column:comet", "--method", "mert",
        "-o", tmp_path / "w.txt", "--add", "lp=lm/words**a", *arguments,
    )  # fmt: skip
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--metric", "bleu,ter"], "expected one metric"),
        (["--metric", "length"], "no direction"),
        (["--bound", "lm=a:b"], "the bound of lm: expected a range"),
        (["--bound", "nosuch=0:1"], "no feature is called 'nosuch'"),
        (["--replicas", "0"], "at least one replica"),
        (["--average-replicas"], "--average-replicas needs --replicas"),
        (["--rounds", "0"], "must be an int in [1, 1000000]"),
        (["--resume"], "to resume a job needs a checkpoint file"),
        (["--start", "/nowhere"], "/nowhere"),
        (["--plot", "curve.gif"], "ends in .png"),
    ],
)
def test_what_tune_does_not_take(run_cli, folder, tmp_path, arguments, message):
    code, _, err = tune(run_cli, folder, "-o", tmp_path / "w.txt", *arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "w.txt").exists()


def test_an_unknown_tuner_is_named(run_cli, folder, tmp_path):
    code, _, err = tune(run_cli, folder, "-o", tmp_path / "w.txt", method="magic")
    assert code == 2
    assert "no 'magic' among the methods" in err


def test_a_held_out_pool_may_name_its_features_in_another_order(run_cli, folder, tmp_path):
    pool = open_pool(folder / "heldout.arrow")
    f = pool.features
    turned = Features.from_dense(f.names[::-1], f.dense[:, ::-1])
    save_pool(pool.with_features(turned), tmp_path / "turned.arrow")
    answers = []
    for heldout in (folder / "heldout.arrow", tmp_path / "turned.arrow"):
        tune(run_cli, folder, "--heldout", heldout, "-o", tmp_path / "w.txt")
        answers.append((tmp_path / "w.txt").read_bytes())
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("axes", "rank"), [(["leading:2"], 3), (["random:1"], 2), (["FILE", "lm"], 3)])
def test_weights_can_be_tuned_along_a_few_directions(run_cli, folder, axes, rank):
    names = open_pool(folder / "tune.arrow").features.names
    (folder / "direction.txt").write_text(f"{names[0]} 1\n{names[1]} -1\n")
    asked = [part for axis in axes for part in ("--axis", folder / "direction.txt" if axis == "FILE" else axis)]
    found = []
    for seed in range(4):
        more = ("--seed", 5, "--replicas", 1, "--restarts", seed, "--heldout", folder / "heldout.arrow", "--json")
        code, out, _ = tune(run_cli, folder, *asked, *more, "-o", folder / "few.txt", method="mert")
        assert code == 0
        told = json.loads(out)["replicas"][0]
        assert told["tune_after"] >= told["tune_before"]
        found.append(read_weights(folder / "few.txt").vector(names, source="few"))
    assert np.linalg.matrix_rank(np.array([np.ones(len(names)), *found]), tol=1e-9 * np.abs(found).max()) <= rank


def test_directions_go_with_nothing_that_they_would_break(run_cli, folder):
    for more in (("--bound", "lm=0:"), ("--standardize-features",), ("--certify", 9)):
        code, _, err = tune(run_cli, folder, "--axis", "lm", *more, "-o", folder / "no.txt", method="mert")
        assert (code, "--axis cannot go with" in err) == (2, True)
    code, _, err = tune(run_cli, folder, "--axis", "leading:99", "-o", folder / "no.txt", method="mert")
    assert (code, "expected leading:N with N from 1 to" in err) == (2, True)


def test_resamples_and_folds_are_shown_and_written(run_cli, folder, tmp_path):
    more = ("--sweeps", "2", "--resamples", "4", "--folds", "3", "-o", tmp_path / "w.txt")
    code, out, err = tune(run_cli, folder, *more, "--verbose", method="mert")
    assert code == 0, err
    told = ("over 4 resamples", "keep their winner", "95% interval", "share of effect", "weights over 3 folds")
    for words in (*told, "have not seen it"):
        assert words in out
    found = json.loads(tune(run_cli, folder, *more, "--json", method="mert")[1])
    assert len(found["resamples"]["winner_stays"]) == 25
    assert sum(found["folds"]["sizes"]) == 25
    assert found["folds"]["optimistic_score"] == found["replicas"][0]["tune_after"]
    assert found["folds"]["weights"].keys() == found["resamples"]["weights"].keys()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--resamples", "1"], "expected --resamples of at least 2, found 1"),
        (["--folds", "1"], "expected --folds of at least 2, found 1"),
        (["--folds", "26"], "expected at least 26 different sentences for as many folds, found 25"),
        (["--fold-by", "doc"], "--fold-by needs --folds"),
        (["--folds", "2", "--fold-by", "doc"], "expected a column of the lists to fold by, found 'doc'"),
        (["--folds", "2", "--heldout", "HELD"], "--folds is in place of --heldout"),
        (["--folds", "2", "--axis", "lm"], "--resamples and --folds cannot go with --axis"),
    ],
)
def test_resamples_and_folds_that_cannot_be_are_refused(run_cli, folder, tmp_path, arguments, message):
    given = [folder / "heldout.arrow" if a == "HELD" else a for a in arguments]
    code, _, err = tune(run_cli, folder, "--rounds", "1", *given, "-o", tmp_path / "w.txt")
    assert code == 2
    assert message in err
