"""Studies of tuners in loops: lines that say all, loops that are the same as by hand, tables with the test."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.corpus.lines import read_lines
from luthier.decoding.decoder import Decoder
from luthier.jobs.lab.base import Place, read_study, run_study
from luthier.jobs.lab.system import System
from luthier.jobs.lab.tuner_loop_tables import LoopRun, TunerLoops, TunerLoopTables, together_table
from luthier.jobs.loop import ForestDecoder, OwnDecoder
from luthier.kbest.merge import drop_duplicates, merge
from luthier.kbest.weights import Weights
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import pool_statistics
from luthier.tuning.base import tuner
from luthier.tuning.loops.loop import tune_loop
from luthier.tuning.options import LoopOptions

TRAINING = """
[corpus]
source = "corpus/train.source.txt"
target = "corpus/train.refs.0.txt"
[alignment]
method = "model1"
[lm]
order = 2
[tune]
source = "corpus/tune.source.txt"
refs = ["corpus/tune.refs.0.txt", "corpus/tune.refs.1.txt"]
[test]
source = "corpus/test.source.txt"
refs = ["corpus/test.refs.0.txt", "corpus/test.refs.1.txt"]
[decoder]
k = 8
pops = 20
[loop]
iterations = 2
"""
STUDY = """
kind = "tuner-loops"
name = "tiny"
seed = 4
replicas = 2
features = ["EgivenFCoherent", "MaxLexEgivenF"]
own = ["WordPenalty", "LanguageModel"]
starts = { count = 3, kind = "few", size = 0.5 }
[[tuner]]
name = "MER"
method = "mert"
[[tuner]]
name = "one start"
method = "simplex"
starts = 1
parameters = { limit = 5 }
[[metric]]
name = "TER"
spec = "ter"
[test]
baseline = "MER"
[test.metrics]
"BLEU" = "bleu"
"TER" = "ter"
[[data]]
name = "pair"
training = "pair.toml"
sentences = 7
synthetic = { train = 120, tune = 9, test = 6, references = 2, tune_references = 2, seed = 0 }
[[data]]
name = "elsewhere"
training = "pair.toml"
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "pair.toml").write_text(TRAINING)
    (folder / "study.toml").write_text(STUDY)
    paths = run_study(folder / "study.toml", folder / "out")
    lines = [json.loads(line) for line in (folder / "out/units.jsonl").read_text().splitlines()]
    return folder, paths, lines


@pytest.mark.slow
def test_a_loop_is_the_one_that_its_line_says(done):
    folder, _, lines = done
    loops = [(line["metric"], line["tuner"], line["replica"]) for line in lines]
    assert loops == [("TER", name, replica) for replica in (0, 1) for name in ("MER", "one start")]
    study = read_study(folder / "study.toml")
    system = System(study.data[0], Place(str(folder / "study.toml"), folder / "out"), seed=study.seed, own=study.own)
    decoder = Decoder(system.grammar("tune").select_features(study.features), system.models, system.config.search)
    names = {*study.features, *study.own}

    def decode(weights):
        pool = OwnDecoder(decoder, *system.sentences("tune"), 8)(weights)
        return pool.with_features(pool.features.select(tuple(n for n in pool.features.names if n in names)))

    for line, count in zip(lines, (3, 1, 3, 1), strict=True):
        method, seed = tuner("mert") if count == 3 else tuner("simplex", limit=5), 4 + 1000 * line["replica"]
        options = LoopOptions(iterations=2, seed=seed, restarts=count - 1, restart_kind="few", restart_size=0.5)
        result = tune_loop(decode, decoder.default_weights(), method, load_metric("ter"), options)
        assert dict(result.weights) == line["weights"]
        assert [turn.after for turn in result.iterations] == line["tuned"]
        assert line["sentences"] == 7
        assert line["loop"]["restarts"] == count - 1
        assert line["tune_cpu"] > 0
    assert "| pair | 7 | 6 | 8 | 2 | 4 |" in (folder / "out/tables.md").read_text()


@pytest.mark.slow
def test_the_test_scores_are_those_of_the_translations(done):
    folder, paths, lines = done
    references = [read_lines(folder / f"out/systems/pair/corpus/test.refs.{n}.txt") for n in range(2)]
    tables = (folder / "out/tables.md").read_text()
    assert str(folder / "out/tables.md") in paths
    ter = load_metric("ter")
    for name in ("MER", "one start"):
        found = [read_lines(folder / "out" / line["folder"] / "test.txt") for line in lines if line["tuner"] == name]
        scores = [float(ter.score(ter.stats(Batch.from_lines(texts, references)).sum(axis=0))) for texts in found]
        row = next(row for row in tables[tables.index("On the test") :].splitlines() if f"| {name} |" in row)
        expected = f"{np.mean(scores):.2f}" + (f" ± {np.std(scores, ddof=1):.2f}" if len(set(scores)) > 1 else "")
        assert [cell.strip() for cell in row.split("|")][7] == expected
    assert re.search(r"\| TER \| no tuning \|", tables)
    assert "7 sentences to tune on, 8-best lists" in tables


