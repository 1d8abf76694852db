"""The best weights of a window, with a proof: branch and bound over boxes of weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.landscape.certified.box import Boxes
from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.certified.search import Search
from luthier.landscape.certified.windows import WindowOptions, feature_axes
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem, movable
from luthier.landscape.subspaces import read_axis
from luthier.tuning.base import ListTuner, State

FIRST_WORD = 256  # boxes after which the search first says where it stands; then whenever they have doubled


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """Search a window of weights for the highest gain, and prove that there is none higher by more than a gap.

    For each box of weights the rows that can win somewhere in it are found; a line above the metric, as a function of
    summed statistics, says what any choice of them can reach. The box with the highest limit is split, until no limit
    is above the best gain by more than `gap`, or `limit` boxes were looked at. The answer says what is proven.
    """

    order_free: ClassVar[bool] = False

    axis: tuple[str, ...] = param(
        (), help="a feature whose weight may move, or a file of a direction; repeat it (default: all that can)"
    )
    window: tuple[str, ...] = param(
        (), help="FEATURE=LO:HI, what is added to its weight; repeat it (default: as far as matters)"
    )
    reach: float = param(0.0, low=0.0, help="what is added along every axis, at most (0: as far as matters)")
    whole: bool = param(False, help="no window: all weights there are of these features")
    principal: bool = param(True, help="boxes along the principal axes of differences within lists")
    ties: bool = param(True, help="count scores that are reached by ties only (without a window they never count)")
    gap: float = param(0.01, low=0.0, help="how far below the best the answer may be, in points of the score")
    limit: int = param(20_000, low=1, help="boxes, at most")
    threads: int = param(1, low=1, help="threads")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._windows()

    @property
    def spec(self) -> str:
        """The tuner with all its parameters but the threads, on which nothing depends."""
        return super().spec if self.threads == 1 else dataclasses.replace(self, threads=1).spec

    def refuses(self, problem: Problem) -> str:
        """Return why the metric or an axis does not allow a proof, or ''."""
        reason = super().refuses(problem)
        if reason or not isinstance(problem, ListProblem):
            return reason
        probe = np.ones(problem.stats.shape[1])
        if problem.metric.majorant(probe, probe, probe) is None:
            return f"the metric {problem.metric.name!r} declares no majorant, so nothing can be proven of it"
        try:
            for name in self.axis:
                for d in np.flatnonzero(problem.bounds.fixed & (read_axis(problem.pool, name) != 0)):
                    return f"the weight of {problem.names[d]!r} is fixed, it cannot move along {name!r}"
        except LuthierError as error:
            return str(error)
        return ""

    @property
    def is_random(self) -> bool:
        """Nothing is drawn."""
        return False

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:  # noqa: ARG002
        """Yield the start, better weights as they are found, and the best with what is proven."""
        yield State(start, problem.gain(start), "start")
        if not self.axis and not len(movable(problem)):
            return
        space = self._windows().space(problem, feature_axes(problem, start, self.axis))
        search = Search.begin(Boxes(problem, space), start, gap=self.gap, threads=self.threads)
        tell = FIRST_WORD
        for improved in search.batches(self.limit):
            if improved or search.standing.boxes >= tell:
                tell = max(tell, 2 * search.standing.boxes)
                yield _state(search.certificate())
        yield _state(search.certificate(), last=True)

    def _windows(self) -> WindowOptions:
        return WindowOptions(self.window, self.reach, self.whole, self.principal, self.ties)


def _state(found: Certificate, *, last: bool = False) -> State:
    record = {"bound": found.score_bound, "distance": found.distance, "boxes": found.boxes, "open": found.open_share}
    return State(
        found.weights,
        found.gain,
        "answer" if last else f"bound {found.score_bound:.6g}",
        objective=found.bound,
        note=found.sentence if last else "",
        record=record,
    )
