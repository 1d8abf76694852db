"""Word alignment: ``luthier.align`` takes texts or kept models to links, scores and models."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from luthier.alignment.aligner import Alignment, align_bitext, apply_model
from luthier.alignment.base import DEFAULT, Aligner, aligner
from luthier.alignment.bitext import MAX_WORDS, Side, read_bitext
from luthier.alignment.links import Links, read_links, write_links
from luthier.alignment.model import open_model, save_model
from luthier.alignment.summary import Agreement, LinkCounts, Summary, compare_links, count_links, summarize
from luthier.alignment.symmetrize import DEFAULT_WAY
from luthier.alignment.symmetrize import symmetrize as join_links
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import check_apart, check_distinct, check_writable, display_name
from luthier.core.files.tables import check_table_path, write_table
from luthier.core.files.written import Written
from luthier.core.html import Shown
from luthier.core.params import checked
from luthier.core.tasks import Engine
from luthier.jobs.opening import AnyPath, cores


@dataclasses.dataclass(frozen=True, eq=False)
class Aligned(Shown):
    """A parallel text with its links.

    Attributes
    ----------
    alignment : Alignment
        Both directions, the scores of each pair, and the model that can align other text.
    links : Links
        One alignment from the two; ``links[0]`` is ``[(0, 0), (1, 2), …]``.
    summary : Summary
        The same in numbers.
    files : names of the files that were written
    """

    alignment: Alignment
    links: Links
    summary: Summary
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the links."""
        return {**dataclasses.asdict(self.summary), "files": list(self.files)}


@checked
def align(
    source: Side,
    target: Side,
    method: str | Aligner | None = None,
    *,
    symmetrize: str = DEFAULT_WAY,
    output: AnyPath | None = None,
    scores: AnyPath | None = None,
    train: AnyPath | None = None,
    apply: AnyPath | None = None,
    max_words: int = MAX_WORDS,
    threads: int | None = None,
    engine: Engine | None = None,
    **parameters: Any,
) -> Aligned:
    """Align the words of a parallel text, by an aligner trained on it or by a kept model.

    Parameters
    ----------
    source, target
        Files, one sentence per line, or sentences; words are separated by white space.
    method
        ``model1``, ``diagonal`` (the default), ``hmm`` or ``fertility``, and its `parameters`; or an aligner.
    symmetrize
        How one alignment is made from both directions, such as ``intersect``.
    output, scores, train
        Files to write: links, log-probabilities of each pair (.tsv, .json, .arrow), the model.
    apply
        A kept model to align with; nothing is learned.
    max_words
        Pairs with more words on a side, or an empty side, are left out: they get no links.
    engine
        Who runs chains, or passes over parts of the text, in place of threads (`luthier.core.tasks`).

    Examples
    --------
    >>> done = align(["a b", "b", "a"], ["x y", "y", "x"], "model1")
    >>> [done.links[k] for k in range(3)]
    [[(0, 0), (1, 1)], [(0, 0)], [(0, 0)]]
    """
    if apply is not None and (method is not None or parameters):
        raise LuthierError("a kept model (`apply`) has its method and options: leave those out")
    if engine is not None and apply is not None:
        raise LuthierError("a kept model is applied by this machine alone. hint: leave out `cluster`")
    if train is not None and apply is not None:
        raise LuthierError("a kept model is not trained again. hint: leave out `train`, or `apply`")
    if isinstance(method, Aligner) and parameters:
        raise LuthierError(f"expected parameters inside the aligner that was given, found {', '.join(parameters)}")
    files = tuple(str(path) for path in (output, scores, train) if path is not None)
    inputs = [side for side in (source, target, apply) if isinstance(side, str | os.PathLike)]
    _check(files, output, train, scores, inputs)
    n_threads = cores(threads)
    if apply is not None:
        alignment = apply_model(open_model(apply), source, target, max_words=max_words, threads=n_threads)
    else:
        chosen = method if isinstance(method, Aligner) else aligner(method or DEFAULT, **parameters)
        bitext = read_bitext(source, target, max_words=max_words)
        alignment = align_bitext(bitext, chosen, threads=n_threads, engine=engine)
    links = alignment.symmetrized(symmetrize)
    written = Written()
    if output is not None:
        with written.answer(output):
            write_links(links, output)
    if train is not None:
        with written.answer(train):
            save_model(alignment.model, train)
    if scores is not None:
        columns = {"forward": alignment.scores[:, 0], "backward": alignment.scores[:, 1]}
        with written.answer(scores):
            write_table(scores, columns, {"method": alignment.model.method.spec})
    written.check()
    return Aligned(alignment, links, summarize(alignment, links, symmetrize), files)


def _check(
    files: Sequence[str],
    output: AnyPath | None,
    train: AnyPath | None,
    scores: AnyPath | None,
    inputs: Sequence[AnyPath],
) -> None:
    """Raise before any work if what is wanted cannot be written."""
    check_distinct(*files)
    for path in (output, train):
        if path is not None:
            check_writable(path)
    if scores is not None:
        check_table_path(scores)
    for written in files:
        check_apart(written, *inputs)


def join_files(forward: str, backward: str, output: str, how: str = DEFAULT_WAY) -> LinkCounts:
    """Symmetrize two files of links made elsewhere, both source before target."""
    check_writable(output)
    check_apart(output, forward, backward)
    first, second = _two(forward, backward)
    links = join_links(first, second, how)
    write_links(links, output)
    return count_links(first, second, links, how)


def compare_files(path: str, reference: str, possible: str | None = None) -> Agreement:
    """Compare two files of links; a third may name further possible links of the reference."""
    links, sure = _two(path, reference)
    return compare_links(links, sure, None if possible is None else _two(path, possible)[1])


def _two(path: str, other: str) -> tuple[Links, Links]:
    first, second = read_links(path), read_links(other)
    if len(first) != len(second):
        raise InputError(
            expected=f"as many lines as {display_name(path)} has, {len(first)}",
            found=f"{len(second)}",
            path=display_name(other),
            hint="a pair without links has an empty line",
            kind="lines",
        )
    return first, second
