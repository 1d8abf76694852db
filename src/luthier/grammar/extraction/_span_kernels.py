# mypy: ignore-errors
"""Kernels of one occurrence: which spans and gaps make a rule of it (docs/grammar.md, steps a to e).

Places are counted within a sentence; a span is half open. `low[base + i]` and `high[base + i]` are the span of the
words linked to word i of a sentence, −1 and −1 where there are none. ``pair.at`` says which sentence pair is looked at.
"""

from luthier.core.jit import inner_kernel, kernel

NONE = -1
SOURCE_BASE, TARGET_BASE, SOURCE_LENGTH = 0, 1, 2
# columns of a row of spans: is it a rule, the source span, its gaps in order
IS_RULE, LOW, HIGH, N_GAPS, FIRST_GAP = 0, 1, 2, 3, 4
SPAN_COLUMNS = 8


@inner_kernel
def project(low, high, base, a, b):
    """Return the span of the words linked to the words a … b − 1; (−1, −1) if there are none."""
    first, last = NONE, NONE
    for i in range(base + a, base + b):
        if low[i] >= 0:
            if first < 0 or low[i] < first:
                first = low[i]
            if high[i] > last:
                last = high[i]
    return first, last


@inner_kernel
def is_consistent(pair, a, b, max_span):
    """Return whether the source span a … b − 1, projected to the target and back, returns to itself."""
    first, last = project(pair.source_low, pair.source_high, pair.at[SOURCE_BASE], a, b)
    if first < 0 or last - first > max_span:
        return False
    back_first, back_last = project(pair.target_low, pair.target_high, pair.at[TARGET_BASE], first, last)
    return back_first >= a and back_last <= b


@inner_kernel
def is_linked(pair, i):
    """Return whether source word i has a link."""
    return pair.source_low[pair.at[SOURCE_BASE] + i] >= 0


@inner_kernel
def open_ends(pair, limits, left, right, open_left, open_right):
    """Return the source span with the shortest gaps at the chosen ends, (−1, −1) if there is none: step e."""
    low, high = left - limits.min_gap * open_left, right + limits.min_gap * open_right
    if low < 0 or high > pair.at[SOURCE_LENGTH] or high - low > limits.max_span:
        return NONE, NONE
    if limits.tight:
        if not is_linked(pair, low) or not is_linked(pair, high - 1):
            return NONE, NONE
        if (open_left and not is_linked(pair, left - 1)) or (open_right and not is_linked(pair, right)):
            return NONE, NONE
    while open_left or open_right:
        first, last = project(pair.source_low, pair.source_high, pair.at[SOURCE_BASE], low, high)
        if first < 0 or last - first > limits.max_span:
            return NONE, NONE
        back_low, back_high = project(pair.target_low, pair.target_high, pair.at[TARGET_BASE], first, last)
        if back_low >= low and back_high <= high:
            break
        if (back_low < low and not open_left) or (back_high > high and not open_right):
            return NONE, NONE
        low, high = min(low, back_low), max(high, back_high)
        if high - low > limits.max_span:
            return NONE, NONE
    if limits.tight and not (is_linked(pair, low) and is_linked(pair, high - 1)):
        return NONE, NONE
    return low, high


@inner_kernel
def forced_span(pair, limits, low, high):
    """Return the source span with the gaps that its links force at its ends, (−1, −1) if there is none: step b."""
    first, last = project(pair.source_low, pair.source_high, pair.at[SOURCE_BASE], low, high)
    if first < 0 or last - first > limits.max_span:
        return NONE, NONE
    left, right = project(pair.target_low, pair.target_high, pair.at[TARGET_BASE], first, last)
    left = min(left, low - limits.min_gap) if left < low else low
    right = max(right, high + limits.min_gap) if right > high else high
    if left < 0 or right > pair.at[SOURCE_LENGTH] or right - left > limits.max_span:
        return NONE, NONE
    again_first, again_last = project(pair.source_low, pair.source_high, pair.at[SOURCE_BASE], left, right)
    if again_first != first or again_last != last:
        return NONE, NONE
    if limits.tight:
        if left < low and not (is_linked(pair, left) and is_linked(pair, low - 1)):
            return NONE, NONE
        if right > high and not (is_linked(pair, high) and is_linked(pair, right - 1)):
            return NONE, NONE
    return left, right


@inner_kernel
def inner_gaps(pair, limits, starts, lengths, n_chunks, gaps):
    """Write the gaps between the chunks; return whether the words and the gaps are linked as step a asks."""
    linked = False
    for k in range(n_chunks):
        for i in range(starts[k], starts[k] + lengths[k]):
            linked = linked or is_linked(pair, i)
        if k > 0:
            a, b = starts[k - 1] + lengths[k - 1], starts[k]
            gaps[2 * k - 2], gaps[2 * k - 1] = a, b
            if limits.tight and not (is_linked(pair, a) and is_linked(pair, b - 1)):
                return False
    return linked


@kernel
def find_spans(pair, limits, starts, lengths, n_chunks, gaps, spans):
    """Write the spans of the rules of one occurrence; row 2·left + right has gaps at these ends.

    `gaps` is scratch; `spans` is (4, SPAN_COLUMNS).
    """
    for row in range(4):
        spans[row, IS_RULE] = 0
    low, high = starts[0], starts[n_chunks - 1] + lengths[n_chunks - 1]
    if not inner_gaps(pair, limits, starts, lengths, n_chunks, gaps):
        return
    left, right = forced_span(pair, limits, low, high)
    if left < 0:
        return
    n_inner, size = n_chunks - 1, n_chunks - 1
    for k in range(n_chunks):
        size += lengths[k]
    forced_left, forced_right = left < low, right > high
    n_forced = int(forced_left) + int(forced_right)  # NumPy's own truths would add up to 1
    if n_inner + n_forced > limits.max_gaps or size + n_forced > limits.max_symbols:
        return
    for k in range(n_inner):
        if not is_consistent(pair, gaps[2 * k], gaps[2 * k + 1], limits.max_span):
            return
    if forced_left and not is_consistent(pair, left, low, limits.max_span):
        return
    if forced_right and not is_consistent(pair, high, right, limits.max_span):
        return
    for row in range(4):
        open_left, open_right = row >> 1, row & 1
        n = n_inner + n_forced + open_left + open_right
        if (open_left and forced_left) or (open_right and forced_right):
            continue
        if n > limits.max_gaps or size + n - n_inner > limits.max_symbols:
            continue
        a, b = open_ends(pair, limits, left, right, open_left, open_right)
        if a < 0:
            continue
        if open_left and not is_consistent(pair, a, left, limits.max_span):
            continue
        if open_right and not is_consistent(pair, right, b, limits.max_span):
            continue
        has_left, has_right = open_left or forced_left, open_right or forced_right
        variant = 2 * has_left + has_right
        spans[variant, IS_RULE], spans[variant, LOW], spans[variant, HIGH], spans[variant, N_GAPS] = 1, a, b, n
        at = FIRST_GAP
        if has_left:
            spans[variant, at], spans[variant, at + 1] = a, low
            at += 2
        for k in range(n_inner):
            spans[variant, at], spans[variant, at + 1] = gaps[2 * k], gaps[2 * k + 1]
            at += 2
        if has_right:
            spans[variant, at], spans[variant, at + 1] = high, b
