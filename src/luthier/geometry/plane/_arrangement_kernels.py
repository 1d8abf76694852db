# mypy: ignore-errors
"""Kernels that go round the cells of an overlay, once the crossings of every edge are known in order.

Edge e, in its upward direction, has the nodes 0 (its lower end), 1 … n_e (crossings), n_e + 1 (its upper end), and
between them n_e + 1 *pieces*; piece m leads from node m to node m + 1. ``ptr[e]`` is where its crossings begin,
``ptr[e] + e`` where its pieces do. The last four edges are the window's: bottom (to the right), right, left, top
(to the right). Cells are walked round counter-clockwise: the cell is on the left.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.geometry.plane._line_kernels import difference_of_products


class Steps(NamedTuple):
    """What is needed to go round cells.

    ``others[k]``, ``lefts[k]``, ``twins[k]``: the other edge of a crossing, whether its upward part leaves to the
    left, and which of its crossings this is; ``vectors`` are the edges' lines, ``ends`` where they begin and end.
    """

    ptr: np.ndarray
    others: np.ndarray
    lefts: np.ndarray
    twins: np.ndarray
    ends: np.ndarray
    vectors: np.ndarray
    at_border: np.ndarray
    onward: np.ndarray
    n_inner: int


class Measures(NamedTuple):
    """Where `measure` writes: a point inside each cell, area, radius, margin, number of corners; cells of pieces."""

    centres: np.ndarray
    areas: np.ndarray
    radii: np.ndarray
    margins: np.ndarray
    sizes: np.ndarray
    left_cells: np.ndarray
    right_cells: np.ndarray


@kernel
def link(ptr, others, n_edges, twins):
    """Write for every crossing of the first n edges where the other has it; return how many have none (0)."""
    fill = ptr[:n_edges].copy()
    back_edge, back_place = np.empty(len(others), np.int32), np.empty(len(others), np.int32)
    for e in range(n_edges):
        for k in range(ptr[e], ptr[e + 1]):
            f = others[k]
            if fill[f] < ptr[f + 1]:
                back_edge[fill[f]], back_place[fill[f]] = e, k
                fill[f] += 1
    where, missing = np.full(n_edges, -1, np.int64), 0
    for f in range(n_edges):
        for k in range(ptr[f], ptr[f + 1]):
            where[others[k]] = k
        for k in range(ptr[f], fill[f]):
            twin = where[back_edge[k]]
            if twin < ptr[f] or twin >= ptr[f + 1]:
                missing += 1
                twin = 0
            twins[back_place[k]] = twin
    return missing


@kernel
def meet_border(ptr, others, lines, n_inner, at_border):
    """Write at which crossing of its side of the window an inner edge ends: below and above, −1 if it does not."""
    at_border[:] = -1
    sides = np.array([-1, -2, -4, -3])  # names of the lines of the last four edges
    for b in range(4):
        e = n_inner + b
        for k in range(ptr[e], ptr[e + 1]):
            f = others[k]
            at_border[f, 0 if lines[f, 2] == sides[b] else 1] = k


@kernel
def follow_faces(face_ptr, of_side, lines, onward):
    """Write how to go on round a face at the end of an edge: ``onward[e]`` is edge and direction, above and below.

    Above, the face on the left is gone round, below that on the right. Where the window's border comes next, the
    edge is −1.
    """
    onward[:] = -1
    for face in range(len(face_ptr) - 1):
        low, high = face_ptr[face], face_ptr[face + 1]
        for m in range(low, high):
            e, g = of_side[m], of_side[m + 1 if m + 1 < high else low]
            if e < 0 or g < 0:
                continue
            end = 0 if lines[e, 0] == face else 2
            onward[e, end], onward[e, end + 1] = g, 1 if lines[g, 0] == face else -1


@kernel
def go_on(steps, e, way, node):
    """Return edge, direction and node with which a round goes on, having come to `node` along e."""
    ptr, n_inner, at_border, onward = steps.ptr, steps.n_inner, steps.at_border, steps.onward
    last = ptr[e + 1] - ptr[e] + 1
    if 0 < node < last:
        k = ptr[e] + node - 1
        f = steps.others[k]
        if e >= n_inner:  # from the border into the window
            if at_border[f, 0] == k:
                return f, 1, 0
            return f, -1, ptr[f + 1] - ptr[f] + 1
        up = steps.lefts[k] if way > 0 else not steps.lefts[k]
        return f, 1 if up else -1, steps.twins[k] - ptr[f] + 1
    if e >= n_inner:  # a corner of the window
        if e == n_inner:
            return n_inner + 1, 1, 0
        if e == n_inner + 1:
            return n_inner + 3, -1, ptr[n_inner + 4] - ptr[n_inner + 3] + 1
        if e == n_inner + 3:
            return n_inner + 2, -1, ptr[n_inner + 3] - ptr[n_inner + 2] + 1
        return n_inner, 1, 0
    end = 0 if way > 0 else 2
    if onward[e, end] >= 0:
        f, turned = onward[e, end], onward[e, end + 1]
        return f, turned, 0 if turned > 0 else ptr[f + 1] - ptr[f] + 1
    k = at_border[e, 1 if way > 0 else 0]
    b = n_inner
    while k >= ptr[b + 1]:
        b += 1
    return b, 1 if b < n_inner + 2 else -1, k - ptr[b] + 1


@inner_kernel
def place(steps, e, node, out):
    """Write the coordinates of a node; both edges of a crossing give the same."""
    ptr, ends, vectors = steps.ptr, steps.ends, steps.vectors
    last = ptr[e + 1] - ptr[e] + 1
    if node == 0:
        out[0], out[1] = ends[e, 0], ends[e, 1]
    elif node == last:
        out[0], out[1] = ends[e, 3], ends[e, 4]
    else:
        other = steps.others[ptr[e] + node - 1]
        f, g = vectors[min(e, other)], vectors[max(e, other)]
        minor = difference_of_products(f[1], g[2], f[2], g[1])
        out[0] = difference_of_products(f[2], g[0], f[0], g[2]) / minor
        out[1] = difference_of_products(f[0], g[1], f[1], g[0]) / minor


@kernel
def first_steps(steps, lines, kinds, owner, starts, across):
    """Write where the round of each cell begins, in the order of the stream; return how many cells there are.

    ``starts[c]`` is edge and node, to be left upward; ``across[c]`` the edge beyond which a lower cell lies, the
    node its piece begins with, and 1 if this cell is on its left, −1 if on its right.
    """
    ptr, others, lefts, twins = steps.ptr, steps.others, steps.lefts, steps.twins
    count = 0
    for e in range(steps.n_inner + 3):
        if (kinds[e] == 0 and lines[e, 6] > 0) or kinds[e] == 1:
            starts[count, 0], starts[count, 1] = e, 0
            across[count, 0], across[count, 1], across[count, 2] = (e, 0, 1) if kinds[e] == 0 else (-1, 0, 0)
            count += 1
        for k in range(ptr[e], ptr[e + 1]):
            f, node = others[k], k - ptr[e] + 1
            if kinds[e] == 0:
                if owner[lines[f, 0]] < owner[lines[e, 0]]:
                    continue
                if not lefts[k]:
                    starts[count, 0], starts[count, 1] = f, twins[k] - ptr[f] + 1
                else:
                    starts[count, 0], starts[count, 1] = e, node
                across[count, 0], across[count, 1], across[count, 2] = starts[count, 0], starts[count, 1], 1
            elif kinds[e] == 4:
                if lefts[k]:
                    continue
                starts[count, 0], starts[count, 1] = f, 0
                across[count, 0], across[count, 1], across[count, 2] = f, 0, 1
            else:
                if kinds[e] == 2 and not lefts[k]:
                    continue
                starts[count, 0], starts[count, 1] = e, node
                across[count, 0], across[count, 1], across[count, 2] = f, 0, -1
            count += 1
    return count


@kernel
def go_round(steps, e, node, corners, pieces):
    """Write the corners of one cell and the pieces along its sides, counter-clockwise; return how many.

    A piece is its number, negative (−1 − number) where it is gone down; returns −1 if the room is too small.
    """
    n, way, first_edge, first_node = 0, 1, e, node
    while True:
        if n == len(corners):
            return -1
        place(steps, e, node, corners[n])
        piece = steps.ptr[e] + e + (node if way > 0 else node - 1)
        pieces[n, 0], pieces[n, 1] = e, piece if way > 0 else -1 - piece
        n += 1
        node += way
        e, way, node = go_on(steps, e, way, node)
        if e == first_edge and node == first_node and way > 0:
            return n


@kernel
def measure(steps, starts, low, high, lines, points, units, far, room, out):
    """Go round cells low … high − 1; write what each measures, and which cells lie along every piece.

    ``points`` (F, 3) are the scores of the faces' rows; returns the cell for which the room was too small, or high.
    """
    corners, pieces = room
    inside = np.empty(2)
    for cell in range(low, high):
        n = go_round(steps, starts[cell, 0], starts[cell, 1], corners, pieces)
        if n < 0:
            return cell
        out.sizes[cell] = n
        endless = False
        for m in range(n):
            if pieces[m, 1] >= 0:
                out.left_cells[pieces[m, 1]] = cell
            else:
                out.right_cells[-1 - pieces[m, 1]] = cell
            corners[m, 0] *= units[0]
            corners[m, 1] *= units[1]
            endless |= abs(corners[m, 0]) > far[0] or abs(corners[m, 1]) > far[1]
        area = centre_of(corners, n, inside)
        out.areas[cell] = np.inf if endless else area
        out.centres[cell, 0], out.centres[cell, 1] = inside[0], inside[1]
        out.margins[cell], radius = nearest_side(steps, pieces, n, lines, points, units, inside)
        out.radii[cell] = radius if area > 0.0 else 0.0
    return high


@kernel
def nearest_side(steps, pieces, n, lines, points, units, inside):
    """Return by how much a cell leads beyond its sides at a point, at least, and how far the nearest side is.

    The sides are taken from their lines: that through two corners which nearly coincide has any direction.
    """
    margin, radius = np.inf, np.inf
    for m in range(n):
        e = pieces[m, 0]
        if e < steps.n_inner:
            i, j = (lines[e, 0], lines[e, 1]) if pieces[m, 1] >= 0 else (lines[e, 1], lines[e, 0])
            p, q = points[i, 1] - points[j, 1], points[i, 2] - points[j, 2]
            gap = points[i, 0] - points[j, 0] + inside[0] * p + inside[1] * q
            margin = min(margin, gap)
        else:
            p, q = steps.vectors[e, 1] / units[0], steps.vectors[e, 2] / units[1]
            gap = abs(steps.vectors[e, 0] + inside[0] * p + inside[1] * q)
        length = (p * p + q * q) ** 0.5
        if length > 0.0:
            radius = min(radius, gap / length)
    return margin, max(radius, 0.0)


@kernel
def collect_corners(steps, starts, cells, offsets, pieces, corners):
    """Write the corners of cells one after another; ``offsets`` are where each begins."""
    for c in range(len(cells)):
        go_round(steps, starts[cells[c], 0], starts[cells[c], 1], corners[offsets[c] : offsets[c + 1]], pieces)


@kernel
def centre_of(corners, n, out):
    """Write the centroid of a convex polygon; return its area."""
    x, y, total = 0.0, 0.0, 0.0
    mean_x, mean_y = corners[0, 0], corners[0, 1]
    for m in range(1, n):
        mean_x += corners[m, 0]
        mean_y += corners[m, 1]
        if m + 1 < n:
            ax, ay = corners[m, 0] - corners[0, 0], corners[m, 1] - corners[0, 1]
            bx, by = corners[m + 1, 0] - corners[0, 0], corners[m + 1, 1] - corners[0, 1]
            doubled = ax * by - ay * bx
            x += doubled * (ax + bx)
            y += doubled * (ay + by)
            total += doubled
    if total > 0.0:
        out[0], out[1] = corners[0, 0] + x / (3.0 * total), corners[0, 1] + y / (3.0 * total)
        return total / 2.0
    out[0], out[1] = mean_x / n, mean_y / n
    return 0.0
