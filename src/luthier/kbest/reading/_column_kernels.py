# mypy: ignore-errors
"""Kernels that cut lines into columns: at tabs, at white space, and by the marks of a log.

A line i is ``data[starts[i]:stops[i]]``. White space is what ASCII calls so: the formats cut here know no
other, and a no-break space belongs to the text.
"""

from luthier.core.jit import kernel

TAB, DASH, ZERO, NINE = 9, 45, 48, 57
MARKS = (72, 68, 80, 83, 84)  # H, D, P, S, T
LARGEST_SUFFIX = 1 << 40


@kernel
def split_at_tabs(data, starts, stops, field_starts, field_stops, counts):
    """Write the spans of the first fields of each line, (C, R), and the number of all its fields."""
    wanted = len(field_starts)
    for row in range(len(starts)):
        field, begin = 0, starts[row]
        for i in range(starts[row], stops[row]):
            if data[i] == TAB:
                if field < wanted:
                    field_starts[field, row] = begin
                    field_stops[field, row] = i
                field += 1
                begin = i + 1
        if field < wanted:
            field_starts[field, row] = begin
            field_stops[field, row] = stops[row]
        counts[row] = field + 1


@kernel
def leading_words(data, starts, stops, word_starts, word_stops, counts, rest_starts, rest_stops):
    """Write the spans of the first words of each line, (C, R), how many of them it has, and the rest.

    The rest is what follows the last of the words, without white space around it.
    """
    wanted = len(word_starts)
    for row in range(len(starts)):
        i, end = starts[row], stops[row]
        while end > i and (data[end - 1] == 32 or 9 <= data[end - 1] <= 13):
            end -= 1
        word = 0
        while True:
            while i < end and (data[i] == 32 or 9 <= data[i] <= 13):
                i += 1
            if i == end or word == wanted:
                break
            word_starts[word, row] = i
            while i < end and not (data[i] == 32 or 9 <= data[i] <= 13):
                i += 1
            word_stops[word, row] = i
            word += 1
        counts[row] = word
        rest_starts[row] = i
        rest_stops[row] = end


@kernel
def word_room(data, starts, stops):
    """Return an upper bound on the number of words in the spans."""
    room = len(starts)
    for row in range(len(starts)):
        for i in range(starts[row], stops[row]):
            room += data[i] <= 32
    return room


@kernel
def word_spans(data, starts, stops, offsets, word_starts, word_stops):
    """Write the span of every word of every span, in order; `offsets[row]` is a row's first word."""
    n = 0
    for row in range(len(starts)):
        offsets[row] = n
        i, end = starts[row], stops[row]
        while i < end:
            if data[i] == 32 or 9 <= data[i] <= 13:
                i += 1
                continue
            word_starts[n] = i
            while i < end and not (data[i] == 32 or 9 <= data[i] <= 13):
                i += 1
            word_stops[n] = i
            n += 1
    offsets[len(starts)] = n
    return n


@kernel
def find_marks(data, starts, stops, marks, id_stops):
    """Write the mark of each line that begins as ``H-12`` does, 0 for others, and where its id ends.

    What follows the digits must be a tab, a space or the end of the line.
    """
    for row in range(len(starts)):
        marks[row] = 0
        start, stop = starts[row], stops[row]
        id_stops[row] = start
        if stop - start < 3 or data[start + 1] != DASH or data[start] not in MARKS:
            continue
        i = start + 2
        while i < stop and ZERO <= data[i] <= NINE:
            i += 1
        if i > start + 2 and (i == stop or data[i] == TAB or data[i] == 32):
            marks[row] = data[start]
            id_stops[row] = i


@kernel
def same_as_before(data, starts, stops, same):
    """Write whether each span holds the same bytes as the span before it; the first does not."""
    for row in range(len(starts)):
        same[row] = row > 0 and stops[row] - starts[row] == stops[row - 1] - starts[row - 1]
        if same[row]:
            for i in range(stops[row] - starts[row]):
                if data[starts[row] + i] != data[starts[row - 1] + i]:
                    same[row] = False
                    break


@kernel
def numbered_suffixes(data, starts, stops, stem_stops, numbers):
    """Write where each span ends without its final ``-<number>``, and that number; −1: it has none."""
    for row in range(len(starts)):
        stem_stops[row] = stops[row]
        numbers[row] = -1
        i, number, unit = stops[row], 0, 1
        while i > starts[row] and ZERO <= data[i - 1] <= NINE:
            i -= 1
            number = min(number + unit * (int(data[i]) - ZERO), LARGEST_SUFFIX)
            unit = min(unit * 10, LARGEST_SUFFIX)
        if i < stops[row] and i - 1 > starts[row] and data[i - 1] == DASH:
            stem_stops[row] = i - 1
            numbers[row] = number
