"""The study of consensus: small lists, all units, tables of the lines alone, and what its file may say."""

import json

import pytest

from luthier.core.errors import LuthierError
from luthier.jobs.lab.base import read_study, run_study

STUDY = """
kind = "consensus"
name = "small"
seed = 1
utilities = ["chrf", "wer"]
restarts = 0
replicas = 2
folds = 2
starts = 3

[tuner]
name = "mert"
method = "mert"

[[goal]]
name = "B"
spec = "bleu"

[[metric]]
name = "BLEU"
spec = "bleu"

[[metric]]
name = "TER"
spec = "ter"

[[data]]
name = "lists"
source = "synthetic"
tune = { seed = 1, sentences = 12, k = 8, vocabulary = 100 }
test = { seed = 2, sentences = 10, k = 8, vocabulary = 100 }
"""
SYSTEMS = ["features, tuned", "decoder", "MBR, chrf", "MBR, wer", "MBR, average", "utilities, tuned",
           "features and utilities, tuned"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.compiled
def test_units_tables_and_a_second_run(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    run_study(path, tmp_path / "results")
    lines = [json.loads(line) for line in (tmp_path / "results" / "units.jsonl").read_text().splitlines()]
    assert [(line["where"], line["goal"]) for line in lines] == [("folds", "B"), ("test", "B"), ("map", "")]
    for line in lines[:2]:
        assert list(line["found"]) == SYSTEMS
        for system, scores in line["found"].items():
            assert list(scores) == ["BLEU", "TER"]
            assert ("p" in scores["BLEU"]) == (system != SYSTEMS[0])
    assert lines[0]["weights"] == {}
    assert {name: len(found) for name, found in lines[1]["weights"].items()} == {SYSTEMS[k]: 2 for k in (0, 5, 6)}
    assert "mbr_chrf" in lines[1]["weights"][SYSTEMS[5]][0]
    assert set(lines[2]["found"]["best"]) == {"bleu", "ter", "the mix"}
    tables = (tmp_path / "results" / "tables.md").read_text()
    assert "| lists | 12 | 10 | 8 | 2 | 3 |" in tables
    assert "## lists, folds, tuned for B" in tables
    assert "An inner front of" in tables
    before = (tmp_path / "results" / "units.jsonl").read_bytes()
    run_study(path, tmp_path / "results")  # all units have their lines
    assert (tmp_path / "results" / "units.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("folds = 2", "folds = 1"),
        ("starts = 3", "starts = 3\nfirst = 0"),
        ('["chrf", "wer"]', "[]"),
        ("replicas = 2", "replicas = 0"),
    ],
)
def test_a_file_that_cannot_be_run(tmp_path, old, new):
    (tmp_path / "study.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(LuthierError, match=r"expected utilities, two metrics|utilities"):
        read_study(tmp_path / "study.toml")
