"""Folders of runs: what is found, what strangers write into records, what is opened, and what stays outside."""

import contextlib
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from attack import attack
from served import SPEC, ask, make_pool, serving

from luthier.core.errors import LuthierError
from luthier.explorer.sessions.folders import STOPPED, Folders, record_of
from luthier.explorer.sessions.workspace import Workspace
from luthier.jobs import run_file
from luthier.jobs.run_file import FAILED, INTERRUPTED, RunFile, run_path
from luthier.jobs.tune import tune
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.weights import read_weights
from luthier.metrics.loading import load_metric
from luthier.tuning.base import State


@pytest.fixture(scope="module")
def tuned(run_cli_module, tmp_path_factory):
    """A folder with lists, held-out lists, two runs, and weights and a trace that have no record."""
    home = tmp_path_factory.mktemp("runs")
    save_pool(make_pool(), home / "pool.arrow")
    save_pool(make_pool(6), home / "heldout.arrow")
    (home / "a").mkdir()
    common = ("tune", home / "pool.arrow", "--quiet", "--method", "mert")
    heldout = ("--heldout", home / "heldout.arrow", "--resamples", "5", "--trace", home / "a" / "t.jsonl")
    for arguments in (
        (*common, *heldout, "-o", home / "a" / "one.txt"),
        (*common, "--folds", "2", "-o", home / "two.json"),
    ):
        code, _, err = run_cli_module(*arguments)
        assert code == 0, err
    lines = [f"{name} {weight}\n" for name, weight in SPEC.decoder_weights.items()]
    (home / "old.txt").write_text("".join(lines))
    (home / "notes.txt").write_text("no weights here, only words\n")
    (home / "old.jsonl").write_text(json.dumps({"gain": 1.0, "weights": [0.0]}) + "\n")
    return home


@pytest.fixture(scope="module")
def run_cli_module():
    from luthier.cli.main import main

    def run(*arguments):
        import io

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
        return code or 0, out.getvalue(), err.getvalue()

    return run


@pytest.fixture
def place(tuned):
    with serving(Workspace(None, Folders([str(tuned)]), load_metric("bleu"), seed=3)) as server:
        yield server


def table(server):
    return {row["name"]: row for row in ask(server, "runs")[0]["rows"]}


def test_the_table_says_what_the_records_say_and_unknown_of_others(place, tuned):
    rows = table(place)
    assert set(rows) == {"a/one", "two", "old.txt", "old.jsonl", "pool.arrow", "heldout.arrow"}
    record = json.loads((tuned / "a" / "one.run.json").read_text())
    one, two, old = rows["a/one"], rows["two"], rows["old.txt"]
    assert (one["kind"], one["state"], one["tuner"], one["metric"]) == ("tune", "done", "mert", "bleu")
    assert one["tuned_shown"] == f"{record['scores']['tuned']:.2f}"
    assert one["unseen_shown"] == f"{record['unseen']['score']:.2f}"
    assert (one["unseen_by"], two["unseen_by"]) == ("held-out", "2 folds")
    assert (one["sentences"], one["seed"]) == (24, 20150531)
    assert (old["kind"], old["tuner"], old["tuned_shown"], old["sentences"]) == ("weights", "", "", None)


def test_a_run_opens_with_its_lists_weights_trace_and_unseen_sentences(place, tuned):
    rows = table(place)
    number = ask(place, "open", runs=[rows["a/one"]["run"]])[0]["session"]
    about = ask(place, "about", session=number)[0]
    record = json.loads((tuned / "a" / "one.run.json").read_text())
    assert about["named"][0]["shown"] == f"{record['scores']['tuned']:.2f}"
    unseen = ask(place, "unseen", session=number)[0]
    assert unseen["shown"] == f"{record['unseen']['score']:.2f}"
    assert len(ask(place, "trace", session=number)[0]["states"]) > 1
    ends = ask(place, "intervals", session=number)[0]["ends"]
    assert ends == [record["resampled"][name] for name in make_pool().features.names]


def test_folds_that_a_run_has_left_are_shown_at_its_weights_only(place, tuned):
    number = ask(place, "open", runs=[table(place)["two"]["run"]])[0]["session"]
    record = json.loads((tuned / "two.run.json").read_text())
    shown = ask(place, "unseen", session=number)[0]
    assert shown["shown"] == f"{record['unseen']['score']:.2f}"
    assert shown["change"].lstrip("+−") == f"{abs(record['unseen']['score'] - record['unseen']['before']):.2f}"
    moved = {"base": 0, "set": [[0, 5.0]]}
    assert ask(place, "unseen", session=number, weights=moved)[0]["sentences"] == 0


