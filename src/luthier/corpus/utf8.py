"""Whether a column of texts from a file is what it says: the whole of its bytes, and UTF-8."""

from __future__ import annotations

import codecs

import numpy as np

from luthier.core.arrays import Bytes
from luthier.core.errors import LuthierError, excerpt
from luthier.corpus.texts import Texts

CHUNK = 1 << 20
ASCII_END = 0x80


def check_texts(texts: Texts) -> None:
    """Raise `LuthierError` unless the texts are all of their data and each is UTF-8."""
    offsets, data = texts.offsets, texts.data
    if offsets[0] != 0 or offsets[-1] != len(data):
        raise LuthierError(f"expected offsets from 0 to {len(data)}, found {offsets[0]} to {offsets[-1]}")
    if not len(data) or data.max() < ASCII_END:
        return
    _check_utf8(data)
    first = data[offsets[offsets < len(data)]]
    if np.any((first & 0xC0) == ASCII_END):
        raise LuthierError("a text begins in the middle of a character")


def _check_utf8(data: Bytes) -> None:
    """Decode in stretches, so that no second copy of everything is made."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), CHUNK):
        try:
            decoder.decode(data[start : start + CHUNK].tobytes(), start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            found = bytes(error.object[error.start : error.start + 4])
            raise LuthierError(f"expected UTF-8, found the bytes {excerpt(found)}") from None
