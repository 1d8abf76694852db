"""What a piece of a sentence must remember, so that it can be put behind or before another.

A state is one row of int32 (docs/symbols.md has its columns). Decoders call the kernels beside this file from
their own; these functions are the same for Python, with every number checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luthier.core.arrays import Int32
from luthier.lm import _query_kernels as kernels

if TYPE_CHECKING:
    from luthier.lm.model import LanguageModel


def state_width(order: int) -> int:
    """Return the number of columns of a state: four numbers, and three for each word of a context."""
    return 4 + 3 * (order - 1)


def new_states(n: int, order: int) -> Int32:
    """Return (n, `state_width`) int32: states of no words at all."""
    states = np.zeros((n, state_width(order)), dtype=np.int32)
    states[:, kernels.CONTEXT] = kernels.NO_NODE
    return states


def begin(model: LanguageModel, states: Int32, row: int) -> None:
    """Make a state that of a sentence's beginning."""
    _check(model, states, row)
    kernels.begin_sentence(model.tables, states, row)


def append(model: LanguageModel, states: Int32, row: int, word: int) -> float:
    """Put a word behind a state; return its log10 probability given the words the state knows."""
    _check(model, states, row)
    if not 0 <= word < len(model.words):
        raise IndexError(f"expected a word from 0 to {len(model.words) - 1}, found {word}")
    return float(kernels.append_word(model.tables, states, row, word))


def join(model: LanguageModel, states: Int32, row: int, others: Int32, other: int) -> float:
    """Put a scored piece behind a state; return what its words gain, log10, by knowing the words before them."""
    _check(model, states, row)
    _check(model, others, other)
    if np.shares_memory(states[row], others[other]):
        raise ValueError("expected two states, found one to be joined with itself. hint: copy it first")
    return float(kernels.join_state(model.tables, states, row, others, other))


def key(states: Int32, row: int) -> int:
    """Return a number that two states of one model share only if they are equal."""
    return int(kernels.state_key(states, row))


def _check(model: LanguageModel, states: Int32, row: int) -> None:
    if states.dtype != np.int32 or states.ndim != 2 or states.shape[1] != state_width(model.order):
        raise ValueError(
            f"expected states of {state_width(model.order)} int32 columns, as new_states makes them for a model of "
            f"order {model.order}, found {states.dtype} of shape {states.shape}"
        )
    if not 0 <= row < len(states):
        raise IndexError(f"expected a row from 0 to {len(states) - 1}, found {row}")
    most, state = model.order - 1, states[row]
    right, left = state[kernels.RIGHT_LENGTH], state[kernels.LEFT_LENGTH]
    if not (0 <= right <= most and 0 <= left <= most and (state[kernels.FULL] or right == left < max(most, 1))):
        raise ValueError(f"expected a state that begin, append and join have made, found {state.tolist()}")
    nodes = state[4 + 2 * most : 4 + 2 * most + left]
    if len(nodes) and not (nodes.min() >= 0 and nodes.max() < len(model.tables.records)):
        raise ValueError(f"expected a state of this model, found nodes {nodes.tolist()}")