@pytest.mark.slow
def test_a_study_that_is_started_again_runs_only_what_is_missing(done):
    folder, _, lines = done
    units = folder / "out/units.jsonl"
    units.write_text(units.read_text().splitlines(keepends=True)[0])
    run_study(folder / "study.toml", folder / "out")
    again = [json.loads(line) for line in units.read_text().splitlines()]
    timed = ("hash", "cpu_seconds", "tune_seconds", "decode_seconds", "tune_cpu")
    timeless = [{k: v for k, v in line.items() if k not in timed} for line in again]
    assert timeless == [{k: v for k, v in line.items() if k in timeless[0]} for line in lines]
    weights = Weights(again[1]["weights"])
    assert np.isfinite(list(weights.values())).all()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('baseline = "MER"', 'baseline = "PRO"', "there is no tuner 'PRO' in this study. known: MER, one start"),
        ("starts = 1", "starts = 0", "expected at least one start"),
        ("replicas = 2", "replicas = 0", "and one replica"),
        ("starts = 1", "k = 0", "expected at least one hypothesis of a sentence for 'one start', found k = 0"),
        ("starts = 1", 'baseline = "PRO"', "there is no tuner 'PRO' in this study. known: MER, one start"),
        ("starts = 1", "forests = true\nhalfway = true", "on forests or on lists of two vectors, found both"),
        ('kind = "few"', 'kind = "many"', "expected a kind of starts"),
        ("sentences = 7", "sentences = 0", "expected at least one sentence of 'pair' to tune on, found 0"),
        ('sentences = 7', 'metrics = ["BLEU"]', "there is no metric 'BLEU' in this study"),
        ('"BLEU" = "bleu"\n"TER" = "ter"', "", "expected metrics to test with"),
    ],
)  # fmt: skip
def test_what_a_study_cannot_be_is_said(old, new, said, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(old, new, 1))
    with pytest.raises(LuthierError, match=re.escape(said)):
        read_study(path)


@pytest.mark.slow
def test_loops_on_forests_and_sentences_further_on(tmp_path):
    (tmp_path / "pair.toml").write_text(TRAINING)
    forests = STUDY.replace("starts = 1\nparameters = { limit = 5 }", "starts = 1\nforests = true")
    forests = forests.replace('method = "simplex"', 'method = "mert"').replace("replicas = 2", "replicas = 1")
    (tmp_path / "study.toml").write_text(forests.replace("sentences = 7", "sentences = 5\nskip = 2"))
    run_study(tmp_path / "study.toml", tmp_path / "out")
    _, line = [json.loads(line) for line in (tmp_path / "out/units.jsonl").read_text().splitlines()]
    assert line["method"].endswith(" on forests")
    home = tmp_path / "out/systems/pair"
    assert list(read_lines(home / "tune.source.gz")) == list(read_lines(home / "corpus/tune.source.txt"))[2:7]
    assert not (tmp_path / "out" / line["folder"] / "forests").exists()  # large, and its line is there

    study = read_study(tmp_path / "study.toml")
    system = System(
        study.data[0], Place(str(tmp_path / "study.toml"), tmp_path / "out"), seed=study.seed, own=study.own
    )
    decoder = Decoder(system.grammar("tune").select_features(study.features), system.models, system.config.search)
    names = {*study.features, *study.own}
    result = tune_loop(
        ForestDecoder(OwnDecoder(decoder, *system.sentences("tune"), 8), tmp_path / "again"),
        decoder.default_weights(),
        tuner("mert"),
        load_metric("ter"),
        LoopOptions(iterations=2, seed=4, restarts=0, restart_kind="few", restart_size=0.5),
        bounds={name: (0.0, 0.0) for name in decoder.feature_names if name not in names},
    )
    assert dict(result.weights) == line["weights"]
    assert all(value == 0.0 for name, value in line["weights"].items() if name not in names)


