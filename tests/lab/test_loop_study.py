"""Studies of conditions: whole loops, choices by re-ranking, lines that say all, tables of what has ended."""

import json
import re
import shutil

import numpy as np
import pytest

from luthier.core.errors import LuthierError, unwarned
from luthier.core.files.io import content_hash
from luthier.core.files.journal import seal, unseal
from luthier.core.tasks import Processes
from luthier.corpus.lines import read_lines
from luthier.decoding.decoder import Decoder
from luthier.features.bins_file import parse_bins, read_bins
from luthier.features.fit_bins import BinOptions, bins_of_grammar
from luthier.grammar.storage import open_grammar
from luthier.jobs.lab import choices
from luthier.jobs.lab import system as loops
from luthier.jobs.lab.base import Place, UnitsRecipe, read_study, run_study
from luthier.jobs.lab.kinds import conditions
from luthier.jobs.lab.lines import pack_statistics, unpack_statistics, unpack_text, unpack_weights
from luthier.jobs.sweep import choose
from luthier.jobs.sweep_config import read_sweep
from luthier.jobs.sweep_decoding import DecodedPoints
from luthier.jobs.trained_model import TranslationModel
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import read_weights
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric
from small_system import SMALL_SYSTEM

TRAINING = f"""
replicas = 2
seed = 3
{SMALL_SYSTEM}refs = "corpus/test.refs.0.txt"
[decoder]
k = 6
pops = 20
[tuner]
method = "pro"
iterations = 1
psi = 1.0
[loop]
iterations = 2
patience = 0
choose = "last"
[start]
LanguageModel = 1.0
WordPenalty = -1.0
PassThrough = -5.0
"""
STUDY = """
kind = "conditions"
name = "tiny"
seed = 5
own = ["WordPenalty", "Glue", "PassThrough", "LanguageModel", "LanguageModel_OOV"]
choice = { lists = ["P", "log P"], k = 5 }
[tables]
baselines = ["log P"]
longer = { turns = 3, conditions = ["log P"] }
shapes = { "MNR C" = { C_F = 9 } }
[[data]]
name = "synthetic"
training = "pair.toml"
hold_out = 5
hold_out_tune = 6
hold_out_test = 4
synthetic = { train = 165, tune = 3, test = 6, references = 1, seed = 0 }
[[condition]]
name = "P"
features = ["P_EgivenFCoherent"]
[[condition]]
name = "log P"
features = ["EgivenFCoherent"]
[[condition]]
name = "Disc P"
features = ["P_EgivenFCoherent"]
cut = ["P_EgivenFCoherent", "TargetWords"]
bits = [1, 2]
[[condition]]
name = "MNR C"
features = ["C_F", "C_FE"]
cut = ["C_F"]
bits = [2]
tuner = { neighbours = "mnr", beta = [1.0, 1e3] }
"""
RUNS = 2 * 4 + 1  # two replicas of four conditions; more turns once


def written(folder, study=STUDY):
    folder.mkdir(exist_ok=True)
    (folder / "pair.toml").write_text(TRAINING)
    (folder / "study.toml").write_text(study)
    return folder / "study.toml"


CHOICE = """
decode = true
model = "."
metric = "bleu"
k = 4
features = ["P_EgivenFCoherent"]
tune = { source = "SYSTEM/corpus/tune.source.txt", refs = "SYSTEM/corpus/tune.refs.0.txt" }
heldout = { source = "SYSTEM/heldout.source.gz", refs = "SYSTEM/heldout.target.gz" }
[loop]
iterations = 2
[bins]
features = ["P_EgivenFCoherent"]
bits = 2
[tuner]
method = "pro"
[tuner.parameters]
iterations = 1
neighbours = "mnr"
beta = [1.0, 1e3]
"""


def changed(path, old, new):
    """Write another file with one thing changed beside a file; return its path."""
    other = path.with_name("other.toml")
    other.write_text(path.read_text().replace(old, new, 1))
    return other


