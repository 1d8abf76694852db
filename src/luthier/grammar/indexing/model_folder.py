"""A model on disk: a folder that is mapped into memory, so that it opens at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.errors import InputError
from luthier.core.files.array_file import Arrays, open_array_folder, save_arrays, wrong_column
from luthier.core.files.io import display_name, make_folder
from luthier.grammar.indexing.lexicon import Lexicon
from luthier.grammar.indexing.model import DEEPEST, Model
from luthier.grammar.storage import check_offsets, texts_of

KIND = "rule model 1"
FILE = "rules.luthier"
COLUMNS = {
    "words": "<i4", "places": "<i4", "sentence": "<i4", "source_start": "<i8", "target_start": "<i8", "target": "<i4",
    "source_low": "<i2", "source_high": "<i2", "target_low": "<i2", "target_high": "<i2", "link_offsets": "<i8",
    "link_target": "<i2",
}  # fmt: skip
LEXICON = {
    "offsets": "<i8", "targets": "<i4", "counts": "<i4", "source_null": "<i4", "target_null": "<i4",
    "source_total": "<i8", "target_total": "<i8",
}  # fmt: skip


def save_model(model: Model, folder: str | os.PathLike[str]) -> None:
    """Write a model into a folder, which is made if it is not there."""
    make_folder(folder)
    arrays: Arrays = {name: getattr(model, name) for name in COLUMNS}
    arrays |= {f"lexicon_{name}": getattr(model.lexicon, name) for name in LEXICON}
    for name in ("source_words", "target_words"):
        texts = getattr(model, name)
        arrays |= {f"{name}_offsets": texts.offsets, f"{name}_data": texts.data}
    save_arrays(Path(folder, FILE), KIND, arrays, {"depth": model.depth})


def open_model(folder: str | os.PathLike[str]) -> Model:
    """Map a model into memory.

    Raises
    ------
    InputError
        No model in the folder, one of another version, cut off or changed, or with numbers that no model has.
    """
    name = display_name(Path(folder, FILE))
    hint = "'luthier extract' makes it from a parallel text and its links"
    arrays, about = open_array_folder(folder, FILE, KIND, holds="a model", hint=hint)
    columns = COLUMNS | {f"lexicon_{column}": dtype for column, dtype in LEXICON.items()}
    if wrong := wrong_column(arrays, {column: (dtype, 1) for column, dtype in columns.items()}):
        raise _fault(name, wrong)
    depth = about.get("depth")
    if type(depth) is not int or not 1 <= depth <= DEEPEST:
        raise _fault(name, f"a depth of {depth!r}")
    lexicon = Lexicon(*(arrays[f"lexicon_{column}"] for column in LEXICON))
    model = Model(
        texts_of(arrays, "source_words", name), texts_of(arrays, "target_words", name), lexicon=lexicon, depth=depth,
        **{column: arrays[column] for column in COLUMNS},
    )  # fmt: skip
    _check(model, name)
    return model


def _check(model: Model, name: str) -> None:
    """Raise `InputError` for the first number that a kernel could stumble over."""
    m, n, size = model, model.n_pairs, len(model.words)
    n_source, n_target = len(m.source_words), len(m.target_words)
    check_offsets(m.source_start, size - m.depth, "source sentences", name)
    check_offsets(m.target_start, len(m.target), "target sentences", name)
    check_offsets(m.link_offsets, len(m.link_target), "links", name)
    check_offsets(m.lexicon.offsets, len(m.lexicon.targets), "the lexicon", name)
    lengths = {
        "sentence": size, "source_low": size, "source_high": size, "target_low": len(m.target),
        "target_high": len(m.target), "target_start": n + 1, "link_offsets": size + 1,
    }  # fmt: skip
    if any(len(getattr(m, column)) != length for column, length in lengths.items()):
        raise _fault(name, "columns of unequal length")
    sizes = {"offsets": n_source + 1, "counts": len(m.lexicon.targets), "source_null": n_source}
    sizes |= {"target_null": n_target, "source_total": n_source, "target_total": n_target}
    if any(len(getattr(m.lexicon, column)) != length for column, length in sizes.items()):
        raise _fault(name, "a lexicon with columns of unequal length")
    _within(m.words, 0, n_source, "words", name)
    _within(m.target, 1, n_target, "words", name)
    _within(m.lexicon.targets, 1, n_target, "words of the lexicon", name)
    _within(m.places, 0, size, "places", name)
    ends = m.source_start[1:] - 1
    if (np.diff(m.source_start) < 1).any() or m.words[ends].any() or m.words[size - m.depth :].any():
        raise _fault(name, "sentences without an end")
    own = np.zeros(size, dtype=np.int32)
    own[: size - m.depth] = np.repeat(np.arange(n, dtype=np.int32), np.diff(m.source_start))
    if not np.array_equal(own, m.sentence):
        raise _fault(name, "places in the wrong sentence")
    source_lengths, target_lengths = np.diff(m.source_start) - 1, np.diff(m.target_start)
    of_target = np.repeat(np.arange(n), target_lengths)
    _spans(m.source_low, m.source_high, target_lengths[own] if n else own, name)
    _spans(m.target_low, m.target_high, source_lengths[of_target], name)
    limits = np.repeat(target_lengths[own] if n else own, np.diff(m.link_offsets))
    if (m.link_target < 0).any() or (m.link_target >= limits).any():
        raise _fault(name, "links out of range")


def _within(values: npt.NDArray[Any], low: int, high: int, what: str, name: str) -> None:
    if len(values) and not (low <= values.min() and values.max() < high):
        raise _fault(name, f"{what} out of range")


def _spans(low: npt.NDArray[Any], high: npt.NDArray[Any], limits: npt.NDArray[Any], name: str) -> None:
    linked = low >= 0
    if (high[linked] <= low[linked]).any() or (high > limits).any() or (low < -1).any() or (high[~linked] != -1).any():
        raise _fault(name, "spans of links out of range")


def _fault(name: str, found: str) -> InputError:
    return InputError(expected="a whole model of rules", found=found, path=name, hint="make it again: luthier extract")
