"""The arrays a search works in, kept from sentence to sentence, and made larger when they are full."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int32
from luthier.decoding.chart import _chart_kernels as kernels
from luthier.decoding.chart._chart_kernels import Chart
from luthier.lm.model import state_width

FIRST_SIZES = {kernels.LACKS_DOTS: 1 << 14, kernels.LACKS_ITEMS: 1 << 15, kernels.LACKS_CANDIDATES: 1 << 11}
CELLS = 3


class Workspace:
    """One thread's chart for models of an order; no two threads may use it at once."""

    def __init__(self, n_models: int, order: int) -> None:
        self._n_models, self._width = n_models, state_width(order)
        arrays: dict[str, npt.NDArray[Any]] = {"counts": np.zeros(7, dtype=np.int64)}
        for group, size in ({CELLS: 1} | FIRST_SIZES).items():
            arrays |= self._arrays(group, size)
        self.chart = Chart(**arrays)

    def _arrays(self, group: int, size: int) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that grow together, for `size` cells, dots, items or candidates."""
        models, states = self._n_models, (size * self._n_models, self._width)
        if group == CELLS:
            return {name: np.zeros((size, 2), np.int32) for name in ("cell_spans", "cell_items", "cell_dots")}
        if group == kernels.LACKS_DOTS:
            return {
                "dot_nodes": np.empty(size, np.int32),
                "dot_gaps": np.empty(size, np.int32),
                "dot_tails": np.empty((size, 2), np.int32),
                "dot_costs": np.empty(size),
            }
        if group == kernels.LACKS_ITEMS:
            return {
                "item_scores": np.empty(size),
                "item_ranks": np.empty(size, np.int32),
                "item_states": np.empty(states, np.int32),
                "edges": np.empty((size, 4), np.int32),
                "edge_gains": np.empty((size, models + 1)),
            }
        return {
            "cubes": np.empty((size, 6), np.int32),
            "cube_costs": np.empty(size),
            "candidates": np.empty((size, 4), np.int32),
            "candidate_numbers": np.empty((size, 1 + models)),
            "candidate_states": np.empty(states, np.int32),
            "heap": np.empty(size, np.int32),
            "heap_scores": np.empty(size),
            "slots": np.empty(2 * size, np.int32),
        }

    def grow(self, group: int, needed: int) -> None:
        """Make room for at least `needed` in a group of arrays; what is in them stays."""
        named = {kernels.LACKS_DOTS: "dot_nodes", kernels.LACKS_ITEMS: "item_ranks", kernels.LACKS_CANDIDATES: "heap"}
        old = self.chart._asdict()
        larger = self._arrays(group, max(2 * len(old[named[group]]), needed))
        for name, array in larger.items():
            array[: len(old[name])] = old[name]
        self.chart = Chart(**(old | larger))

    def begin(self, spans: Int32) -> None:
        """Empty the chart, and give it cells with the given spans, (C, 2)."""
        if len(spans) > len(self.chart.cell_spans):
            self.chart = self.chart._replace(**self._arrays(CELLS, 2 * len(spans)))
        self.chart.counts[:] = 0
        self.chart.cell_spans[: len(spans)] = spans
        self.chart.cell_items[: len(spans)] = 0
        self.chart.cell_dots[: len(spans)] = 0


def cell_spans(n: int, max_span: int) -> tuple[Int32, int]:
    """Return the spans of the cells of n + 1 nodes in the order in which they are filled, and how many are X.

    >>> cell_spans(3, 2)[0].tolist(), cell_spans(3, 2)[1]
    ([[0, 1], [1, 2], [2, 3], [0, 2], [1, 3], [0, 1], [0, 2], [0, 3]], 5)
    """
    lengths = np.repeat(np.arange(1, min(n, max_span) + 1), n + 1 - np.arange(1, min(n, max_span) + 1))
    starts = np.concatenate([np.arange(n - k) for k in range(min(n, max_span))])
    stops = np.arange(1, n + 1)
    spans = np.concatenate(
        [np.stack([starts, starts + lengths], axis=1), np.stack([np.zeros_like(stops), stops], axis=1)]
    )
    return spans.astype(np.int32), len(starts)
