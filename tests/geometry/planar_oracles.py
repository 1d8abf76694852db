"""Slow twins of the planar engine, in exact rational arithmetic."""

import itertools
from fractions import Fraction


def line_between(points, i, j):
    return tuple(Fraction(float(a)) - Fraction(float(b)) for a, b in zip(points[i], points[j], strict=True))


def height(line, corner):
    return line[0] + line[1] * corner[0] + line[2] * corner[1]


def clip(polygon, line):
    """Cut a convex polygon of rational corners by line ≥ 0 (Sutherland and Hodgman)."""
    kept = []
    for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        at_a, at_b = height(line, a), height(line, b)
        if at_a >= 0:
            kept.append(a)
        if (at_a > 0 > at_b) or (at_a < 0 < at_b):
            t = at_a / (at_a - at_b)
            kept.append((a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))
    return kept


def area_of(polygon):
    twice = sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True))
    return twice / 2


def box(limits):
    x_low, x_high, y_low, y_high = (Fraction(float(value)) for value in limits)
    return [(x_low, y_low), (x_high, y_low), (x_high, y_high), (x_low, y_high)]


def face_of(points, rows, k, polygon):
    """Return the part of a polygon where row k is at least as high as the others, or [] if it has no area."""
    for j in rows:
        if j != k and polygon:
            line = line_between(points, k, j)
            if line == (0, 0, 0):
                polygon = polygon if k < j else []
            else:
                polygon = clip(polygon, line)
    return polygon if polygon and area_of(polygon) > 0 else []


def cells_with_area(points, offsets, limits):
    """Return every selection that has an area in a window: {rows: area}, by trying all that are left."""
    found = {(): box(limits)}
    for low, high in itertools.pairwise(offsets):
        found = {
            (*rows, k): part
            for rows, polygon in found.items()
            for k in range(low, high)
            if (part := face_of(points, range(low, high), k, polygon))
        }
    return {rows: area_of(polygon) for rows, polygon in found.items()}
