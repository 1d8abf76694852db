"""Cones of selections by brute force in whole numbers: slow, plain, and sharing no code with the package."""

import itertools
import math
from fractions import Fraction


def whole(vector):
    """Return a vector of floats or fractions as whole numbers of the same direction."""
    parts = [Fraction(float(x)) if not isinstance(x, Fraction) else x for x in vector]
    common = math.lcm(*(x.denominator for x in parts))
    numbers = [int(x * common) for x in parts]
    divisor = math.gcd(*numbers) or 1
    return tuple(n // divisor for n in numbers)


def differences(rows, i):
    """Return the directions h_j − h_i of a list, each once, that of equal rows left out."""
    exact = [[Fraction(float(x)) for x in row] for row in rows]
    steps = {whole([a - b for a, b in zip(row, exact[i], strict=True)]) for row in exact if row != exact[i]}
    return sorted(steps)


def separable(vectors):
    """Return whether some w has w·v < 0 for all vectors: no weights λ ≥ 0, Σλ = 1 give Σ λ v = 0 (Gordan).

    Phase one of a simplex by whole numbers: minimise the sum of synthetic variables, with Bland's rule.
    """
    vectors = sorted(set(vectors))
    if not vectors:
        return True
    if not all(any(v) for v in vectors):
        return False
    if any(tuple(-x for x in v) in set(vectors) for v in vectors):
        return False
    m, n = len(vectors[0]) + 1, len(vectors)
    table = [[v[k] for v in vectors] + [int(i == k) for i in range(m)] + [0] for k in range(m - 1)]
    table.append([1] * n + [int(i == m - 1) for i in range(m)] + [1])
    # the objective: Σ artificials = Σ rows, written with the basis of artificials priced out
    cost = [-sum(row[j] for row in table) for j in range(n)] + [0] * m + [-1]
    basis, before = [n + k for k in range(m)], 1
    while cost[-1]:
        entering = next((j for j in range(n) if cost[j] < 0), None)
        if entering is None:
            return True  # the artificials keep a sum above 0
        ratios = [(Fraction(row[-1], row[entering]), basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        i = min(ratios)[2]
        top, pivot = table[i], table[i][entering]
        for k, row in enumerate(table):
            if k != i:
                table[k] = [(pivot * a - row[entering] * b) // before for a, b in zip(row, top, strict=True)]
        cost = [(pivot * a - cost[entering] * b) // before for a, b in zip(cost, top, strict=True)]
        basis[i], before = entering, pivot
    return False


def selections(lists, walls=()):
    """Return every selection that some weights make strictly: tuples of a row per list, of equal rows the lowest.

    `walls` are vectors v with v·w < 0 that the weights must satisfy besides.
    """
    partial = [((), [tuple(v) for v in walls])]
    if not separable(partial[0][1]):
        return []
    for rows in lists:
        lowest = [i for i in range(len(rows)) if not any(tuple(rows[j]) == tuple(rows[i]) for j in range(i))]
        own = {i: differences(rows, i) for i in lowest}
        fine = [i for i in lowest if separable(own[i])]
        partial = [
            ((*chosen, i), held + own[i])
            for chosen, held in partial
            for i in fine
            if not held or separable(held + own[i])
        ]
    return [chosen for chosen, _ in partial]


def exact_scores(rows, weights):
    """Return the scores of a list without rounding."""
    w = [Fraction(float(x)) for x in weights]
    return [sum((Fraction(float(a)) * b for a, b in zip(row, w, strict=True)), Fraction(0)) for row in rows]


def strict_winner(rows, weights):
    """Return the lowest of the equal rows that weights put above all others; None if others have the same score."""
    scores = exact_scores(rows, weights)
    best = max(scores)
    tops = [i for i, score in enumerate(scores) if score == best]
    return tops[0] if all(tuple(rows[i]) == tuple(rows[tops[0]]) for i in tops) else None


def nearest(vectors, start):
    """Return the projection of `start` onto {w : v·w ≤ 0}, exactly: the sides that hold it back are tried one set by
    one set (fewer than D of them, or the apex)."""
    n = len(start)
    goal = [Fraction(float(x)) for x in start]
    for size in range(n):
        for held in itertools.combinations(vectors, size):
            found = _projected(held, goal)
            if found is not None and all(_dot(v, found) <= 0 for v in vectors):
                return found
    return [Fraction(0)] * n


def _projected(held, goal):
    """Return goal − Σ u v with v·(goal − Σ u v) = 0 for independent v, if all u ≥ 0."""
    n = len(held)
    system = [[Fraction(_dot(a, b)) for b in held] + [Fraction(_dot(a, goal))] for a in held]
    for i in range(n):
        pivot = next((k for k in range(i, n) if system[k][i]), None)
        if pivot is None:
            return None
        system[i], system[pivot] = system[pivot], system[i]
        for k in range(n):
            if k != i and system[k][i]:
                factor = system[k][i] / system[i][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    shares = [system[i][n] / system[i][i] for i in range(n)]
    if any(u < 0 for u in shares):
        return None
    return [g - sum(u * v[k] for u, v in zip(shares, held, strict=True)) for k, g in enumerate(goal)]


def _dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))
