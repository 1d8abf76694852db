"""What the server has open: one session of given lists, or folders of runs, and the sessions of runs chosen there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import frozen
from luthier.core.errors import LuthierError, unwarned
from luthier.explorer.endpoints.request import LARGEST_NUMBER, CheckedRequest
from luthier.explorer.endpoints.responses import Reply
from luthier.explorer.endpoints.runs import Folders, Run
from luthier.explorer.endpoints.session import Named, Session
from luthier.kbest.derived import with_derived
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import Weights
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric

MOST_SESSIONS, MOST_CHOSEN, MOST_BESIDE = 3, 8, 2000


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


def runs(workspace: Workspace, asked: CheckedRequest) -> Reply:  # noqa: ARG001
    """Return the table of runs as it is now."""
    folders = _folders(workspace)
    rows = [folders.shown(number, run) for number, run in folders.look().items()]
    told = f"{folders.n_left_out} folders were left out: there are too many files" if folders.n_left_out else ""
    return Reply({"rows": rows, "folders": [str(root) for root in folders.roots], "note": told})


def beside(workspace: Workspace, asked: CheckedRequest) -> Reply:
    """Return the weights of some runs side by side, each of length Σ|w| = 1, what differs most first."""
    folders = _folders(workspace)
    vectors: dict[str, Weights] = {}
    for run in workspace.chosen(_numbers(asked)):
        vectors |= folders.weights_of(run)
    names = list(dict.fromkeys(name for weights in vectors.values() for name in weights))
    table = np.array([[own.get(name, 0.0) for name in names] for own in _scaled(vectors)]).reshape(len(vectors), -1)
    spread = np.ptp(table, axis=0) if len(table) else np.zeros(0)
    order = np.argsort(-spread, kind="stable")[:MOST_BESIDE]
    return Reply(
        {
            "systems": list(vectors),
            "rows": [
                {"feature": names[d], "weights": [f"{x:.4g}".replace("-", "−") for x in table[:, d].tolist()],
                 "values": table[:, d].tolist(), "spread": float(spread[d])}
                for d in order.tolist()
            ],
        }
    )  # fmt: skip


def open_runs(workspace: Workspace, asked: CheckedRequest) -> Reply:
    """Open the session of some runs; return its number."""
    _folders(workspace)
    return Reply({"session": workspace.opened(_numbers(asked))})


def _scaled(vectors: dict[str, Weights]) -> list[dict[str, float]]:
    return [dict(weights.normalized("l1")) for weights in vectors.values()]


def _numbers(asked: CheckedRequest) -> list[int]:
    found: list[Any] = asked.items("runs", most=MOST_CHOSEN)
    if not found or not all(type(item) is int and 0 <= item < LARGEST_NUMBER for item in found):
        raise LuthierError(f"expected the numbers of 1 to {MOST_CHOSEN} runs")
    return list(dict.fromkeys(found))


def _folders(workspace: Workspace) -> Folders:
    if workspace.folders is None:
        raise LuthierError("no folders of runs were given. hint: luthier explore DIR")
    return workspace.folders
