"""A trained aligner as a file: both directions, with the words they know."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.alignment.base import PACKAGE, Aligner
from luthier.alignment.table import Parameters
from luthier.core.arrays import Bytes, Int32, Int64
from luthier.core.errors import InputError
from luthier.core.files.io import atomic_write, display_name
from luthier.core.plugins import load
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner

FORMAT = "luthier alignment model 1"


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """What an aligner learned from a parallel text, with V source and W target words and K types.

    Attributes
    ----------
    method : Aligner
    source_words, target_words : Texts
    type_offsets : (V+1,) int64
    type_targets : (K,) int32
        Types, as in `Cells`.
    forward, backward : Parameters
        Target from source; source from target.
    """

    method: Aligner
    source_words: Texts
    target_words: Texts
    type_offsets: Int64
    type_targets: Int32
    forward: Parameters
    backward: Parameters


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model: NumPy arrays in a zip file, whatever the name's ending."""
    about = {"format": FORMAT, "method": model.method.name, "parameters": dataclasses.asdict(model.method)}
    arrays: dict[str, npt.NDArray[Any]] = {
        "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        "source_offsets": model.source_words.offsets,
        "source_bytes": model.source_words.data,
        "target_offsets": model.target_words.offsets,
        "target_bytes": model.target_words.data,
        "type_offsets": model.type_offsets,
        "type_targets": model.type_targets,
    }
    for side in ("forward", "backward"):
        parameters = getattr(model, side)
        for field in dataclasses.fields(parameters):
            arrays[f"{side}_{field.name}"] = getattr(parameters, field.name)
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def open_model(path: str | os.PathLike[str]) -> Model:
    """Read a model; every number in it is checked, for kernels will index by them.

    Raises
    ------
    InputError
        A file that is none, or that is damaged.
    """
    try:
        with open(path, "rb") as file:
            arrays = np.load(file, allow_pickle=False)
            return _model(arrays)
    except Exception as error:  # a damaged archive provokes a dozen kinds of them in zipfile and NumPy
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(
            expected="a model that 'luthier engine align' wrote",
            found=reason.split("\n")[0].rstrip(".").lower(),
            path=display_name(path),
        ) from None


def _model(arrays: Any) -> Model:
    about = json.loads(_array(arrays, "about", np.uint8).tobytes())
    if about.get("format") != FORMAT:
        raise ValueError(f"the format {about.get('format')!r}")
    method = load(PACKAGE, about["method"])(**about["parameters"])
    words = [_words(arrays, side) for side in ("source", "target")]
    type_targets = _array(arrays, "type_targets", np.int32)
    type_offsets = _offsets(arrays, "type_offsets", len(type_targets))
    if len(type_offsets) != len(words[0]) + 1:
        raise ValueError("another number of source words than of rows")
    if len(type_targets) and not 0 <= type_targets.min() <= type_targets.max() < len(words[1]):
        raise ValueError("target words beyond the vocabulary")
    sizes = (len(words[0]), len(words[1]))
    forward = _parameters(arrays, "forward", (len(type_targets), sizes[1], sizes[0]), method)
    backward = _parameters(arrays, "backward", (len(type_targets), sizes[0], sizes[1]), method)
    return Model(method, words[0], words[1], type_offsets, type_targets, forward, backward)


def _array(arrays: Any, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = arrays[name]
    if array.ndim != 1 or array.dtype != dtype:
        raise ValueError(f"{name} of another kind")
    return array


def _offsets(arrays: Any, name: str, size: int) -> Int64:
    offsets = _array(arrays, name, np.int64)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} that do not fit")
    return offsets


def _words(arrays: Any, side: str) -> Texts:
    data: Bytes = _array(arrays, f"{side}_bytes", np.uint8)
    texts = Texts(_offsets(arrays, f"{side}_offsets", len(data)), data)
    if len(Interner.of(texts)) != len(texts):
        raise ValueError(f"a {side} word twice")
    return texts


def _parameters(arrays: Any, side: str, sizes: tuple[int, int, int], method: Aligner) -> Parameters:
    read = {}
    for field, size in zip(dataclasses.fields(Parameters), (*sizes, method.own_size(sizes[2])), strict=True):
        values = _array(arrays, f"{side}_{field.name}", np.float64)
        if len(values) != size or not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(f"{side}_{field.name} that do not fit")
        if field.name != "own" and ((values <= 0) | (values > 1)).any():
            raise ValueError(f"{side}_{field.name} that are no probabilities")
        read[field.name] = values
    return Parameters(**read)
