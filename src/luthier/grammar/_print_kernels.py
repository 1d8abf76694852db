# mypy: ignore-errors
"""Kernels that print rules: texts of words, names and numbers, copied one behind another."""

from luthier.core.jit import inner_kernel, kernel

SPACE, LINE_FEED, BAR, HYPHEN, ZERO = 32, 10, 124, 45, 48
MOST_DIGITS = 3  # of a place within a rule
GAP_BYTES, LINK_BYTES = 6, 2 * MOST_DIGITS + 2
FRAME_BYTES = 32  # the label, four separators, a line feed


@kernel
def line_sizes(rows, sides, texts, columns):
    """Return a bound on the bytes that the lines of some rules take."""
    source_at, _, target_at, _, name_at, _, number_at, _ = texts
    side_offsets, side_symbols, target_offsets, target_symbols, feature_offsets, ids, numbers, link_offsets, _ = columns
    size = 0
    for i in range(len(rows)):
        row, side = rows[i], sides[i]
        size += FRAME_BYTES + LINK_BYTES * (link_offsets[row + 1] - link_offsets[row])
        for k in range(side_offsets[side], side_offsets[side + 1]):
            s = side_symbols[k]
            size += 1 + (GAP_BYTES if s < 0 else source_at[s + 1] - source_at[s])
        for k in range(target_offsets[row], target_offsets[row + 1]):
            s = target_symbols[k]
            size += 1 + (GAP_BYTES if s < 0 else target_at[s + 1] - target_at[s])
        for k in range(feature_offsets[row], feature_offsets[row + 1]):
            size += 1 + name_at[ids[k] + 1] - name_at[ids[k]] + number_at[numbers[k] + 1] - number_at[numbers[k]]
    return size


@inner_kernel
def put(out, at, data, first, last):
    """Copy ``data[first:last]``; return the place behind it."""
    for i in range(last - first):
        out[at + i] = data[first + i]
    return at + last - first


@inner_kernel
def put_symbols(out, at, symbols, first, last, offsets, data):
    """Write symbols, each with a space behind it; return the place behind them."""
    for k in range(first, last):
        s = symbols[k]
        if s < 0:
            at = put(out, at, b"[X,", 0, 3)
            out[at] = ZERO - s
            at = put(out, at + 1, b"]", 0, 1)
        else:
            at = put(out, at, data, offsets[s], offsets[s + 1])
        out[at] = SPACE
        at += 1
    return at


@inner_kernel
def put_number(out, at, value):
    """Write a whole number of up to three digits; return the place behind it."""
    if value >= 100:
        out[at] = ZERO + value // 100
        at += 1
    if value >= 10:
        out[at] = ZERO + value // 10 % 10
        at += 1
    out[at] = ZERO + value % 10
    return at + 1


@kernel
def print_rules(rows, sides, texts, columns, out):
    """Write the lines of some rules; return how many bytes they take."""
    source_at, source, target_at, target, name_at, names, number_at, digits = texts
    side_offsets, side_symbols, target_offsets, target_symbols, feature_offsets, ids, numbers, link_offsets, links = (
        columns
    )
    at = 0
    for i in range(len(rows)):
        row, side = rows[i], sides[i]
        at = put(out, at, b"[X] ||| ", 0, 8)
        at = put_symbols(out, at, side_symbols, side_offsets[side], side_offsets[side + 1], source_at, source)
        at = put(out, at, b"||| ", 0, 4)
        at = put_symbols(out, at, target_symbols, target_offsets[row], target_offsets[row + 1], target_at, target)
        at = put(out, at, b"||| ", 0, 4)
        for k in range(feature_offsets[row], feature_offsets[row + 1]):
            at = put(out, at, names, name_at[ids[k]], name_at[ids[k] + 1])
            at = put(out, at, digits, number_at[numbers[k]], number_at[numbers[k] + 1])
            out[at] = SPACE
            at += 1
        at = put(out, at, b"|||", 0, 3)
        for k in range(link_offsets[row], link_offsets[row + 1]):
            out[at] = SPACE
            at = put_number(out, at + 1, links[k, 0])
            out[at] = HYPHEN
            at = put_number(out, at + 1, links[k, 1])
        out[at] = LINE_FEED
        at += 1
    return at


@kernel
def print_sides(sides, texts, columns, offsets, out):
    """Write both sides of each rule, ``[X] ||| f ||| e``; with no room in `out`, only where each text begins."""
    source_at, source, target_at, target = texts
    side_offsets, side_symbols, target_offsets, target_symbols = columns
    write, at = len(out) > 0, 0
    offsets[0] = 0
    for row in range(len(sides)):
        side = sides[row]
        if write:
            at = put(out, at, b"[X] ||| ", 0, 8)
            at = put_symbols(out, at, side_symbols, side_offsets[side], side_offsets[side + 1], source_at, source)
            at = put(out, at, b"||| ", 0, 4)
            last = target_offsets[row + 1]
            at = put_symbols(out, at, target_symbols, target_offsets[row], last, target_at, target) - 1
        else:
            at += 11
            for k in range(side_offsets[side], side_offsets[side + 1]):
                s = side_symbols[k]
                at += 1 + (GAP_BYTES - 1 if s < 0 else source_at[s + 1] - source_at[s])
            for k in range(target_offsets[row], target_offsets[row + 1]):
                s = target_symbols[k]
                at += 1 + (GAP_BYTES - 1 if s < 0 else target_at[s + 1] - target_at[s])
        offsets[row + 1] = at
