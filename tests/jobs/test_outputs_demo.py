"""The first demonstration, in small: what it prints was computed, and is what its own commands find."""

import re

import pytest
import sacrebleu

import luthier
from luthier.cli.commands.demo import command_lines, commands_of
from luthier.jobs import outputs_demo
from luthier.report.console import show
from luthier.report.tables.demo import outputs_tables
from luthier.synthetic.english.outputs import SyntheticOutputs

LINES, WIDTH = 60, 80


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(outputs_demo, "SyntheticOutputs", lambda: SyntheticOutputs(inputs=60, k=8))
    patch.setattr(outputs_demo, "RESAMPLES", 3)
    yield outputs_demo.run_outputs_demo(tmp_path_factory.mktemp("demo"), seed=4, threads=2)
    patch.undo()


@pytest.mark.slow
@pytest.mark.compiled
def test_the_numbers_are_those_of_the_jobs(demo):
    pool = luthier.read_pool(demo.files[0])
    tuned = luthier.tune(pool, "chrf", folds=5, seed=4)
    assert demo.tuned.folds.as_dict() == tuned.folds.as_dict()
    rivals = {rival.name: rival for rival in tuned.folds.rivals}
    first = sacrebleu.corpus_chrf(
        [pool.texts[int(i)] for i in pool.offsets[:-1]], [[pool.references.of(i)[0] for i in range(pool.n_sentences)]]
    )
    assert rivals["first of each list"].score == pytest.approx(first.score, abs=1e-9)
    assert luthier.read_weights(demo.files[1]).keys() == tuned.weights.keys()
    assert demo.certificate.score_bound >= demo.score - 1e-9


@pytest.mark.slow
@pytest.mark.compiled
def test_changes_are_explained_by_the_lead(demo):
    changed, better, worse = demo.counts
    assert better + worse <= changed <= demo.inputs
    assert demo.changes
    for change in demo.changes:
        assert change.before != change.after
        assert sum(change.why.values()) >= 0


@pytest.mark.slow
@pytest.mark.compiled
def test_it_fits_a_terminal(demo, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    commands = {name: command_lines(command) for name, command in commands_of(demo).items()}
    show(outputs_tables(demo, commands))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > WIDTH and str(demo.folder) not in line] == []
    assert re.search(r"best scorer alone: \w+ .*│ \d\d\.\d\d │ [+-]\d", "\n".join(lines))
    assert "luthier demo --system" in lines[-1]


def test_a_long_command_is_broken_before_an_option():
    command = "luthier surface " + " ".join(f"--axis name-{i}" for i in range(9))
    lines = command_lines(command)
    assert " ".join(lines.replace("\\\n", "").split()) == command
    assert max(map(len, lines.splitlines())) <= WIDTH
