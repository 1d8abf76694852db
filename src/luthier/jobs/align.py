"""Word alignment as a whole job: texts or kept models in, links, scores and models out."""

from __future__ import annotations

import dataclasses

from luthier.alignment.aligner import align_bitext, apply_model
from luthier.alignment.base import Aligner
from luthier.alignment.bitext import MAX_WORDS, read_bitext
from luthier.alignment.links import Links, read_links, write_links
from luthier.alignment.model import open_model, save_model
from luthier.alignment.summary import Agreement, LinkCounts, Summary, compare_links, count_links, summarize
from luthier.alignment.symmetrize import DEFAULT_WAY, symmetrize
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import check_apart, check_distinct, check_writable, display_name
from luthier.core.files.tables import check_table_path, write_table
from luthier.core.files.written import Written


@dataclasses.dataclass(frozen=True)
class AlignJob:
    """What to align, with what, and what to write.

    Attributes
    ----------
    source, target : str
        Files of sentences, or, to `join_links`, of links.
    method : Aligner or None
        Trained on the text; None if `apply` names a model instead.
    output, scores, train : str or None
        Files to write: links; log-probabilities of each pair; the model.
    apply : str or None
        A kept model to align with.
    """

    source: str
    target: str
    method: Aligner | None = None
    output: str | None = None
    how: str = DEFAULT_WAY
    scores: str | None = None
    train: str | None = None
    apply: str | None = None
    max_words: int = MAX_WORDS
    threads: int = 2

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are written."""
        return tuple(path for path in (self.output, self.scores, self.train) if path is not None)

    def check(self) -> None:
        """Raise `LuthierError` before any work if the job cannot end well."""
        if not self.files:
            raise LuthierError(
                "nothing to write. hint: name a file of links (-o), a model (`train`) or scores (`scores`)"
            )
        if self.train is not None and self.apply is not None:
            raise LuthierError("a kept model is not trained again. hint: leave out `train`, or `apply`")
        check_distinct(*self.files)
        for path in (self.output, self.train):
            if path is not None:
                check_writable(path)
        if self.scores is not None:
            check_table_path(self.scores)
        for path in self.files:
            check_apart(path, self.source, self.target, self.apply)


def align_files(job: AlignJob) -> Summary:
    """Align two files as the job says, write what it names; nothing is written before all is computed."""
    job.check()
    if job.apply is not None:
        alignment = apply_model(
            open_model(job.apply), job.source, job.target, max_words=job.max_words, threads=job.threads
        )
    else:
        assert job.method is not None
        bitext = read_bitext(job.source, job.target, max_words=job.max_words)
        alignment = align_bitext(bitext, job.method, threads=job.threads)
    links = alignment.symmetrized(job.how)
    written = Written()
    if job.output is not None:
        with written.answer(job.output):
            write_links(links, job.output)
    if job.train is not None:
        with written.answer(job.train):
            save_model(alignment.model, job.train)
    if job.scores is not None:
        columns = {"forward": alignment.scores[:, 0], "backward": alignment.scores[:, 1]}
        with written.answer(job.scores):
            write_table(job.scores, columns, {"method": alignment.model.method.spec})
    written.check()
    return summarize(alignment, links, job.how)


def join_files(forward: str, backward: str, output: str, how: str = DEFAULT_WAY) -> LinkCounts:
    """Symmetrize two files of links made elsewhere, both source before target."""
    check_writable(output)
    check_apart(output, forward, backward)
    first, second = _two(forward, backward)
    links = symmetrize(first, second, how)
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
            expected=f"as many lines as {display_name(path)} has, {len(first)}", found=f"{len(second)}",
            path=display_name(other), hint="a pair without links has an empty line", kind="lines",
        )  # fmt: skip
    return first, second
