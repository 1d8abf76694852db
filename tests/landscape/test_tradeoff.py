"""Pareto fronts: against brute force over every interval and every cell of small lists, with ties."""

import dataclasses
import itertools
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import luthier
from luthier.core.errors import LuthierError
from luthier.landscape.tradeoff.front import pareto

METRICS = ["column:p", "column:q", "minimize(column:c)"]


def small_pool(seed, sentences, k, features=("f", "g")):
    rng = np.random.default_rng(seed)
    n = sentences * k
    numbers = {name: rng.integers(-2, 3, n).astype(float) for name in (*features, "p", "q", "c")}
    frame = {"id": np.repeat(np.arange(sentences), k), "hyp": [f"w{i}" for i in range(n)], **numbers}
    return luthier.pool_from_frame(frame, columns=["p", "q", "c"])


def gains_at(pool, weights):
    """Return the gains of all metrics of what weights (fractions) select, and whether a tie matters."""
    sums, tied = [Fraction(0)] * 3, False
    for first, last in itertools.pairwise(pool.offsets.tolist()):
        scores = [
            sum(w * Fraction(x) for w, x in zip(weights, pool.features.dense[row].tolist(), strict=True))
            for row in range(first, last)
        ]
        best = [row for row in range(first, last) if scores[row - first] == max(scores)]
        values = {(pool.columns["p"][row], pool.columns["q"][row], -pool.columns["c"][row]) for row in best}
        same = {tuple(pool.features.dense[row].tolist()) for row in best}
        tied |= len(values) > 1 and len(same) > 1
        row = best[0]
        own = pool.columns["p"][row], pool.columns["q"][row], -pool.columns["c"][row]
        sums = [total + Fraction(float(value)) for total, value in zip(sums, own, strict=True)]
    n = len(pool.offsets) - 1
    return tuple(total / n for total in sums), tied


def naive_front(points):
    """Return the vectors that no other one equals or exceeds in all metrics."""
    return {a for a in points if not any(b != a and all(y >= x for x, y in zip(a, b, strict=True)) for b in points)}


def as_set(gains):
    return sorted(tuple(round(x, 9) + 0.0 for x in row) for row in gains)


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=30))
def test_the_filter_keeps_what_no_other_beats(rows):
    gains = np.array(rows, dtype=float)
    found = pareto(gains)
    assert sorted(map(tuple, gains[found].tolist())) == sorted(naive_front(set(map(tuple, gains.tolist()))))


@settings(max_examples=40)
@given(st.integers(0, 100_000))
def test_the_front_of_a_line_is_that_of_all_its_intervals(seed):
    pool = small_pool(seed, 3, 4)
    start = [Fraction(1), Fraction(1, 4)]
    times = set()
    for first, last in itertools.pairwise(pool.offsets.tolist()):
        for a, b in itertools.combinations(range(first, last), 2):
            rise, gap = (pool.features.dense[a] - pool.features.dense[b]).tolist()[::-1]
            if rise:
                times.add(-(Fraction(gap) * start[0] + Fraction(rise) * start[1]) / Fraction(rise))
    ends = sorted(times)
    inner = [(a + b) / 2 for a, b in itertools.pairwise(ends)]
    places = [ends[0] - 1, *inner, ends[-1] + 1] if ends else [Fraction(0)]
    wanted = naive_front({gains_at(pool, [start[0], start[1] + t])[0] for t in places})
    found = luthier.tradeoff(pool, METRICS, axis="g", weights={"f": 1.0, "g": 0.25})
    assert as_set(found.gains) == as_set([[float(x) for x in row] for row in wanted])
    assert found.exact
    assert found.cells <= len(places)
    assert found.holds.all()
    for place, low, high in zip(*(found.places[name] for name in ("position", "low", "high")), strict=True):
        assert low < place < high


def crossings(lines):
    """Return where lines c + x·p + y·q = 0 meet."""
    for (c, p, q), (d, r, s) in itertools.combinations(lines, 2):
        det = p * s - q * r
        if det:
            yield (q * d - c * s) / det, (c * r - p * d) / det


@settings(max_examples=15)
@given(st.integers(0, 100_000))
def test_the_front_of_a_plane_is_that_of_all_its_cells(seed):
    """Every cell has three corners that are no line, and their centroid lies inside it."""
    pool = small_pool(seed, 2, 3, features=("e", "f", "g"))
    hypothesis.assume(all(np.ptp(pool.features.column(name)[:3]) for name in "fg"))  # no axis is constant
    lines = {(Fraction(3), Fraction(a), Fraction(b)) for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))}  # the window
    for first, last in itertools.pairwise(pool.offsets.tolist()):
        for a, b in itertools.combinations(range(first, last), 2):
            line = tuple(Fraction(x) for x in (pool.features.dense[a] - pool.features.dense[b]).tolist())
            if any(line[1:]):
                lines.add(line)
    corners = sorted({(x, y) for x, y in crossings(sorted(lines)) if abs(x) <= 3 and abs(y) <= 3})
    points = set()
    for three in itertools.combinations(corners, 3):
        x, y = (sum(column) / 3 for column in zip(*three, strict=True))
        gains, tied = gains_at(pool, [Fraction(1), x, y])
        inside = abs(x) < 3 and abs(y) < 3 and all(c + x * p + y * q != 0 for c, p, q in lines)
        if inside and not tied:
            points.add(gains)
    found = luthier.tradeoff(
        pool, METRICS, axis=["f", "g"], weights={"e": 1.0, "f": 0.0, "g": 0.0}, window=["f=-3:3", "g=-3:3"]
    )
    assert as_set(found.gains) == as_set([[float(x) for x in row] for row in naive_front(points)])
    assert found.holds.all()
    assert (found.places["radius"] > 0).all()


