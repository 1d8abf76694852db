"""The first demonstration: what it prints was computed, and is what its own commands find."""

import re
from pathlib import Path

import pytest
import sacrebleu

import luthier
from luthier.cli.commands.demo import command_lines, commands_of
from luthier.core.params import DEFAULT_SEED
from luthier.jobs import outputs_demo
from luthier.report.console import show
from luthier.report.tables.demo import outputs_tables

DOCS = Path(__file__).parent.parent.parent / "docs"
LINES, WIDTH = 60, 80


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return outputs_demo.run_outputs_demo(tmp_path_factory.mktemp("demo"), seed=DEFAULT_SEED, threads=2)


@pytest.mark.slow
@pytest.mark.compiled
def test_the_numbers_are_those_of_the_jobs(demo):
    pool = luthier.read_pool(demo.files[0])
    tuned = luthier.tune(pool, "chrf", folds=5, seed=DEFAULT_SEED)
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
    explained = {line.rstrip() for line in (DOCS / "first-steps.md").read_text().splitlines()}
    assert [line for line in map(str.rstrip, lines[3:-5]) if line not in explained and line[:1] not in "12345"] == []
    readme = (DOCS.parent / "README.md").read_text()
    for rival in demo.tuned.folds.rivals:
        assert f"| {rival.score:.2f} | {rival.difference:+.2f} (" in readme


@pytest.mark.slow
@pytest.mark.compiled
def test_open_ends_with_the_explorer_of_the_same_list(demo, run_cli, monkeypatch):
    from luthier.cli.commands import demo as command
    from luthier.explorer import server

    seen = []
    monkeypatch.setattr(command, "_outputs", lambda options, output: demo)
    monkeypatch.setattr(server, "open_browser", seen.append)
    monkeypatch.setattr(server.Server, "run", lambda self: seen.append(self._socket.close()))
    code, out, err = run_cli("demo", "--open")
    assert code == 0, err
    assert out.startswith("http://127.0.0.1:")
    assert len(seen) == 2
    code, _, err = run_cli("demo", "--open", "--system")
    assert code == 2
    assert "expected --open or --system, found both" in err


def test_a_long_command_is_broken_before_an_option():
    command = "luthier surface " + " ".join(f"--axis name-{i}" for i in range(9))
    lines = command_lines(command)
    assert " ".join(lines.replace("\\\n", "").split()) == command
    assert max(map(len, lines.splitlines())) <= WIDTH
