"""What the server has open: one session of given lists, or folders of runs, and the sessions of runs chosen there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from luthier.core.arrays import frozen
from luthier.core.errors import LuthierError, unwarned
from luthier.explorer.sessions.folders import Folders, Run
from luthier.explorer.sessions.session import Named, Session
from luthier.kbest.derived import with_derived
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import open_pool
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric

MOST_SESSIONS = 3


class Workspace:
    """Sessions by number.

    Parameters
    ----------
    session : the one that was asked for by name; None where folders were
    folders : what is found below them, if any
    metric : for lists and weights of which no record says what they were tuned for
    """

    def __init__(
        self,
        session: Session | None = None,
        folders: Folders | None = None,
        metric: Metric | None = None,
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.folders, self._metric, self._seed, self._threads = folders, metric, seed, threads
        self._sessions: OrderedDict[tuple[int, ...], tuple[int, Session]] = OrderedDict()
        self._count = 0
        self.opening = False  # whether what the page asks first is still being computed
        if session is not None:
            self._keep((), session)

    def _keep(self, key: tuple[int, ...], session: Session) -> int:
        number, self._count = self._count, self._count + 1
        self._sessions[key] = number, session
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return number

    def session(self, number: int) -> Session:
        """Return an open session."""
        for own, session in self._sessions.values():
            if own == number:
                return session
        raise LuthierError("these runs are no longer open: choose them again in the table of runs")

    def opened(self, chosen: Sequence[int]) -> int:
        """Return the number of the session of some runs, which is made unless it is there."""
        key = tuple(chosen)
        if key in self._sessions:
            self._sessions.move_to_end(key)
            return self._sessions[key][0]
        with unwarned():  # the page shows which features have no weight
            return self._keep(key, self._make(self.chosen(chosen)))

    def chosen(self, numbers: Sequence[int]) -> list[Run]:
        """Return the runs of some numbers."""
        if self.folders is None:
            raise LuthierError("no folders of runs were given. hint: luthier explore DIR")
        runs = self.folders.runs or self.folders.look()
        if not numbers or any(number not in runs for number in numbers):
            raise LuthierError("expected runs that are in the table, found others: is a file gone?")
        return [runs[number] for number in numbers]

    def _make(self, runs: Sequence[Run]) -> Session:
        """Return the session of runs on the same lists: their weights, held-out lists and traces."""
        assert self.folders is not None
        pool, title = self._lists(runs)
        named = [(*pair, run.about) for run in runs for pair in self.folders.weights_of(run).items()]
        for _, weights, _ in named:
            pool = with_derived(pool, weights.derived)
        names = pool.features.names
        vectors = [Named(name, frozen(own.vector(names, source=name)), about) for name, own, about in named]
        specs = list(dict.fromkeys(run.metric for run in runs if run.metric))
        if len(specs) > 1:
            raise LuthierError(f"expected runs that are tuned for one metric, found {len(specs)}")
        metric = load_metric(specs[0]) if specs else self._metric
        assert metric is not None
        held = next((self.folders.pools.get(run.text("heldout", "digest")) for run in runs if run.about), None)
        return Session(
            pool,
            metric,
            vectors,
            title=title,
            traces=[run.trace for run in runs if run.trace and Path(run.trace).exists()],
            heldout=open_pool(held) if held else None,
            seed=self._seed,
            threads=self._threads,
        )

    def _lists(self, runs: Sequence[Run]) -> tuple[Pool, str]:
        """Return the lists that runs are about; those without a record may be about the only ones in their folder."""
        assert self.folders is not None
        known = dict.fromkeys(digest for run in runs if (digest := run.text("lists", "digest")))
        if len(known) > 1:
            raise LuthierError("expected runs on the same lists, found others. hint: compare them in the table")
        if not known:
            near = [digest for digest, path in self.folders.pools.items() if Path(path).parent == runs[0].home]
            near = near or list(self.folders.pools)
            if len(near) != 1:
                raise LuthierError("which lists these are of is not known. hint: choose a row of lists with them")
            known = dict.fromkeys(near)
        path = self.folders.pools.get(next(iter(known)))
        if path is None:
            raise LuthierError(
                "the lists of this run are not below the folders that were named, or are no pool. hint: 'luthier pool' "
                "makes one; tune on it"
            )
        return open_pool(path), Path(path).name
