"""From weights and a space to a certificate: how far the weights are from the best there are."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.written import secondary
from luthier.core.params import param, validate
from luthier.core.threads import one_blas_thread, stopping_gently
from luthier.geometry.minkowski.frontier import Arrays
from luthier.landscape.certified._box_kernels import Open
from luthier.landscape.certified.box import Box, Boxes
from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.certified.search import Explanation, Search, Waiting
from luthier.landscape.certified.space import Space
from luthier.landscape.cones.search_state import read_state, refusing_states, write_state
from luthier.landscape.list_problem import ListProblem

# A search over boxes on disk: what it needs to go on exactly as if it had not been stopped.


def identity_of(boxes: Boxes, gap: float) -> dict[str, Any]:
    """Return what must agree for a saved search to be of this problem, space and gap."""
    space = boxes.space
    return {
        **boxes.problem.identity(),
        "gap": gap,
        "ties": space.ties,
        **{name: getattr(space, name).tolist() for name in ("matrix", "lows", "highs", "walls")},
    }


def save_search(path: str, search: Search) -> None:
    """Write a search in one piece; boxes that share their rows share them there too."""
    standing = search.standing
    waiting = sorted(standing.heap)
    kept: dict[int, int] = {}
    sets: list[Open] = []
    for item in waiting:
        if id(item.box.open) not in kept:
            kept[id(item.box.open)] = len(sets)
            sets.append(item.box.open)
    n_stats, n_moments = len(search.boxes.sizes), len(search.boxes.space.matrix) + 1
    state: Arrays = {
        "lows": _stacked([item.box.low for item in waiting], len(search.boxes.space.matrix)),
        "highs": _stacked([item.box.high for item in waiting], len(search.boxes.space.matrix)),
        "bounds": np.array([item.box.bound for item in waiting]),
        "axes": np.array([item.box.axis for item in waiting], np.int64),
        "moments": np.array([item.box.moments for item in waiting], np.float32).reshape(-1, *2 * [n_moments]),
        "serials": np.array([item.serial for item in waiting], np.int64),
        "sets": np.array([kept[id(item.box.open)] for item in waiting], np.int64),
        "rows": _joined([s.rows for s in sets], np.int32),
        "row_counts": np.array([len(s.rows) for s in sets], np.int64),
        "starts": _joined([s.starts for s in sets], np.int64),
        "lists": _joined([s.lists for s in sets], np.int32),
        "list_counts": np.array([len(s.lists) for s in sets], np.int64),
        "fixed": _stacked([s.fixed for s in sets], n_stats),
        "weights": standing.weights,
        "top_gains": np.array([gain for gain, _ in standing.tops]),
        "tops": _stacked([top for _, top in standing.tops], len(search.boxes.space.matrix)),
    }
    tally = {name: getattr(standing, name) for name in ("gain", "closed", "boxes", "serial", "climbs", "kept")}
    write_state(path, identity_of(search.boxes, search.gap), tally, state)


def load_search(path: str, boxes: Boxes, *, gap: float, threads: int) -> Search:
    """Return a search as it was saved, or raise `InputError` where the file is of another one or makes no sense."""
    identity, tally, state = read_state(path)
    if identity != identity_of(boxes, gap):
        raise InputError(
            expected="a search of this pool, metric, space and gap",
            found="one of another",
            path=path,
            hint="remove it to start anew, without `resume`",
        )
    with refusing_states(path):
        weights, gain, closed = np.array(state["weights"], np.float64), float(tally["gain"]), float(tally["closed"])
        boxes_seen, serial, climbs, kept = (int(tally[name]) for name in ("boxes", "serial", "climbs", "kept"))
        standing = Explanation(weights, gain, closed, boxes_seen, serial, climbs, kept)
        if standing.weights.shape != (boxes.problem.n_features,) or not np.all(np.isfinite(standing.weights)):
            raise LuthierError("its weights are no weights of this problem")
        if standing.gain != boxes.problem.gain(standing.weights):
            raise LuthierError("its weights have another gain")
        standing.heap, standing.tops = _waiting(boxes, state), _tops(boxes, state)
    return Search(boxes, standing, gap=gap, threads=threads)


def _waiting(boxes: Boxes, state: Arrays) -> list[Waiting]:
    """Return the boxes that wait, in their order (which is a heap), after checks that their numbers are in range."""
    sets = _sets(boxes, state)
    lows, highs = state["lows"], state["highs"]
    n, shape = len(state["bounds"]), (len(state["bounds"]), len(boxes.space.matrix))
    if lows.shape != shape or highs.shape != shape or not np.all(lows <= highs):
        raise LuthierError("its boxes are none of this space")
    if n and not (state["axes"].min() >= 0 and state["axes"].max() < shape[1]):
        raise LuthierError("its axes are none of this space")
    if n and not (state["sets"].min() >= 0 and state["sets"].max() < len(sets)):
        raise LuthierError("its rows are not there")
    moments = state["moments"]
    if (
        moments.shape != (n, shape[1] + 1, shape[1] + 1)
        or moments.dtype != np.float32
        or not np.all(np.abs(moments) <= 2)
    ):
        raise LuthierError("its moments are none of this space")
    items = zip(lows, highs, state["bounds"], state["axes"], state["serials"], state["sets"], moments, strict=True)
    found = []
    for low, high, bound, axis, serial, at, moment in items:
        # centre and sums were of use when the box was new
        box = Box(low.copy(), high.copy(), sets[at], float(bound), int(axis), low.copy(), sets[at].fixed, moment.copy())
        found.append(Waiting(-box.bound, int(serial), box))
    return found


def _tops(boxes: Boxes, state: Arrays) -> list[tuple[float, Float64]]:
    """Return where line searches led, after checks that the points are some of the space."""
    gains, tops, space = state["top_gains"], state["tops"], boxes.space
    if tops.shape != (len(gains), len(space.matrix)) or not np.all(np.isfinite(gains)):
        raise LuthierError("its points are none of this space")
    if not all(np.any(np.all((space.lows <= top) & (top <= space.highs), axis=1)) for top in tops):
        raise LuthierError("its points lie in no box of this space")
    return [(float(gain), top.copy()) for gain, top in zip(gains, tops, strict=True)]


def _sets(boxes: Boxes, state: Arrays) -> list[Open]:
    """Return the sets of open rows, after checks that kernels may index by them."""
    rows, starts, lists = state["rows"], state["starts"], state["lists"]
    row_ends, list_ends = np.cumsum(state["row_counts"]), np.cumsum(state["list_counts"])
    n_sets, n_stats = len(row_ends), len(boxes.sizes)
    if [part.dtype.str[1:] for part in (rows, starts, lists)] != ["i4", "i8", "i4"]:
        raise LuthierError("its rows are no whole numbers")
    if state["fixed"].shape != (n_sets, n_stats) or len(starts) != len(lists) + n_sets:
        raise LuthierError("its rows are not as many as it says")
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(boxes.rows.heights)):
        raise LuthierError("its rows are none of this pool")
    if len(lists) and not (lists.min() >= 0 and lists.max() < boxes.rows.n_lists):
        raise LuthierError("its lists are none of this pool")
    found = []
    for k in range(n_sets):
        first_row, first_list = (0, 0) if k == 0 else (int(row_ends[k - 1]), int(list_ends[k - 1]))
        own = starts[first_list + k : int(list_ends[k]) + k + 1]
        part = Open(
            rows[first_row : int(row_ends[k])].copy(),
            own.copy(),
            lists[first_list : int(list_ends[k])].copy(),
            state["fixed"][k].copy(),
        )
        if part.starts[0] != 0 or part.starts[-1] != len(part.rows) or np.any(np.diff(part.starts) <= 0):
            raise LuthierError("its lists do not hold its rows")
        found.append(part)
    return found


def _stacked(vectors: list[Float64], width: int) -> Float64:
    return np.array(vectors, np.float64).reshape(-1, width)


def _joined(arrays: list[Any], dtype: type) -> Any:
    return np.concatenate([np.zeros(0, dtype), *arrays])


SAVED_EVERY = 20_000  # boxes


@dataclasses.dataclass(frozen=True)
class CertifyOptions:
    """How long to search, and where to keep the search."""

    gap: float = param(0.01, low=0.0, help="stop when no weights can gain more than this over the best, in the score")
    limit: int = param(100_000, low=1, help="boxes, at most")
    checkpoint: str = param("", help="file that keeps the search, to resume it")
    resume: bool = param(False, help="resume the search that the checkpoint keeps")
    threads: int = param(1, low=1, help="threads")

    def __post_init__(self) -> None:
        validate(self)
        if self.resume and not self.checkpoint:
            raise LuthierError("expected the file of a search to resume, found none. hint: give `checkpoint`")


def certify(problem: ListProblem, space: Space, weights: Float64, options: CertifyOptions | None = None) -> Certificate:
    """Return the best weights of a space, with a bound on all of them; `weights`, (D,), are where it begins.

    They need not lie in the space: then they are the best found only until something in it is better. Ctrl-C stops
    the search after its present batch.
    """
    options = options or CertifyOptions()
    stop = threading.Event()
    with one_blas_thread(), stopping_gently(stop):
        boxes = Boxes(problem, space)
        if options.resume:
            search = load_search(options.checkpoint, boxes, gap=options.gap, threads=options.threads)
        else:
            search = Search.begin(boxes, weights, gap=options.gap, threads=options.threads)
        saved = search.standing.boxes
        for _ in search.batches(options.limit, stop):
            if options.checkpoint and search.standing.boxes >= saved + SAVED_EVERY:
                with secondary(options.checkpoint):
                    save_search(options.checkpoint, search)
                saved = search.standing.boxes
        if options.checkpoint:
            with secondary(options.checkpoint):
                save_search(options.checkpoint, search)
    return search.certificate(stopped=stop.is_set())
