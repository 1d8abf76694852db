"""How constrained a linear model is by a set of lists: bounds, counts, and selections put to the test [waite2015]."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.params import param, validate
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.geometry.lp.certificates import Feasible, Infeasible
from luthier.geometry.lp.feasibility import feasibility
from luthier.geometry.lp.feasible_subset import FeasibleSubset, SelectionTests
from luthier.geometry.polytopes.counting import Bound, Counts, count_bounds, exact_rank
from luthier.geometry.polytopes.polytope import distinct_rows_of_lists, extreme_rows_of_lists
from luthier.kbest.rerank import rerank
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.feasibility import Choice, Constraint, Verdict, judge
from luthier.metrics.oracle import Selection, corpus_oracle


@dataclasses.dataclass(frozen=True, eq=False)
class GeometryReport:
    """What was found.

    Attributes
    ----------
    counts : Counts
        From the sizes alone; D is the rank of the differences within lists.
    lengths, distinct, extreme : (N,) int64
        Hypotheses, different feature vectors, and vertices of each list.
    oracle : Selection
        The corpus oracle (greedy).
    oracle_extreme : (N,) bool
        Whether the oracle's hypothesis is a vertex of its own list; otherwise no weights select it, ever.
    verdict : Verdict
        Whether one vector makes the oracle's selection, and the proof.
    subset : FeasibleSubset
        The most sentences found on which one vector selects what the oracle does.
    subset_order : str
        The order in which they were found.
    subset_holds : bool
        Whether a re-rank with its weights selects the oracle's vectors there.
    sample_reached : (sample,) int64
        How many sentences, in the pool's order, each random index vector got through before it failed.
    sentences : (N,) int64, optional
        Their numbers in a larger pool, of which the problem has left some out.
    """

    problem: ListProblem
    counts: Counts
    lengths: Int64
    distinct: Int64
    extreme: Int64
    oracle: Selection
    oracle_extreme: Bool
    verdict: Verdict
    subset: FeasibleSubset
    subset_order: str
    subset_holds: bool
    sample_reached: Int64
    seed: int
    sentences: Int64 | None = None

    def contradiction(self) -> list[Constraint]:
        """Return the oracle's constraints that cannot all come true; none if all can."""
        constraints = self.verdict.contradiction()
        if self.sentences is None:
            return constraints
        return [
            dataclasses.replace(constraint, sentence=int(self.sentences[constraint.sentence]))
            for constraint in constraints
        ]

    @property
    def log10_extreme_index_vectors(self) -> float:
        """How many index vectors there are of extreme hypotheses only."""
        return float(np.sum(np.log10(self.extreme)))

    @property
    def sample_feasible(self) -> int:
        """How many of the random index vectors one weight vector can select."""
        return int(np.count_nonzero(self.sample_reached == len(self.lengths)))

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON; sentences are named as in the pool."""
        ids, kept, constraints = self.problem.pool.sentence_ids, self.subset.lists.tolist(), self.contradiction()
        return {
            "seed": self.seed,
            "metric": self.problem.metric.signature,
            "sentences": self.counts.n_lists,
            "features": self.problem.n_features,
            "rank": self.counts.n_dimensions,
            "log10_index_vectors": self.counts.log10_index_vectors,
            **bounds_dict(self.counts),
            "hypotheses": summary(self.lengths),
            "distinct": summary(self.distinct),
            "extreme": summary(self.extreme),
            "log10_extreme_index_vectors": self.log10_extreme_index_vectors,
            "oracle": {
                "extreme": int(np.count_nonzero(self.oracle_extreme)),
                **self.verdict.as_dict(),
                **({"contradiction": [dataclasses.asdict(w) for w in constraints]} if constraints else {}),
            },
            "subset": {
                "sentences": len(kept),
                "order": self.subset_order,
                "holds": self.subset_holds,
                "lps": self.subset.lps,
                "ids": [ids[i] for i in kept],
                "weights": dict(zip(self.problem.names, self.subset.weights.tolist(), strict=True)),
            },
            "sample": {
                "tested": len(self.sample_reached),
                "feasible": self.sample_feasible,
                "sentences_before_failure": summary(self.sample_reached[self.sample_reached < len(self.lengths)]),
            },
        }


def summary(values: Int64) -> dict[str, float] | None:
    """Return least, median, mean, most and total of some counts; None of none."""
    if not len(values):
        return None
    return {
        "least": int(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "most": int(values.max()),
        "total": int(values.sum()),
    }


def bounds_dict(counts: Counts) -> dict[str, Any]:
    """Return the bounds for JSON."""
    return {name: _bound_dict(getattr(counts, name)) for name in ("theorem", "arrangement", "tight")}


def _bound_dict(bound: Bound) -> dict[str, Any]:
    values = dataclasses.asdict(bound)
    return {name: None if value == -math.inf else value for name, value in values.items()}


def report_geometry(
    problem: ListProblem, features: Float64, start: Float64, settings: GeometrySettings, *, seed: int, threads: int = 1
) -> GeometryReport:
    """Return how constrained a model with these features, (M, D), is by a problem's lists.

    `start`, (D,), are weights whose nearness to the oracle gives the first order in which sentences are tried.
    """
    offsets = problem.offsets
    lengths = np.diff(offsets)
    subset_rng, sample_rng = make_rng(seed).spawn(2)
    distinct = np.diff(distinct_rows_of_lists(offsets, features, threads=threads)[0])
    extreme_offsets, extreme = extreme_rows_of_lists(offsets, features, threads=threads)
    oracle = corpus_oracle(problem.metric, problem.stats, offsets)
    tests = SelectionTests(offsets, features)
    subset, order = _largest_subset(tests, oracle.rows, start, settings.orders, subset_rng)
    return GeometryReport(
        problem=problem,
        counts=count_bounds(lengths.tolist(), max(1, exact_rank(features, offsets))),
        lengths=lengths,
        distinct=distinct,
        extreme=np.diff(extreme_offsets),
        oracle=oracle,
        oracle_extreme=_are_extreme(features, oracle.rows, extreme_offsets, extreme),
        verdict=judge(problem.pool, Choice("oracle", oracle.rows, oracle.score, problem.metric.signature)),
        subset=subset,
        subset_order=order,
        subset_holds=_holds(problem, features, oracle.rows, subset),
        sample_reached=_sample(tests, settings.sample, sample_rng),
        seed=seed,
    )


def _are_extreme(features: Float64, rows: Int64, offsets: Int64, extreme: Int64) -> Bool:
    """Return whether each selected row, or one that is equal, is a vertex of its list: (N,)."""
    return np.array(
        [
            bool(np.any(np.all(features[extreme[offsets[i] : offsets[i + 1]]] == features[row], axis=1)))
            for i, row in enumerate(rows.tolist())
        ]
    )


def _largest_subset(
    tests: SelectionTests, rows: Int64, start: Float64, orders: int, rng: np.random.Generator
) -> tuple[FeasibleSubset, str]:
    """Try several orders of sentences: first those that `start` nearly gets right, then orders at random."""
    n = len(rows)
    tried = [("nearest to the weights first", tests.nearest_first(rows, start))]
    tried += [(f"random order {number}", rng.permutation(n)) for number in range(1, orders)]
    best: tuple[FeasibleSubset, str] | None = None
    with progress("orders of sentences", len(tried)) as advance:
        for name, order in tried:
            found = tests.feasible_subset(rows, order)
            if best is None or len(found.lists) > len(best[0].lists):
                best = found, name
            advance(1)
    assert best is not None
    return best


def _holds(problem: ListProblem, features: Float64, rows: Int64, subset: FeasibleSubset) -> bool:
    selected = rerank(problem.pool, subset.weights)[subset.lists]
    return bool(np.all(features[selected] == features[rows[subset.lists]]))


def _sample(tests: SelectionTests, count: int, rng: np.random.Generator) -> Int64:
    """Draw index vectors, each row of a list as likely; return how many sentences each gets through, (count,).

    Those that fail are proved to, in exact arithmetic, on the sentences up to the first in the way.
    """
    offsets, features = tests.offsets, tests.features
    n = len(offsets) - 1
    reached = np.empty(count, np.int64)
    with progress("random index vectors", count) as advance:
        for number in range(count):
            rows = rng.integers(offsets[:-1], offsets[1:])
            done = tests.reached(rows, np.arange(n))
            while done < n and isinstance(_prefix(offsets, features, rows, done + 1), Feasible):
                done += 1  # by less than the floats' tolerance
            reached[number] = done
            advance(1)
    return reached


def _prefix(offsets: Int64, features: Float64, rows: Int64, n: int) -> Feasible | Infeasible:
    return feasibility(offsets[: n + 1], features[: offsets[n]], rows[:n])


# How much `luthier geometry bounds` tries; a file of its own, so that asking for help loads nothing heavy.


@dataclasses.dataclass(frozen=True)
class GeometrySettings:
    """How much is tried."""

    sample: int = param(100, low=0, high=1_000_000, help="random index vectors to test")
    orders: int = param(5, low=1, high=100_000, help="orders of sentences in which a feasible subset is sought")

    def __post_init__(self) -> None:
        validate(self)


@dataclasses.dataclass(frozen=True)
class CurveSettings:
    """How much is drawn and how long it may take."""

    draws: int = param(20, low=1, high=100_000, help="draws of features and sentences for each number of features")
    timed_sentences: int = param(64, low=1, high=10_000, help="most sentences given to lp-mert")
    timed_k: int = param(20, low=2, high=100_000, help="hypotheses of a sentence given to lp-mert")
    time_limit: float = param(5.0, low=0.0, high=1e6, help="seconds after which an lp-mert run ends")
    timed_draws: int = param(3, low=0, high=1000, help="lp-mert runs for each size (0: none)")

    def __post_init__(self) -> None:
        validate(self)


@dataclasses.dataclass(frozen=True)
class Share:
    """On how many of all draws the oracle's selection was feasible."""

    n_features: int
    n_sentences: int
    feasible: int
    draws: int


@dataclasses.dataclass(frozen=True)
class Cost:
    """What lp-mert took along an axis: CPU seconds of each draw, and how many of them ended before the limit."""

    axis: str
    n_features: int
    n_sentences: int
    seconds: tuple[float, ...]
    finished: int


@dataclasses.dataclass(frozen=True)
class ConstraintCurves:
    """Shares and costs by numbers of features and sentences.

    Attributes
    ----------
    axes : what the picture is drawn against, of 'dims' and 'sentences'
    shares : for each number of features, numbers of sentences up to the first that no draw reached
    costs : along each of the axes, the other one fixed
    """

    axes: tuple[str, ...]
    shares: tuple[Share, ...]
    costs: tuple[Cost, ...]
    k: int
    time_limit: float

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)
