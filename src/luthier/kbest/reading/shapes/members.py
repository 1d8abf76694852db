"""Members of JSON objects as they were written: the keys that a reader has no use for, to be written again."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.arrays import Bytes, Int64
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading._json_kernels import START, STOP
from luthier.kbest.reading.arrow_columns import texts_of
from luthier.kbest.reading.json_tape import ARRAY, INTEGER, NULL, Tape

WRITTEN = ("id", "hyp", "score", "contributions")  # by whoever writes them again


def members_written(tape: Tape, data: Bytes, objects: Int64, used: Collection[str], *, numbers: bool) -> Texts:
    """Return the members of objects under other keys than those `used`, without braces, as texts.

    `data` are the bytes that the tape was made of. Left out are null, arrays of numbers and, unless `numbers`, numbers.
    """
    members = tape.members(objects)
    entries, owner = members.entries, segment_of_rows(members.offsets)
    kinds = tape.kinds(entries)
    interner = Interner()
    names = interner.intern_spans(*tape.spans(entries - 1))
    known = np.array([name in used or name in WRITTEN for name in interner.texts()], dtype=np.bool_)
    keep = (kinds != NULL) & ((kinds < INTEGER) | numbers)
    keep &= ~known[names] if len(names) else True
    inside = tape.members(np.where(kinds == ARRAY, entries, -1))
    texts_inside = inside.any(tape.kinds(inside.entries) < INTEGER)
    keep &= (kinds != ARRAY) | texts_inside
    if not keep.any():
        return Texts.from_strings([""] * len(objects))
    starts = tape.entries[entries - 1, START] - 1
    ends = np.append(starts[1:], 0)
    last = np.append(owner[1:] != owner[:-1], True)
    ends[last] = tape.entries[objects[owner[last]], STOP] - 1
    found = Texts.from_spans(data, starts[keep], ends[keep])
    buffers = pa.py_buffer(found.offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(found.data))
    array = pa.StringArray.from_buffers(len(found), *buffers)
    array = pc.utf8_rtrim(pc.replace_substring_regex(array, "[\r\n\t]+", " "), ", ")  # JSON strings hold none of these
    counts = np.bincount(owner[keep], minlength=len(objects))
    lists = pa.ListArray.from_arrays(pa.array(offsets_from_counts(counts).astype(np.int32)), array)
    return texts_of(pc.binary_join(lists, ", "))
