"""The engine of `core/tasks.py` that hands units to Dask. Nothing else imports it, and it is imported when asked for.

Every unit is one task: a function of this package and bytes. Nothing is scattered, for what is scattered dies with its
worker. What is in no file is held by a plug-in, which Dask gives to every worker, also to those that come later.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import itertools
import logging
import queue
import shutil
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import Future as Answer
from typing import Any

import dask

import distributed
from luthier.core.errors import LuthierError
from luthier.core.tasks import Recipe, Shared, Units, deserialized, path_of, pickled, serialized
from luthier.core.tasks import Work as Function
from luthier.core.threads import uninterrupted
from luthier.distributed.address import LOCAL, Certificates, ClusterAddress
from luthier.distributed.scheduling import Scheduling, Snapshot, Work, ask_everywhere, open_everywhere
from luthier.distributed.worker import Outcome, pack, run_packed

SILENCE = 60.0  # seconds without a sign of life after which a worker counts as dead
LEAST_SILENCE = 5.0  # ten heartbeats of Dask
DEATHS = 3  # workers that one unit may take with it
CONNECT_SECONDS = 10
LOOK_EVERY = 1.0
MOST_HELD = 256 << 20  # bytes that every worker of other machines is sent, of what is in no file
CONFIG = {
    "distributed.scheduler.allowed-failures": DEATHS - 1,
    "distributed.scheduler.work-stealing": False,  # no unit waits on a worker
    "distributed.worker.profile.enabled": False,
    # what looks after itself several times a second wakes everybody for nothing
    "distributed.admin.tick.interval": "5s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.deploy.cluster-repr-interval": "60s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.http.routes": [],  # nothing is shown to whoever looks in by a browser
    "distributed.worker.http.routes": [],
    "distributed.admin.large-graph-warning-threshold": "1GiB",
    "distributed.worker.daemon": True,
    # Dask has workers give memory back at once: a line search asks for it again, page by page, at a fifth of its time
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    # a worker's memory is mostly the mapped pool, which others share: how much of it is resident says nothing
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


@contextlib.contextmanager
def connected(
    place: ClusterAddress, *, silence: float = SILENCE, certificates: Certificates | None = None
) -> Iterator[DaskCluster]:
    """Yield the engine of a cluster; one of this machine is started, and ended with the block."""
    if silence < LEAST_SILENCE:
        raise LuthierError(f"expected at least {LEAST_SILENCE:g} seconds of silence, found {silence:g}")
    logger = logging.getLogger("distributed")
    with contextlib.ExitStack() as stack:
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)  # what matters is said by us, in a sentence
        stack.enter_context(dask.config.set(CONFIG))
        started = stack.enter_context(_local(place.workers, silence)) if place.kind == LOCAL else None
        # a cluster whose client was interrupted as it started cannot be closed in order; here it starts at once
        with uninterrupted() if started else contextlib.nullcontext():
            client = _client(started or place.text, place, certificates or Certificates())
            stack.callback(_close, client, 2)
        crew = DaskWorkers(client, place.text or f"local:{place.workers}", silence)
        stack.callback(crew.close)
        yield DaskCluster(crew, client, sends=place.kind != LOCAL)


@contextlib.contextmanager
def _local(workers: int, silence: float) -> Iterator[Any]:
    """Yield a scheduler in this process and workers beside it, which nobody else can reach.

    They listen on this machine only, and to those only who hold certificates that were made for this run.
    """
    security = _own_certificates()
    with contextlib.ExitStack() as stack:
        with uninterrupted():
            folder = tempfile.mkdtemp(prefix="luthier-cluster-")
            stack.callback(_remove, folder)
            stack.enter_context(dask.config.set({"distributed.scheduler.worker-ttl": f"{silence}s"}))
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                protocol="tls",
                security=security,
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address=None,
                memory_limit=0,
                local_directory=folder,
                silence_logs=logging.CRITICAL,
                scheduler_kwargs={"dashboard": False},
            )
            stack.callback(_close, cluster, 10)
        yield cluster


def _own_certificates() -> Any:
    """Return certificates that only processes of this run have."""
    try:
        return distributed.Security.temporary()
    except ImportError:
        raise LuthierError(
            "expected the library cryptography, for a cluster of this machine that is yours alone, found none. "
            "hint: pip install 'luthier[cluster]'"
        ) from None


def _remove(folder: str) -> None:
    with uninterrupted():
        shutil.rmtree(folder, ignore_errors=True)


def _close(started: Any, seconds: float) -> None:
    """Close a client or a cluster; what goes wrong there costs no answer, and workers end with this process."""
    with uninterrupted(), warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        started.close(timeout=seconds)


def _client(at: Any, place: ClusterAddress, files: Certificates) -> Any:
    """Return a client that is connected."""
    security = None
    if place.kind == "tls":
        given = {
            "tls_ca_file": files.authority or None,
            "tls_client_cert": files.own or None,
            "tls_client_key": files.key or None,
        }
        security = distributed.Security(require_encryption=True, **{k: v for k, v in given.items() if v})
    try:
        return distributed.Client(
            at,
            security=security,
            timeout=CONNECT_SECONDS,
            set_as_default=False,
            direct_to_workers=place.kind == LOCAL,  # elsewhere workers may be reached by their scheduler only
        )
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise LuthierError(
            f"{place.text}: expected a scheduler that answers, found none ({reason}). hint: 'dask scheduler' starts one"
        ) from None


class DaskCluster:
    """Units on the workers of a scheduler."""

    def __init__(self, crew: DaskWorkers, client: Any, *, sends: bool) -> None:
        self.crew, self._client, self._sends = crew, client, sends
        self._open: tuple[Recipe | None, set[str]] = None, set()  # what was opened last, and where

    @property
    def count(self) -> int:
        """How many units run at a time."""
        return max(1, sum(self.crew.look().threads.values()))

    def results(self, work: Function, given: Shared, units: Units, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield results as they come, after every worker has opened what they share."""
        path = path_of(work)
        with contextlib.ExitStack() as stack:
            recipe = given.recipe or stack.enter_context(self.hold(given.value))
            if units:
                where = self._open[1] if self._open[0] == recipe else set()
                self._open = recipe, open_everywhere(self.crew, recipe, stop, where)
            yield from Scheduling(self.crew, Work(path, recipe, units, given.twice)).results(stop)

    def everywhere(self, work: Function, recipe: Recipe, unit: Any) -> dict[str, Outcome]:
        """Return how a unit went on each worker, by its address."""
        stop = threading.Event()
        found = ask_everywhere(self.crew, pack(path_of(work), recipe, unit), stop)
        if stop.is_set():
            raise KeyboardInterrupt
        return found

    def hold(self, value: Any) -> contextlib.AbstractContextManager[Recipe]:
        """Return how workers get a value that is in no file: from a file of ours, or sent if they are elsewhere."""
        return self._held(value) if self._sends else pickled(value)

    @contextlib.contextmanager
    def _held(self, value: Any) -> Iterator[Recipe]:
        data = serialized(value)
        if len(data) > MOST_HELD:
            raise LuthierError(
                f"expected at most {MOST_HELD >> 20} MB to send to every worker, found {len(data) >> 20}. "
                "hint: save it as a pool that all workers can read, 'luthier pool … -o POOL', and name that"
            )
        name = "luthier-" + hashlib.blake2b(data, digest_size=16).hexdigest()
        self._client.register_plugin(Held(data), name=name)
        try:
            yield HeldValue(name)
        finally:
            with contextlib.suppress(Exception):  # a scheduler that is lost has forgotten it already
                self._client.unregister_worker_plugin(name)


