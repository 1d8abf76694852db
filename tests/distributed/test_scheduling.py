"""Who gets which unit: a crew made up here, whose workers are slow and die at will; and what a cluster is called."""

from __future__ import annotations

import dataclasses
import pickle
import threading

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.progress import speaking
from luthier.core.tasks import Shared, deserialized, path_of, run_units, serialized
from luthier.distributed import scheduling as handing
from luthier.distributed.address import ClusterAddress, Replay
from luthier.distributed.scheduling import Scheduling, Snapshot, Work, open_everywhere
from luthier.distributed.worker import Outcome, Several, differing, pack, run_packed, unit_key, versions


@dataclasses.dataclass(frozen=True)
class Ten:
    """A recipe."""

    def open(self):
        return 10


def times(given, unit):
    """Return the unit, times what is shared."""
    if unit == 13:
        raise ValueError("thirteen")
    if unit == 14:
        raise LuthierError("fourteen is wrong. hint: take 15")
    if unit == 16:
        return lambda: unit
    return given * unit


class Pretended:
    """A crew whose units are run when somebody waits for them; `fate` says what becomes of the n-th copy of a unit."""

    def __init__(self, threads, fate=None):
        self.threads, self.fate = dict(threads), fate or (lambda unit, copy, worker: "done")
        self.handed, self.dropped, self.most = [], [], 0
        self.under_way, self.copies, self.lost = {}, {}, 0

    def look(self):
        return Snapshot(self.threads, {name: job[2] for name, job in self.under_way.items()}, self.lost)

    def hand(self, packed, *, apart_from="", only=""):
        unit = deserialized(pickle.loads(packed)[1])[2]
        busy = [job[2] for job in self.under_way.values()]
        free = [w for w in self.threads if w != apart_from and w in (only or w) and busy.count(w) < self.threads[w]]
        self.copies[unit] = self.copies.get(unit, 0) + 1
        name = f"{unit}.{self.copies[unit]}"
        self.under_way[name] = (unit, packed, only or free[0])
        self.handed.append((name, only or free[0]))
        self.most = max(self.most, len(self.under_way))
        return name

    def next_done(self, seconds):
        for name, (unit, _, worker) in self.under_way.items():
            if self.fate(unit, self.copies[unit], worker) != "slow":
                return name
        return None

    def outcome(self, name):
        unit, packed, worker = self.under_way.pop(name)
        if self.fate(unit, self.copies[unit], worker) == "killed":
            return Outcome(fault="3 workers ended", killed=True)
        return deserialized(run_packed(packed))

    def drop(self, names):
        self.dropped += names
        for name in names:
            self.under_way.pop(name, None)


def results(crew, units, *, twice=True, stop=None):
    work = Work(path_of(times), Ten(), dict(enumerate(units)), twice)
    return dict(Scheduling(crew, work).results(stop or threading.Event()))


def test_every_unit_is_run_once_and_no_more_are_under_way_than_threads():
    crew = Pretended({"a": 2, "b": 1})
    assert results(crew, range(12)) == {i: 10 * i for i in range(12)}
    assert crew.most == 3
    assert len(crew.handed) == 12
    assert not crew.under_way


def test_a_slow_unit_is_handed_out_once_more_elsewhere_when_none_waits(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(handing.time, "monotonic", lambda: next(clock))
    crew = Pretended({"a": 1, "b": 1}, lambda unit, copy, worker: "slow" if worker == "a" and unit == 0 else "done")
    assert results(crew, range(5)) == {i: 10 * i for i in range(5)}
    assert crew.copies == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1}
    assert ("0.1", "a") in crew.handed
    assert crew.handed[-1] == ("0.2", "b")
    assert "0.1" in crew.dropped