@pytest.mark.slow
def test_loops_with_lists_of_two_vectors_and_with_trust(tmp_path):
    (tmp_path / "pair.toml").write_text(TRAINING.replace("iterations = 2", "iterations = 4\npatience = 0"))
    remedies = STUDY.replace("starts = 1\nparameters = { limit = 5 }", "starts = 1\nhalfway = true\ntrust = 0.3\nk = 6")
    remedies = remedies.replace('method = "simplex"', 'method = "mert"').replace("replicas = 2", "replicas = 1")
    (tmp_path / "study.toml").write_text(remedies)
    run_study(tmp_path / "study.toml", tmp_path / "out")
    _, line = [json.loads(line) for line in (tmp_path / "out/units.jsonl").read_text().splitlines()]
    assert line["method"].endswith(" on lists of two vectors, k = 6")
    assert line["k"] == 6
    assert "7 sentences to tune on, 6 to 8-best lists in every turn" in (tmp_path / "out/tables.md").read_text()
    assert line["loop"]["trust"] == 0.3

    study = read_study(tmp_path / "study.toml")
    system = System(
        study.data[0], Place(str(tmp_path / "study.toml"), tmp_path / "out"), seed=study.seed, own=study.own
    )
    decoder = Decoder(system.grammar("tune").select_features(study.features), system.models, system.config.search)
    names, ter, turns = {*study.features, *study.own}, load_metric("ter"), []

    def search(weights):
        pool = OwnDecoder(decoder, *system.sentences("tune"), 6)(Weights(weights))
        return pool.with_features(pool.features.select(tuple(n for n in pool.features.names if n in names)))

    def decode(weights):  # the best so far is that of least TER of its own first hypotheses
        lists = search(weights)
        if turns:
            _, best = min(turns, key=lambda turn: turn[0])
            scales = sum(map(abs, weights.values())), sum(map(abs, best.values()))
            half = {n: weights[n] / scales[0] / 2 + best[n] / scales[1] / 2 for n in weights}
            lists = merge([lists, search(half)])
        lists = drop_duplicates(dataclasses.replace(lists, columns={}))
        scores = lists.scores(np.array([weights.get(name, 0.0) for name in lists.features.names]))
        chosen = [a + int(np.argmax(scores[a:b])) for a, b in itertools.pairwise(lists.offsets)]
        turns.append((float(ter.score(pool_statistics(lists, ter)[chosen].sum(axis=0))), dict(weights)))
        return lists

    options = LoopOptions(iterations=4, patience=0, trust=0.3, seed=4, restarts=0, restart_kind="few", restart_size=0.5)
    result = tune_loop(decode, decoder.default_weights(), tuner("mert"), ter, options)
    assert [turn.decoded for turn in result.iterations] == pytest.approx([score for score, _ in turns])
    assert [turn.decoded for turn in result.iterations] == line["decoded"]
    assert dict(result.weights) == line["weights"]


def loops(tuner_name, baseline, *replicas):
    """Return the loops of a tuner: of each replica the scores by turn, and that of the test."""
    runs = tuple(LoopRun(scores, scores, 10, 1.0, 2.0, "enough turns", True) for scores, _ in replicas)
    return TunerLoops("BLEU", tuner_name, 1, runs, {}, {"BLEU": [test for _, test in replicas]}, baseline, {})


def test_differences_over_several_data_sets_count_each_once():
    sets = [
        TunerLoopTables("one", ((9, 8),), 4, (
            loops("a", "a", ((10.0, 9.0, 12.0), 20.0), ((10.0, 11.0, 14.0), 22.0)),
            loops("b", "a", ((10.0, 15.0), 21.0)),
        )),
        TunerLoopTables("two", ((9, 8),), 4, (
            loops("a", "a", ((10.0, 8.0), 30.0)),
            loops("b", "a", ((10.0, 9.0, 13.0), 34.0)),
        )),
    ]  # fmt: skip
    rows = together_table(sets).splitlines()
    # of a, the best are 12, 14 | 10 and the tests 20, 22 | 30; of b, 15 | 13 and 21 | 34: differences 2 | 3 and 0 | 4
    assert rows[2] == "| BLEU | a | 2 | 3 | – | – | – | 2.7 | 2 of 5 | 2.0 |"
    assert rows[3] == "| BLEU | b | 2 | 2 | a | +2.50 ± 0.50 | +2.00 ± 2.00 | 2.5 | 1 of 3 | 2.0 |"


@pytest.mark.parametrize(("old", "new"), [("sentences = 7", "sentences = 7\nskip = -1"), ("sentences = 7", "skip = 3")])
def test_sentences_to_skip_are_some_before_those_wanted(tmp_path, old, new):
    (tmp_path / "pair.toml").write_text(TRAINING)
    (tmp_path / "study.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(LuthierError, match="expected skip = N beside sentences = N of 'pair'"):
        read_study(tmp_path / "study.toml")
