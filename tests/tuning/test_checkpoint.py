"""Checkpoints: an interrupted job goes on to the same end, byte for byte; another job's is refused."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from toys import Cut, content, cut_after

from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.files.io import locked
from luthier.core.files.journal import seal, unseal
from luthier.landscape.bounds import Bounds
from luthier.tuning.run import RunOptions, run
from small_problems import random_problem

START = np.array([1.0, 0.5, -0.2])


def kept_runs(path):
    """Return the numbers of the runs that a checkpoint has, in the order of its lines."""
    whole = path.read_bytes().rpartition(b"\n")[0].splitlines()
    return [json.loads(line)["run"] for line in whole[1:]]


@pytest.mark.parametrize("kind", ["random", "walk"])
@pytest.mark.parametrize("after", [1, 7, 12, 13, 30])
@pytest.mark.parametrize("what", ["interrupt", "error"])
def test_a_resumed_job_ends_as_if_nothing_had_happened(tmp_path, kind, after, what):
    problem, heldout = random_problem(1), random_problem(2)

    def options(name, **more):
        return RunOptions(restarts=5, restart_kind=kind, checkpoint=str(tmp_path / name), **more)

    whole = run(Cut(), problem, START, options("whole"), heldout=heldout)
    if what == "error":
        with pytest.raises(LuthierError):
            run(cut_after(after, what), problem, START, options("cut"), heldout=heldout)
    else:
        assert run(cut_after(after, what), problem, START, options("cut"), heldout=heldout).interrupted
    resumed = run(Cut(), problem, START, options("cut", resume=True, threads=2), heldout=heldout)
    assert content(resumed) == content(whole)
    # each run is a line, in the order in which they were finished
    lines = [sorted((tmp_path / name).read_bytes().splitlines()) for name in ("cut", "whole")]
    assert lines[0] == lines[1]


def test_what_is_finished_is_not_run_again(tmp_path):
    options = {"restarts": 5, "checkpoint": str(tmp_path / "kept")}
    run(cut_after(20), random_problem(1), START, RunOptions(**options))
    assert kept_runs(tmp_path / "kept") == [0, 1, 2]  # six steps each: the twentieth is in the fourth run
    counting = cut_after(10**9)
    run(counting, random_problem(1), START, RunOptions(**options, resume=True))
    assert 10**9 - counting.fuse.left == 6 * 3
    again = cut_after(10**9)
    run(again, random_problem(1), START, RunOptions(**options, resume=True))
    assert again.fuse.left == 10**9


SCRIPT = """
import sys
sys.path[:0] = {folders!r}
import numpy as np
from small_problems import random_problem
from toys import cut_after
from luthier.tuning.run import RunOptions, run
options = RunOptions(restarts=7, restart_kind={kind!r}, checkpoint={path!r}, threads=2)
result = run(cut_after(25, {what!r}), random_problem(1), np.array([1.0, 0.5, -0.2]), options)
print(result.interrupted, len(result.traces))
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kill", "signal"])
def test_a_process_that_was_ended_goes_on_to_the_same_end(tmp_path, what):
    path = tmp_path / "cut"
    code = SCRIPT.format(folders=[str(f) for f in Path(__file__).parents[:2]], path=str(path), kind="few", what=what)
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == (-signal.SIGKILL if what == "kill" else 0)
    if what == "signal":
        assert done.stdout.startswith("True")  # it ended in order, and kept the best so far
    assert 1 <= len(kept_runs(path)) < 8
    options = {"restarts": 7, "restart_kind": "few"}
    resumed = run(Cut(), random_problem(1), START, RunOptions(**options, checkpoint=str(path), resume=True))
    whole = run(Cut(), random_problem(1), START, RunOptions(**options))
    assert content(resumed) == content(whole)


def test_the_checkpoint_of_another_job_is_refused(tmp_path):
    path = str(tmp_path / "kept")
    problem, base = random_problem(1), {"restarts": 1, "checkpoint": path}
    run(Cut(), problem, START, RunOptions(**base))

    def resume(tuner=None, problem=problem, start=START, heldout=None, **more):
        return run(tuner or Cut(), problem, start, RunOptions(**{**base, "resume": True, **more}), heldout=heldout)

    resume()
    bounds = Bounds(np.full(3, -9.0), np.full(3, 9.0))
    others = {
        "tuner": {"tuner": Cut(count=7)},
        "pool": {"problem": random_problem(2)},
        "heldout": {"heldout": random_problem(2)},
        "start": {"start": START + 1},
        "bounds": {"problem": problem.with_bounds(bounds)},
        "seed": {"seed": 1},
        "restarts": {"restarts": 2},
        "restart_kind": {"restart_kind": "few"},
        "restart_size": {"restart_size": 0.5},
        "heldout_patience": {"heldout_patience": 3},
    }
    for name, change in others.items():
        with pytest.raises(LuthierError, match=f"another job: its {name} is not the same"):
            resume(**change)


