"""A picture of a reverse search in a plane: the cells it found, and the tree that leads to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import matplotlib as mpl
import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.io import atomic_write

MOST_BRANCHES = 20_000  # more lines than that are a smear, and slow to draw


class View(Protocol):
    """What the picture needs of a search."""

    @property
    def window(self) -> tuple[float, float, float, float]: ...  # noqa: D102
    @property
    def cells(self) -> Int64: ...  # noqa: D102
    @property
    def points(self) -> Float64: ...  # noqa: D102
    @property
    def parents(self) -> Int64: ...  # noqa: D102
    @property
    def depths(self) -> Int64: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102


def draw_search(view: View, path: Path) -> None:
    """Draw the cells coloured by the order in which they were found, their borders, and the tree."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.collections import LineCollection

    figure, axis = plt.subplots(figsize=(8.0, 6.4), layout="constrained")
    left, right, bottom, top = view.window
    order = np.ma.masked_less(view.cells.astype(np.float64), 0.0)
    colors = plt.get_cmap("viridis").with_extremes(bad="white")
    image = axis.imshow(
        order, origin="lower", extent=view.window, aspect="auto", cmap=colors, vmin=0, vmax=len(view.parents),
        interpolation="nearest", alpha=0.75,
    )  # fmt: skip
    axis.imshow(_borders(view.cells), origin="lower", extent=view.window, aspect="auto", interpolation="nearest")
    children = np.flatnonzero(view.parents >= 0)[:MOST_BRANCHES]
    branches = np.stack([view.points[children], view.points[view.parents[children]]], axis=1)
    branches = branches[np.all(np.isfinite(branches), axis=(1, 2))]
    few = len(branches) <= 1500
    axis.add_collection(LineCollection(list(branches), colors="black", linewidths=0.9 if few else 0.3))
    if few:
        axis.plot(*view.points.T, "o", color="black", markersize=2.6, label="a point inside each cone")
    axis.plot([0], [0], marker="*", color="tab:red", markeredgecolor="white", markersize=16, linestyle="none",
              label="the start, w0")  # fmt: skip
    axis.plot([], [], color="black", linewidth=0.9, label="to its parent")
    axis.set_xlim(left, right)
    axis.set_ylim(bottom, top)
    axis.set_xlabel(f"{view.names[0]}: change of weight")
    axis.set_ylabel(f"{view.names[1]}: change of weight")
    axis.set_title(_title(view), fontsize=10)
    figure.colorbar(image, ax=axis, label="order in which the cells were found")
    axis.legend(fontsize=8, loc="upper right", framealpha=0.9)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    plt.close(figure)


def _title(view: View) -> str:
    missing = "; white: not found yet" if np.any(view.cells < 0) else ""
    return f"{len(view.parents):,} vertices, at most {int(view.depths.max(initial=0))} steps from the root{missing}"


def _borders(cells: Int64) -> Any:
    """Return white lines, (P, P, 4), where neighbouring pixels belong to different cells."""
    edge = np.zeros(cells.shape, np.bool_)
    edge[:, 1:] |= cells[:, 1:] != cells[:, :-1]
    edge[1:] |= cells[1:] != cells[:-1]
    picture = np.ones((*cells.shape, 4))
    picture[..., 3] = 0.9 * edge
    return picture
