"""A picture of what each weight does: the corpus score as one weight moves and the others stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from luthier.core.arrays import Float64
from luthier.core.io import atomic_write

COLUMNS = 5


def draw_weight_curves(names: Sequence[str], start: Float64, positions: Float64, scores: Float64, path: Path) -> None:
    """Draw one panel per feature, (D, P) positions and scores; the start weight is marked."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rows = -(-len(names) // COLUMNS)
    figure, axes = plt.subplots(
        rows,
        COLUMNS,
        figsize=(2.6 * COLUMNS, 2.3 * rows + 0.6),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, name, weight, x, y in zip(axes.flat, names, start, positions, scores, strict=False):
        axis.axvline(weight, color="0.7", linewidth=1, linestyle="--", label="the decoder's weight")
        axis.step(x, y, where="mid", color="tab:blue", linewidth=1.4)
        best = int(y.argmax())
        axis.plot(x[best], y[best], "o", color="tab:red", markersize=4, label="best of this line")
        axis.set_title(name, fontsize=10)
        axis.tick_params(labelsize=8)
        axis.grid(visible=True, linewidth=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("BLEU", fontsize=9)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    for axis in axes.flat[max(0, len(names) - COLUMNS) : len(names)]:
        axis.set_xlabel("weight", fontsize=9)
    title = "One weight moves, the others stay: the BLEU of what is then selected"
    figure.suptitle(f"{title} (sampled at {positions.shape[1]} points)", fontsize=11)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    plt.close(figure)
