"""The table of runs, weights side by side, and the session of chosen runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.explorer.sessions.folders import Folders
from luthier.explorer.sessions.request import LARGEST_NUMBER, CheckedRequest
from luthier.explorer.sessions.responses import Reply
from luthier.explorer.sessions.workspace import Workspace
from luthier.kbest.weights import Weights

MOST_CHOSEN, MOST_BESIDE = 8, 2000


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
    table = np.array([[own.get(name, 0.0) for name in names] for own in _scaled(vectors)])
    table = table.reshape(len(vectors), len(names))
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


def study(workspace: Workspace, asked: CheckedRequest) -> Reply:
    """Return the tables of a study."""
    folders = _folders(workspace)
    (run,) = workspace.chosen([asked.whole("run", low=0, high=LARGEST_NUMBER)])
    return Reply({"name": folders.name_of(run), "tables": folders.tables_of(run)})


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
