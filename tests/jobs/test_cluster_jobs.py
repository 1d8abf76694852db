"""Whole jobs on a cluster of this machine: the same bytes, also after workers were killed, and resumed elsewhere."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import signal
import threading

import numpy as np
import pytest
from small_jobs import small_job, trace

from luthier.alignment import base
from luthier.core.errors import LuthierError
from luthier.core.tasks import run_units
from luthier.distributed.address import ClusterAddress
from luthier.distributed.check import processor
from luthier.evaluation.bootstrap import bootstrap_scores
from luthier.evaluation.randomisation import Contrast, randomisation_p
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.jobs.lab.base import run_study
from luthier.jobs.lab.kinds import starts
from luthier.jobs.lab.lines import read_units
from luthier.jobs.tuning_job import run_job
from luthier.kbest.shards.shard import shard
from luthier.kbest.storage.pool_file import save_pool
from luthier.landscape.cones.minkowski import SearchJob, SearchOptions
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.landscape.sharded_problem import ShardedProblem
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import with_statistics
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.synthetic.pair.pair import PairGenerator

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning"),  # of pools so small
]

STUDY = """
kind = "starts"
name = "tiny"
seed = 5
starts = { count = 12, kind = "few", size = 0.5 }
[[tuner]]
name = "search"
method = "random"
parameters = { rounds = 2, batch = 10 }
[[metric]]
name = "BLEU"
spec = "bleu"
[test]
by = "BLEU"
metrics = { "BLEU" = "bleu" }
[[data]]
name = "made"
source = "synthetic"
tune = { seed = 1, sentences = 6, k = 8, n_references = 2, vocabulary = 100 }
test = { seed = 2, sentences = 5, k = 8, n_references = 2, vocabulary = 100 }
"""


@pytest.fixture(scope="module")
def engine():
    from luthier.distributed.engine import connected

    with connected(ClusterAddress.parse("local:2")) as started:
        yield started


def joining(engine, folder):
    """Return the options by which another command joins a cluster: its address, and the certificates of its run."""
    held = engine.crew._client.security
    texts = {"ca": held.tls_ca_file, "cert": held.tls_client_cert, "key": held.tls_client_key}
    for name, text in texts.items():
        (folder / f"own.{name}").write_text(text)
    files = [word for name in texts for word in (f"--cluster-{name}", folder / f"own.{name}")]
    return ("--cluster", engine.crew._client.scheduler_info()["address"], *files)


@pytest.fixture
def job(tmp_path):
    return small_job(tmp_path, restarts=3)


def test_runs_and_replicas_are_the_same_and_go_on_from_what_others_kept(engine, job, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    expected = trace(job, here)
    assert trace(dataclasses.replace(job, engine=engine), there) == expected
    spent = run_job(dataclasses.replace(job, engine=engine)).replicas[0].result
    assert all(run.process != os.getpid() and run.cpu_seconds > 0 for run in spent.traces)

    kept = dataclasses.replace(job.options, checkpoint=str(tmp_path / "kept.jsonl"))
    several = dataclasses.replace(job, replicas=3, options=kept)
    expected = trace(dataclasses.replace(several, options=job.options), here)
    assert trace(dataclasses.replace(several, engine=engine), there) == expected
    files = sorted(tmp_path.glob("kept.*.jsonl"))
    assert [len(path.read_text().splitlines()) for path in files] == [5, 5, 5]  # a head, and each run once
    files[0].unlink()  # one is lost, of another the last two runs are, and now there is no cluster
    files[1].write_text("".join(files[1].read_text().splitlines(keepends=True)[:3]))
    again = dataclasses.replace(several, options=dataclasses.replace(kept, resume=True))
    assert trace(again, there) == expected
    assert trace(dataclasses.replace(again, engine=engine), there) == expected


def test_a_pool_that_is_another_on_a_worker_is_refused_with_host_path_and_digests(engine, job):
    other = SyntheticLists(sentences=5, k=8, vocabulary=100).generate(1)
    save_pool(other, job.problem.file.path)
    told = f"^worker tls://.*process.*dev: expected the pool {job.problem.file.digest}, found another, {other.digest()}"
    with pytest.raises(LuthierError, match=told):
        run_job(dataclasses.replace(job, engine=engine))


def test_resamples_and_shuffles_are_the_same(engine, monkeypatch):
    monkeypatch.setattr("luthier.evaluation.bootstrap.BLOCK_SIZE", 200)
    metric, rng = load_metric("bleu"), np.random.default_rng(0)
    first, second = (rng.integers(1, 9, size=(2, 30, len(metric.stat_names))) for _ in range(2))
    for systems in ([first, second], [first / 3, second / 7]):  # whole numbers, and others
        here, there = (bootstrap_scores(systems, metric.score, draws=40, engine=e) for e in (None, engine))
        assert all(a.tobytes() == b.tobytes() for a, b in zip(here, there, strict=True))
        contrast = Contrast(*systems, metric.score)
        ps = [randomisation_p(contrast, shuffles=1500, engine=e) for e in (None, engine)]
        assert ps[0] == ps[1]


def lines(folder):
    """Return the units of a study without their times, in order."""
    units, _ = read_units(folder / "units.jsonl", starts.LINES)
    timed = ("cpu_seconds", "seconds", "together", "host", "processor")
    return sorted(json.dumps({n: v for n, v in unit.items() if n not in timed}) for unit in units.values())


def test_a_study_loses_a_worker_and_ends_the_same(engine, tmp_path, monkeypatch, run_cli):
    monkeypatch.setattr(starts, "draw_starts", lambda units, title, path: path.touch())
    (tmp_path / "study.toml").write_text(STUDY)
    run_study(tmp_path / "study.toml", tmp_path / "here")
    rng = np.random.default_rng(7)
    victim = int(rng.choice(sorted({*run_units(pid, _nothing(), {i: i for i in range(8)}, engine=engine).values()})))
    timer = threading.Timer(float(rng.uniform(0, 0.3)), os.kill, (victim, signal.SIGKILL))
    timer.start()
    address = joining(engine, tmp_path)
    code, _, err = run_cli("study", tmp_path / "study.toml", "-o", tmp_path / "there", *address)
    timer.join()
    assert (code, lines(tmp_path / "there")) == (0, lines(tmp_path / "here")), err
    told = [json.loads(line) for line in (tmp_path / "there" / "units.jsonl").read_text().splitlines()]
    assert len(told) == 13  # each unit once
    assert {(line["host"], line["processor"]) for line in told} == {(platform.node(), processor())}


@pytest.mark.parametrize("metric", ["bleu", "column:score"])
def test_a_stream_of_cells_is_the_same(engine, job, metric):
    problem = ListProblem.of(job.problem.pool, load_metric(metric))
    subspace = Subspace(problem.default_start(), np.eye(2, problem.n_features), problem.names[:2])
    plane = Plane.make(problem, subspace, Window(-1.0, 1.0, -1.0, 1.0))
    here, there = (look_at_plane(plane, SurfaceOptions(check=20), engine=e).as_dict() for e in (None, engine))
    assert here["cells"] > 30
    assert json.dumps(here) == json.dumps(there)


@pytest.mark.parametrize("order", ["depth", "breadth", "best"])
def test_a_search_of_cones_is_the_same(engine, job, tmp_path, order):
    names = job.problem.pool.features.names
    plane = Subspace(job.problem.pool.features.signs, np.eye(len(names))[:2], names[:2])
    reports = []
    for name, helper in (("here", None), ("there", engine)):
        path = str(tmp_path / name)
        search = SearchJob(
            job.problem.pool, plane, job.problem.metric, SearchOptions(path, order=order, limit=50), engine=helper
        )
        assert search.run().tally.found == 50
        resumed = dataclasses.replace(search.options, limit=None, resume=True)
        report = SearchJob(job.problem.pool, plane, job.problem.metric, resumed, engine=helper).run()
        reports.append({**report.as_dict(), "cpu_seconds": 0})
    assert reports[0] == reports[1]
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_parts_are_asked_on_a_cluster_and_a_part_that_is_missing_there_is_named(engine, job, tmp_path):
    metric = load_metric("bleu")
    pool = with_statistics(job.problem.pool, metric)
    parted = ShardedProblem.of(shard(pool, 3, tmp_path / "parts"), metric, engine=engine)
    whole = ListProblem.of(pool, metric)
    start, axes = whole.default_start(), np.eye(len(job.problem.pool.features.names))
    assert parted.gain(start) == whole.gain(start)
    for here, there in zip(whole.curves(start, axes), parted.curves(start, axes), strict=True):
        assert (here.breakpoints.tobytes(), here.gains.tobytes()) == (
            there.breakpoints.tobytes(),
            there.gains.tobytes(),
        )
    other = ShardedProblem.of(shard(pool, 2, tmp_path / "lost"), metric)
    (tmp_path / "lost" / "part-2.arrow").unlink()
    with pytest.raises(
        LuthierError, match=r"^worker tls://.*part-2.arrow: expected part 2 of 2, [0-9a-f]{32}, found none"
    ):
        dataclasses.replace(other, engine=engine).gain(start)


def pid(given, unit):
    """Return the process that runs this."""
    return os.getpid()


def _nothing():
    from luthier.core.tasks import Shared

    return Shared(None)


def test_the_commands_take_a_cluster_or_say_why_not(engine, job, run_cli, tmp_path):
    address = joining(engine, tmp_path)
    pool, w, names = job.problem.file.path, tmp_path / "w.txt", job.problem.pool.features.names
    options = ("--method", "random", "--rounds", 2, "--restarts", 2, "--seed", 3, "-o", w, "--quiet")
    assert run_cli("tune", pool, *options)[0] == 0
    expected = w.read_bytes()
    assert run_cli("tune", pool, *options, *address)[0] == 0
    assert w.read_bytes() == expected
    (tmp_path / "v.txt").write_bytes(expected)
    compare = (
        "compare",
        "--pool",
        pool,
        "--weights",
        w,
        "--weights",
        tmp_path / "v.txt",
        "--metric",
        "bleu",
        "--json",
        "--quiet",
    )
    (code, here, _), (_, there, _) = run_cli(*compare), run_cli(*compare, *address)
    assert (code, there) == (0, here)
    parts = tmp_path / "parts"
    assert run_cli("data", "shard", pool, "--shards", 3, "--metric", "bleu,column:score", "-o", parts)[0] == 0
    raster = ("surface", "--axis", names[0], "--axis", names[1], "--raster", 5, "--json", "--quiet",
              *(f"--window={name}=-1:1" for name in names[:2]))  # fmt: skip
    for metric in ("bleu", "column:score"):
        for command in (raster, ("oracle", "--json", "--quiet")):
            asked = (command[0], parts, *command[1:], "--metric", metric)
            (code, here, err), (_, there, _) = run_cli(*asked), run_cli(*asked, *address)
            assert (code, there) == (0, here), err
    for command in (raster, ("oracle",)):
        code, _, err = run_cli(command[0], pool, *command[1:], *address)
        assert (code, "luthier data shard POOL" in err) == (2, True), err
    for more, told in (
        (("--cluster", "tcp://10.1.2.3:8786"), "--cluster-insecure"),
        (("--cluster", tmp_path / "none"), "there is no such file"),
        (("--cluster", "replay:0123456789abcdef"), "none of these 3 units"),
        ((*address, "--cluster-silence", 1), "at least 5 seconds"),
    ):
        code, _, err = run_cli("tune", pool, *options, *more)
        assert (code, told in err) == (2, True), err


@pytest.mark.parametrize("method", ["hmm", "fertility"])
def test_an_alignment_is_the_same_file_by_file(engine, run_cli, tmp_path, method, monkeypatch):
    monkeypatch.setattr(base, "PART_CELLS", 2_000)  # of units: chains, or a dozen parts of this text
    pairs = list(PairGenerator().pairs("train", 120, seed=1))
    (tmp_path / "s").write_text("".join(f"{pair.source}\n" for pair in pairs))
    (tmp_path / "t").write_text("".join(f"{pair.references[0]}\n" for pair in pairs))
    found = []
    for name, where in (("here", ()), ("there", joining(engine, tmp_path))):
        made = {end: tmp_path / f"{name}.{end}" for end in ("links", "model", "tsv")}
        written = ("-o", made["links"], "--train", made["model"], "--scores", made["tsv"])
        code, _, said = run_cli("engine", "align", tmp_path / "s", tmp_path / "t", "--method", method, *written, *where)
        assert code == 0, said
        with np.load(made["model"]) as kept:
            arrays = {column: kept[column].tobytes() for column in kept.files}
        found.append((made["links"].read_bytes(), made["tsv"].read_bytes(), arrays))
    assert found[0] == found[1]
    assert len(found[0][0]) > 1000