def test_a_checkpoint_is_not_overwritten_and_must_be_one(tmp_path):
    path = tmp_path / "kept"
    run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path)))
    with pytest.raises(LuthierError, match=r"there is a checkpoint already\. hint: `resume`"):
        run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path)))
    with pytest.raises(LuthierError, match="to resume a job needs a checkpoint file"):
        run(Cut(), random_problem(1), START, RunOptions(resume=True))
    head = seal({"kind": "checkpoint of a tuner", "identity": 3})
    for data in (b"", b"{", b"[]\n", b"3\n", b'{"a": 1}\n', b"a text\nof lines\n", seal({"kind": "else"}), head):
        path.write_bytes(data)
        with pytest.raises(LuthierError, match="expected a checkpoint, found"):
            run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path), resume=True))
        assert path.read_bytes() == data


def test_a_checkpoint_grows_by_what_is_new_and_a_torn_end_is_dropped(tmp_path):
    path, options = tmp_path / "kept", {"restarts": 6, "checkpoint": str(tmp_path / "kept")}
    run(cut_after(20), random_problem(1), START, RunOptions(**options))
    before = path.read_bytes()
    path.write_bytes(before + b'{"run": 5, "sta')
    whole = run(Cut(), random_problem(1), START, RunOptions(**options, resume=True))
    assert path.read_bytes().startswith(before)
    assert sorted(kept_runs(path)) == list(range(7))
    assert content(whole) == content(run(Cut(), random_problem(1), START, RunOptions(restarts=6)))


def changed(record, **changes):
    return {**record, **changes}


@pytest.mark.parametrize(
    "change, complaint",
    [
        (lambda r: changed(r, run=9), "a run numbered 9"),
        (lambda r: changed(r, run=-1), "a run numbered -1"),
        (lambda r: changed(r, run="1"), "a whole number for 'run', found '1'"),
        (lambda r: changed(r, heldout=[1.0]), "7 states and 1 held-out gains"),
        (lambda r: changed(r, states=[]), "0 states and 0 held-out"),
        (
            lambda r: changed(r, states=[changed(s, weights=s["weights"][:2]) for s in r["states"]]),
            "weights of other features",
        ),
        (lambda r: changed(r, states=[changed(s, weights=[1, 2, float("nan")]) for s in r["states"]]), "not finite"),
        (lambda r: changed(r, states=[changed(s, gain=float("inf")) for s in r["states"]]), "not finite"),
        (lambda r: changed(r, states=[changed(s, gain=s["gain"] + 1) for s in r["states"]]), "the gains that"),
        (
            lambda r: changed(r, states=[changed(s, weights=[9.0, 8.0, -7.0]) for s in r["states"]]),
            "the gains that the",
        ),
        (lambda r: changed(r, states=[changed(s, more=1) for s in r["states"]]), "no keys but weights, gain"),
        (lambda r: changed(r, states=[{**s, "record": 7} for s in r["states"]]), "a table for '.*record', found 7"),
        (
            lambda r: changed(r, states=[{**s, "record": {"c": []}} for s in r["states"]]),
            "whole number or a number for",
        ),
        (lambda r: changed(r, states=[changed(s, note=3) for s in r["states"]]), "a text for '.*note', found 3"),
        (lambda r: changed(r, states=[changed(s, objective="x") for s in r["states"]]), "for '.*objective', found 'x'"),
    ],
)
def test_runs_that_cannot_be_of_the_job_are_refused(tmp_path, change, complaint):
    path = tmp_path / "kept"
    run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path)))
    head, line = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + seal(change(unseal(line.rstrip()))))
    with pytest.raises(LuthierError, match=complaint):
        run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path), resume=True))


def test_a_changed_byte_is_found(tmp_path):
    path = tmp_path / "kept"
    run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path)))
    data = bytearray(path.read_bytes())
    for place in range(10, len(data) - 1, 37):
        damaged = data.copy()
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(LuthierError, match="expected a"):
            run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path), resume=True))


def test_a_checkpoint_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    def no_room(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("luthier.tuning.checkpoint.JournalWriter.append", no_room)
    with pytest.warns(LuthierWarning, match="kept lacks run 0, and perhaps later ones: no space left on device"):
        result = run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(tmp_path / "kept")))
    assert content(result) == content(run(Cut(), random_problem(1), START))


def test_two_jobs_do_not_share_a_checkpoint(tmp_path):
    path = tmp_path / "kept"
    with locked(path), pytest.raises(LuthierError, match="another process is writing here"):
        run(Cut(), random_problem(1), START, RunOptions(checkpoint=str(path)))


def test_nothing_to_resume_is_a_beginning(tmp_path):
    options = RunOptions(restarts=1, checkpoint=str(tmp_path / "new"), resume=True)
    result = run(Cut(), random_problem(1), START, options)
    assert content(result) == content(run(Cut(), random_problem(1), START, RunOptions(restarts=1)))