def test_weights_side_by_side_are_those_of_the_files_at_size_one(place, tuned):
    rows = table(place)
    found = ask(place, "beside", runs=[rows["a/one"]["run"], rows["two"]["run"]])[0]
    assert found["systems"] == ["a/one", "two"]
    files = [read_weights(path) for path in (tuned / "a" / "one.txt", tuned / "two.json")]
    spreads = []
    for row in found["rows"]:
        wanted = [own[row["feature"]] / sum(map(abs, own.values())) for own in files]
        assert row["values"] == pytest.approx(wanted, abs=1e-15)
        spreads.append(max(wanted) - min(wanted))
    assert spreads == sorted(spreads, reverse=True)


def test_runs_without_weights_have_nothing_side_by_side(place):
    assert ask(place, "beside", runs=[table(place)["pool.arrow"]["run"]])[0] == {"systems": [], "rows": [], "number": 0}


def test_runs_of_other_lists_or_metrics_are_not_opened_together(place, tuned):
    rows = table(place)
    workspace = Workspace(None, Folders([str(tuned)]), load_metric("bleu"))
    workspace.folders.look()
    both = [rows["pool.arrow"]["run"], rows["heldout.arrow"]["run"]]
    with pytest.raises(LuthierError, match="expected runs on the same lists"):
        workspace.opened(both)
    with pytest.raises(LuthierError, match="expected runs that are in the table"):
        workspace.opened([12345])
    alone = ask(place, "open", runs=[rows["pool.arrow"]["run"], rows["old.txt"]["run"]])[0]["session"]
    assert ask(place, "about", session=alone)[0]["named"][0]["name"] == "old.txt"


def test_nothing_outside_of_the_folders_is_read(tuned, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    save_pool(make_pool(), outside / "pool.arrow")
    (outside / "secret.txt").write_text("lm 1\n")
    (outside / "x.run.json").write_text(json.dumps({"kind": "tune", "answers": ["secret.txt"]}))
    home = tmp_path / "home"
    home.mkdir()
    (home / "folder").symlink_to(outside)
    (home / "pool.arrow").symlink_to(outside / "pool.arrow")
    (home / "y.run.json").symlink_to(outside / "x.run.json")
    record = {"kind": "tune", "trace": "../outside/t.jsonl", "answers": ["../outside/secret.txt", "..", "/etc/passwd"]}
    (home / "z.run.json").write_text(json.dumps(record))
    (home / "m.ini").write_text(f"[weight]\nlm= 1\n[weight-file]\n{outside / 'secret.txt'}\n")
    (home / "link.txt").symlink_to(outside / "secret.txt")
    (home / "answer.run.json").write_text(json.dumps({"kind": "tune", "answers": ["link.txt"]}))
    folders = Folders([str(home)])
    runs = {folders.name_of(run): run for run in folders.look().values()}
    assert set(runs) == {"z", "answer"}
    assert folders.pools == {}
    assert runs["z"].answers == []
    assert runs["z"].trace == str(home / "t.jsonl")
    assert folders.weights_of(runs["answer"]) == {}


def test_a_study_shows_the_tables_beside_it_and_nothing_else(tmp_path):
    for name in ("done", "begun", "link", "large"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "units.jsonl").write_text("{}\n")
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "done" / "tables.md").write_bytes(b"| a |\n| --- |\n| \xff |\n")
    (tmp_path / "link" / "tables.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "large" / "tables.md").write_bytes(b" " * (1 << 20) + b"x")
    folders = Folders([str(tmp_path)])
    runs = {folders.name_of(run): run for run in folders.look().values()}
    assert folders.tables_of(runs["done/units.jsonl"]) == "| a |\n| --- |\n| \ufffd |\n"
    for name, said in (("begun", "no tables yet"), ("link", "no tables yet"), ("large", "at most 1,048,576 bytes")):
        with pytest.raises(LuthierError, match=said):
            folders.tables_of(runs[f"{name}/units.jsonl"])


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 100_000,
        b'{"kind": 3, "answers": 7, "scores": [], "unseen": "x"}',
        b'{"scores": {"tuned": 1e400}, "seed": 1e308, "lists": {"sentences": "x"}, "process": -1, "state": "running"}',
        b'{"scores": {"tuned": true, "before": null}, "began": 5, "tuner": ["x"], "signature": {"a": 1}}',
        b'{"answers": ["a/b", "", ".", null, 3], "unseen": {"score": 1, "alone": {"score": "x"}}, "state": 1}',
        b" " * (2 << 20),
    ],
)  # fmt: skip
def test_a_record_of_a_stranger_is_a_row_or_none(tmp_path, content):
    (tmp_path / "w.run.json").write_bytes(content)
    folders = Folders([str(tmp_path)])
    for number, run in folders.look().items():
        json.dumps(folders.shown(number, run), allow_nan=False)
        folders.weights_of(run)
    assert record_of(str(tmp_path / "w.txt")) == {}


@pytest.mark.slow
def test_mutated_requests_to_a_folder_end_in_an_answer_or_a_refusal(place):
    first = table(place)["a/one"]["run"]
    ended, bad = attack(place, range(200), opened=lambda: ask(place, "open", runs=[first])[0]["session"])
    assert bad == []
    assert ended[200] > 20


