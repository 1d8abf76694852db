"""The slow twin of exact feasibility: whether vectors cancel, by trying all small sets of them."""

import itertools
from fractions import Fraction


def null_space(vectors):
    """Return multipliers that cancel the vectors if these are unique up to a factor, else None."""
    columns = [list(map(Fraction, v)) for v in vectors]
    table = [[column[k] for column in columns] for k in range(len(columns[0]))]
    pivots = []
    for c in range(len(columns)):
        row = next((r for r in range(len(pivots), len(table)) if table[r][c] != 0), None)
        if row is None:
            continue
        top = len(pivots)
        table[top], table[row] = table[row], table[top]
        table[top] = [v / table[top][c] for v in table[top]]
        for r in range(len(table)):
            if r != top:
                table[r] = [a - table[r][c] * b for a, b in zip(table[r], table[top], strict=True)]
        pivots.append(c)
    free = [c for c in range(len(columns)) if c not in pivots]
    if len(free) != 1:
        return None
    solution = [Fraction(0)] * len(columns)
    solution[free[0]] = Fraction(1)
    for r, c in enumerate(pivots):
        solution[c] = -table[r][free[0]]
    return solution


def cancel_by_enumeration(vectors):
    """Return whether some sum of the vectors with positive multipliers is 0, by trying all small sets.

    By Carathéodory's theorem D + 1 vectors suffice, and of a least set the multipliers are unique.
    """
    if not vectors:
        return False
    distinct = sorted(set(map(tuple, vectors)))
    for size in range(2, min(len(distinct), len(distinct[0]) + 1) + 1):
        for chosen in itertools.combinations(distinct, size):
            shares = null_space(chosen)
            if shares is not None and all(share > 0 for share in shares):
                return True
    return False
