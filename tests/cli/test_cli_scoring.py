"""score, oracle, metrics and compare: what they print is what the parts compute."""

import json

import pytest
import sacrebleu

from luthier.kbest.weights import write_weights
from luthier.synthetic.lists.noisy_channel import SyntheticLists, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pool, its references, and the translations that two weight vectors select."""
    from luthier.cli.main import main

    home = tmp_path_factory.mktemp("scoring")
    write(SyntheticLists(sentences=30, k=20, n_references=2, vocabulary=200).generate(3), home)
    refs = [str(home / f"refs.{r}.txt") for r in range(2)]
    assert main(["pool", str(home / "list.moses.gz"), "--refs", *refs, "-o", str(home / "pool.arrow"), "--quiet"]) == 0
    names = ["lm", "channel", "direct", "lex", "length", "swaps", "oov", "rules", "noise_0", "noise_1"]
    write_weights({name: float(name == "lm") for name in names}, home / "lm.txt")
    files = ["--weights", home / "weights.txt", home / "lm.txt", "-o", home / "a.out", home / "b.out"]
    assert main(["rerank", str(home / "pool.arrow"), *map(str, files), "--quiet"]) == 0
    return home


def refs(folder):
    return [folder / "refs.0.txt", folder / "refs.1.txt"]


def test_scores_are_sacrebleus(run_cli, folder):
    code, out, _ = run_cli("score", folder / "a.out", "--refs", *refs(folder), "--metric", "bleu,ter,chrf", "--json")
    assert code == 0
    scores = json.loads(out)["translations"][0]["scores"]
    hyps = (folder / "a.out").read_text().splitlines()
    streams = [path.read_text().splitlines() for path in refs(folder)]
    assert scores["bleu"] == pytest.approx(sacrebleu.BLEU(tokenize="none").corpus_score(hyps, streams).score, abs=1e-9)
    assert scores["ter"] == pytest.approx(sacrebleu.TER().corpus_score(hyps, streams).score, abs=1e-9)
    assert scores["chrf"] == pytest.approx(sacrebleu.CHRF().corpus_score(hyps, streams).score, abs=1e-9)


def test_the_tokenizer_is_used_by_those_that_have_one(run_cli, tmp_path):
    (tmp_path / "h").write_text("Hello, world! It's fine.\n")
    (tmp_path / "r").write_text("Hello world! It's fine, too.\n")
    paths = (tmp_path / "h", "--refs", tmp_path / "r", "--metric", "bleu,ter", "--tokenize", "13a", "--json")
    scores = json.loads(run_cli("score", *paths)[1])["translations"][0]["scores"]
    streams = [["Hello world! It's fine, too."]]
    expected = sacrebleu.BLEU(tokenize="13a").corpus_score(["Hello, world! It's fine."], streams)
    assert scores["bleu"] == pytest.approx(expected.score, abs=1e-9)


def test_a_sum_of_parts_that_disagree_needs_a_direction(run_cli, folder):
    arguments = ("score", folder / "a.out", "--refs", *refs(folder), "--metric", "ter + bleu")
    code, out, err = run_cli(*arguments)
    assert (code, out) == (2, "")
    assert "minimize or to maximize" in err
    assert run_cli(*arguments, "--minimize")[0] == 0
    code, out, _ = run_cli(*arguments[:-1], "0.5*ter - 0.5*bleu_nist,ter,bleu_nist", "--json")
    scores = json.loads(out)["translations"][0]["scores"]
    assert scores["0.5*ter - 0.5*bleu_nist"] == pytest.approx((scores["ter"] - scores["bleu_nist"]) / 2)


def test_sentence_scores_are_written(run_cli, folder, tmp_path):
    table = tmp_path / "s.tsv"
    code, *_ = run_cli("score", folder / "a.out", "--refs", *refs(folder), "--metric", "ter", "--per-sentence", table)
    rows = [line.split("\t") for line in table.read_text().splitlines()]
    assert code == 0
    assert len(rows) == 31
    assert rows[0][0] == "sentence"
    assert all(float(value) >= 0 for _, value in rows[1:])


def test_lines_must_match(run_cli, folder, tmp_path):
    (tmp_path / "short").write_text("one line\n")
    code, _, err = run_cli("score", tmp_path / "short", "--refs", *refs(folder))
    assert code == 2
    assert f"{tmp_path / 'short'}:2: expected 30 lines, as in {folder / 'refs.0.txt'}, found 1" in err


def test_oracles_bound_all_selections(run_cli, folder):
    code, out, _ = run_cli("oracle", folder / "pool.arrow", "--metric", "bleu,ter", "--json")
    assert code == 0
    for signature, rows in json.loads(out)["oracles"].items():
        scores = {row["selection"]: row["score"] for row in rows}
        sign = -1 if signature.startswith("ter") else 1
        order = ["corpus oracle (greedy)", "per-sentence oracle", "first of each list", "per-sentence worst"]
        gains = [sign * scores[name] for name in [*order, "corpus worst (greedy)"]]
        assert gains == sorted(gains, reverse=True)
        assert gains[0] >= sign * scores["random"] >= gains[-1]


def test_comparing_files_and_comparing_weights_agree(run_cli, folder):
    few = ("--draws", "50", "--shuffles", "100", "--metric", "bleu,length", "--json", "--seed", "7")
    _, files, _ = run_cli(
        "compare", "--refs", *refs(folder), "--baseline", folder / "a.out", "--system", "lm", folder / "b.out", *few
    )
    _, pool, _ = run_cli(
        "compare", "--pool", folder / "pool.arrow", "--weights", folder / "weights.txt",
        "--weights", folder / "lm.txt", *few,
    )  # fmt: skip
    files, pool = json.loads(files), json.loads(pool)
    for one, other in zip(files["metrics"], pool["metrics"], strict=True):
        assert [r["mean"] for r in one["results"]] == [r["mean"] for r in other["results"]]
        assert one["results"][1]["against_baseline"] == other["results"][1]["against_baseline"]
    assert files["settings"]["seed"] == 7


def test_identical_systems_have_p_one(run_cli, folder):
    same = (folder / "a.out", "--system", "same", folder / "a.out")
    arguments = ("compare", "--refs", *refs(folder), "--baseline", *same, "--draws", "20", "--shuffles", "50")
    report = json.loads(run_cli(*arguments, "--json")[1])
    assert all(m["results"][1]["against_baseline"]["randomisation_p"] == 1 for m in report["metrics"])


def test_systems_of_a_pool_have_names_of_ones_own(run_cli, folder):
    weights = ("--weights", folder / "weights.txt", "--weights", folder / "lm.txt", "--name", "old", "--name", "new")
    few = ("--draws", "20", "--shuffles", "50", "--metric", "bleu", "--json")
    report = json.loads(run_cli("compare", "--pool", folder / "pool.arrow", *weights, *few)[1])
    assert [result["system"] for result in report["metrics"][0]["results"]] == ["old", "new"]


def test_the_same_weights_once_three_and_nine_times(run_cli, folder):
    few = ("--draws", "50", "--shuffles", "200", "--metric", "bleu", "--json")
    found = []
    for times in (1, 3, 9):
        weights = ("--weights", folder / "weights.txt", "--weights", *[folder / "lm.txt"] * times)
        code, out, _ = run_cli("compare", "--pool", folder / "pool.arrow", *weights, *few)
        assert code == 0
        found.append(json.loads(out))
    rows = [report["metrics"][0]["results"][1]["against_baseline"] for report in found]
    assert len({row["randomisation_p"] for row in rows}) == 1
    assert [row["difference"] for row in rows] == pytest.approx([rows[0]["difference"]] * 3)
    assert [len(report["warnings"]) for report in found] == [0, 1, 1]
    assert found[2]["warnings"][0].startswith("lm.txt: 9 replicas, 1 without copies")
    assert found[0]["randomisation_p_is_about"] == "these runs on other sentences, not other runs"


@pytest.mark.parametrize("form, mark", [("text", "━"), ("markdown", "| --- |"), ("latex", r"\toprule")])
def test_tables_and_sentences(run_cli, folder, form, mark):
    system = (folder / "a.out", "--system", "lm", folder / "b.out", "--draws", "20", "--shuffles", "50")
    arguments = ("compare", "--refs", *refs(folder), "--baseline", *system, "--metric", "bleu", "--sentences", "2")
    code, out, _ = run_cli(*arguments, "--table", form)
    assert code == 0
    assert mark.replace(" ", "") in out.replace(" ", "") or mark in out
    assert out.count("sentence ") >= 2


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--refs", "r"], "expected --baseline"),
        (["--pool", "p", "--baseline", "h"], "--pool goes with --weights"),
        (["--refs", "r", "--baseline", "h", "--system", "only-a-name"], "expected --system NAME H"),
        (["--pool", "p", "--weights", "a", "--weights", "b", "--name", "c"], "another --name for each --weights"),
    ],
)
def test_what_compare_does_not_take(run_cli, arguments, message):
    code, _, err = run_cli("compare", *arguments)
    assert code == 2
    assert message in err


def test_metrics_are_listed_with_their_parameters(run_cli):
    listed = {item["name"]: item for item in json.loads(run_cli("list", "metrics", "--json")[1])["metrics"]}
    assert {"bleu", "ter", "wer", "cer", "per", "chrf", "length", "column"} <= set(listed)
    assert {"order", "smoothing"} <= {option["name"] for option in listed["bleu"]["options"]}