def lines_of(path):
    """Return the lines of a study without what may differ between runs, in a fixed order."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [{k: v for k, v in line.items() if "seconds" not in k and k not in ("hash", "together")} for line in lines]
    return sorted(kept, key=lambda line: json.dumps(line, sort_keys=True))


def tables_of(folder):
    """Return the tables of a study without seconds, the last two columns of the main one."""
    return re.sub(r"\| [0-9]+ \| [0-9]+ \|$", "|", (folder / "tables.md").read_text(), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    home = tmp_path_factory.mktemp("study")
    return home, run_study(written(home), home / "out")


@pytest.mark.slow
@pytest.mark.compiled
class TestWhole:
    def test_every_loop_has_a_line_whose_numbers_can_be_made_again(self, whole):
        home, paths = whole
        assert [path.rsplit("/", 1)[-1] for path in paths] == [
            "units.jsonl", "synthetic.turns.png", "synthetic.shapes.png", "tables.md"
        ]  # fmt: skip
        lines = lines_of(home / "out" / "units.jsonl")
        assert len(lines) == RUNS
        system = home / "out/systems/synthetic"
        references = [read_lines(system / "test.refs.gz")]
        assert [*references[0]] == [
            line for name in ("corpus/test.refs.0.txt", "corpus/tune.refs.0.txt", "drawn.test.target.gz")
            for line in read_lines(system / name)
        ]  # fmt: skip
        for line in lines:
            folder, metric = home / "out" / line["folder"], load_metric(line["metric"])
            assert content_hash(folder / "test.txt") == line["translations"]
            assert content_hash(folder / "weights.json") == line["weights"]
            stats = metric.stats(Batch.from_lines(read_lines(folder / "test.txt"), references))
            assert metric.score(stats.sum(axis=0)) == line["test"]
            assert np.array_equal(unpack_statistics(line["statistics"], stats.shape[1]), stats)
            assert len(line["decoded"]) == (3 if "turns=3" in line["values"] else 2)
            assert unpack_weights(line["answer"]) == dict(read_weights(folder / "weights.json"))
            assert line["size"] == [6, 6, 13]  # K, sentences to tune and to test on
            assert not (folder / "lists").exists()  # they are large
            rules = set(read_weights(folder / "weights.json")) - {"WordPenalty", "Glue", "PassThrough"}
            rules -= {"LanguageModel", "LanguageModel_OOV"}
            if line["bits"]:
                assert line["features"] == len(rules) + 5
                assert bool(line["bins"]) == (line["condition"] == "MNR C")
            if line["bits"] and line["bins"]:
                assert rules == {*parse_bins(unpack_text(line["bins"], "bins"), "a line").names, "C_FE"}
            if not line["bits"]:
                assert rules == {{"P": "P_EgivenFCoherent", "log P": "EgivenFCoherent"}[line["condition"]]}

    def test_pairs_held_out_are_in_no_model(self, whole):
        system = whole[0] / "out/systems/synthetic"
        parts = [[*read_lines(system / f"{p}.source.gz")] for p in ("train", "heldout", "drawn.tune", "drawn.test")]
        assert [*map(len, parts)] == [150, 5, 6, 4]
        assert sorted(line for part in parts for line in part) == sorted(read_lines(system / "corpus/train.source.txt"))
        assert len(read_lines(system / "links.gz")) == 150

    def test_choices_are_files_of_their_own_on_lists_with_the_condition_s_features(self, whole):
        system = whole[0] / "out/systems/synthetic"
        pool = open_pool(system / "choices/MNR-C/heldout.arrow")
        assert pool.n_sentences == 5
        assert set(pool.features.names) == {
            "C_F", "C_FE", "WordPenalty", "Glue", "PassThrough", "LanguageModel", "LanguageModel_OOV"
        }  # fmt: skip
        points = json.loads((whole[0] / "out/choices.json").read_text())["synthetic"]
        assert [(p["bits"], p["values"]) for p in points["MNR C"]] == [(2, "beta=1"), (2, "beta=1000")]
        assert [p["bits"] for p in points["Disc P"]] == [1, 2]
        assert [len(points[name]) for name in ("P", "log P")] == [1, 1]  # on the same lists
        # what loops are cut by: the grammar of the tuning sentences
        with unwarned():
            cut = bins_of_grammar(open_grammar(system / "tune.grammar"), ["C_F"], BinOptions(bins=4))
        found = read_bins(system / "choices/MNR-C/choice/bins.json").features[0]
        assert np.array_equal(found.lows, cut.features[0].lows)
        assert (system / "choices/MNR-C/choice/points.jsonl").exists()

    def test_tables_come_from_lines_alone_and_say_what_is_missing(self, whole, tmp_path):
        home, _ = whole
        for name in ("units.jsonl", "choices.json"):
            shutil.copy(home / "out" / name, tmp_path)
        run_study(home / "study.toml", tmp_path, run=False)
        text = (tmp_path / "tables.md").read_text()
        assert text == (home / "out" / "tables.md").read_text()
        lines = [json.loads(line) for line in (home / "out/units.jsonl").read_text().splitlines()]
        k, tune, test = lines[0]["size"]
        assert f" | {tune} | {test} | {k} | 2 | {len(lines)} | " in text
        rows = [line for line in text.splitlines() if line.startswith("| MNR C | 2 | beta=")]
        assert "| 2 of 2 |" in rows[0]
        lines = [json.loads(line) for line in (home / "out/units.jsonl").read_text().splitlines()]
        scores = [line["test"] for line in lines if line["condition"] == "log P"]
        row = next(line for line in text.splitlines() if line.startswith("| log P |"))
        assert f"| 2 of 2 | {np.mean(scores):.2f} | {np.std(scores, ddof=1):.2f} | – |" in row
        raw = (tmp_path / "units.jsonl").read_bytes().splitlines(keepends=True)
        few = [line for line in raw if (r := unseal(line.rstrip()))["replica"] == 0 and r["condition"] != "MNR C"]
        (tmp_path / "units.jsonl").write_bytes(b"".join(few))
        run_study(home / "study.toml", tmp_path, run=False)
        text = (tmp_path / "tables.md").read_text()
        assert "| MNR C | – |" in text
        assert "| P | – | – | 6 | 1 of 2 |" in text

    def test_a_study_that_was_ended_goes_on_in_the_middle_of_a_loop(self, whole, tmp_path, monkeypatch):
        home, _ = whole
        shutil.copytree(home / "out", tmp_path / "out")
        raw = (tmp_path / "out/units.jsonl").read_bytes().splitlines(keepends=True)
        gone = unseal(raw[-1].rstrip())["folder"]
        (tmp_path / "out/units.jsonl").write_bytes(b"".join(raw[:-1]))
        shutil.rmtree(tmp_path / "out" / gone)
        tuned, plain = [], loops.tune_loop

        def cut(*args, **kwargs):
            tuned.append(kwargs["place"].folder)
            if len(tuned) == 1:
                plain(*args[:4], loops.dataclasses.replace(args[4], iterations=1), **kwargs)
                raise KeyboardInterrupt
            return plain(*args, **kwargs)

        monkeypatch.setattr(loops, "tune_loop", cut)
        with pytest.raises(KeyboardInterrupt):
            run_study(written(tmp_path), tmp_path / "out")
        assert (tmp_path / "out" / gone / "lists" / "000.arrow").exists()
        run_study(tmp_path / "study.toml", tmp_path / "out")
        assert [str(tmp_path / "out" / gone)] * 2 == tuned  # the one whose line was not there, and no other
        assert lines_of(tmp_path / "out/units.jsonl") == lines_of(home / "out/units.jsonl")
        assert tables_of(tmp_path / "out") == tables_of(home / "out")

    def test_other_processes_give_the_same_lines_and_one_condition_can_be_run(self, whole, tmp_path):
        home, _ = whole
        shutil.copytree(home / "out", tmp_path / "out")
        (tmp_path / "out/units.jsonl").unlink()
        shutil.rmtree(tmp_path / "out/systems/synthetic/loops")
        run_study(written(tmp_path), tmp_path / "out", engine=Processes(1), only="log P")
        lines = lines_of(tmp_path / "out/units.jsonl")
        assert lines == [
            line for line in lines_of(home / "out/units.jsonl")
            if line["condition"] == "log P" or (line["condition"], line["replica"]) == ("P", 0)
        ]  # fmt: skip
        recipe = UnitsRecipe(Place(str(home / "study.toml"), home / "out"), "synthetic", "other inputs")
        with pytest.raises(LuthierError, match="the data 'synthetic' are not the same here"):
            recipe.open()

    def test_a_choice_by_decoding_runs_loops_of_its_own_and_goes_on_with_them(self, whole, tmp_path):
        system = whole[0] / "out/systems/synthetic"
        for name in ("model.json", "lm.arpa.gz", *(path.name for path in system.glob("rules*"))):
            shutil.copy(system / name, tmp_path)
        shutil.copy(next(system.glob("loops/P.0.1.*/weights.json")), tmp_path)
        (tmp_path / "c.toml").write_text(CHOICE.replace("SYSTEM", str(system)))
        chosen, _ = choose(tmp_path / "c.toml", tmp_path / "out")
        assert [point.values["beta"] for point in chosen.points] == ["1", "1000"]
        # the written weights and bins decode the held-out sentences to the score of the chosen point
        model = TranslationModel.open(tmp_path)
        sentences = read_lines(system / "heldout.source.gz")
        grammar = model.grammar(sentences).select_features(["P_EgivenFCoherent"])
        decoder = Decoder(grammar, model.lms, model.settings.search, bins=read_bins(tmp_path / "out/bins.json"))
        texts = decoder.decode(sentences, read_weights(tmp_path / "out/weights.txt"), derivations=False).texts
        metric = load_metric("bleu")
        stats = metric.stats(Batch.from_lines(texts, [read_lines(system / "heldout.target.gz")]))
        assert metric.score(stats.sum(axis=0)) == chosen.best.heldout
        lines = (tmp_path / "out/points.jsonl").read_bytes().splitlines(keepends=True)
        (tmp_path / "out/points.jsonl").write_bytes(lines[0])
        for folder in (tmp_path / "out/loops").iterdir():
            assert not (folder / "lists").exists()
        shutil.rmtree(DecodedPoints(read_sweep(tmp_path / "c.toml"), tmp_path / "out").place((("beta", 1e3),)))
        again, _ = choose(tmp_path / "c.toml", tmp_path / "out")
        assert [point.heldout for point in again.points] == [point.heldout for point in chosen.points]
        with pytest.raises(LuthierError, match="bins of rules only"):
            read_sweep(changed(tmp_path / "c.toml", "bits = 2", 'bits = 2\nscope = "global"'))
        with pytest.raises(LuthierError, match="expected k from 1 to 1,000,000, found 0"):
            read_sweep(changed(tmp_path / "c.toml", "k = 4", "k = 0"))
        with pytest.raises(LuthierError, match="expected a readable file, found no such file"):
            read_sweep(changed(tmp_path / "c.toml", "heldout.source.gz", "none.gz"))

    def test_results_of_others_are_enough(self, whole, tmp_path, monkeypatch):
        home, _ = whole
        shutil.copytree(home / "out", tmp_path / "out")
        shutil.rmtree(tmp_path / "out/systems/synthetic/loops")
        tuned, plain = [], conditions.ConditionUnits.run
        monkeypatch.setattr(
            conditions.ConditionUnits, "run", lambda self, unit: tuned.append(unit) or plain(self, unit)
        )
        run_study(written(tmp_path), tmp_path / "out")
        assert not tuned
        assert tables_of(tmp_path / "out") == tables_of(home / "out")

    def test_a_choice_that_was_made_stands_until_it_would_be_another(self, whole, tmp_path, monkeypatch):
        home, _ = whole
        shutil.copytree(home / "out", tmp_path / "out")
        shutil.rmtree(tmp_path / "out/systems/synthetic/choices")
        (tmp_path / "out/units.jsonl").unlink()
        points = json.loads((tmp_path / "out/choices.json").read_text())
        disc = points["synthetic"]["Disc P"]
        worst = min(disc, key=lambda point: point["gain"])
        worst["gain"] = 1.0 + max(point["gain"] for point in disc)  # as on another processor
        (tmp_path / "out/choices.json").write_text(json.dumps(points))
        tried, plain = [], choices.choose
        monkeypatch.setattr(
            choices, "choose", lambda *args, **more: tried.append(args[1].parent.name) or plain(*args, **more)
        )
        run_study(written(tmp_path), tmp_path / "out", only="Disc P")
        assert not tried
        assert {line["bits"] for line in lines_of(tmp_path / "out/units.jsonl") if line["condition"] == "Disc P"} == {
            worst["bits"]
        }
        run_study(
            changed(tmp_path / "study.toml", "beta = [1.0, 1e3]", "beta = [1.0, 1e2]"), tmp_path / "out", only="P"
        )
        assert tried == ["MNR-C"]
        for name, value in {"bits": 7, "values": "beta=3", "made_of": "else"}.items():  # no such choice is known
            points = json.loads((tmp_path / "out/choices.json").read_text())
            points["synthetic"]["Disc P"][0][name] = value
            (tmp_path / "out/choices.json").write_text(json.dumps(points))
            run_study(tmp_path / "study.toml", tmp_path / "out", only="Disc P")
            assert "Disc-P" in tried
            tried.clear()

    def test_lines_that_no_loop_can_have_are_refused(self, whole, tmp_path):
        home, _ = whole
        for name in ("units.jsonl", "choices.json"):
            shutil.copy(home / "out" / name, tmp_path)
        first, *rest = (tmp_path / "units.jsonl").read_bytes().splitlines(keepends=True)
        for name, value in {"test": None, "replica": -1, "decoded": [], "features": 1.5, "folder": 3}.items():
            changed = seal({**unseal(first.rstrip()), name: value})
            (tmp_path / "units.jsonl").write_bytes(b"".join([changed, *rest]))
            with pytest.raises(LuthierError, match=f"units.jsonl:1: expected a unit of a study, found .*'{name}'"):
                run_study(home / "study.toml", tmp_path, run=False)
        (tmp_path / "units.jsonl").write_bytes(b"".join([seal({**unseal(first.rstrip()), "statistics": "x"}), *rest]))
        with pytest.raises(LuthierError, match="no statistics"):
            run_study(home / "study.toml", tmp_path, run=False)
        (tmp_path / "units.jsonl").write_bytes(b"".join([first, *rest]))
        (tmp_path / "choices.json").write_text('{"synthetic": {"Disc P": [{"bits": 1}]}}')
        with pytest.raises(LuthierError, match=r"choices\.json: expected the choices of a study"):
            run_study(home / "study.toml", tmp_path, run=False)


CASES = {
    'name = "tiny"': ("", "expected a text for 'name'"),
    'lists = ["P", "log P"]': ('lists = ["Q"]', "there is no condition 'Q'"),
    'lists = ["P", "log P"], ': ("", "no lists to choose by"),
    '["P", "log P"]': ('["P", "Disc P"]', "come of conditions that need no choice"),
    "hold_out = 5": ("hold_out = 0", "data without pairs to choose by"),
    'shapes = { "MNR C"': ('shapes = { "MNR"', "there is no condition 'MNR'"),
    "hold_out_test = 4": ("hold_out_test = -4", "expected 0 pairs or more to hold out"),
    'cut = ["C_F"]': ("", "features to cut and bits together"),
    "bits = [1, 2]": ("bits = [1, 1]", "each number of bits once"),
    "bits = [2]": ("bits = [40]", "bits from 1 to 20"),
    'shapes = { "MNR C" =': ('shapes = { "P" =', "'P' is not cut into bins, so has no shape"),
    "{ C_F = 9 }": ("{ C_F = 0 }", "expected the shapes of 'MNR C' to end at numbers above 0"),
    "C_F = 9": ("C_F = []", "expected a number for .* of 'shapes', found a list"),
    'name = "synthetic"': ('name = "../up"', "expected data named so that a file can be"),
    "beta = [1.0, 1e3]": ("beta = []", "some values, each once"),
    'training = "pair.toml"': ('training = "pair.toml"\nconditions = ["P", "log P", "Q"]', "Q"),
    "hold_out_tune = 6": ('hold_out_tune = 6\nconditions = ["P"]', "expected the conditions of .* of 'synthetic'"),
}


@pytest.mark.parametrize("old", CASES)
def test_faults_of_a_study_are_said(tmp_path, old):
    new, message = CASES[old]
    with pytest.raises(LuthierError, match=message):
        read_study(written(tmp_path, STUDY.replace(old, new, 1)))


def test_further_faults(tmp_path):
    with pytest.raises(LuthierError, match="has no setting 'x'"):
        read_study(written(tmp_path, "x = 1\n" + STUDY))
    with pytest.raises(LuthierError, match=r"expected tables \[\[condition\]\]"):
        read_study(written(tmp_path, 'kind = "conditions"\ncondition = ["P"]\ndata = []'))
    with pytest.raises(LuthierError, match="there is no 'x' in this study"):
        run_study(written(tmp_path), tmp_path / "out", only="x")


def test_a_data_set_may_have_some_of_the_conditions_and_the_first_has_the_longer_loops(tmp_path):
    first, second = "synthetic", "other"
    table = STUDY[STUDY.index("[[data]]") : STUDY.index("[[condition]]")]
    other = table.replace(first, second, 1) + 'conditions = ["log P", "P", "Disc P"]\n'
    study = read_study(written(tmp_path, STUDY.replace(table, table + other)))
    points = {
        "Disc P": [conditions.Point(2, ()), conditions.Point(1, ())],
        "MNR C": [conditions.Point(2, (("beta", b),)) for b in (1.0, 1e3)],
    }
    units = {name: [*dict.fromkeys(conditions.all_units(study, name, points, 2))] for name in (first, second)}
    longer = [unit for unit in units[first] if dict(unit.values).get("turns")]
    assert longer == units[first][-1:] == [conditions.LoopUnit("log P", 0, (("turns", 3),), 0)]
    assert len(units[first]) == RUNS
    assert units[second] == [
        conditions.LoopUnit(name, bits, (), replica)
        for replica in range(2) for name, bits in (("P", 0), ("log P", 0), ("Disc P", 2))
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["study.toml", "synthetic.toml"])
def test_the_studies_of_the_repository_are_read(name):
    from pathlib import Path

    study = read_study(Path(__file__).parents[2] / "studies" / "clark-2014" / name)
    names = {condition.name for condition in study.conditions}
    assert names >= {"P", "log P", "Disc P", "Over. P", "LNR P", "MNR P", "MNR C"}


def test_statistics_as_a_text():
    stats = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(unpack_statistics(pack_statistics(stats), 4), stats)
    for text in ("", "é", "AAAA", pack_statistics(stats)[:-8], pack_statistics(np.array([[np.nan]]))):
        with pytest.raises(ValueError, match="no statistics"):
            unpack_statistics(text, 4)
