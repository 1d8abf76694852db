"""Rows left out in place, for arrays that nobody else has seen yet.

A pool never changes; but while one is being built, copying half a gigabyte to lose a few repeated rows
would cost more than reading them did. The arrays given here are used up: only what is returned is valid.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.features import Features


def compact_features(features: Features, keep: Bool) -> Features:
    """Return the features of the rows that are kept, (M,) of them True where they are."""
    dense = _owned(features.dense)
    n = kernels.compact_rows(dense.reshape(-1), dense.shape[1], keep)
    values_indptr, values = _owned(features.indptr).copy(), _owned(features.values)
    kernels.compact_spans(values, values_indptr, keep)
    indptr, indices = _owned(features.indptr), _owned(features.indices)
    kernels.compact_spans(indices, indptr, keep)
    used = int(indptr[n])
    return dataclasses.replace(
        features,
        dense=dense[:n],
        indptr=indptr[: n + 1],
        indices=indices[:used],
        values=values[:used],
    )


def compact_texts(texts: Texts, keep: Bool) -> Texts:
    """Return the texts that are kept."""
    return Texts(*_compact(texts.offsets, texts.data, keep))


def compact_tokens(tokens: Tokens, keep: Bool) -> Tokens:
    """Return the token sequences that are kept."""
    return Tokens(*_compact(tokens.offsets, tokens.ids, keep))


def _compact(
    offsets: npt.NDArray[Any], data: npt.NDArray[Any], keep: Bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    offsets, data = _owned(offsets), _owned(data)
    n = kernels.compact_spans(data, offsets, keep)
    return offsets[: n + 1], data[: offsets[n]]


def _owned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array that a read-only view looks at, to be written to; a copy where it cannot be had."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner.flags.writeable and owner.size == array.size and owner.flags.c_contiguous:
        return owner.reshape(array.shape)
    return array.copy()
