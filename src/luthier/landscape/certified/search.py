"""Best-first search over boxes: the box with the highest bound is split, until no bound is above the best by a gap.

Boxes are taken in batches of a fixed size and looked at against the best gain before the batch, so that the answer is
the same for any number of threads. Limits are counted in boxes, so that it does not depend on the machine either.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.progress import notice
from luthier.core.rng import make_rng
from luthier.core.threads import executor
from luthier.landscape.certified._box_kernels import Open
from luthier.landscape.certified.box import Box, Boxes, Task, first_moments
from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.certified.incumbents import Walled, climb, problem_of_rows, stray, wander
from luthier.landscape.certified.rows import Rows, middle_of
from luthier.landscape.certified.space import box_volume

# Boxes in which all that is open ties at one point: their sides represent them.
#
# Suppose that all open rows of each list are equally high at a point q of a box. Along a ray from q the differences of
# two of them keep their signs and grow, so whatever wins somewhere on the ray wins where it leaves the box, too: on one
# of the sides that do not hold q. These have one dimension less. Without this step a box round such a point never
# becomes simpler, however small it is, and features that are whole numbers have many such points.
#
# That is so for weights that win every list by a margin; those that hang on a tie, or on the last digits, are left out.
# At q two rows differ by no more than their slack, rounding included. Where one leads by m ≥ 1 slacks and the ray goes
# on s ≥ 1 times as far, it leads by s·m − (s − 1) ≥ m: margins do not shrink from step to step.

FIRST = 64  # lists that are looked at first: mostly these tell that there is no such point
MOST_ROWS = 50_000  # open rows of a box up to which such a point is looked for
NO_SPREAD = 1e-12  # a direction that the squared differences reach by no more than this share counts as none
REFINED = 3  # rounds in which the point is found: each takes away what rounding left
SHARE = 1 / 8  # of a list's slack, by which rows may differ from its first one at the point
AT_END = 1e-9  # nearer to an end of the box than this share of its size is at the end


def sides_for(rows: Rows, low: Float64, high: Float64, found: Open) -> list[tuple[Float64, Float64]] | None:
    """Return the sides that represent a box, corners (P,) each, or None if its open rows tie at no point of it."""
    moving = np.flatnonzero(high > low)
    if not len(moving) or len(found.rows) > MOST_ROWS:
        return None
    point = tie_point(rows, low, high, _first(found))
    if point is not None and len(found.lists) > FIRST:
        point = tie_point(rows, low, high, found)
    return None if point is None else list(_sides_without(point, low, high, moving))


def tie_point(rows: Rows, low: Float64, high: Float64, found: Open) -> Float64 | None:
    """Return a point of a box, (P,), at which the open rows of each list tie, or None where none was found.

    It is the least-squares one, in units of the box. Sums are NumPy's own, so that they depend on no thread.
    """
    moving = np.flatnonzero(high > low)
    centre, radius = middle_of(low, high)
    counts = np.diff(found.starts)
    differences = rows.heights[found.rows] - rows.heights[np.repeat(found.rows[found.starts[:-1]], counts)]  # (n, P)
    room = SHARE * np.repeat(rows.slack[found.lists], counts)
    units = np.where(room > 0, room, 1.0)[:, None]
    scaled = differences[:, moving] * radius[moving] / units
    with np.errstate(over="ignore", invalid="ignore"):  # then nothing is found
        squares = np.einsum("nk,nl->kl", scaled, scaled)
    if not np.all(np.isfinite(squares)):
        return None
    sizes, axes = np.linalg.eigh(squares)
    reached = sizes > NO_SPREAD * max(float(sizes[-1]), 0.0)
    place = np.zeros(len(moving))
    for _ in range(REFINED):
        point = centre.copy()
        point[moving] = centre[moving] + place * radius[moving]
        left = (scaled * ((differences * point).sum(axis=1) / units[:, 0])[:, None]).sum(axis=0)
        along = (axes[:, reached] * left[:, None]).sum(axis=0) / sizes[reached]
        place = np.clip(place - (axes[:, reached] * along).sum(axis=1), -1.0, 1.0)
    point = _within(centre[moving] + place * radius[moving], place, low[moving], high[moving])
    whole = centre.copy()
    whole[moving] = point
    return whole if np.all(np.abs((differences * whole).sum(axis=1)) <= room) else None


def _within(point: Float64, place: Float64, low: Float64, high: Float64) -> Float64:
    """Return a point inside a box, exactly at an end where it is next to it; places are from −1 to 1."""
    ends = np.where(place > 0, high, low)
    return np.asarray(np.where(np.abs(place) > 1 - AT_END, ends, np.clip(point, low, high)))


def _sides_without(point: Float64, low: Float64, high: Float64, moving: Int64) -> Iterator[tuple[Float64, Float64]]:
    """Yield the sides of a box that do not hold a point of it."""
    for k in moving:
        for end in (low[k], high[k]):
            if point[k] != end:
                corners = low.copy(), high.copy()
                corners[0][k] = corners[1][k] = end
                yield corners


def _first(found: Open) -> Open:
    """Return the first lists of those that are open."""
    starts = found.starts[: FIRST + 1]
    return Open(found.rows[: starts[-1]], starts, found.lists[:FIRST], found.fixed)


BATCH = 64  # boxes that are split at a time
SMALL_CLIMBS = 6  # line searches of a small search, each time there are four times as many boxes
LARGE = 4**SMALL_CLIMBS  # boxes from which on a search is large: random lines are searched, too
PACE, MORE_ROWS = (
    100,
    500,
)  # boxes until the n-th search then, over n²; one more for so many rows, for lines take longer
TOPS = 4  # different ends of line searches that are kept: others start near them
CENTRED = 4  # of so many line searches one starts from a centre
MOST_KEPT = 1 << 28  # open rows kept by all boxes together (1 GB); then boxes keep those of the one they were cut from


class Waiting(NamedTuple):
    """A box that waits to be split: the highest bound first, the earliest of those as high; no two have one serial."""

    rank: float
    serial: int
    box: Box


@dataclasses.dataclass
class Explanation:
    """Where a search stands.

    Attributes
    ----------
    weights, gain
        The best so far; the gain is that of a re-rank.
    closed : float
        The highest bound of anything that was closed.
    boxes, climbs, kept : int
        Boxes looked at; line searches so far; rows that waiting boxes keep.
    tops : list of (gain, (P,))
        The best points that line searches led to, the best first; their gains differ.
    """

    weights: Float64
    gain: float
    closed: float = -np.inf
    boxes: int = 0
    serial: int = 0
    climbs: int = 0
    kept: int = 0
    heap: list[Waiting] = dataclasses.field(default_factory=list)
    tops: list[tuple[float, Float64]] = dataclasses.field(default_factory=list)


class Search:
    """One search: `batches` resumes it, `certificate` says what is known."""

    def __init__(self, boxes: Boxes, standing: Explanation, *, gap: float, threads: int = 1) -> None:
        self.boxes, self.standing, self.gap, self.threads = boxes, standing, gap, threads
        self._lines = problem_of_rows(boxes.problem, boxes.rows)
        self._pace = PACE + len(boxes.rows.heights) // MORE_ROWS

    @property
    def _climb_at(self) -> int:
        """The number of boxes after which lines are searched: at once, then each time it is four times as large.

        In large searches it grows as the square of how often they were: ever less of the time.
        """
        climbs = self.standing.climbs
        return int(4**climbs if climbs <= SMALL_CLIMBS else LARGE + self._pace * (climbs - SMALL_CLIMBS) ** 2)

    @classmethod
    def begin(cls, boxes: Boxes, weights: Float64, *, gap: float, threads: int = 1) -> Search:
        """Return a search that has looked at the root boxes; `weights`, (D,), are good ones, and best in the space."""
        search = cls(boxes, Explanation(weights, boxes.problem.gain(weights)), gap=gap, threads=threads)
        place = boxes.space.place(weights)
        if place is not None:
            search._climb_from(place)
        space, everything = boxes.space, boxes.rows.all_open()
        moments = first_moments(len(space.matrix))
        tasks = [(low, high, everything, np.inf, moments) for low, high in zip(space.lows, space.highs, strict=True)]
        search._take(tasks, boxes.look(tasks, search._target))
        return search

    @property
    def _target(self) -> float:
        return self.standing.gain + self.gap

    @property
    def bound(self) -> float:
        """No weights of the space have a higher gain."""
        standing = self.standing
        top = -standing.heap[0].rank if standing.heap else -np.inf
        return max(standing.gain, standing.closed, top)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to split."""
        heap = self.standing.heap
        return not heap or -heap[0].rank <= self._target

    def certificate(self, *, stopped: bool = False) -> Certificate:
        """Return what is known now."""
        standing, space = self.standing, self.boxes.space
        moving, fixed = self.boxes.problem.moving, self.boxes.problem.bounds.fixed
        left = [w.box for w in standing.heap if -w.rank > self._target]
        full = [box for box in left if np.count_nonzero(box.high > box.low) == space.n_moving]  # sides have no volume
        share = math.fsum(box_volume(box.low, box.high) for box in full) / (space.volume or 1.0)
        return Certificate(
            weights=standing.weights,
            gain=standing.gain,
            bound=self.bound,
            gap=self.gap,
            boxes=standing.boxes,
            n_open=len(left),
            open_share=min(1.0, share),
            whole=space.whole,
            everything=space.whole and space.holds_all(moving & ~fixed),
            limited=len(space.walls) > 0 or bool(np.any(moving & fixed)),
            ties=space.ties,
            stopped=stopped,
            metric=self.boxes.problem.metric,
        )

    def batches(self, limit: int, stop: threading.Event | None = None) -> Iterator[bool]:
        """Split boxes until the gap is closed or `limit` boxes were looked at; yield whether each batch improved."""
        standing, tell = self.standing, 256
        with executor(self.threads) as workers:
            while not self.finished and standing.boxes < limit and not (stop and stop.is_set()):
                before, target = standing.gain, self._target
                tasks = self._tasks()
                share = max(1, -(-len(tasks) // self.threads))
                shares = [tasks[first : first + share] for first in range(0, len(tasks), share)]
                ask = map if self.threads == 1 else workers.map
                parts = ask(self.boxes.look, shares, [target] * len(shares))
                self._take(tasks, [box for part in parts for box in part])
                if standing.boxes >= tell:
                    notice(self.certificate().line)
                    tell = 2 * standing.boxes
                yield standing.gain > before

    def _tasks(self) -> list[Task]:
        """Take the boxes of a batch from those that wait, and return their halves."""
        standing, tasks = self.standing, []
        for _ in range(BATCH):
            if self.finished:
                break
            box = heapq.heappop(standing.heap).box
            standing.kept -= len(box.open.rows)
            sides = None if self.boxes.space.ties else self._sides(box)
            if sides is not None:
                tasks += [(low, high, box.open, box.bound, box.moments) for low, high in sides]
                continue
            middle = box.low[box.axis] + (box.high[box.axis] - box.low[box.axis]) / 2
            if not box.low[box.axis] < middle < box.high[box.axis]:  # no number between: it stays as it is
                standing.closed = max(standing.closed, box.bound)
                continue
            left, right = box.high.copy(), box.low.copy()
            left[box.axis] = right[box.axis] = middle
            tasks += [(*ends, box.open, box.bound, box.moments) for ends in ((box.low, left), (right, box.high))]
        return tasks

    def _sides(self, box: Box) -> list[tuple[Float64, Float64]] | None:
        """Return smaller boxes that represent one but for ties: none for a point that is one, or None to split it."""
        rows, space = self.boxes.rows, self.boxes.space
        if np.array_equal(box.low, box.high):
            return [] if rows.margin(box.low) <= 1.0 else None
        return sides_for(rows, box.low, box.high, box.open) if space.surrounds(box.low, box.high) else None

    def _take(self, tasks: list[Task], found: list[Box | None]) -> None:
        """Put what was found of boxes, against one target, among those that wait; try the best of their centres."""
        standing, target = self.standing, self._target
        standing.boxes += len(found)
        kept = [(box, task) for box, task in zip(found, tasks, strict=True) if box is not None]
        lows, highs = (np.array([getattr(box, end) for box, _ in kept]) for end in ("low", "high"))
        if np.any(lows > [task[0] for _, task in kept]) or np.any(highs < [task[1] for _, task in kept]):
            standing.closed = max(standing.closed, target)
        for box, task in kept:
            if box.bound <= target:
                standing.closed = max(standing.closed, box.bound)
            else:
                self._wait(box, task[2])
        self._try([box for box, _ in kept])
        if standing.boxes >= self._climb_at:
            self._climb(found)

    def _wait(self, box: Box, given: Open) -> None:
        standing = self.standing
        full = standing.kept + len(box.open.rows) > MOST_KEPT
        box.open = given if full else Open(*(part.copy() for part in box.open))
        standing.kept += len(box.open.rows)
        heapq.heappush(standing.heap, Waiting(-box.bound, standing.serial, box))
        standing.serial += 1

    def _try(self, found: list[Box]) -> None:
        """Re-rank at the centre that promises most, if it promises more than the best so far."""
        guesses, inside = self._guesses(found)
        for place in np.argsort(-guesses, kind="stable"):
            if not guesses[place] > self.standing.gain or self._adopt(inside[place].point):
                return

    def _guesses(self, found: list[Box]) -> tuple[Float64, list[Box]]:
        """Return the gains at the centres of boxes, but for ties, and the boxes whose centres are in the space."""
        if not found:
            return np.zeros(0), []
        holds = self.boxes.space.holds(np.array([box.point for box in found]))
        inside = [box for box, held in zip(found, holds, strict=True) if held]
        return self.boxes.problem.gain_of_sums(np.array([box.sums for box in found])[holds]), inside

    def _adopt(self, point: Float64) -> bool:
        """Take a point for the best if a re-rank says so, and nothing there hangs on the last digits."""
        standing, boxes = self.standing, self.boxes
        weights = boxes.space.weights(point, boxes.problem.bounds)
        if not boxes.problem.bounds.allow(weights) or not boxes.rows.is_clear(point):
            return False
        gain = boxes.problem.gain(weights)
        if gain > standing.gain:
            standing.weights, standing.gain = weights, gain
        return gain >= standing.gain

    def _climb(self, found: list[Box | None]) -> None:
        """Search lines from the best centre of a batch; in a large search mostly from near a good end of earlier ones.

        Good weights lie beside others: from there lines lead higher than from centres, or from anywhere.
        """
        standing = self.standing
        standing.climbs += 1
        large, tops = standing.boxes >= LARGE, standing.tops
        rng = make_rng(standing.climbs) if large else None
        if rng is not None and len(tops) == TOPS and standing.climbs % CENTRED:
            top = tops[int(rng.integers(TOPS))][1]
            self._climb_from(stray(self._box_of(top), top, rng), rng)
            return
        guesses, inside = self._guesses([box for box in found if box is not None])
        for place in np.argsort(-guesses, kind="stable")[: 1 if len(tops) == TOPS or not large else TOPS]:
            self._climb_from(inside[place].point, rng)

    def _climb_from(self, point: Float64, rng: np.random.Generator | None = None) -> None:
        """Search lines from a point, within the root box that it lies in: coordinates, and random ones by `rng`."""
        box, tops = self._box_of(point), self.standing.tops
        reached = climb(self._lines, box, point) if rng is None else wander(self._lines, box, point, rng)
        if not self.boxes.space.holds(reached):
            return
        self._adopt(reached)
        gain = self._lines.gain(reached)
        if all(gain != other for other, _ in tops):
            tops.append((gain, reached))
            tops.sort(key=lambda top: -top[0])
            del tops[TOPS:]

    def _box_of(self, point: Float64) -> Walled:
        """Return the root box that a point lies in."""
        space = self.boxes.space
        root = int(np.argmax(np.all((space.lows <= point) & (point <= space.highs), axis=1)))
        return Walled(space.lows[root], space.highs[root], space.walls)
