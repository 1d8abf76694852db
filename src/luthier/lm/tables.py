"""The table that queries walk through: every n-gram under its last word, then the word before it, and so on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import flat, frozen
from luthier.core.errors import InputError, LuthierError
from luthier.lm import _table_kernels as kernels
from luthier.lm._query_kernels import EXTENDS_RIGHT
from luthier.lm.arpa import Arpa

RECORD = np.dtype([("key", "<u8"), ("prob", "<f4"), ("backoff", "<f4")])
SLOTS_PER_NGRAM = 2.0  # half of the slots stay free: a miss, the commonest answer, takes two or three looks
FEWEST_SLOTS = 64
MOST_RECORDS = 1 << 31  # nodes are int32 in states


class Tables(NamedTuple):
    """What kernels take for a model.

    Attributes
    ----------
    records : (n_words + slots,) of `RECORD`
        Unigrams by their word, then the slots of longer n-grams; a free slot has key 0. A key holds the
        n-gram without its first word, the first word, and two marks: whether the n-gram extends left, right.
    n_words : int
    probes : int
        No n-gram stands further than this from the slot its key points to.
    """

    records: npt.NDArray[Any]
    n_words: int
    probes: int


def build_tables(arpa: Arpa) -> Tables:
    """Return the table of a model; n-grams that a pruned model lacks inside longer ones are added.

    Raises
    ------
    InputError
        An n-gram stands twice.
    """
    n_longer = sum(len(level.probs) for level in arpa.levels[1:])
    n_slots = max(FEWEST_SLOTS, int(SLOTS_PER_NGRAM * n_longer))
    while True:
        tables = _filled(arpa, n_slots)
        if tables is not None:
            return tables
        n_slots *= 2


def _filled(arpa: Arpa, n_slots: int) -> Tables | None:
    """Return the table with so many slots, or None where they are too few."""
    n_words = len(arpa.words)
    if n_words + n_slots >= MOST_RECORDS:
        raise LuthierError(f"expected a model of less than 2^30 n-grams, found one of {sum(arpa.counts):,}")
    records = np.zeros(n_words + n_slots, dtype=RECORD)
    words = records[:n_words]
    unigrams = arpa.levels[0]
    words["prob"][unigrams.ids[:, 0]] = unigrams.probs
    if arpa.order > 1:
        words["backoff"][unigrams.ids[:, 0]] = unigrams.backoffs
        words["key"] = np.where(words["backoff"] != 0.0, EXTENDS_RIGHT, np.uint64(0))
    used, probes = 0, 1
    for level in arpa.levels[1:]:
        status, row, used, longest = kernels.insert_ngrams(
            records, n_words, flat(level.ids), flat(level.probs), flat(level.backoffs), used, 3 * n_slots // 4
        )
        if status == kernels.NO_ROOM:
            return None
        if status == kernels.TWICE:
            raise InputError(
                expected="every n-gram once",
                found=f"{arpa.text_of(level, row)!r} a second time",
                path=arpa.path,
                line=level.line_of(row),
            )
        probes = max(probes, longest)
    return Tables(frozen(records), n_words, probes)
