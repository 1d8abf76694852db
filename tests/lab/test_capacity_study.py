"""A study of what features let weights select: every number of a line is one that can be found another way."""

import functools
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.files.journal import seal, unseal
from luthier.geometry.lp.certificates import Feasible
from luthier.jobs.lab.base import Place, UnitsRecipe, read_study, run_study
from luthier.jobs.lab.capacity.tables import agreements
from luthier.jobs.lab.kinds import capacity
from luthier.jobs.lab.lines import unpack_statistics
from luthier.kbest.merge import cap
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.feasibility import Choice, judge
from luthier.synthetic.lists.noisy_channel import SyntheticLists

STUDY = """
kind = "capacity"
name = "tiny"
seed = 7
most_cones = 20
[[feature_set]]
name = "as they are"
[[feature_set]]
name = "2 bits"
bits = 2
[[projection]]
name = "sums"
kind = "sums"
[[projection]]
name = "2 random"
kind = "random"
axes = 2
[[projection]]
name = "2 leading"
kind = "leading"
axes = 2
[[tuner]]
name = "lines"
method = "mert"
parameters = { sweeps = 1 }
[[tuner]]
name = "watched"
method = "mert"
heldout = true
parameters = { sweeps = 1 }
[[tuner]]
name = "from sums"
method = "mert"
begin = "sums"
parameters = { sweeps = 1 }
[[data]]
name = "made"
source = "synthetic"
k = 5
heldout = 4
cut = ["lm", "direct"]
pairs = true
tune = { seed = 1, sentences = 14, k = 6, n_references = 1, vocabulary = 100, n_features = 4 }
test = { seed = 2, sentences = 6, k = 6, n_references = 1, vocabulary = 100, n_features = 4 }
[[grid]]
title = "Reach and agreement"
data = "made"
features = ["as they are", "2 bits"]
sentences = [2, 8]
tuners = ["oracle", "random extremes", "lines", "watched", "from sums"]
replicas = 2
[[grid]]
title = "Directions"
data = "made"
features = "2 bits"
spaces = ["all", "sums", "2 random", "2 leading"]
sentences = [8]
tuners = "lines"
[[grid]]
title = "Cones"
data = "made"
features = ["3", "5"]
spaces = ["1", "2"]
sentences = [1, 3]
tuners = "cones"
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return the folder of the study, its paths, and the lines."""
    folder = tmp_path_factory.mktemp("capacity")
    (folder / "study.toml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:  # pictures take long
        for name in ("draw_capacity", "draw_phases"):
            patch.setattr(capacity, name, lambda records, title, path: False)
        paths = run_study(folder / "study.toml", folder / "out")
    return folder, paths, [json.loads(line) for line in (folder / "out/units.jsonl").read_text().splitlines()]


@functools.cache
def lists_to_tune():
    return SyntheticLists(sentences=14, k=6, n_references=1, vocabulary=100, n_features=4).generate(1)


def drawn(line, k=5):
    """Return the problem of a unit without bins."""
    lists = lists_to_tune()
    rows = np.sort(np.random.default_rng(7 + line["replica"]).permutation(10)[: line["sentences"]])
    return ListProblem.of(cap(lists, 5).take_sentences(rows) if k == 5 else cap(lists.take_sentences(rows), k), "bleu")


def test_every_unit_is_there_once(done):
    _, _, lines = done
    assert len(lines) == 2 * 2 * 2 * 5 + 3 + 8  # the first of the directions is a unit of the first grid
    assert len(
        {tuple(line[part] for part in ("features", "space", "sentences", "tuner", "replica")) for line in lines}
    ) == len(lines)


def test_what_was_selected_has_the_score_that_is_told(done):
    for line in done[2]:
        if line["tuner"] == "cones":
            continue
        problem = drawn(line)
        rows = problem.offsets[:-1] + line["selected"]
        assert float(problem.gain_of_sums(problem.stats[rows].sum(axis=0))) == pytest.approx(line["tuned"], abs=1e-12)
        if "feasible" in line and line["features"] == "as they are":
            assert line["feasible"] == isinstance(judge(problem.pool, Choice("oracle", rows)).proof, Feasible)
            assert line["feasible"] == (line["followed"] == line["sentences"])
            assert_proven(line, problem, rows)
        elif line["tuner"] == "lines":
            assert line["tuned"] >= line["before"] - 1e-12


def assert_proven(line, problem, rows):
    """The weights of a line beat every other row, or its constraints cancel; a row drawn at random is extreme."""
    table = problem.pool.features.dense
    owner = np.repeat(np.arange(line["sentences"]), np.diff(problem.offsets))
    if line["feasible"]:
        gaps = (table[rows[owner]] - table) @ unpack_statistics(line["answer"], len(table[0])).ravel()
        assert np.all((gaps > 0) | np.all(table == table[rows[owner]], axis=1))
    else:
        lists, others, shares = unpack_statistics(line["contradiction"], 3).T
        assert np.all(shares > 0)
        total = shares @ (table[rows[lists.astype(int)]] - table[others.astype(int)])
        np.testing.assert_allclose(total, 0, atol=1e-9 + line["epsilon"] * np.abs(table).max())
    if line["tuner"] == "random extremes":
        for s, (first, last) in enumerate(itertools.pairwise(problem.offsets.tolist())):
            alone = problem.pool.take_sentences(np.array([s]))
            assert isinstance(judge(alone, Choice("one", rows[[s]] - first)).proof, Feasible), (first, last)


def test_more_features_reach_more_and_stay_nested(done):
    found = {(r["features"], r["sentences"], r["replica"]): r for r in done[2] if r["tuner"] == "oracle"}
    for (features, size, replica), record in found.items():
        if features == "2 bits":
            plain = found["as they are", size, replica]
            assert record["columns"] > plain["columns"]
            assert record["feasible"] or not plain["feasible"]  # the features stay beside their bins
            assert record["selected"] == plain["selected"]


def test_cones_are_the_selections_that_a_fine_walk_meets(done):
    for line in done[2]:
        if line["tuner"] != "cones":
            continue
        assert line["complete"] == (line["cones"] < 20)
        assert line["cones"] - 1 <= line["programs"] <= line["degree"] * line["cones"]  # they hang together by edges
        problem = drawn(line, int(line["features"]))
        start = np.array(list(SyntheticLists(n_features=4).decoder_weights.values()))
        axes = np.argsort(-np.abs(start) * problem.spread, kind="stable")[: int(line["space"])]
        rng = np.random.default_rng(0)
        directions = np.zeros((20_000, 4))
        turn = np.pi * (rng.random((20_000, 1)) - 0.5)
        aside = rng.standard_normal((20_000, len(axes)))
        directions[:, axes] = np.tan(turn) * aside / np.linalg.norm(aside, axis=1)[:, None] / problem.spread[axes]
        met = len(np.unique(problem.select(start + directions), axis=0))
        if line["complete"]:
            assert met <= line["cones"] <= met + 2  # a cone may be too thin for any of these
        else:
            assert met >= 20


def test_tables_show_shares_and_means(done):
    folder, paths, lines = done
    assert paths == [str(folder / "out/units.jsonl"), str(folder / "out/tables.md")]
    tables = (folder / "out/tables.md").read_text()
    assert f"| made | 1 to 8 | 6 | 3 to 5 | 2 | {len(lines)} |" in tables
    own = [r for r in lines if r["features"] == "2 bits" and r["tuner"] == "lines" and r["sentences"] == 8]
    whole = [r for r in own if r["space"] == "all"]
    cells = (f"{np.mean([r['tuned'] for r in whole]):.2f}", f"{np.mean([r['test'] for r in whole]):.2f}")
    row = next(row for row in tables.splitlines() if re.match(r"\| 2 bits \| \d+ \| all \| 8 \| lines ", row))
    assert all(f" {cell} " in row for cell in cells)
    reached = [r for r in lines if r["tuner"] == "oracle" and r["features"] == "2 bits" and r["sentences"] == 8]
    share = np.mean([r["followed"] / 8 for r in reached])
    assert f"{sum(r['feasible'] for r in reached)} of 2, {100 * share:.0f} % |" in tables
    assert "≥ 20" in tables
    shares = agreements([r for r in lines if r["features"] == "2 bits" and r["sentences"] == 8 and r["space"] == "all"])
    same = [np.mean(np.array(a["selected"]) == b["selected"]) for a, b in _pairs(lines, "lines", "watched")]
    assert shares["lines", "watched"] == pytest.approx(np.mean(same))


def _pairs(lines, one, other):
    wanted = [r for r in lines if r["features"] == "2 bits" and r["sentences"] == 8 and r["space"] == "all"]
    return [
        (a, b)
        for a in wanted
        for b in wanted
        if (a["tuner"], b["tuner"]) == (one, other) and a["replica"] == b["replica"]
    ]


def test_lines_are_kept_and_checked(done, monkeypatch):
    folder, _, lines = done
    for name in ("draw_capacity", "draw_phases"):
        monkeypatch.setattr(capacity, name, lambda records, title, path: False)
    path = folder / "out/units.jsonl"
    before = path.read_bytes()
    run_study(folder / "study.toml", folder / "out")
    assert path.read_bytes() == before  # nothing was run again
    all_lines = before.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line["tuner"] == "oracle")
    for name, value in {
        "tuned": None,
        "selected": [-1],
        "followed": 99,
        "columns": 1.5,
        "feasible": 1,
        "tuner": 3,
    }.items():
        changed = seal({**unseal(all_lines[at].rstrip()), name: value})
        path.write_bytes(b"".join([*all_lines[:at], changed, *all_lines[at + 1 :]]))
        with pytest.raises(LuthierError, match=f"units.jsonl:{at + 1}: expected a unit of a study, found .*'{name}'"):
            run_study(folder / "study.toml", folder / "out", run=False)
    path.write_bytes(before)
    recipe = UnitsRecipe(Place(str(folder / "study.toml"), folder), "made", "other lists")
    with pytest.raises(LuthierError, match="the data 'made' are not the same here"):
        recipe.open()


