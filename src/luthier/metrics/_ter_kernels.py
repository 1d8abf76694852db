# mypy: ignore-errors
"""Kernels of translation edit rate: word edits plus block moves, by tercom's greedy search.

Rows of a distance table belong to the n words of a hypothesis, columns to the m words of a reference;
``D[i, j]`` is the distance between the first i and the first j words. Each round lists the moves tercom
would try, takes the one that shortens the distance most, and stops when none does.

Two things make this fast. The order that decides between moves is total, so they need not be tried in
tercom's sequence, and those that cannot win are not tried. And 64 columns of a row of D fit two machine
words of differences, ``D[i, j] - D[i, j-1] = +1`` in `vp` and ``-1`` in `vn`, from which the next row takes
some fifteen instructions (Myers, 1999; Hyyrö, 2003). A move leaves the rows before it as they were, and
as soon as a row behind it is what it was, the move has gained nothing.

tercom's distance is that of a beam around the diagonal, at least the true one. `beam_is_idle` says when
the two cannot differ. Otherwise a table has the beam's distances, and the true one only rejects moves.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core._bit_kernels import WORD_BITS, count_bits
from luthier.core.jit import inner_kernel, kernel
from luthier.metrics._edit_kernels import next_differences

# tercom's limits: half width of the beam, longest block and farthest match that are tried.
BEAM = 25
LONGEST_BLOCK = 10
FARTHEST = 50
# sacrebleu's limit on moves tried for one pair; the round that reaches it is thrown away.
MOST_MOVES = 1000

UNREACHED = 1 << 28

# Rows of the `bits` workspace, B words (blocks of 64 columns) per hypothesis position: the places of its
# word in the reference, the differences of the rows of D, where D[i, j] = D[i-1, j-1] and where D[i, j] =
# D[i-1, j] + 1; and the differences of one row after a move.
MASK, VP, VN, DIAGONAL, RISES, MOVED_VP, MOVED_VN = 0, 1, 2, 3, 4, 5, 6
BIT_ROWS = 7
# Rows of the `work` workspace: the words of the hypothesis and their errors; per reference position the
# errors, the hypothesis position it is aligned to and the next place of the same word; space to move words.
WORDS, HYP_ERRORS, REF_ERRORS, ALIGNED, NEXT, SPARE = 0, 1, 2, 3, 4, 5
WORK_ROWS = 6


class Workspace(NamedTuple):
    """Workspaces, for texts of up to L words and references of up to B = ⌈L / 64⌉ blocks.

    `heads` (V,) all −1, left so; `masks` (L + 1, B) with row 0 all 0; `bits` (BIT_ROWS, (L + 1) B); `table` with
    (n + 3) (m + 1) cells for every pair; `work` (WORK_ROWS, L + 1); `moves` (MOST_MOVES, 3).
    """

    heads: np.ndarray
    masks: np.ndarray
    bits: np.ndarray
    table: np.ndarray
    work: np.ndarray
    moves: np.ndarray


@inner_kernel
def last_cell(bits, vp_row, vn_row, at, n, blocks, used):
    """Return D[n, m] from the differences in two rows of `bits`; `used` has the bits of the last block."""
    last = at + blocks - 1
    cell = n + count_bits(bits[vp_row, last] & used) - count_bits(bits[vn_row, last] & used)
    for b in range(at, last):
        cell += count_bits(bits[vp_row, b]) - count_bits(bits[vn_row, b])
    return cell


@inner_kernel
def beam_is_idle(n, m, distance):
    """Return whether the beam leaves distances of at most `distance`, and their tables' paths, as they are.

    A path of d edits strays at most (d + |m - n|) / 2 columns from the diagonal on the side of the longer
    text, counted from the beam's slanted middle; the beam reaches BEAM - 1 columns to the right.
    """
    return m < BEAM or (distance + abs(m - n)) // 2 < BEAM


@inner_kernel
def fill_bits(bits, work, n, heads, masks, blocks, used):
    """Compute the masks of all words and the differences of all rows, and return D[n, m]."""
    last = np.uint64(WORD_BITS - 1)
    for b in range(blocks):
        bits[VP, b], bits[VN, b] = ~np.uint64(0), np.uint64(0)
    for i in range(n):
        row = heads[work[WORDS, i]] + 1
        rises_in, falls_in = np.uint64(1), np.uint64(0)
        for k in range(blocks):
            at, below = i * blocks + k, (i + 1) * blocks + k
            mask = masks[row, k]
            vp, vn, diagonal, rises, falls = next_differences(mask, bits[VP, at], bits[VN, at], rises_in, falls_in)
            bits[MASK, at], bits[VP, below], bits[VN, below] = mask, vp, vn
            bits[DIAGONAL, below], bits[RISES, below] = diagonal, rises
            rises_in, falls_in = rises >> last, falls >> last
    return last_cell(bits, VP, VN, n * blocks, n, blocks, used)


@inner_kernel
def beam_of_row(i, n, m):
    """Return the columns [low, high) of row i that the beam covers."""
    ratio = m / n
    width = BEAM
    if ratio / 2 > BEAM:
        width = math.ceil(ratio / 2 + BEAM)
    middle = math.floor(i * ratio)
    return max(0, middle - width), m + 1 if i == n else min(m + 1, middle + width)


@inner_kernel
def next_row(table, before, after, i, n, word, reference, start, m):
    """Write row i of D to ``table[after:]``, from the row at ``table[before:]``.

    Returns the least that D[n, m] can be: no path ends sooner than the lengths that remain allow.
    """
    low, high = beam_of_row(i, n, m)
    if low > 0:  # the next row looks as far as these cells
        table[after + low - 1] = UNREACHED
    for j in range(high, beam_of_row(i + 1, n, m)[1]):
        table[after + j] = UNREACHED
    cell, least = UNREACHED, UNREACHED
    for j in range(low, high):
        cell = min(cell, table[before + j]) + 1
        if j > 0:
            cell = min(cell, table[before + j - 1] + (word != reference[start + j - 1]))
        table[after + j] = cell
        least = min(least, cell + abs((n - i) - (m - j)))
    return least


@kernel
def fill_table(table, work, n, reference, start, m):
    """Compute all rows of D in the beam, row i at ``table[i * (m + 1):]``, and return D[n, m]."""
    for j in range(m + 1):
        table[j] = j
    for i in range(1, n + 1):
        row = i * (m + 1)
        next_row(table, row - m - 1, row, i, n, work[WORDS, i - 1], reference, start, m)
    return table[n * (m + 1) + m]


@inner_kernel
def align(work, n, reference, start, m, bits, blocks, table, in_table):
    """Follow the best path back and write the errors on both sides and the alignment of the reference.

    If several steps are equally good, the diagonal one is taken, or else the one past a hypothesis word, as tercom
    does.
    A reference word without a partner is aligned to the last hypothesis word before it, −1 at the front.
    """
    i, j = n, m
    while i > 0 or j > 0:
        matches, diagonal, past_hyp = False, False, j == 0
        if i > 0 and j > 0:
            matches = work[WORDS, i - 1] == reference[start + j - 1]
            if in_table:
                at = i * (m + 1) + j
                diagonal = table[at] == table[at - m - 2] + (not matches)
                past_hyp = table[at] == table[at - m - 1] + 1
            else:
                at = i * blocks + (j - 1) // WORD_BITS
                bit = np.uint64(1) << np.uint64((j - 1) % WORD_BITS)
                diagonal = matches or bits[DIAGONAL, at] & bit == 0
                past_hyp = bits[RISES, at] & bit != 0
        if diagonal or past_hyp:
            i -= 1
            work[HYP_ERRORS, i] = not matches or not diagonal
        if diagonal or not past_hyp:
            j -= 1
            work[REF_ERRORS, j] = not matches or not diagonal
            work[ALIGNED, j] = i if diagonal else i - 1


@kernel
def list_moves(work, n, reference, start, m, heads, count, moves):
    """List the moves tercom tries as rows (first word, length, target) of `moves`, from its beginning.

    A block that also stands in the reference is moved to where that place is aligned, if both hold an
    error. `count` moves were tried in earlier rounds. Returns the number listed, or −1 when the limit
    on moves is reached.
    """
    listed = 0
    for s in range(n):
        r = heads[work[WORDS, s]]
        while r >= 0 and r <= s + FARTHEST:
            length, hyp_wrong, ref_wrong = 0, 0, 0
            longest = min(LONGEST_BLOCK, n - s, m - r) if r >= s - FARTHEST else 0
            while length < longest and work[WORDS, s + length] == reference[start + r + length]:
                hyp_wrong += work[HYP_ERRORS, s + length]
                ref_wrong += work[REF_ERRORS, r + length]
                length += 1
                aligned = work[ALIGNED, r]
                if hyp_wrong == 0 or ref_wrong == 0 or (s <= aligned and aligned < s + length):
                    continue
                before = -1
                for k in range(r - 1, r + length):
                    target = work[ALIGNED, k] + 1 if k >= 0 else 0
                    if target != before:
                        if count + listed + 1 >= MOST_MOVES:
                            return -1
                        moves[listed, 0], moves[listed, 1], moves[listed, 2] = s, length, target
                        listed += 1
                        before = target
            r = work[NEXT, r]
    return listed


@inner_kernel
def exchanged(s, length, target, n):
    """Return (a, b, e): the move exchanges the neighbours [a, b) and [b, e)."""
    if target < s:
        return target, s, s + length
    if target > s + length:
        return s, s + length, target
    return s, s + length, min(n, target + length)


@inner_kernel
def moved_position(i, a, b, e):
    """Return which word stands at position i after [a, b) and [b, e) have changed places."""
    if i < a or i >= e:
        return i
    return i + b - a if i < a + e - b else i - e + b


@inner_kernel
def moved_distance_in_word(bits, n, used, a, b, e, distance):
    """Return the distance when [a, b) and [b, e) change places, in one block; `distance` is what it was."""
    one, zero = np.uint64(1), np.uint64(0)
    vp, vn = bits[VP, a], bits[VN, a]
    for i in range(a, n):
        if i >= e and ((vp ^ bits[VP, i]) | (vn ^ bits[VN, i])) & used == 0:
            return distance
        vp, vn, _, _, _ = next_differences(bits[MASK, moved_position(i, a, b, e)], vp, vn, one, zero)
    return n + count_bits(vp & used) - count_bits(vn & used)


@kernel
def moved_distance_in_blocks(bits, n, blocks, used, a, b, e, distance):
    """Return the distance when [a, b) and [b, e) change places, in several blocks."""
    last = np.uint64(WORD_BITS - 1)
    for k in range(blocks):
        bits[MOVED_VP, k], bits[MOVED_VN, k] = bits[VP, a * blocks + k], bits[VN, a * blocks + k]
    for i in range(a, n):
        source = moved_position(i, a, b, e) * blocks
        rises_in, falls_in = np.uint64(1), np.uint64(0)
        changed = np.uint64(i < e)
        for k in range(blocks):
            old_vp, old_vn = bits[MOVED_VP, k], bits[MOVED_VN, k]
            changed |= (old_vp ^ bits[VP, i * blocks + k]) | (old_vn ^ bits[VN, i * blocks + k])
            vp, vn, _, rises, falls = next_differences(bits[MASK, source + k], old_vp, old_vn, rises_in, falls_in)
            bits[MOVED_VP, k], bits[MOVED_VN, k] = vp, vn
            rises_in, falls_in = rises >> last, falls >> last
        if changed == 0:
            return distance
    return last_cell(bits, MOVED_VP, MOVED_VN, 0, n, blocks, used)


@kernel
def moved_distance_in_table(table, work, n, reference, start, m, a, b, e, limit):
    """Return the beam's distance when [a, b) and [b, e) change places, or more than `limit` if it is more.

    Two rows behind the table are scratch space.
    """
    before = a * (m + 1)
    after = (n + 1) * (m + 1)
    for i in range(a, n):
        word = work[WORDS, moved_position(i, a, b, e)]
        if next_row(table, before, after, i + 1, n, word, reference, start, m) > limit:
            return UNREACHED
        before = after
        after = (2 * n + 3) * (m + 1) - after  # the other of rows n + 1 and n + 2
    return table[before + m]


@inner_kernel
def best_move(
    moves, listed, bits, blocks, used, true_distance,
    table, in_table, work, n, reference, start, m, distance,
):  # fmt: skip
    """Return (gain, a, b, e) of the move that tercom would take; gain 0 if none shortens the distance."""
    gain, rank, best_a, best_b, best_e = 0, 0, 0, 0, 0
    for k in range(listed):
        s, length, target = moves[k, 0], moves[k, 1], moves[k, 2]
        a, b, e = exchanged(s, length, target, n)
        # If gains are equal, the longer block wins, then the earlier block, then the earlier target.
        own_rank = (length << 50) - (s << 25) - target
        needed = gain if gain > 0 and own_rank > rank else gain + 1
        # A word taken out and put in elsewhere fixes at most two errors.
        if true_distance - 2 * min(b - a, e - b) > distance - needed:
            continue
        if blocks == 1:
            moved = moved_distance_in_word(bits, n, used, a, b, e, true_distance)
        else:
            moved = moved_distance_in_blocks(bits, n, blocks, used, a, b, e, true_distance)
        if in_table and distance - moved >= needed:
            moved = moved_distance_in_table(table, work, n, reference, start, m, a, b, e, distance - needed)
        if distance - moved >= needed:
            gain, rank, best_a, best_b, best_e = distance - moved, own_rank, a, b, e
    return gain, best_a, best_b, best_e


@inner_kernel
def exchange(work, a, b, e):
    """Let the words [a, b) and [b, e) change places."""
    for i in range(a, e):
        work[SPARE, i] = work[WORDS, i]
    for i in range(a, e):
        work[WORDS, i] = work[SPARE, moved_position(i, a, b, e)]


@inner_kernel
def fewest_edits(ids, first, n, reference, start, m, heads, masks, bits, table, work, moves):
    """Return the edits tercom's search needs between the words ``ids[first:first+n]`` and a reference.

    The reference is ``reference[start:start+m]``, entered into `heads`, `masks` and ``work[NEXT]``.
    """
    if n == 0 or m == 0:
        return max(n, m)
    blocks = (m + WORD_BITS - 1) // WORD_BITS
    used = ~np.uint64(0) >> np.uint64(blocks * WORD_BITS - m)
    for i in range(n):
        work[WORDS, i] = ids[first + i]
    tried, edits = 0, 0
    while True:
        true_distance = fill_bits(bits, work, n, heads, masks, blocks, used)
        distance = true_distance
        in_table = not beam_is_idle(n, m, distance)
        if in_table:
            distance = fill_table(table, work, n, reference, start, m)
        if distance <= 1:  # a single error cannot be out of place
            break
        align(work, n, reference, start, m, bits, blocks, table, in_table)
        listed = list_moves(work, n, reference, start, m, heads, tried, moves)
        if listed <= 0:
            break
        tried += listed
        gain, a, b, e = best_move(
            moves, listed, bits, blocks, used, true_distance,
            table, in_table, work, n, reference, start, m, distance,
        )  # fmt: skip
        if gain == 0:
            break
        edits += 1
        exchange(work, a, b, e)
    return edits + distance


@inner_kernel
def enter_reference(reference, start, m, heads, masks, work):
    """Note where each word stands first (`heads`) and next (``work[NEXT]``), and all its places as a mask.

    The mask of a word is row ``heads[word] + 1`` of `masks`; row 0, of words that are not there, is empty.
    """
    blocks = (m + WORD_BITS - 1) // WORD_BITS
    for j in range(m - 1, -1, -1):
        later = heads[reference[start + j]]
        work[NEXT, j] = later
        for k in range(blocks):
            masks[j + 1, k] = masks[later + 1, k]
        masks[j + 1, j // WORD_BITS] |= np.uint64(1) << np.uint64(j % WORD_BITS)
        heads[reference[start + j]] = j


@kernel
def ter_edits(hyps, refs, first_equal, room, out):
    """Write the edits of every hypothesis against the reference that needs the fewest.

    Rows whose words stood before in the same sentence (``first_equal[row] != row``) take over its edits.
    """
    offsets, hyp_starts, hyp_ids = hyps
    ref_offsets, ref_starts, ref_ids = refs
    heads, masks, bits, table, work, moves = room
    for s in range(len(offsets) - 1):
        for r in range(ref_offsets[s], ref_offsets[s + 1]):
            start, m = ref_starts[r], ref_starts[r + 1] - ref_starts[r]
            enter_reference(ref_ids, start, m, heads, masks, work)
            for row in range(offsets[s], offsets[s + 1]):
                if first_equal[row] == row:
                    first, n = hyp_starts[row], hyp_starts[row + 1] - hyp_starts[row]
                    edits = fewest_edits(hyp_ids, first, n, ref_ids, start, m, heads, masks, bits, table, work, moves)
                    out[row] = edits if r == ref_offsets[s] else min(out[row], edits)
            for j in range(m):
                heads[ref_ids[start + j]] = -1
        for row in range(offsets[s], offsets[s + 1]):
            out[row] = out[first_equal[row]]
