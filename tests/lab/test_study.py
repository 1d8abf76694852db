"""Studies: every unit once, resumed after an end in the middle, tables and figures from the lines alone."""

import json

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.files.journal import seal, unseal
from luthier.core.tasks import Processes
from luthier.jobs.lab.base import Place, UnitsRecipe, read_study, run_study
from luthier.jobs.lab.kinds import starts as studies
from luthier.jobs.lab.lines import read_units
from luthier.jobs.lab.lists import shortened
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists

KINDS = "capacity, conditions, consensus, learned-bins, penalty-path, starts, tuner-loops"
TEXT = """
kind = "starts"
name = "tiny"
seed = 5
starts = { count = 3, kind = "few", size = 0.5 }
[[tuner]]
name = "search"
method = "random"
parameters = { rounds = 2, batch = 10 }
[[tuner]]
name = "simplex"
method = "simplex"
parameters = { limit = 5 }
[[metric]]
name = "BLEU"
spec = "bleu"
[[metric]]
name = "TER"
spec = "ter"
[test]
by = "TER"
metrics = { "BLEU" = "bleu", "TER" = "ter" }
[[data]]
name = "made"
source = "synthetic"
tune = { seed = 1, sentences = 6, k = 8, n_references = 2, vocabulary = 100, shorten = 0.2 }
test = { seed = 2, sentences = 5, k = 8, n_references = 2, vocabulary = 100 }
[[data]]
name = "given"
source = "files"
starts = 1
metrics = ["TER"]
start = "weights.txt"
tune = { lists = ["list.txt"], refs = ["refs.txt"], cap = 2 }
test = { lists = ["list.txt"], refs = ["refs.txt"], sentences = 1 }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(autouse=True)
def no_pictures(request, monkeypatch):
    """Draw nothing, unless a test needs them: that takes long."""
    if "slow" not in request.keywords:
        monkeypatch.setattr(studies, "draw_starts", lambda units, title, path: path.touch())


@pytest.fixture
def folder(tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    rows = ["0 ||| a b ||| f=1 g=0 ||| 0", "0 ||| a c ||| f=0 g=1 ||| 0", "0 ||| c ||| f=0 g=2 ||| 0"]
    rows += ["1 ||| d ||| f=1 g=0 ||| 0", "1 ||| d e ||| f=0 g=1 ||| 0"]
    (given / "list.txt").write_text("\n".join(rows) + "\n")
    (given / "refs.txt").write_text("a c\nd e\n")
    (given / "weights.txt").write_text("f 1\ng 0.5\n")
    return given


def without_times(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in line.items() if "seconds" not in k and k not in ("hash", "together")} for line in lines]


def test_every_unit_has_a_line_with_all_that_made_it(file, tmp_path):
    paths = run_study(file, tmp_path / "out")
    assert [path.rsplit("/", 1)[-1] for path in paths] == ["units.jsonl", "made.png", "tables.md"]
    units = without_times(tmp_path / "out" / "units.jsonl")
    assert len(units) == 2 * (1 + 2 * 3)  # for each metric: no tuning, and two tuners from three starts
    pools = [
        SyntheticLists(sentences=n, k=8, n_references=2, vocabulary=100).generate(seed) for n, seed in ((6, 1), (5, 2))
    ]
    tune, test = shortened(pools[0], 0.2, 1), pools[1]
    for unit in units:
        metric = load_metric(unit["signature"])
        assert unit["pools"] == [tune.digest(), test.digest()]
        assert ListProblem.of(tune, metric).gain(np.array(unit["weights"])) == unit["gain"]
        assert ListProblem.of(tune, metric).gain(np.array(unit["start_weights"])) == unit["start_gain"]
        scores = {name: ListProblem.of(test, load_metric(name.lower())) for name in unit["test"]}
        found = {name: abs(p.gain(np.array(unit["weights"]))) for name, p in scores.items()}
        assert unit["test"] == found
        assert unit["gain"] >= unit["start_gain"]
    starts = {(u["start"], tuple(u["start_weights"])) for u in units}
    assert len(starts) == 4  # the same for all tuners and metrics


def test_a_study_that_was_ended_goes_on_and_ends_the_same(file, tmp_path, monkeypatch):
    run_study(file, tmp_path / "whole")
    count = 0
    original = studies.StartUnits.run

    def run(self, unit):
        nonlocal count
        count += 1
        if count == 6:
            raise KeyboardInterrupt
        return original(self, unit)

    monkeypatch.setattr(studies.StartUnits, "run", run)
    with pytest.raises(KeyboardInterrupt):
        run_study(file, tmp_path / "cut")
    lines = tmp_path / "cut" / "units.jsonl"
    assert len(lines.read_text().splitlines()) == 5
    with lines.open("a") as kept:
        kept.write('{"half": ')  # as a killed process leaves it
    count = 100
    run_study(file, tmp_path / "cut")
    assert count == 100 + 14 - 5
    assert without_times(lines) == without_times(tmp_path / "whole" / "units.jsonl")
    run_study(file, tmp_path / "cut")
    assert count == 100 + 14 - 5  # nothing is left to do


def test_a_changed_condition_is_run_again_and_its_last_line_counts(file, tmp_path):
    run_study(file, tmp_path / "out")
    file.write_text(TEXT.replace("limit = 5", "limit = 6"))
    run_study(file, tmp_path / "out")
    assert len((tmp_path / "out" / "units.jsonl").read_text().splitlines()) == 14 + 6
    kept = read_units(tmp_path / "out" / "units.jsonl", studies.LINES)[0]
    assert len(kept) == 14
    assert all("limit=6" in unit["method"] for unit in kept.values() if unit["tuner"] == "simplex")


def test_tables_come_from_the_lines_alone(file, tmp_path):
    run_study(file, tmp_path / "out", only="TER")
    first = (tmp_path / "out" / "tables.md").read_text()
    assert "| made | 6 | 5 | 8 | 3 | 7 | 0.00 |" in first  # tuned on, tested on, K, starts, units, hours
    assert "| TER | simplex | 3 |" in first
    assert "BLEU | simplex" not in first
    study = read_study(file)
    units = list(read_units(tmp_path / "out" / "units.jsonl", studies.LINES)[0].values())
    study.write_results(units[::-1], Place(str(file), tmp_path / "out"))  # in any order
    assert (tmp_path / "out" / "tables.md").read_text() == first


def test_given_files_and_only_one_data_set(file, folder, tmp_path):
    run_study(file, tmp_path / "out", data=str(folder), only="given")
    units = without_times(tmp_path / "out" / "units.jsonl")
    assert [(u["data"], u["tuner"], u["start"]) for u in units] == [
        ("given", "no tuning", -1), ("given", "search", 0), ("given", "simplex", 0)
    ]  # fmt: skip
    assert units[0]["start_weights"] == [1.0, 0.5]
    with pytest.raises(LuthierError, match=r"list\.txt: there is no such list"):
        run_study(file, tmp_path / "out", data=str(tmp_path), only="given")


def test_faults_of_a_study_are_said(file, tmp_path):
    cases = {
        "seed = 5": ("", "expected a whole number for 'seed', found nothing"),
        "count = 3": ("count = 'x'", r"expected a whole number for 'count' in \[starts\], found 'x'"),
        "k = 8": ("k = -8", r"the 'k' parameter of SyntheticLists must be an int in \[1, 1000000\], got -8"),
        'kind = "few"': ('kind = "many"', "expected a kind of starts"),
        "cap = 2": ("caps = 2", r"\[data.tune\] has no setting 'caps'"),
        "sentences = 1 }": ("sentences = 0 }", "expected 'cap' and 'sentences' of at least 1"),
        "size = 0.5": ("size = 99999999999999999999999", "expected a study in TOML, found the number 9999999"),
        'spec = "ter"': ('spec = ["ter"]', "expected a text for 'spec'"),
        'method = "simplex"': ('method = "none"', "there is no 'none' among the methods"),
        "limit = 5": ("limits = 5", "a parameter is not one"),
        'by = "TER"': ('by = "PER"', "there is no metric 'PER'"),
        'source = "files"': ('source = "cloud"', "expected the source 'synthetic' or 'files'"),
        'name = "tiny"': ("name = ", "expected a study in TOML"),
        'kind = "starts"': ("", f'expected a kind of study, kind = "…", one of {KINDS}, found none'),
        'kind = "starts"\n': ('kind = "ends"\n', f"one of {KINDS}, found 'ends'"),
        'kind = "starts"\nname': ("kind = 3\nname", "expected a text for 'kind', found 3"),
    }
    for old, (new, message) in cases.items():
        file.write_text(TEXT.replace(old, new, 1))
        with pytest.raises(LuthierError, match=message):
            read_study(file)
    with pytest.raises(LuthierError, match="expected a study, found no such file"):
        read_study(tmp_path / "none.toml")
    file.write_text(TEXT)
    with pytest.raises(LuthierError, match=r"there is no 'x' in this study\. known: BLEU"):
        run_study(file, tmp_path / "out", only="x")
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(LuthierError, match=r"bad\.jsonl:1: expected a unit"):
        read_units(tmp_path / "bad.jsonl", studies.LINES)


@pytest.mark.parametrize("name", ["../../up", "..", ".", "", "a/b", "a\\\\b", "c:", "line\\nfeed"])
def test_data_cannot_be_named_so_that_files_are_written_elsewhere(file, tmp_path, name):
    file.write_text(TEXT.replace('name = "made"', f'name = "{name}"', 1))
    with pytest.raises(LuthierError, match="expected data named so that a file can be"):
        run_study(file, tmp_path / "in" / "out")
    assert not (tmp_path / "in").exists()


def test_lines_that_no_unit_can_have_are_refused(file, tmp_path):
    run_study(file, tmp_path / "out", only="search")
    path = tmp_path / "out" / "units.jsonl"
    first, *rest = path.read_bytes().splitlines(keepends=True)
    changes = {
        "gain": float("nan"), "start": -2, "seed": 1.5, "weights": [1.0], "test": {"BLEU": "x"}, "steps": None,
        "tuner": 3, "cpu_seconds": float("inf"), "higher_is_better": 1,
    }  # fmt: skip
    for name, value in changes.items():
        path.write_bytes(b"".join([seal({**unseal(first.rstrip()), name: value}), *rest]))
        with pytest.raises(LuthierError, match=f"units.jsonl:1: expected a unit of a study, found .*'{name}'"):
            run_study(file, tmp_path / "out")
    path.write_bytes(b"".join([seal({**unseal(first.rstrip()), "test": {"other": 1.0}}), *rest]))
    with pytest.raises(LuthierError, match=r"units\.jsonl: expected test scores by .*, found a line with 'other'"):
        run_study(file, tmp_path / "out", only="search")
    path.write_bytes(b"".join([first.replace(b"made", b"mode", 1), *rest]))
    with pytest.raises(LuthierError, match="changed after it was written"):
        run_study(file, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.compiled
def test_units_in_other_processes_are_the_same(file, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "draw_starts", lambda units, title, path: path.touch())
    run_study(file, tmp_path / "here", data=str(folder), only="search")
    run_study(file, tmp_path / "there", data=str(folder), only="search", engine=Processes(1))
    found = [sorted(map(json.dumps, without_times(tmp_path / name / "units.jsonl"))) for name in ("here", "there")]
    assert found[0] == found[1]
    recipe = UnitsRecipe(Place(str(file), tmp_path), "made", "other pools")
    with pytest.raises(LuthierError, match="the data 'made' are not the same here"):
        recipe.open()


@pytest.mark.slow
def test_the_command(run_cli, file, tmp_path):
    code, out, err = run_cli("study", file, "--only", "search", "--json")
    assert code == 0
    assert json.loads(out)["files"][0] == str(tmp_path / "results" / "units.jsonl")
    assert "given: left out" in err
    assert (tmp_path / "results" / "made.png").read_bytes().startswith(b"\x89PNG")


def test_shortened_references_keep_the_first_and_never_become_empty():
    pool = SyntheticLists(sentences=20, k=3, n_references=3, vocabulary=100).generate(0)
    short = shortened(pool, 0.5, 1)
    for i in range(20):
        before, after = pool.references.of(i), short.references.of(i)
        assert after[0] == before[0]
        for old, new in zip(before, after, strict=True):
            rest = iter(old.split())
            assert new.split()
            assert all(word in rest for word in new.split())  # in the same order
    counts = np.diff(short.references.tokens.offsets), np.diff(pool.references.tokens.offsets)
    assert 0.5 < counts[0].sum() / counts[1].sum() < 0.8  # 1/3 whole, 2/3 by half