class Held(distributed.WorkerPlugin):  # type: ignore[misc]
    """Bytes that every worker has."""

    def __init__(self, data: bytes) -> None:
        self.data = data


@dataclasses.dataclass(frozen=True)
class HeldValue:
    """The recipe of a value that a plug-in holds."""

    name: str

    def open(self) -> Any:
        """Return the value."""
        return deserialized(distributed.get_worker().plugins[self.name].data)


class DaskWorkers:
    """The workers of a scheduler, as `handing` sees them."""

    def __init__(self, client: Any, name: str, silence: float) -> None:
        self._client, self._name, self._silence = client, name, silence
        self._futures: dict[str, Any] = {}
        self._done: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._answers: dict[str, Any] = {}
        self._run, self._numbers = uuid.uuid4().hex[:8], itertools.count()
        self._answer: Answer[Any] | None = None
        self._asked = 0.0
        self._look = self._looked(self._ask(), CONNECT_SECONDS)

    def look(self) -> Snapshot:
        """Return what the scheduler said last; it is asked once a second, and must answer."""
        if self._client.status != "running":
            raise self._lost("is gone")
        now = time.monotonic()
        if self._answer is None and now - self._asked > LOOK_EVERY:
            self._answer = self._ask()
        if self._answer is not None and self._answer.done():
            self._look, self._answer = self._looked(self._answer, 0), None
        elif self._answer is not None and now - self._asked > self._silence:
            raise self._lost(f"has not answered for {self._silence:g} seconds")
        return self._look

    def _ask(self) -> Answer[Any]:
        self._asked = time.monotonic()

        async def ask() -> Any:
            return await self._client.run_on_scheduler(look_around, self._silence)

        coroutine: Coroutine[Any, Any, Any] = ask()
        return asyncio.run_coroutine_threadsafe(coroutine, self._client.loop.asyncio_loop)

    def _looked(self, answer: Answer[Any], seconds: float) -> Snapshot:
        try:
            return Snapshot(*answer.result(seconds))
        except (OSError, TimeoutError, asyncio.CancelledError):
            raise self._lost("does not answer") from None
        except (ImportError, AttributeError) as error:
            raise LuthierError(
                f"{self._name}: the scheduler cannot load luthier ({error}). hint: start it from an environment "
                "that has the same luthier as this one"
            ) from None

    def hand(self, packed: bytes, *, apart_from: str = "", only: str = "") -> str:
        """Hand out a unit as a task of its own."""
        workers = [only] if only else [w for w in self._look.threads if w != apart_from] if apart_from else None
        key = f"luthier-{self._run}-{next(self._numbers)}"
        future = self._client.submit(run_packed, packed, key=key, pure=False, workers=workers, retries=0)
        self._futures[key] = future
        self._client.loop.add_callback(self._follow, key, future)
        return key

    async def _follow(self, key: str, future: Any) -> None:
        """Wait for a task and take its result, all in the thread of the connection: other ways cost twice as much."""
        try:
            answer = await self._client.gather(future, asynchronous=True)
        except (Exception, asyncio.CancelledError) as error:
            answer = error
        self._done.put((key, answer))

    def next_done(self, seconds: float) -> str | None:
        """Return the name of a task that is done."""
        try:
            name, answer = self._done.get(timeout=seconds)
        except queue.Empty:
            return None
        if name not in self._futures:
            return None  # it was released
        self._answers[name] = answer
        return name

    def outcome(self, name: str) -> Outcome:
        """Return how a task went."""
        answer = self._answers.pop(name)
        try:
            if isinstance(answer, BaseException):
                raise answer
            found = deserialized(answer)
        except distributed.scheduler.KilledWorker as error:
            deaths = error.allowed_failures + 1
            return Outcome(fault=f"{deaths} workers ended while they ran this unit, as if out of memory", killed=True)
        except (OSError, asyncio.CancelledError, distributed.CancelledError):
            raise self._lost("is gone") from None
        except ImportError as error:
            return Outcome(fault=f"a worker cannot load luthier ({error}). hint: install the same there")
        assert isinstance(found, Outcome)
        return found

    def drop(self, names: Iterable[str]) -> None:
        """Let go of tasks; Dask forgets those that nobody waits for."""
        for name in names:
            future = self._futures.pop(name, None)
            if future is not None and self._client.status == "running":
                with contextlib.suppress(Exception):  # a scheduler that is lost has forgotten it already
                    if future.status == "pending":
                        future.cancel()
                    future.release()

    def close(self) -> None:
        """Let go of all."""
        self.drop(list(self._futures))

    def _lost(self, how: str) -> LuthierError:
        return LuthierError(
            f"{self._name}: the scheduler of the cluster {how}. hint: what was finished is kept where the command "
            "keeps such things; the same command (`resume` with a `checkpoint`) goes on, on any cluster or without one"
        )


