# mypy: ignore-errors
"""Kernels that read JSON (RFC 8259), one value per line, onto a flat tape.

The tape is a (T, 4) int64 array, one row per key and per value in the order of the file. Its columns:

KIND   what it is: one of the kinds below
START  first byte; of a string, the byte behind its quote
STOP   one behind the last byte; of a string, its closing quote
AFTER  number of the entry behind this one and all that it contains

A key's value is the entry behind the key. An object or array contains the entries up to its AFTER.
"""

from luthier.core.jit import kernel

KIND, START, STOP, AFTER = 0, 1, 2, 3

# INTEGER, DECIMAL and CONSTANT (NaN, Infinity, -Infinity: not RFC 8259, but Python writes them) are the
# numbers, and no kind between them is anything else.
NULL, TRUE, FALSE, STRING, ESCAPED, ARRAY, OBJECT, INTEGER, DECIMAL, CONSTANT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
LONE_KIND = 11  # a string with half a surrogate pair; never left on a tape

FINE, SYNTAX, TOO_DEEP, LONE_SURROGATE, TAPE_FULL = 0, 1, 2, 3, 4

NO_ENTRY, TWICE = -1, -2

# What the scanner waits for.
ANY_VALUE, VALUE_OR_END, KEY_OR_END, ANY_KEY, COMMA_OR_END = 0, 1, 2, 3, 4


@kernel
def skip_space(data, i, end):
    """Return the first place from `i` on that is not white space."""
    while i < end and (data[i] == 32 or data[i] == 9 or data[i] == 10 or data[i] == 13):
        i += 1
    return i


@kernel
def hex_value(data, i, end):
    """Return the value of the four hexadecimal digits at `i`, −1 if there are none."""
    if i + 4 > end:
        return -1
    value = 0
    for j in range(i, i + 4):
        c = int(data[j])
        if 48 <= c <= 57:
            digit = c - 48
        elif 97 <= c <= 102:
            digit = c - 87
        elif 65 <= c <= 70:
            digit = c - 55
        else:
            return -1
        value = value * 16 + digit
    return value


@kernel
def second_half(data, i, end):
    """Return the low surrogate written as an escape at `i`, −1 if there is none."""
    if i + 6 > end or data[i] != 92 or data[i + 1] != 117:
        return -1
    low = hex_value(data, i + 2, end)
    return low if 0xDC00 <= low <= 0xDFFF else -1


@kernel
def scan_escape(data, i, end):
    """Return (the place behind the escape at `i`, its kind); place −1 where it is none."""
    if i + 1 >= end:
        return -1, ESCAPED
    c = data[i + 1]
    if c == 117:  # u
        value = hex_value(data, i + 2, end)
        if value < 0:
            return -1, ESCAPED
        if value < 0xD800 or value > 0xDFFF:
            return i + 6, ESCAPED
        if value <= 0xDBFF and second_half(data, i + 6, end) >= 0:
            return i + 12, ESCAPED
        return i + 6, LONE_KIND
    # " / \ b f n r t
    if c == 34 or c == 47 or c == 92 or c == 98 or c == 102 or c == 110 or c == 114 or c == 116:
        return i + 2, ESCAPED
    return -1, ESCAPED


@kernel
def scan_string(data, i, end):
    """Return (the closing quote, the kind) of the string whose first byte is at `i`; place −1: none."""
    kind = STRING
    while i < end:
        c = data[i]
        if c == 34:
            return i, kind
        if c < 32:
            return -1, kind
        if c == 92:
            i, escape = scan_escape(data, i, end)
            if i < 0:
                return -1, kind
            kind = max(kind, escape)
        else:
            i += 1
    return -1, kind


@kernel
def scan_digits(data, i, end):
    """Return the first place from `i` on that is no digit."""
    while i < end and 48 <= data[i] <= 57:
        i += 1
    return i


@kernel
def scan_number(data, i, end):
    """Return (the place behind the number at `i`, its kind); place −1 where it is none."""
    kind = INTEGER
    if data[i] == 45:  # -
        i += 1
    if i < end and data[i] == 48:  # a leading zero stands alone
        j = i + 1
    else:
        j = scan_digits(data, i, end)
        if j == i:
            return -1, kind
    if j < end and data[j] == 46:
        kind, i = DECIMAL, j + 1
        j = scan_digits(data, i, end)
        if j == i:
            return -1, kind
    if j < end and (data[j] == 101 or data[j] == 69):  # e E
        kind, i = DECIMAL, j + 1
        if i < end and (data[i] == 43 or data[i] == 45):
            i += 1
        j = scan_digits(data, i, end)
        if j == i:
            return -1, kind
    return j, kind


