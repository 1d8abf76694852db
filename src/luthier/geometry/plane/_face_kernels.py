# mypy: ignore-errors
"""Kernels that cut faces and cells out of a window, line by line, and tell which have an area.

Letters and lines are those of `_line_kernels`.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.geometry.plane._arrangement_kernels import centre_of
from luthier.geometry.plane._line_kernels import DOUBT, exact_side, meet, side


class Polygon(NamedTuple):
    """A convex polygon: ``names[m]`` names a line, ``vectors[m]`` is it, ``points[m]`` where it meets the next."""

    names: np.ndarray
    vectors: np.ndarray
    points: np.ndarray
    signs: np.ndarray


class Faces(NamedTuple):
    """The faces of all lists; ``sides[ptr[f]:ptr[f + 1]]`` are those of face f, counter-clockwise: faces, or −1 − b.

    `owner` is the list of each face, `busy` are the lists with more than one; `tied` tells of each list whether one of
    its faces has no area but by noise, `noise` (N, 3) how wrong c, p, q of a difference of its rows may be.
    """

    z: np.ndarray
    border: np.ndarray
    ptr: np.ndarray
    sides: np.ndarray
    owner: np.ndarray
    busy: np.ndarray
    tied: np.ndarray
    noise: np.ndarray


class Found(NamedTuple):
    """Where `subdivide` writes: rows of faces, their sides, how many each list has, and which lists are tied."""

    rows: np.ndarray
    ptr: np.ndarray
    sides: np.ndarray
    counts: np.ndarray
    tied: np.ndarray


class Workspace(NamedTuple):
    """Where `has_room` finds the lines of a cell, and writes corners of what they leave."""

    lines: np.ndarray
    corners: np.ndarray
    before: np.ndarray


@kernel
def make_workspace(n_lines):
    """Return room for cells of so many lines."""
    return Workspace(np.empty((n_lines, 2), np.int64), np.empty((n_lines + 8, 2)), np.empty((n_lines + 8, 2)))


@inner_kernel
def copy_row(old, k, new, m):
    """Copy a row number by number: for an assignment of rows Numba compiles its words about shapes, for seconds."""
    for v in range(old.shape[1]):
        new[m, v] = old[k, v]


@inner_kernel
def look_at_corners(z, border, i, j, c, p, q, polygon, n):
    """Write on which side of the line (i, j) the corners of a polygon are; return how many lie below."""
    names, points, signs = polygon.names, polygon.points, polygon.signs
    below = 0
    for m in range(n):
        det = c * points[m, 0] + p * points[m, 1] + q * points[m, 2]
        doubt = DOUBT * (abs(c) * points[m, 3] + abs(p) * points[m, 4] + abs(q) * points[m, 5])
        if det > doubt:
            signs[m] = 1
        elif det < -doubt:
            signs[m] = -1
            below += 1
        else:
            after = (m + 1) % n
            signs[m] = exact_side(
                z, border, i, j, names[m, 0], names[m, 1], names[after, 0], names[after, 1]
            )  # fmt: skip
            below += signs[m] < 0
    return below


@kernel
def cut(polygon, n, i, j, c, p, q):
    """Replace the corners with a negative sign by the line (i, j); return how many lines there are, −1 for a fault."""
    names, vectors, points, signs = polygon.names, polygon.vectors, polygon.points, polygon.signs
    end = 0
    while not (signs[end] < 0 and signs[(end + 1) % n] > 0):
        end += 1
        if end == n:
            return -1
    # Line end + 1 is the first to stay; go round until a corner is cut off, and lay the new line there.
    size = 0
    old_names, old_vectors, old_points = names[:n].copy(), vectors[:n].copy(), points[:n].copy()
    m = (end + 1) % n
    while True:
        copy_row(old_names, m, names, size)
        copy_row(old_vectors, m, vectors, size)
        copy_row(old_points, m, points, size)
        size += 1
        if signs[m] < 0:
            break
        m = (m + 1) % n
    names[size, 0], names[size, 1] = i, j
    vectors[size, 0], vectors[size, 1], vectors[size, 2] = c, p, q
    size += 1
    meet(vectors[size - 2], vectors[size - 1], points[size - 2])
    meet(vectors[size - 1], vectors[0], points[size - 1])
    return size


@kernel
def lay_window(border, polygon):
    """Write the window as a polygon: its lines counter-clockwise, and where each meets the next."""
    for b in range(4):
        polygon.names[b, 0], polygon.names[b, 1] = -1 - b, 0
        copy_row(border, b, polygon.vectors, b)
    for b in range(4):
        meet(polygon.vectors[b], polygon.vectors[(b + 1) % 4], polygon.points[b])


@kernel
def clip_face(z, first, last, k, border, polygon):
    """Write which lines bound the face of row k, counter-clockwise; return how many.

    The face is the window cut by the lines (k, j) of all other rows.
    """
    n = 4
    lay_window(border, polygon)
    k0, k1, k2 = z[k, 0], z[k, 1], z[k, 2]
    for j in range(first, last):
        if j == k:
            continue
        c, p, q = k0 - z[j, 0], k1 - z[j, 1], k2 - z[j, 2]
        below = look_at_corners(z, border, k, j, c, p, q, polygon, n)
        if below == n:
            return 0
        if below > 0:  # the same lines as below: inlined into all by a kernel they cost half as much again
            n = cut(polygon, n, k, j, c, p, q)
    return n


@kernel
def clip_cell(faces, border, chosen, polygon):
    """Write which lines bound the cell on which every list selects its face; return how many (0: no such cell)."""
    z, ptr, sides = faces.z, faces.ptr, faces.sides
    n = 4
    lay_window(border, polygon)
    for k in chosen:
        for m in range(ptr[k], ptr[k + 1]):
            j = sides[m]
            if j < 0:
                continue
            c, p, q = z[k, 0] - z[j, 0], z[k, 1] - z[j, 1], z[k, 2] - z[j, 2]
            below = look_at_corners(z, border, k, j, c, p, q, polygon, n)
            if below == n:
                return 0
            if below > 0:
                n = cut(polygon, n, k, j, c, p, q)
    return n


@kernel
def leads_at(z, border, lines, n, x, y, noise, owner):
    """Tell whether a point is inside of n lines and the window by more than noise."""
    for b in range(4):
        c, p, q = border[b, 0], border[b, 1], border[b, 2]
        if not c + p * x + q * y > DOUBT * (abs(c) + abs(p * x) + abs(q * y)):
            return False
    for m in range(n):
        i, j = lines[m, 0], lines[m, 1]
        if i < 0:
            continue
        c, p, q, s = z[i, 0] - z[j, 0], z[i, 1] - z[j, 1], z[i, 2] - z[j, 2], owner[i]
        lost = DOUBT / 2.0 * (abs(c) + abs(p * x) + abs(q * y))  # here, by rounding
        if not c + p * x + q * y > lost + noise[s, 0] + abs(x) * noise[s, 1] + abs(y) * noise[s, 2]:
            return False
    return True


@kernel
def lay_quadrant(border, right, up, corners):
    """Write the corners of the part of the window that is in a quadrant; return how many there are."""
    x_low, x_high, y_low, y_high = -border[3, 0], border[1, 0], -border[0, 0], border[2, 0]
    x_low, x_high = (max(0.0, x_low), x_high) if right > 0.0 else (x_low, min(0.0, x_high))
    y_low, y_high = (max(0.0, y_low), y_high) if up > 0.0 else (y_low, min(0.0, y_high))
    if not (x_low < x_high and y_low < y_high):
        return 0
    corners[0, 0], corners[0, 1], corners[1, 0], corners[1, 1] = x_low, y_low, x_high, y_low
    corners[2, 0], corners[2, 1], corners[3, 0], corners[3, 1] = x_high, y_high, x_low, y_high
    return 4


@kernel
def shave(corners, n, c, p, q, before):
    """Keep of a polygon what is above a line; return how many corners it has then.

    New corners are means of two: in a quadrant these lose nothing but the last bits, however far the window goes.
    """
    below = False
    for k in range(n):
        below |= not c + p * corners[k, 0] + q * corners[k, 1] > 0.0
    if not below:
        return n  # as nearly always
    for k in range(n):
        before[k, 0], before[k, 1] = corners[k, 0], corners[k, 1]
    x0, y0 = before[n - 1, 0], before[n - 1, 1]
    size, height0 = 0, c + p * x0 + q * y0
    for k in range(n):
        x, y = before[k, 0], before[k, 1]
        height = c + p * x + q * y
        if size + 2 > len(corners):
            return 0
        if (height > 0.0) != (height0 > 0.0):
            there, back = height0 / (height0 - height), height / (height - height0)
            corners[size, 0], corners[size, 1] = x * there + x0 * back, y * there + y0 * back
            size += 1
        if height > 0.0:
            corners[size, 0], corners[size, 1] = x, y
            size += 1
        x0, y0, height0 = x, y, height
    return size


@kernel
def has_room(z, border, lines, n, noise, owner, room, inside):
    """Tell whether what n lines, (…, 2), leave of the window has an area beyond what noise in the heights can make.

    That is so if somewhere every list leads by more than noise. In a quadrant all that does so is convex: what is left
    if every line is moved inward by noise, which grows with x and y. Floats suffice to find a point of it,
    since that point, `inside`, is looked at again. Lines of the border, with a name below 0, are left out.
    """
    for quadrant in range(4):
        right, up = 2.0 * (quadrant % 2) - 1.0, 2.0 * (quadrant // 2) - 1.0
        size = lay_quadrant(border, right, up, room.corners)
        for m in range(n):
            i, j = lines[m, 0], lines[m, 1]
            if size == 0:
                break
            if i < 0:
                continue
            c, p, q, s = z[i, 0] - z[j, 0], z[i, 1] - z[j, 1], z[i, 2] - z[j, 2], owner[i]
            c, p, q = c - noise[s, 0], p - right * noise[s, 1], q - up * noise[s, 2]
            size = shave(room.corners, size, c, p, q, room.before)
        if size > 0:
            centre_of(room.corners, size, inside)
            if leads_at(z, border, lines, n, inside[0], inside[1], noise, owner):
                return True
    return False


@kernel
def face_has_room(z, border, polygon, n, noise, owner, room):
    """Tell the same of a face that was cut out already: its centroid is nearly always enough."""
    inside = np.empty(2)
    for m in range(n):
        room.corners[m, 0] = polygon.points[m, 1] / polygon.points[m, 0]
        room.corners[m, 1] = polygon.points[m, 2] / polygon.points[m, 0]
    centre_of(room.corners, n, inside)
    return leads_at(z, border, polygon.names, n, inside[0], inside[1], noise, owner) or has_room(
        z, border, polygon.names, n, noise, owner, room, inside
    )


@kernel
def highest_at_corner(z, border, first, last):
    """Return the row that is the highest at the lower left corner of the window."""
    best = first
    for k in range(first + 1, last):
        if side(z, border, k, best, -4, 0, -1, 0) > 0:
            best = k
    return best


@kernel
def faces_at_corner(z, border, offsets, faces):
    """Write the face of each list at the lower left corner of a window."""
    for s in range(len(faces)):
        faces[s] = highest_at_corner(z, border, offsets[s], offsets[s + 1])


@kernel
def subdivide(z, offsets, low, high, border, noise, owner, out):
    """Write the faces of lists low … high − 1: their rows ascending, and the names of their sides.

    ``out.counts[s]`` is how many faces list s has, ``out.tied[s]`` whether one of them has no area but by noise;
    returns how many there are in all, −1 for a fault.
    """
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    polygon = Polygon(
        np.empty((longest + 8, 2), np.int64), np.empty((longest + 8, 3)), np.empty((longest + 8, 6)),
        np.empty(longest + 8, np.int64),
    )  # fmt: skip
    room = make_workspace(longest + 8)
    queue, place = np.empty(longest, np.int64), np.empty(longest, np.int64)
    starts, found = np.empty(longest + 1, np.int64), np.empty(8 * longest + 16, np.int64)
    n_faces = 0
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        place[: last - first] = -1
        best = highest_at_corner(z, border, first, last)
        queue[0], place[best - first], starts[0] = best, 0, 0
        head, tail = 0, 1
        out.tied[s - low] = False
        while head < tail:
            n = clip_face(z, first, last, queue[head], border, polygon)
            if n < 0 or starts[head] + n > len(found):
                return -1
            for m in range(n):
                j = polygon.names[m, 1] if polygon.names[m, 0] >= 0 else polygon.names[m, 0]
                found[starts[head] + m] = j
                if j >= 0 and place[j - first] < 0:
                    place[j - first] = tail
                    queue[tail] = j
                    tail += 1
            starts[head + 1] = starts[head] + n
            head += 1
            if n > 0 and not out.tied[s - low]:
                out.tied[s - low] = not face_has_room(z, border, polygon, n, noise, owner, room)
        out.counts[s - low] = tail
        n_faces = keep_faces(first, last - first, place, starts, found, n_faces, out)
        if n_faces < 0:
            return -1
    return n_faces


@kernel
def keep_faces(first, n_rows, place, starts, found, n_faces, out):
    """Append a list's faces in the order of its rows; return how many there are now, −1 for a fault."""
    for k in range(n_rows):
        if place[k] >= 0:
            f = place[k]
            n = starts[f + 1] - starts[f]
            if out.ptr[n_faces] + n > len(out.sides):
                return -1
            out.rows[n_faces] = first + k
            for m in range(n):
                out.sides[out.ptr[n_faces] + m] = found[starts[f] + m]
            out.ptr[n_faces + 1] = out.ptr[n_faces] + n
            n_faces += 1
    return n_faces