async def look_around(silence: float, dask_scheduler: Any = None) -> tuple[dict[str, int], dict[str, str], int]:
    """Return workers with their threads, units with their workers, and how many were lost; run by the scheduler.

    Workers that have been silent for longer than that are taken for dead: their units go elsewhere at once, and
    whoever minds such a worker is asked to start it anew.
    """
    now = time.time()
    least = 10 * distributed.scheduler.heartbeat_interval(len(dask_scheduler.workers))
    for state in list(dask_scheduler.workers.values()):
        if now - state.last_seen > max(silence, least):
            nanny = state.nanny
            await dask_scheduler.remove_worker(state.address, stimulus_id=f"luthier-silent-{now}")
            if nanny:
                dask_scheduler.loop.add_callback(_restart, dask_scheduler, nanny)
    workers = list(dask_scheduler.workers.values())
    at = {task.key: state.address for state in workers for task in state.processing if isinstance(task.key, str)}
    ours = {key: address for key, address in at.items() if key.startswith("luthier-")}
    return (
        {state.address: state.nthreads for state in workers},
        ours,
        getattr(dask_scheduler, "_workers_removed_total", 0),
    )


async def _restart(scheduler: Any, nanny: str) -> None:
    """Have a worker process killed; its nanny starts another."""
    with contextlib.suppress(OSError, TimeoutError):
        async with distributed.core.rpc(nanny, connection_args=scheduler.connection_args) as minder:
            await asyncio.wait_for(minder.kill(reason="luthier-silent", timeout=2), 30)