@kernel
def scan_word(data, i, end, words, offset, length):
    """Return the place behind ``words[offset:offset+length]`` at `i`, −1 if it does not stand there."""
    if i + length > end:
        return -1
    for k in range(length):
        if data[i + k] != words[offset + k]:
            return -1
    return i + length


@kernel
def scan_scalar(data, i, end, words):
    """Return (the place behind the number or word at `i`, its kind); place −1 where it is none.

    `words` are the bytes ``nulltruefalseNaN-Infinity``.
    """
    c = data[i]
    if c == 45 and i + 1 < end and data[i + 1] == 73:
        return scan_word(data, i, end, words, 16, 9), CONSTANT
    if c == 45 or 48 <= c <= 57:
        return scan_number(data, i, end)
    if c == 110:
        return scan_word(data, i, end, words, 0, 4), NULL
    if c == 116:
        return scan_word(data, i, end, words, 4, 4), TRUE
    if c == 102:
        return scan_word(data, i, end, words, 8, 5), FALSE
    if c == 78:
        return scan_word(data, i, end, words, 13, 3), CONSTANT
    if c == 73:
        return scan_word(data, i, end, words, 17, 8), CONSTANT
    return -1, NULL


@kernel
def scan_line(data, start, end, words, tape, first, stack):
    """Write one line's value onto the tape from entry `first` on; return (next entry, status)."""
    t, depth, wants, status = first, 0, ANY_VALUE, FINE
    i = skip_space(data, start, end)
    while i < end:
        c = data[i]
        if wants == COMMA_OR_END and c == 44:
            wants = ANY_KEY if tape[stack[depth - 1], KIND] == OBJECT else ANY_VALUE
            i += 1
        elif (c == 93 or c == 125) and (wants == COMMA_OR_END or wants == VALUE_OR_END or wants == KEY_OR_END):
            depth -= 1
            if tape[stack[depth], KIND] != (ARRAY if c == 93 else OBJECT):
                return t, SYNTAX
            i += 1
            tape[stack[depth], STOP], tape[stack[depth], AFTER] = i, t
            wants = COMMA_OR_END
        elif wants == COMMA_OR_END:
            return t, SYNTAX
        elif t == len(tape):
            return t, TAPE_FULL
        else:
            key = wants == KEY_OR_END or wants == ANY_KEY
            tape[t, START], tape[t, AFTER] = i, t + 1
            wants = COMMA_OR_END
            if c == 34:
                stop, kind = scan_string(data, i + 1, end)
                tape[t, START], tape[t, STOP] = i + 1, stop
                i = stop + 1
                if kind == LONE_KIND:
                    status = LONE_SURROGATE
            elif not key and (c == 91 or c == 123):
                if depth == len(stack):
                    return t, TOO_DEEP
                stop, kind = i, (ARRAY if c == 91 else OBJECT)
                wants = VALUE_OR_END if c == 91 else KEY_OR_END
                stack[depth] = t
                depth += 1
                i += 1
            else:
                stop, kind = scan_scalar(data, i, end, words)
                tape[t, STOP] = stop
                i = stop
            if stop < 0 or (key and c != 34):
                return t, SYNTAX
            tape[t, KIND] = kind
            t += 1
            if key:
                i = skip_space(data, i, end)
                if i >= end or data[i] != 58:
                    return t, SYNTAX
                wants, i = ANY_VALUE, i + 1
        i = skip_space(data, i, end)
        if depth == 0 and wants == COMMA_OR_END:
            return t, (status if i == end else SYNTAX)
    return t, SYNTAX


@kernel
def scan_lines(data, starts, stops, words, first, tape, roots, status, stack):
    """Write the values of lines from `first` on onto the tape; return the first line not done.

    Line n's value is entry ``roots[n]``; a line that is not FINE has no entries and
    ``roots[n] == roots[n+1]``. Lines are left over only when the tape is full. The length of `stack`
    limits how deep values may nest.
    """
    t = roots[first]
    for line in range(first, len(starts)):
        after, state = scan_line(data, starts[line], stops[line], words, tape, t, stack)
        if state == TAPE_FULL:
            return line
        status[line] = state
        if state == FINE:
            t = after
        roots[line + 1] = t
    return len(starts)