def test_an_inner_front_is_reached_and_beaten_by_none_of_its_own():
    pool = small_pool(7, 8, 6, features=("e", "f", "g"))
    found = luthier.tradeoff(pool, METRICS, starts=6, weights={"e": 1.0, "f": 0.5137, "g": 0.2741})
    assert not found.exact
    assert found.where == "all weights"
    vectors = [tuple(row) for row in found.gains.tolist()]
    assert naive_front(set(vectors)) == set(vectors)
    for weights, gains in zip(found.weights, found.gains, strict=True):
        own, _ = gains_at(pool, [Fraction(x) for x in weights.tolist()])
        assert [float(x) for x in own] == pytest.approx(gains.tolist())
    start = found.joint.gains(found.start_scores)
    assert any((row >= start).all() for row in found.gains)
    again = luthier.tradeoff(pool, METRICS, starts=6, weights={"e": 1.0, "f": 0.5137, "g": 0.2741}, threads=2)
    assert again.weights.tobytes() == found.weights.tobytes()


def test_prices_and_the_mix_of_a_case_by_hand():
    # one list of three: p falls 3, 2, 0 as q rises 0, 2, 3; a selection has one row, so noise is 0 and units are 1
    frame = {"id": [0, 0, 0], "hyp": ["a", "b", "c"], "lm": [0.0, 2, 3], "tm": [0.0, 1, 0]}
    pool = luthier.pool_from_frame({**frame, "p": [3.0, 2, 0], "q": [0.0, 2, 3]}, columns=["p", "q"])
    found = luthier.tradeoff(pool, "column:p,column:q", axis="lm", weights={"lm": -1.0, "tm": 4.0})
    assert found.scores.tolist() == [[3.0, 0.0], [2.0, 2.0], [0.0, 3.0]]
    assert found.start_scores.tolist() == [2.0, 2.0]  # −2 + 4 is above 0 and −3
    assert (found.best, found.mix) == ([0, 2], 1)
    assert found.advantages.tolist() == [[1.0, -2.0], [0.0, 0.0], [-2.0, 1.0]]
    (conflict,) = found.conflicts
    assert (conflict.points, conflict.first_price, conflict.second_price) == (3, 3.0, 3.0)
    assert found.named_weights(1)["tm"] == 4.0
    # lengths: the references have 2 words, so 100 is best, and 150 is as bad as 50
    texts = ["x", "x y", "x y z"]
    pool = luthier.pool_from_frame({**frame, "hyp": texts, "ref": ["x y"] * 3, "p": [3.0, 2, 0]}, columns=["p"])
    found = luthier.tradeoff(pool, ["column:p", "length"], axis="lm", weights={"lm": -1.0, "tm": 4.0})
    assert found.scores.tolist() == [[3.0, 50.0], [2.0, 100.0]]


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_scales_of_metrics_and_features_do_not_matter(size):
    pool = small_pool(11, 10, 6)
    other = dataclasses.replace(
        pool,
        columns={name: size * column for name, column in pool.columns.items()},
        features=dataclasses.replace(pool.features, dense=size * pool.features.dense),
    )
    options = {"axis": "g", "weights": {"f": 1.0, "g": 0.3137}}
    found, scaled = (luthier.tradeoff(one, METRICS, **options) for one in (pool, other))
    np.testing.assert_allclose(scaled.scores / size, found.scores, atol=1e-9)
    np.testing.assert_allclose(scaled.weights, found.weights)
    np.testing.assert_allclose(scaled.advantages, found.advantages, atol=1e-6)
    assert (scaled.mix, scaled.best) == (found.mix, found.best)
    assert scaled.holds.all()


def test_held_out_lists_are_scored_too(tmp_path):
    pool, unseen = small_pool(1, 6, 4), small_pool(2, 5, 4)
    found = luthier.tradeoff(pool, METRICS, axis="g", heldout=unseen)
    for weights, scores in zip(found.weights, found.heldout_scores, strict=True):
        own, _ = gains_at(unseen, [Fraction(x) for x in weights.tolist()])
        assert [float(own[0]), float(own[1]), -float(own[2])] == pytest.approx(scores.tolist())
    found.write_front(str(tmp_path / "front.tsv"))
    lines = [line for line in (tmp_path / "front.tsv").read_text().splitlines() if not line.startswith("#")]
    assert lines[0].split("\t")[:4] == [*METRICS, "heldout:column:p"]
    assert len(lines) == 1 + len(found.scores)


@pytest.mark.parametrize(
    ("metric", "options", "said"),
    [
        ("column:p", {}, "expected two metrics or more, each once, found column:p"),
        ("column:p,column:p", {}, "expected two metrics or more, each once"),
        ("column:p,column:q", {"axis": ["f", "g", "f"]}, "expected no axis, one or two"),
        ("column:p,column:q", {"window": "f=0:1"}, "expected no axis, one or two, windows along them"),
        ("column:p,column:q", {"starts": 0}, "`starts` of at least 1"),
        ("column:p,column:q", {"axis": "h"}, "the axis 'h' is neither a feature nor a file"),
    ],
)
def test_requests_that_cannot_be(metric, options, said):
    with pytest.raises(LuthierError, match=said):
        luthier.tradeoff(small_pool(1, 2, 3), metric, **options)
