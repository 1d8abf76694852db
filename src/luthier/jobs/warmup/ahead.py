"""What a command has another process do for the sake of its kernels, while it compiles others: `compile_ahead`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from luthier.kbest.pool import Pool


def _few() -> Pool:
    """Return the lists of a few outputs, made without the kernels that read lists: the command compiles those."""
    import numpy as np

    from luthier.corpus.texts import Texts, Tokens
    from luthier.kbest.features import Features
    from luthier.kbest.pool import Pool, References
    from luthier.synthetic.english.outputs import SCORERS, SyntheticOutputs

    records, words = SyntheticOutputs(inputs=12, k=4).generate(0), dict[str, int]()

    def columns(texts: list[str]) -> tuple[Texts, Tokens]:
        ids = [[words.setdefault(word, len(words)) for word in text.split()] for text in texts]
        offsets = np.cumsum([0, *map(len, ids)])
        return Texts.from_strings(texts), Tokens(offsets, np.concatenate(ids))

    texts, tokens = columns([record["hyp"] for record in records])
    reference_texts, reference_tokens = columns([record["ref"] for record in records[::4]])
    return Pool(
        np.arange(0, len(records) + 1, 4),
        Features.from_dense(SCORERS, [[record[name] for name in SCORERS] for record in records]),
        Texts.from_strings(map(str, range(12))),
        texts,
        tokens,
        Texts.from_strings(words),
        References(np.arange(13), reference_texts, reference_tokens),
    )


def surface_of_few(metric: str) -> None:
    """Find the surface of a few outputs, with its stability and its scenes."""
    import luthier
    from luthier.landscape.planes.view import surface_scenes

    surface_scenes(luthier.surface(_few(), metric, axis=["qe", "words"], resamples=2).report)


def tune_few(metric: str, method: str, folds: str) -> None:
    """Tune the weights of a few outputs, and by so many folds, '' for none."""
    import luthier

    luthier.tune(_few(), metric, method=method, folds=int(folds) if folds else None)


def walk_planes() -> None:
    """Lay out the cells of lists of one row: all kernels of a surface but those that divide a plane by a list."""
    import numpy as np

    from luthier.core.rng import make_rng
    from luthier.geometry.plane.arrangement import Arrangement
    from luthier.geometry.plane.certainty import Certainty, Rounding
    from luthier.geometry.plane.overlay import Overlay
    from luthier.geometry.plane.raster import raster
    from luthier.geometry.plane.subdivision import Window

    offsets, points = np.arange(3), make_rng(0).standard_normal((2, 3))
    overlay = Overlay(offsets, points, Window(-1.0, 1.0, -1.0, 1.0))
    judge = Certainty(overlay, Rounding(1e-12, 0.0, 0.0), lambda a, b: a != b)
    table = Arrangement.make(overlay, np.ones((2, 2), np.int64))
    table.polygons(np.arange(1))
    judge.judge_cell(overlay.cell(table.keys[0]))
    overlay.cell_at(0.0, 0.0)
    raster(offsets, points, np.ones((2, 2), np.int64), np.linspace(-1.0, 1.0, 3), np.zeros(1))