@kernel
def write_utf8(data, i, code):
    """Write a character's UTF-8 bytes at `i`; return the place behind them."""
    if code < 0x80:
        data[i] = code
        return i + 1
    if code < 0x800:
        data[i], data[i + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return i + 2
    if code < 0x10000:
        data[i], data[i + 1], data[i + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return i + 3
    data[i], data[i + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    data[i + 2], data[i + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return i + 4


@kernel
def unescape_string(data, start, stop):
    """Undo the escapes of a scanned string where it stands; return its new end (it never grows)."""
    i, at = start, start
    while i < stop:
        c = data[i]
        if c != 92:
            data[at] = c
            i, at = i + 1, at + 1
            continue
        c = data[i + 1]
        if c == 117:
            code = hex_value(data, i + 2, stop)
            i += 6
            if 0xD800 <= code <= 0xDBFF:
                code = 0x10000 + ((code - 0xD800) << 10) + (second_half(data, i, stop) - 0xDC00)
                i += 6
            at = write_utf8(data, at, code)
            continue
        if c == 98:
            c = 8
        elif c == 102:
            c = 12
        elif c == 110:
            c = 10
        elif c == 114:
            c = 13
        elif c == 116:
            c = 9
        data[at] = c
        i, at = i + 2, at + 1
    return at


@kernel
def unescape_tape(data, tape, used):
    """Turn every ESCAPED string among the first `used` entries into a plain one, in `data` itself."""
    for t in range(used):
        if tape[t, KIND] == ESCAPED:
            tape[t, STOP] = unescape_string(data, tape[t, START], tape[t, STOP])
            tape[t, KIND] = STRING


@kernel
def match_key(data, start, stop, keys, key_offsets):
    """Return which of the keys ``keys[key_offsets[k]:key_offsets[k+1]]`` a span is, −1 for none."""
    for k in range(len(key_offsets) - 1):
        first = key_offsets[k]
        if key_offsets[k + 1] - first == stop - start:
            same = True
            for i in range(stop - start):
                if data[start + i] != keys[first + i]:
                    same = False
                    break
            if same:
                return k
    return -1


@kernel
def find_keys(data, tape, objects, keys, key_offsets, found, others):
    """Look some keys up in objects; return how many numbers stand under other keys.

    ``found[o, k]`` becomes the entry of key k's value in object o, NO_ENTRY or TWICE; `others` lists the
    entries of the numbers. An object of NO_ENTRY has no keys.
    """
    n = 0
    for o in range(len(objects)):
        for k in range(found.shape[1]):
            found[o, k] = NO_ENTRY
        if objects[o] < 0:
            continue
        key, last = objects[o] + 1, tape[objects[o], AFTER]
        while key < last:
            k = match_key(data, tape[key, START], tape[key, STOP], keys, key_offsets)
            if k >= 0:
                found[o, k] = key + 1 if found[o, k] == NO_ENTRY else TWICE
            elif tape[key + 1, KIND] >= INTEGER:
                others[n] = key + 1
                n += 1
            key = tape[key + 1, AFTER]
    return n


@kernel
def count_members(tape, containers, counts):
    """Write how many values each object or array holds; an entry of NO_ENTRY holds none."""
    for c in range(len(containers)):
        counts[c] = 0
        if containers[c] < 0:
            continue
        step = 1 if tape[containers[c], KIND] == OBJECT else 0  # over the key
        member, last = containers[c] + 1 + step, tape[containers[c], AFTER]
        while member < last:
            counts[c] += 1
            member = tape[member, AFTER] + step


@kernel
def list_members(tape, containers, members):
    """Write the entries of the values that the objects or arrays hold, one container after another."""
    n = 0
    for c in range(len(containers)):
        if containers[c] < 0:
            continue
        step = 1 if tape[containers[c], KIND] == OBJECT else 0
        member, last = containers[c] + 1 + step, tape[containers[c], AFTER]
        while member < last:
            members[n] = member
            n += 1
            member = tape[member, AFTER] + step
