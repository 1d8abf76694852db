"""From a parallel text to links: both directions at once, then one alignment from the two."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from luthier.alignment.base import DEFAULT, Aligner, OneWay, aligner
from luthier.alignment.bitext import MAX_WORDS, Bitext, Side, read_bitext
from luthier.alignment.cells import Direction, directions, number_cells
from luthier.alignment.links import Links
from luthier.alignment.model import Model
from luthier.alignment.symmetrize import DEFAULT_WAY, symmetrize
from luthier.alignment.table import Parameters, transfer, uniform
from luthier.alignment.units import train_units
from luthier.core.arrays import Float64
from luthier.core.progress import Advance, progress
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.core.tasks import Engine
from luthier.core.threads import executor

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True, eq=False)
class Alignment:
    """The links of a parallel text of N sentence pairs, and how they came about.

    Attributes
    ----------
    forward, backward : Links
        Each target word with at most one source word; each source word with at most one target word.
    scores : (N, 2) float64
        Natural logarithms of p(target | source) and p(source | target); NaN for pairs that are left out.
    bitext : Bitext
    model : Model
        What was learned, or what was given; `apply_model` aligns other text with it.
    likelihoods : two tuples of float
        Log-likelihood of the text before each pass that trained, forward and backward; none of chains.
    """

    forward: Links
    backward: Links
    scores: Float64
    bitext: Bitext
    model: Model
    likelihoods: tuple[tuple[float, ...], tuple[float, ...]]

    def symmetrized(self, how: str = DEFAULT_WAY) -> Links:
        """Return one alignment from the two; see `luthier.alignment.symmetrize`."""
        return symmetrize(self.forward, self.backward, how)


def align(
    source: Side,
    target: Side,
    method: str = DEFAULT,
    *,
    max_words: int = MAX_WORDS,
    threads: int = 2,
    **parameters: Any,
) -> Alignment:
    """Align the words of a parallel text, by an aligner trained on it.

    Parameters
    ----------
    source, target
        Files, one sentence per line, or sentences; words are separated by white space.
    method : str
        ``model1``, ``diagonal``, ``hmm`` or ``fertility``; `parameters` are its options.
    max_words : int
        Pairs with more words on a side, or an empty side, are left out: they get no links.
    threads : int
        With two, both directions are trained at once, with more also chains or parts of a text; the result is the same.

    Examples
    --------
    >>> done = align(["a b", "b", "a"], ["x y", "y", "x"], "model1")
    >>> [done.symmetrized()[k] for k in range(3)]
    [[(0, 0), (1, 1)], [(0, 0)], [(0, 0)]]
    """
    return align_bitext(
        read_bitext(source, target, max_words=max_words), aligner(method, **parameters), threads=threads
    )


def align_bitext(bitext: Bitext, method: Aligner, *, threads: int = 2, engine: Engine | None = None) -> Alignment:
    """Train an aligner on a parallel text and align it, on threads or by an engine of units; see `align`."""
    cells = number_cells(bitext)
    ways = directions(cells)
    label, passes = f"aligning, {method.name}", method.training_passes

    def work(side: int, stop: threading.Event, advance: Advance) -> tuple[Parameters, list[float], OneWay]:
        parameters, likelihoods, links = uniform(ways[side], method.start()), [], None
        for step in method.train(ways[side], max(1, threads // 2)):
            parameters, links = step.parameters, step.links
            likelihoods += [] if step.expectation is None else [step.expectation.log_likelihood]
            advance(1)
            if stop.is_set():
                raise KeyboardInterrupt
        return parameters, likelihoods, links or method.link(ways[side], parameters)

    if engine is None:
        forward, backward = _both_ways(work, threads, label=label, passes=passes)
    else:
        with progress(label, 2 * passes or None) as advance:
            forward, backward = train_units(bitext, cells, method, engine, advance)
    model = Model(
        method,
        bitext.source_words,
        bitext.target_words,
        cells.type_offsets,
        cells.type_targets,
        forward[0],
        backward[0],
    )
    return _alignment(bitext, model, ways, (forward[2], backward[2]), (tuple(forward[1]), tuple(backward[1])))


def apply_model(model: Model, source: Side, target: Side, *, max_words: int = MAX_WORDS, threads: int = 2) -> Alignment:
    """Align a parallel text, new or known, with a kept model; nothing is learned from it.

    A pair of words that training never saw together has the probability that training gives to a count of 0;
    with a given word that is new, all words are alike, so new words link to each other.
    """
    bitext = read_bitext(source, target, max_words=max_words, known=(model.source_words, model.target_words))
    cells = number_cells(bitext)
    ways = directions(cells)
    found = cells.find_in(model.type_offsets, model.type_targets)

    def work(side: int, stop: threading.Event, advance: Advance) -> OneWay:  # noqa: ARG001
        parameters = transfer((model.forward, model.backward)[side], found, ways[side])
        return model.method.link(ways[side], parameters)

    forward, backward = _both_ways(work, threads, label="aligning", passes=0)
    return _alignment(bitext, model, ways, (forward, backward), ((), ()))


def _both_ways(
    work: Callable[[int, threading.Event, Advance], Result], threads: int, *, label: str, passes: int
) -> tuple[Result, Result]:
    """Return what `work` gives for the two directions, on two threads if there are as many."""
    stop = threading.Event()
    with progress(label, 2 * passes or None) as advance, executor(min(threads, 2)) as workers:
        tasks = [workers.submit(work, side, stop, advance) for side in range(2)]
        try:
            return tasks[0].result(), tasks[1].result()
        except BaseException:  # Ctrl-C above all: the threads would otherwise go on to their last pass
            stop.set()
            tasks[1].cancel()
            raise


def _alignment(
    bitext: Bitext,
    model: Model,
    ways: tuple[Direction, Direction],
    found: tuple[OneWay, OneWay],
    likelihoods: tuple[tuple[float, ...], tuple[float, ...]],
) -> Alignment:
    scores = np.full((len(bitext), 2), np.nan)
    sides = []
    for side, (way, one) in enumerate(zip(ways, found, strict=True)):
        scores[bitext.kept, side] = one.scores
        offsets = way.text.predicted_offsets
        pair = segment_of_rows(offsets)
        place = np.arange(len(pair)) - offsets[pair]
        on = one.links >= 0
        counts = np.zeros(len(bitext), dtype=np.int64)
        counts[bitext.kept] = np.bincount(pair[on], minlength=way.n_pairs)
        words = (one.links[on], place[on]) if side == 0 else (place[on], one.links[on])
        sides.append(Links.from_unordered(offsets_from_counts(counts), *words))
    return Alignment(sides[0], sides[1], scores, bitext, model, likelihoods)