def test_what_changes_is_read_again_and_numbers_stay(tmp_path):
    def write(name, tuned):
        (tmp_path / name).write_text(json.dumps({"kind": "tune", "scores": {"tuned": tuned}}))

    write("b.run.json", 1.0)
    folders = Folders([str(tmp_path)])
    (first,) = folders.look()
    write("a.run.json", 3.0)
    write("b.run.json", 22.25)
    runs = {folders.name_of(run): (number, run.number("scores", "tuned")) for number, run in folders.look().items()}
    assert runs == {"b": (first, 22.25), "a": (first + 1, 3.0)}


def test_a_running_tuner_appears_and_a_killed_one_is_stopped(tmp_path):
    watched, go_on = threading.Event(), threading.Event()
    state = State(np.zeros(2), 41.5, "x")
    answer = tmp_path / "w.txt"

    def work():
        with RunFile(answer, "tune", tuner="mert(…)", seed=1) as record:
            assert not Path(record.path).exists()  # nothing before the first state
            record.watch(1)(0, 0, state, None)
            watched.set()
            go_on.wait()
            record.finish(scores={"tuned": 42.0})

    thread = threading.Thread(target=work)
    thread.start()
    watched.wait()
    folders = Folders([str(tmp_path)])
    (row,) = [folders.shown(number, run) for number, run in folders.look().items()]
    assert (row["state"], row["so_far"]) == ("running", "1 states, 41.50")
    told = json.loads((tmp_path / "w.run.json").read_text())
    go_on.set()
    thread.join()
    (row,) = [folders.shown(number, run) for number, run in folders.look().items()]
    assert (row["state"], row["tuned_shown"]) == ("done", "42.00")
    (tmp_path / "w.run.json").write_text(json.dumps({**told, "process": (1 << 31) - 2}))
    assert [run.state for run in folders.look().values()] == [STOPPED]


@pytest.mark.parametrize(
    ("kind", "error", "left"),
    [("tune", ValueError, None), ("loop", ValueError, FAILED), ("loop", KeyboardInterrupt, INTERRUPTED)],
)
def test_a_run_without_an_answer_leaves_what_was_there(tmp_path, kind, error, left):
    for before in (None, b'{"kind": "tune"}'):
        path = tmp_path / "w.run.json"
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        with pytest.raises(error):
            _broken(tmp_path / "w.txt", kind, error)
        if left is None:
            assert (path.read_bytes() if path.exists() else None) == before
        else:
            assert json.loads(path.read_text())["state"] == left


def _broken(answer, kind, error):
    with RunFile(answer, kind) as record:
        record.begin()
        raise error


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("at", ["first", "second", "end"])
@pytest.mark.parametrize(("kind", "left"), [("tune", None), ("loop", "interrupted")])
def test_an_interrupt_while_a_record_is_written_leaves_no_running_one(tmp_path, monkeypatch, at, late, kind, left):
    usual = run_file.open_output

    @contextlib.contextmanager
    def interrupted(path):
        if late:
            with usual(path) as file:
                yield file
        monkeypatch.setattr(run_file, "open_output", usual)  # there is one Ctrl-C
        raise KeyboardInterrupt

    def run():
        with RunFile(tmp_path / "w.txt", kind) as record:
            if at != "first":
                record.begin()
            monkeypatch.setattr(run_file, "open_output", interrupted)
            record.finish() if at == "end" else record.begin()

    with pytest.raises(KeyboardInterrupt):
        run()
    path = tmp_path / "w.run.json"
    assert (json.loads(path.read_text())["state"] if path.exists() else None) == ("done" if at == "end" else left)


def test_devices_and_standard_output_have_no_record():
    assert [run_path(answer) for answer in ("-", "/dev/null", "w.json", "d/w.1.txt")] == [
        "",
        "",
        "w.run.json",
        "d/w.1.run.json",
    ]


def test_an_unwritable_record_is_one_warning_and_no_more(tmp_path):
    (tmp_path / "w.run.json").mkdir()
    record = RunFile(tmp_path / "w.txt", "tune")
    with pytest.warns(UserWarning, match=r"w\.run\.json.*goes on without it") as said:
        record.begin()
    record.finish()  # warnings are errors: there is no second one
    assert len(said) == 1


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_the_record_equals_the_report_of_the_command(tuned):
    report = tune(tuned / "pool.arrow", method="mert", heldout=tuned / "heldout.arrow", resamples=5)
    record = json.loads((tuned / "a" / "one.run.json").read_text())
    assert (record["scores"]["tuned"], record["scores"]["before"]) == (report.after, report.before)
    assert (record["unseen"]["score"], record["unseen"]["before"]) == (report.heldout_after, report.heldout_before)
    assert record["lists"]["digest"] == make_pool().digest()
    size = np.abs(report.resampled.answer).sum()
    ends = [record["resampled"][name] for name in report.names]
    assert np.allclose(ends, report.resampled.intervals / size, rtol=1e-12)
