# mypy: ignore-errors
"""Kernels that go round the cells of an overlay, once the crossings of every edge are known in order.

Edge e, in its upward direction, has the nodes 0 (its lower end), 1 … n_e (crossings), n_e + 1 (its upper end), and
between them n_e + 1 *pieces*; piece m leads from node m to node m + 1. ``ptr[e]`` is where its crossings begin,
``ptr[e] + e`` where its pieces do. The last four edges are the window's: bottom (to the right), right, left, top
(to the right). Cells are walked round counter-clockwise: the cell is on the left.
"""

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.geometry.plane._plane_kernels import difference_of_products


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
def go_on(ptr, others, lefts, twins, at_border, onward, n_inner, e, way, node):
    """Return edge, direction and node with which a round goes on, having come to `node` along e."""
    last = ptr[e + 1] - ptr[e] + 1
    if 0 < node < last:
        k = ptr[e] + node - 1
        f = others[k]
        if e >= n_inner:  # from the border into the window
            if at_border[f, 0] == k:
                return f, 1, 0
            return f, -1, ptr[f + 1] - ptr[f] + 1
        up = lefts[k] if way > 0 else not lefts[k]
        return f, 1 if up else -1, twins[k] - ptr[f] + 1
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
def place(ptr, others, ends, vectors, e, node, out):
    """Write the coordinates of a node; both edges of a crossing give the same."""
    last = ptr[e + 1] - ptr[e] + 1
    if node == 0:
        out[0], out[1] = ends[e, 0], ends[e, 1]
    elif node == last:
        out[0], out[1] = ends[e, 3], ends[e, 4]
    else:
        other = others[ptr[e] + node - 1]
        f, g = vectors[min(e, other)], vectors[max(e, other)]
        minor = difference_of_products(f[1], g[2], f[2], g[1])
        out[0] = difference_of_products(f[2], g[0], f[0], g[2]) / minor
        out[1] = difference_of_products(f[0], g[1], f[1], g[0]) / minor


@kernel
def first_steps(ptr, others, lefts, twins, lines, face_list, n_inner, kinds, starts, across):
    """Write where the round of each cell begins, in the order of the stream; return how many cells there are.

    ``starts[c]`` is edge and node, to be left upward; ``across[c]`` the edge beyond which a lower cell lies, the
    node its piece begins with, and 1 if this cell is on its left, −1 if on its right.
    """
    count = 0
    for e in range(n_inner + 3):
        if (kinds[e] == 0 and lines[e, 6] > 0) or kinds[e] == 1:
            starts[count, 0], starts[count, 1] = e, 0
            across[count, 0], across[count, 1], across[count, 2] = (e, 0, 1) if kinds[e] == 0 else (-1, 0, 0)
            count += 1
        for k in range(ptr[e], ptr[e + 1]):
            f, node = others[k], k - ptr[e] + 1
            if kinds[e] == 0:
                if face_list[lines[f, 0]] < face_list[lines[e, 0]]:
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
def go_round(
    ptr, others, lefts, twins, ends, vectors, at_border, onward, n_inner, e, node, corners, pieces
):  # fmt: skip
    """Write the corners of one cell and the pieces along its sides, counter-clockwise; return how many.

    A piece is its number, negative (−1 − number) where it is gone down; returns −1 if the room is too small.
    """
    n, way, first_edge, first_node = 0, 1, e, node
    while True:
        if n == len(corners):
            return -1
        place(ptr, others, ends, vectors, e, node, corners[n])
        piece = ptr[e] + e + (node if way > 0 else node - 1)
        pieces[n, 0], pieces[n, 1] = e, piece if way > 0 else -1 - piece
        n += 1
        node += way
        e, way, node = go_on(ptr, others, lefts, twins, at_border, onward, n_inner, e, way, node)
        if e == first_edge and node == first_node and way > 0:
            return n


@kernel
def measure(
    ptr, others, lefts, twins, ends, vectors, at_border, onward, n_inner, starts, low, high, corners, pieces,
    left_cells, right_cells, lines, points, units, far, centres, areas, radii, margins, sizes,
):  # fmt: skip
    """Go round cells low … high − 1; write what each measures, and which cells lie along every piece.

    ``points`` (F, 3) are the scores of the faces' rows; returns the cell for which the room was too small, or high.
    """
    inside = np.empty(2)
    for cell in range(low, high):
        n = go_round(
            ptr, others, lefts, twins, ends, vectors, at_border, onward, n_inner, starts[cell, 0], starts[cell, 1],
            corners, pieces,
        )  # fmt: skip
        if n < 0:
            return cell
        sizes[cell] = n
        endless = False
        for m in range(n):
            if pieces[m, 1] >= 0:
                left_cells[pieces[m, 1]] = cell
            else:
                right_cells[-1 - pieces[m, 1]] = cell
            corners[m, 0] *= units[0]
            corners[m, 1] *= units[1]
            endless |= abs(corners[m, 0]) > far[0] or abs(corners[m, 1]) > far[1]
        areas[cell] = centre_of(corners, n, inside)
        if endless:
            areas[cell] = np.inf
        centres[cell, 0], centres[cell, 1] = inside[0], inside[1]
        radii[cell] = nearest_side(corners, n, inside) if areas[cell] > 0.0 else 0.0
        margin = np.inf
        for m in range(n):
            e = pieces[m, 0]
            if e < n_inner:
                gap = points[lines[e, 0]] - points[lines[e, 1]]
                gap_here = gap[0] + inside[0] * gap[1] + inside[1] * gap[2]
                margin = min(margin, gap_here if pieces[m, 1] >= 0 else -gap_here)
        margins[cell] = margin
    return high


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


@kernel
def nearest_side(corners, n, point):
    """Return how far a point is from the sides of a convex polygon that it lies in."""
    nearest = np.inf
    for m in range(n):
        x, y = corners[m, 0], corners[m, 1]
        dx, dy = corners[(m + 1) % n, 0] - x, corners[(m + 1) % n, 1] - y
        length = (dx * dx + dy * dy) ** 0.5
        if length > 0.0:
            nearest = min(nearest, (dx * (point[1] - y) - dy * (point[0] - x)) / length)
    return max(nearest, 0.0)
