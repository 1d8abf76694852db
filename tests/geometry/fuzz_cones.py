"""Fuzz of the geometry of cones: whole-numbered lists against exact brute force (`exact_cones`).

    PYTHONPATH=tests python tests/geometry/fuzz_cones.py 100 0

Each subject is a function of a generator that makes one instance and returns what is wrong with the answer, or ''.
"""

import sys
from fractions import Fraction

import numpy as np
from exact_cones import differences, nearest, selections, separable, strict_winner
from scipy.optimize import linprog

from luthier.core.segments import offsets_from_counts
from luthier.geometry.lp.certificates import Feasible
from luthier.geometry.minkowski.reverse_search import all_vertices
from luthier.landscape.selections.feasibility import Choice, judge
from luthier.tuning.base import tuner
from small_problems import last, pool_of, problem_of

KINDS = ("plain", "collinear", "flat", "duplicate", "scales", "outlier", "thirds")
WHOLE = ("plain", "collinear", "flat", "duplicate", "scales", "outlier")
THIN = 1e-8  # a cone of less width, in units of the spreads, is none to lp-mert


def draw_lists(rng, *, most_dims=5, most_lists=4, most_rows=6, kinds=KINDS):
    """Return the kind of an instance and its lists, floats whose values are whole numbers times a scale."""
    kind = str(rng.choice(kinds))
    d = int(rng.integers(2, most_dims + 1))
    size = int(rng.choice([1, 2, 5, 20]))
    lists = []
    for _ in range(int(rng.integers(1, most_lists + 1))):
        rows = rng.integers(-size, size + 1, (int(rng.integers(1, most_rows + 1)), d)).astype(float)
        if kind == "collinear":
            rows = rng.integers(-3, 4, d) + rng.integers(-6, 7, len(rows))[:, None] * rng.integers(-3, 4, d).astype(
                float
            )
        elif kind == "flat":
            rows[:, -1] = rows[:, 0] - rows[:, 1]
        elif kind == "duplicate":
            rows = rows[rng.integers(0, max(1, len(rows) // 2), len(rows))]
        elif kind == "scales":
            rows *= 2.0 ** rng.integers(-40, 41)
        elif kind == "thirds":
            rows /= 3.0
        lists.append(rows)
    if kind == "outlier":
        rows = lists[int(rng.integers(len(lists)))]
        rows[int(rng.integers(len(rows))), int(rng.integers(d))] = -1e12
    return kind, lists


def width(lists, chosen):
    """Return the margin of a cone, rows of length 1 in units of the columns' usual differences."""
    steps = [np.abs(rows - np.median(rows, axis=0)) for rows in lists]
    every = np.concatenate([rows / (np.median(rows[rows > 0]) if np.any(rows > 0) else 1.0) for rows in steps])
    units = np.array([np.median(column[column > 0]) if np.any(column > 0) else 1.0 for column in every.T])
    table = np.concatenate([rows - rows[i] for rows, i in zip(lists, chosen, strict=True)]) / units
    table = table[np.any(table != 0, axis=1)]
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    m, n = table.shape
    limits = {"A_ub": np.column_stack([table, np.ones(m)]), "b_ub": np.zeros(m)}
    return -linprog(np.append(np.zeros(n), -1.0), bounds=[(-1, 1)] * n + [(None, 10)], **limits).fun


def lp_mert(rng):
    """The answer's value is that of the best strict selection, and what is called proven is true."""
    kind, lists = draw_lists(rng)
    worths = [rng.integers(0, 9, len(rows)).astype(float) for rows in lists]
    problem = problem_of(lists, worths)
    start = rng.standard_normal(lists[0].shape[1])
    method = tuner("lp-mert", climbs=int(rng.integers(2)), algorithm=str(rng.choice(["cones", "halves"])))
    answer = last(method, problem, start)[-1]
    if all(np.all(rows == rows[0]) for rows in lists):
        return ""
    if any(strict_winner(rows, answer.weights) is None for rows in lists):
        return f"{kind}: the answer is on a tie: {answer.note}"
    values = {c: sum(w[i] for w, i in zip(worths, c, strict=True)) for c in selections(lists)}
    best = max(values.values())
    found = sum(w[strict_winner(rows, answer.weights)] for w, rows in zip(worths, lists, strict=True))
    if "not proven" in answer.note or "proven" not in answer.note:
        return f"{kind}: {answer.note}"
    if found < best and max(width(lists, c) for c, value in values.items() if value == best) > THIN:
        return f"{kind}: proven {found}, brute force {best}"
    return ""


def minkowski(rng):
    """The vertices found are the selections that some weights make, each once."""
    kind, lists = draw_lists(rng, kinds=WHOLE)
    offsets, d = offsets_from_counts([len(rows) for rows in lists]), lists[0].shape[1]
    order = str(rng.choice(["depth", "breadth"]))
    found = all_vertices(offsets, np.concatenate(lists), rng.standard_normal(d), order=order) - offsets[:-1]
    if len(np.unique(found, axis=0)) != len(found):
        return f"{kind}: a vertex was found twice"
    expected = set(selections(lists))
    missed, more = expected - set(map(tuple, found.tolist())), set(map(tuple, found.tolist())) - expected
    return f"{kind}: {len(missed)} of {len(expected)} missed, {len(more)} are none" if missed or more else ""


def fan_regularized(rng):
    """With two or three weights the answer is strictly inside the nearest good cell, as projections say exactly."""
    kind, lists = draw_lists(rng, most_dims=3, kinds=("plain", "collinear", "flat", "duplicate", "scales"))
    moving = np.any([np.ptp(rows, axis=0) > 0 for rows in lists], axis=0)  # angles are between weights that matter
    lists = [rows[:, moving] for rows in lists]
    d, epsilon = lists[0].shape[1], float(rng.choice([0.0, 0.5, 3.0]))
    worths = [rng.integers(0, 9, len(rows)).astype(float) for rows in lists]
    start = rng.integers(-2, 3, d).astype(float) if rng.integers(2) else rng.standard_normal(d)
    if d < 2 or not np.any(start):
        return ""
    problem = problem_of(lists, worths)
    method = tuner("fan-regularized", epsilon=epsilon, cells=0, candidates=100_000, climbs=1)
    answer = last(method, problem, start)[-1]
    cells = []
    for chosen in selections(lists):
        sides = sorted({v for rows, i in zip(lists, chosen, strict=True) for v in differences(rows, i)})
        foot = np.array([float(x) for x in nearest(sides, start)])
        if np.any(foot):
            gain = float(np.mean([w[i] for w, i in zip(worths, chosen, strict=True)]))
            cells.append((gain, angle_of(start, foot)))
    best = max([problem.gain(start), *(gain for gain, _ in cells)])
    good = [angle for gain, angle in cells if gain >= best - epsilon - 1e-9]
    if not good:
        return "" if np.array_equal(answer.weights, start) else f"{kind}: nothing is good, but the start was left"
    if any(strict_winner(rows, answer.weights) is None for rows in lists):
        return f"{kind}: the answer {answer.weights} is on a tie: {answer.note}"
    if answer.gain < best - epsilon - 1e-9 or abs(np.radians(answer.objective) - min(good)) > 1e-6:
        return f"{kind}: {answer.gain} at {answer.objective}°, brute force {best} and {np.degrees(min(good))}°"
    return ""


def angle_of(one, other):
    """Return the angle of two vectors."""
    a, b = one / np.linalg.norm(one), other / np.linalg.norm(other)
    return 2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))


def feasible(rng):
    """The verdict is that of brute force, and so is its proof."""
    kind, lists = draw_lists(rng)
    wanted = [int(rng.integers(len(rows))) for rows in lists]
    if rng.integers(2):
        wanted = [int(np.argmax(rows @ np.arange(1.0, rows.shape[1] + 1))) for rows in lists]
    offsets, features = offsets_from_counts([len(rows) for rows in lists]), np.concatenate(lists)
    verdict = judge(pool_of(lists, [np.zeros(len(rows)) for rows in lists]), Choice("fuzz", offsets[:-1] + wanted))
    steps = [v for rows, i in zip(lists, wanted, strict=True) for v in differences(rows, i)]
    expected, proof = separable(steps), verdict.proof
    if isinstance(proof, Feasible) != expected:
        return f"{kind}: {type(proof).__name__}, brute force says {expected}"
    if isinstance(proof, Feasible):
        holds = all(sum(a * b for a, b in zip(v, proof.exact, strict=True)) < 0 for v in steps)
        sure = not proof.representable or all(strict_winner(rows, proof.weights) is not None for rows in lists)
        return "" if holds and sure and (verdict.selects or not proof.representable) else f"{kind}: the weights do not"
    total = [Fraction(0)] * features.shape[1]
    for s, row, share in zip(proof.lists.tolist(), proof.rows.tolist(), proof.exact, strict=True):
        away = [Fraction(a) - Fraction(b) for a, b in zip(features[row], lists[s][wanted[s]], strict=True)]
        total = [t + share * step for t, step in zip(total, away, strict=True)]
    return "" if not any(total) and sum(proof.exact) == 1 and min(proof.exact) > 0 else f"{kind}: the proof is none"


SUBJECTS = {"lp-mert": lp_mert, "minkowski": minkowski, "fan-regularized": fan_regularized, "feasible": feasible}


def run_subject(subject, n, seed):
    """Return what is wrong in n instances of one subject, each with the number that makes it again."""
    wrong = []
    for number in range(n):
        told = SUBJECTS[subject](np.random.default_rng([seed, number]))
        if told:
            wrong.append(f"{subject} {seed} {number}: {told}")
    return wrong


def run(n, seed=0):
    """Try n instances of every subject; print how many disagree, and return what is wrong."""
    wrong = []
    for subject in SUBJECTS:
        found = run_subject(subject, n, seed)
        print(f"{subject}: {n} instances, {len(found)} disagree", flush=True)  # noqa: T201 - what it is for
        wrong += found
    return wrong


if __name__ == "__main__":
    sys.exit("\n".join(run(*(int(argument) for argument in sys.argv[1:3]))) or None)
