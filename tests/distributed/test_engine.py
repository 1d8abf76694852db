"""Units on workers of this machine: the same bytes, whoever is killed; nothing listens outside, nothing is left."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.rng import child_rng
from luthier.core.tasks import Shared, run_units
from luthier.distributed.address import Certificates, ClusterAddress

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.compiled]  # one start of a cluster serves them all


@pytest.fixture(scope="module")
def engine():
    from luthier.distributed.engine import connected

    with connected(ClusterAddress.parse("local:2"), silence=5) as started:
        yield started
    names = [child.cmdline() for child in psutil.Process().children(recursive=True)]
    assert not [words for words in names if not any("resource_tracker" in word for word in words)]


def draw(scale, unit):
    """Return random numbers of a unit's own, after a while."""
    time.sleep(unit[1])
    return scale * child_rng(5, unit[0]).random(3)


def who(given, unit):
    """Return the process, how many threads its BLAS has, and what is shared."""
    import threadpoolctl

    np.ones((9, 9)) @ np.ones((9, 9))
    threads = {info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"}
    return os.getpid(), threads, given


def end_at_three(given, unit):
    """End the process, as if memory had run out, if the unit is 3."""
    if unit == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


@dataclasses.dataclass(frozen=True)
class Marked:
    """A recipe that leaves a mark each time it is followed."""

    folder: str

    def open(self):
        with open(os.path.join(self.folder, str(os.getpid())), "a") as file:
            file.write("x")
        return 2.0


def workers(engine):
    """Return the processes of the workers."""
    found = run_units(who, Shared(None), {i: i for i in range(12)}, engine=engine)
    return {process for process, _, _ in found.values()}


def whole(engine):
    """Wait until both workers are there, or are there again."""
    while engine.count < 2:
        time.sleep(0.1)
    return engine


def units(count, seconds=0.0):
    return {i: (i, seconds) for i in range(count)}


EXPECTED = {i: (2.0 * np.random.default_rng(5).spawn(40)[i].random(3)).tobytes() for i in range(40)}


def test_the_bytes_are_the_same_and_what_is_shared_is_opened_once_by_each_worker(engine, tmp_path):
    whole(engine)
    found = run_units(draw, Shared(2.0, Marked(str(tmp_path))), units(40), engine=engine)
    assert {i: array.tobytes() for i, array in found.items()} == EXPECTED
    assert list(found) == list(range(40))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["x", "x"]
    sent = run_units(draw, Shared(2.0), units(5), engine=engine)  # in no file
    assert {i: array.tobytes() for i, array in sent.items()} == {i: EXPECTED[i] for i in range(5)}
    assert {threads for _, (threads,), _ in run_units(who, Shared(1), units(4), engine=engine).values()} == {1}
    assert run_units(draw, Shared(1.0), {}, engine=engine) == {}


def test_nothing_listens_but_on_this_machine(engine):
    me = psutil.Process()
    sockets = [c.laddr.ip for p in (me, *me.children(recursive=True)) for c in p.net_connections("inet")]
    assert len(sockets) >= 4
    assert set(sockets) == {"127.0.0.1"}


def test_a_value_in_no_file_is_sent_to_a_cluster_that_others_started(engine, tmp_path):
    from luthier.distributed import engine as dask_engine

    address = ClusterAddress.parse(whole(engine).crew._client.scheduler_info()["address"])
    assert address.kind == "tls"
    held = whole(engine).crew._client.security  # what others lack
    texts = {"authority": held.tls_ca_file, "own": held.tls_client_cert, "key": held.tls_client_key}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    certificates = Certificates(**{name: str(tmp_path / name) for name in texts})
    with dask_engine.connected(address, certificates=certificates) as joined:
        assert joined.count == 2
        given = np.arange(5.0)
        assert all(
            np.array_equal(v, given) for _, _, v in run_units(who, Shared(given), units(6), engine=joined).values()
        )
        with pytest.raises(LuthierError, match="cannot be given to other processes"):
            run_units(who, Shared(lambda: 0), units(1), engine=joined)
    assert len(workers(engine)) == 2  # joining and leaving does not end it


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_worker_costs_no_result(engine, seed):
    rng, kept = np.random.default_rng(seed), []
    victim = int(rng.choice(sorted(workers(whole(engine)))))
    timer = threading.Timer(float(rng.uniform(0.05, 0.4)), os.kill, (victim, signal.SIGKILL))
    timer.start()
    found = run_units(draw, Shared(2.0), units(40, 0.03), engine=engine, keep=lambda number, _: kept.append(number))
    timer.join()
    assert {i: array.tobytes() for i, array in found.items()} == EXPECTED
    assert sorted(kept) == list(range(40))  # each once


def test_a_unit_that_ends_three_workers_ends_the_job_after_the_others(engine):
    kept = []
    with pytest.raises(LuthierError, match=r"^3 workers ended while they ran this unit.*\(unit 3, 3\).*replay:"):
        run_units(end_at_three, Shared(None), {i: i for i in range(6)}, engine=engine, keep=lambda n, _: kept.append(n))
    assert sorted(kept) == [0, 1, 2, 4, 5]


def test_a_recipe_that_fails_is_refused_by_host_before_any_unit_runs(engine, tmp_path):
    kept = []
    with pytest.raises(
        LuthierError, match=r"^worker tls://127.0.0.1:\d+ \(.*process \d+\): .*no such file or directory"
    ):
        run_units(
            draw, Shared(2.0, Marked(str(tmp_path / "nowhere"))), units(3), engine=engine,
            keep=lambda n, _: kept.append(n),
        )  # fmt: skip
    assert not kept


def test_ctrl_c_drops_what_is_under_way_and_keeps_what_is_done(engine):
    kept, both = [], threading.Event()

    def keep(number, _):
        kept.append(number)
        if len(kept) == 2:
            both.set()

    def interrupt():
        both.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    slow = {**units(2), 2: (2, 60.0), 3: (3, 60.0)}
    with pytest.raises(KeyboardInterrupt):
        run_units(draw, Shared(2.0), slow, engine=engine, keep=keep)
    assert kept == [0, 1] or kept == [1, 0]


@pytest.fixture
def certificates(tmp_path):
    """Return the files of an authority of our own, and those of another."""
    from distributed import Security

    found = []
    for name in ("ours", "other"):
        security, folder = Security.temporary(), tmp_path / name
        folder.mkdir()
        for part in ("tls_ca_file", "tls_client_cert", "tls_client_key"):
            (folder / part).write_text(getattr(security, part))
        files = [str(folder / part) for part in ("tls_ca_file", "tls_client_cert", "tls_client_key")]
        found.append((security, Certificates(*files)))
    return found


def test_an_encrypted_connection_takes_certificates_from_files_and_no_others(certificates, monkeypatch):
    import distributed
    from luthier.distributed import engine as dask_engine

    monkeypatch.setattr(dask_engine, "CONNECT_SECONDS", 3)
    (security, ours), (_, other) = certificates
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, host="tls://127.0.0.1", security=security,
        dashboard_address=None, memory_limit=0,
    ) as cluster:  # fmt: skip
        address = ClusterAddress.parse(cluster.scheduler_address)
        assert address.kind == "tls"
        with dask_engine.connected(address, certificates=ours) as joined:
            found = run_units(draw, Shared(2.0), units(5), engine=joined)
            assert {i: array.tobytes() for i, array in found.items()} == {i: EXPECTED[i] for i in range(5)}
        with (
            pytest.raises(LuthierError, match=r"^tls://127.*expected a scheduler that answers, found none"),
            dask_engine.connected(address, certificates=other),
        ):
            pass


def test_a_scheduler_that_is_not_there_is_said(monkeypatch):
    from luthier.distributed import engine as dask_engine

    monkeypatch.setattr(dask_engine, "CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(LuthierError, match=r"tcp://127\.0\.0\.1:9: expected a scheduler that answers, found none"),
        dask_engine.connected(ClusterAddress.parse("tcp://127.0.0.1:9")),
    ):
        pass


def test_an_interrupt_waits_for_a_client_of_this_machine_and_all_is_closed(monkeypatch):
    import distributed
    from luthier.distributed.engine import connected

    made, plain = [], distributed.Client

    def interrupted(*args, **more):
        signal.raise_signal(signal.SIGINT)
        made.append(plain(*args, **more))
        return made[-1]

    monkeypatch.setattr(distributed, "Client", interrupted)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(KeyboardInterrupt), connected(ClusterAddress.parse("local:1")):
        pytest.fail("the block begins")
    assert made[0].status == "closed"
    left = [child for child in psutil.Process().children(recursive=True) if child not in before and child.is_running()]
    assert not [child for child in left if not any("resource_tracker" in word for word in child.cmdline())]