def test_units_that_write_files_are_not_run_twice(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(handing.time, "monotonic", lambda: next(clock))
    stop, asked = threading.Event(), []

    def fate(unit, copy, worker):
        asked.append(unit)
        if len(asked) > 100:
            stop.set()
        return "slow" if unit == 0 else "done"

    crew = Pretended({"a": 1, "b": 1}, fate)
    assert results(crew, range(5), twice=False, stop=stop) == {i: 10 * i for i in range(1, 5)}
    assert crew.copies[0] == 1
    assert "0.1" in crew.dropped


def test_the_only_suspect_is_named_with_the_command_that_runs_it_alone_and_the_others_are_kept():
    kept = {}
    crew = Pretended({"a": 2}, lambda unit, copy, worker: "killed" if unit == 3 else "done")
    work = Work(path_of(times), Ten(), dict(enumerate(range(6))))
    with pytest.raises(
        LuthierError, match=r"^3 workers ended \(unit 3, 3\)\. hint: `cluster` replay:\w{16} "
    ) as caught:
        kept.update(item for item in Scheduling(crew, work).results(threading.Event()) if not kept.update([item]))
    assert kept == {i: 10 * i for i in range(6) if i != 3}
    assert crew.copies[3] == 1
    key = str(caught.value).partition("replay:")[2][:16]
    said = []
    with speaking(lambda label, total: None, said.append), pytest.raises(KeyboardInterrupt):
        run_units(times, Shared(10), dict(enumerate(range(6))), engine=Replay(key), keep=kept.__setitem__)
    assert kept[3] == 30
    assert "unit 3 ended well" in said[0]
    with pytest.raises(LuthierError, match="none of these 2 units is"):
        run_units(times, Shared(10), {0: 0, 1: 1}, engine=Replay(key))


def test_of_several_suspects_each_is_tried_by_itself():
    crew = Pretended({"a": 3}, lambda unit, copy, worker: "killed" if unit == 3 or copy < (unit == 4) + 1 else "done")
    with pytest.raises(LuthierError, match=r"\(unit 3, 3\)"):
        results(crew, range(6))
    assert crew.copies == {0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 1}
    assert [name for name, _ in crew.handed[-2:]] == ["3.2", "4.2"]
    spared = Pretended({"a": 3}, lambda unit, copy, worker: "killed" if unit in (3, 4) and copy == 1 else "done")
    assert results(spared, range(6)) == {i: 10 * i for i in range(6)}


def test_a_unit_that_raises_is_not_tried_again_and_its_sentence_names_unit_and_place():
    crew = Pretended({"a": 1})
    with pytest.raises(
        LuthierError, match=r"^fourteen is wrong \(unit 1, 14, on .*\)\. hint: take 15; `cluster` replay:"
    ):
        results(crew, [1, 14, 2])
    assert crew.copies == {1: 1, 14: 1, 2: 1}
    with pytest.raises(RuntimeError, match=r"(?s)ValueError: thirteen \(unit 0.*1 other unit failed too.*Traceback"):
        results(Pretended({"a": 1}), [13, 14])
    with pytest.raises(LuthierError, match="its result cannot be given to other processes"):
        results(Pretended({"a": 1}), [16])
    crew = Pretended({"a": 1})
    with pytest.raises(LuthierError, match="9 other units failed too"):
        results(crew, [14] * 500)
    assert len(crew.handed) == 10


def test_without_workers_a_word_is_said_and_the_job_goes_on_when_some_come(monkeypatch):
    clock, said = iter(range(10_000)), []
    monkeypatch.setattr(handing.time, "monotonic", lambda: next(clock))
    crew = Pretended({})

    def wait(seconds):
        if len(said) == 1:
            crew.threads["late"] = 1
        return Pretended.next_done(crew, seconds)

    crew.next_done = wait
    with speaking(lambda label, total: None, said.append):
        assert results(crew, [1, 2]) == {0: 10, 1: 20}
    assert [words.partition(":")[0] for words in said] == ["the cluster has no workers", "workers are back"]


def test_every_worker_opens_what_is_shared_before_any_unit_runs():
    crew = Pretended({"a": 1, "b": 4})
    open_everywhere(crew, Ten(), threading.Event())
    assert [worker for _, worker in crew.handed] == ["a", "b"]
    crew = Pretended({"a": 1, "b": 1})
    with pytest.raises(LuthierError, match=r"^worker a \(.*\): there is no pool .*1 more workers refuse"):
        open_everywhere(crew, Refusing(), threading.Event())
    crew = Pretended({"a": 1, "gone": 1}, lambda unit, copy, worker: "slow" if worker == "gone" else "done")
    crew.outcome = lambda name: (crew.threads.pop("gone"), Pretended.outcome(crew, name))[1]
    open_everywhere(crew, Ten(), threading.Event())  # a worker that dies meanwhile is not waited for


@dataclasses.dataclass(frozen=True)
class Refusing:
    """A recipe that cannot be followed."""

    def open(self):
        raise LuthierError("there is no pool here")


def test_a_worker_of_other_versions_refuses_before_it_reads_the_unit():
    others = tuple((name, "0.0" if name == "numpy" else value) for name, value in versions())
    found = deserialized(run_packed(pickle.dumps((others, b"not even a pickle"))))
    assert found.fault.startswith("expected the same versions on every worker, found numpy ")
    assert differing(versions(), versions()) == ""
    assert [name for name, _ in versions()][:2] == ["luthier", "python"]


def units_in(unit):
    """Return the units that travel together, or the one that travels alone."""
    return unit.units if isinstance(unit, Several) else (unit,)


def test_short_units_travel_together_and_what_becomes_of_one_is_its_own_affair():
    crew, numbers = Pretended({"a": 2}), range(100, 900)
    assert results(crew, numbers) == {i: 10 * unit for i, unit in enumerate(numbers)}
    assert crew.most == 2
    assert 16 <= len(crew.handed) < 150
    assert max(len(units_in(unit)) for unit in crew.copies) == handing.MOST_TOGETHER

    faulty = dict(enumerate([*numbers[:400], 14, 16, *numbers[400:]]))
    kept, told = kept_before(Pretended({"a": 1}), Work(path_of(times), Ten(), faulty))
    assert told.startswith("fourteen is wrong (unit 400, 14, ")
    assert "1 other unit failed too" in told
    assert dict(kept) == {i: 10 * unit for i, unit in faulty.items() if unit not in (14, 16)}


def kept_before(crew, work):
    """Return the results that came before the complaint, and the complaint."""
    kept = []
    with pytest.raises(LuthierError) as caught:
        kept.extend(Scheduling(crew, work).results(threading.Event()))
    return kept, str(caught.value)


def test_of_units_that_died_together_each_is_tried_by_itself():
    crew = Pretended({"a": 2}, lambda unit, copy, worker: "killed" if 333 in units_in(unit) else "done")
    kept, told = kept_before(crew, Work(path_of(times), Ten(), {i: i for i in range(100, 600)}))
    assert told.startswith("3 workers ended (unit 333, 333)")
    assert sorted(kept) == [(i, 10 * i) for i in range(100, 600) if i != 333]


def test_units_are_data():
    with pytest.raises(LuthierError, match="cannot be given to other processes"):
        pack(path_of(times), Ten(), lambda: 0)
    assert unit_key("a:b", (1, 2)) == unit_key("a:b", (1, 2)) != unit_key("a:c", (1, 2))


def test_arrays_that_are_read_only_stay_so_on_their_way_and_others_do_not_become_so():
    fixed, free = np.arange(4.0), np.arange(6).reshape(2, 3)
    fixed.setflags(write=False)
    found = deserialized(serialized({"fixed": fixed, "free": free, "turned": free.T, "words": ["a", 1]}))
    assert (found["fixed"].flags.writeable, found["free"].flags.writeable) == (False, True)
    assert all(np.array_equal(found[name], value) for name, value in (("free", free), ("turned", free.T)))
    assert found["words"] == ["a", 1]


@pytest.mark.parametrize("text", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://a.example:9"])
def test_addresses_of_this_machine_and_encrypted_ones_are_taken(text):
    assert ClusterAddress.parse(text).text == text


@pytest.mark.parametrize("text", ["tcp://10.0.0.1:8786", "tcp://localhost.example.org:1", "tcp://0.0.0.0:8786"])
def test_other_hosts_without_encryption_are_refused_unless_the_user_insists(text, tmp_path):
    with pytest.raises(LuthierError, match=r"can run programs as you.*`cluster_insecure`"):
        ClusterAddress.parse(text)
    assert ClusterAddress.parse(text, insecure=True).kind == "tcp"
    (tmp_path / "scheduler.json").write_text(f'{{"address": "{text}", "type": "Scheduler"}}')
    with pytest.raises(LuthierError, match="can run programs as you"):
        ClusterAddress.parse(str(tmp_path / "scheduler.json"))


@pytest.mark.parametrize(
    "text",
    ["local:0", "local:", "local:-1", "local:x", "local:99999", "replay:zz", "", "http://127.0.0.1:80", "tcp://127.0.0.1",
     "tcp://127.0.0.1:8786/x", "tcp://127.0.0.1:x", "inproc://a", "tcp://127.0.0.1@evil.example:1", "tcp://[::1:2"],
)  # fmt: skip
def test_what_is_no_address_is_said(text):
    with pytest.raises(LuthierError, match="expected"):
        ClusterAddress.parse(text, insecure=True)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"address": 5}', '{"address": "x"}', "\x00", "[" * 100_000])
def test_what_is_no_scheduler_file_is_said(content, tmp_path):
    (tmp_path / "f").write_text(content)
    with pytest.raises(LuthierError, match="f: expected a scheduler's file"):
        ClusterAddress.parse(str(tmp_path / "f"))
