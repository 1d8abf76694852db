"""Traces that grow while a job runs: whole lines at every moment, the same bytes at the end."""

import contextlib
import dataclasses
import json

import pytest
from small_jobs import small_job

from luthier.core.errors import LuthierError
from luthier.core.progress import speaking
from luthier.jobs.trace_file import GrowingTrace, write_trace
from luthier.jobs.tuning_job import run_job

pytestmark = [
    pytest.mark.filterwarnings("ignore:the same within each list"),
    pytest.mark.filterwarnings("ignore:the answer is the start itself"),
]

STATES = 2 * 3  # two runs of a start and two rounds


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return small_job(tmp_path_factory.mktemp("pools"), restarts=1)


def test_every_state_is_in_the_file_as_soon_as_it_is_told(job, tmp_path):
    path, counts = tmp_path / "t.jsonl", []
    path.write_text("what was there before\n")
    with GrowingTrace(str(path)) as trace:
        assert path.read_text() == "what was there before\n"  # until the job begins

        def watch(seed):
            inner = trace.watch(seed)

            def tell(*state):
                inner(*state)
                counts.append([json.loads(line)["step"] for line in path.read_text().splitlines()])

            return tell

        report = run_job(dataclasses.replace(job, watch=watch))
    assert [len(steps) for steps in counts] == list(range(1, STATES + 1))
    assert counts[-1] == [0, 1, 2, 0, 1, 2]
    grown = path.read_bytes()
    write_trace(report, str(path))
    assert path.read_bytes() == grown  # one thread: in order already
    assert [other.name for other in tmp_path.iterdir()] == ["t.jsonl"]


def test_a_job_that_fails_leaves_the_states_it_had(job, tmp_path):
    path, left = tmp_path / "t.jsonl", 3

    def watch(seed):
        def tell(*state):
            nonlocal left
            if not left:
                raise LuthierError("enough")
            left -= 1
            inner(*state)

        inner = trace.watch(seed)
        return tell

    with GrowingTrace(str(path)) as trace, pytest.raises(LuthierError, match="enough"):
        run_job(dataclasses.replace(job, watch=watch))
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [0, 1, 2]


def test_what_cannot_grow_is_left_to_the_end(job, tmp_path):
    for path in ("-", str(tmp_path / "t.jsonl.gz"), None, "/dev/null"):
        with GrowingTrace(path) as trace:
            report = run_job(dataclasses.replace(job, watch=trace.watch))
    assert list(tmp_path.iterdir()) == []
    told = []
    with (
        speaking(lambda *_: contextlib.nullcontext(), told.append),
        GrowingTrace(str(tmp_path / "no" / "t.jsonl")) as trace,
    ):
        trace.watch(3)(0, 0, report.replicas[0].result.traces[0].states[0], None)
    assert ["does not grow any more: no such file" in line for line in told] == [True]