@pytest.mark.slow
def test_a_picture_is_drawn_of_the_lines(done):
    folder, _, _ = done
    paths = run_study(folder / "study.toml", folder / "out", run=False)
    for name in ("made.png", "made.phases.png"):
        assert str(folder / "out" / name) in paths
        assert (folder / "out" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bits = 2", "bits = 99", "expected bits from 0 to 12"),
        ('kind = "sums"', 'kind = "sums"\naxes = 2', "expected the projection 'sums' to be sums, or random or leading"),
        ('begin = "sums"', 'begin = "none"', "there is no projection 'none' in this study"),
        ('tuners = "cones"', 'tuners = ["cones", "lines"]', "expected cones alone in the grid 'Cones'"),
        ('spaces = ["1", "2"]', 'spaces = ["1", "two"]', "expected numbers of hypotheses and axes in the grid 'Cones'"),
        ("sentences = [2, 8]", "sentences = [0]", "expected replicas and sentences in the grid 'Reach and agreement'"),
        ('data = "made"', 'data = "other"', "there is no data set 'other' in this study. known: made"),
        ('source = "synthetic"', 'source = "cloud"', "expected the source 'synthetic', 'files' or 'decoder'"),
        ('name = "lines"', 'name = "oracle"', "expected tuners with other names than oracle, random"),
        ("k = 5", "k = 0", "expected k from 1 to 1,000,000, found 0"),
        ('features = "2 bits"', 'features = "3 bits"', "there is no set of features '3 bits'"),
    ],
)  # fmt: skip
def test_what_a_study_cannot_be_is_said(old, new, said, tmp_path):
    path = tmp_path / "study.toml"
    text = STUDY if old != 'name = "lines"' else STUDY.replace('"lines"', '"oracle"')
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(LuthierError, match=re.escape(said)):
        read_study(path)


def test_the_studies_of_the_house_are_read():
    studies = Path(__file__).parents[2] / "studies" / "waite-2015"
    study = read_study(studies / "study.toml")
    assert {entry.name for entry in study.data} == {"synthetic", "de-en"}
    loops = read_study(studies / "loops.toml")
    assert loops.tuners["boxes"].tuner.axis[:2] == ("LanguageModel", "WordPenalty")  # a list of a file is a tuple


def test_sentences_that_are_not_there_are_said(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("sentences = [2, 8]", "sentences = [11]"))
    with pytest.raises(LuthierError, match="expected at most 10 sentences of 'made', found 11"):
        run_study(path, tmp_path / "out")
    path.write_text(STUDY.replace("heldout = 4", "heldout = 14"))
    with pytest.raises(LuthierError, match="expected more than 14 sentences of 'made', found 0"):
        run_study(path, tmp_path / "out")
