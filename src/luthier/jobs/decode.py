"""Decoding: ``luthier.decode`` opens models, translates sentences and writes what is wanted."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.files.io import STDIN, check_apart, check_distinct, check_writable, display_name, write_lines
from luthier.core.files.written import Written
from luthier.core.html import Shown
from luthier.core.params import checked, path_of, paths_of
from luthier.core.progress import notice
from luthier.corpus.lattices import read_lattices
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.decoded import Decoded, DecodingSummary
from luthier.decoding.decoder import Decoder
from luthier.decoding.forests.files import ForestWriter
from luthier.decoding.forests.hypergraph import Hypergraph
from luthier.decoding.models import weight_vector
from luthier.decoding.trace import DerivationTree, Trace, trace
from luthier.features.bins_file import read_bins
from luthier.grammar.reading import read_grammar
from luthier.jobs.opening import AnyPath, cores
from luthier.jobs.trained_model import TranslationModel
from luthier.kbest.storage.writer import format_of, write_pool
from luthier.kbest.weights import read_weights
from luthier.lm.storage import open_lm


@dataclasses.dataclass(frozen=True)
class DecodeJob:
    """What there is to decode; see `decode`. `lists` is where lists go, `text` the best translations."""

    source: str
    model: str | None = None
    grammar: str | None = None
    lms: tuple[str, ...] = ()
    weights: str | None = None
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    text: str | None = None
    lists: str | None = None
    list_format: str | None = None
    k: int | None = None
    unique: bool = False
    ordinary: bool = False
    forests: str | None = None
    links: str | None = None
    trees: str | None = None
    report: str | None = None
    trace: int | None = None
    threads: int = 1
    bins: str | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Decoding(Shown):
    """What was decoded: translations, lists and forests, None of a trace; and the same in numbers."""

    decoded: Decoded | None
    summary: DecodingSummary

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the translations."""
        return dataclasses.asdict(self.summary)


@checked
def decode(
    source: AnyPath,
    *,
    model: AnyPath | None = None,
    grammar: AnyPath | None = None,
    lm: AnyPath | Sequence[AnyPath] = (),
    weights: AnyPath | None = None,
    bins: AnyPath | None = None,
    k: int | None = None,
    unique: bool = False,
    ordinary: bool = False,
    output: AnyPath | None = None,
    format: str | None = None,  # noqa: A002 - as on the command line
    text: AnyPath | None = None,
    forests: AnyPath | None = None,
    links: AnyPath | None = None,
    trees: AnyPath | None = None,
    report: AnyPath | None = None,
    trace: int | None = None,
    threads: int | None = None,
    **limits: Any,
) -> Decoding:
    """Translate with a grammar and language models, into texts, K-best lists and forests.

    Parameters
    ----------
    source
        A file of sentences, one a line; with `grammar` also of lattices (PLF).
    model
        The folder of a trained model, in place of `grammar` and `lm`.
    weights, bins
        Files of weights by name (default: the model's, or stated ones), and of bins that features are cut into.
    k, unique
        How many hypotheses of each sentence, no two of them with the same words; `decoded.pool` has the lists.
    ordinary
        Write lists as people write, as scorers want them, where the model is one of ordinary text.
    output, format
        Where the lists go with `k`, else the best translations; and how lists are written.
    text, forests, links, trees, report
        Where the best translations, forests, word links, derivations and statistics go, too.
    trace
        Only show the chart of this sentence, from 0 on.
    limits
        Of the search, by name (``pops=200``, ``max_span=15`` …).
    """
    places = {"text": text, "forests": forests, "links": links, "trees": trees, "report": report}
    if k is None and output is not None and text is None:
        places["text"] = output
    job = DecodeJob(
        path_of(source, "a file of sentences"),
        _name(model),
        _name(grammar),
        tuple(paths_of(lm, "a language model")),
        _name(weights),
        limits,
        lists=None if k is None else _name(output),
        list_format=format,
        k=k,
        unique=unique,
        ordinary=ordinary,
        trace=trace,
        threads=cores(threads),
        bins=_name(bins),
        **{name: _name(place) for name, place in places.items()},
    )
    return _decode(job)


def _name(path: AnyPath | None) -> str | None:
    return None if path is None else path_of(path)


def _decode(job: DecodeJob) -> Decoding:
    """Decode, and write what was asked for."""
    _check(job)
    lines = read_lines(job.source)
    model = None if job.model is None else TranslationModel.open(job.model, job.weights)
    sentences = lines if model is None else model.source_lines(lines)
    if model is None and read_lattices(lines, display_name(job.source)) and job.links is not None:
        raise LuthierError("links name words by their places, and those of a lattice have none. hint: drop `links`")
    if job.trace is not None and job.trace >= len(sentences):
        raise LuthierError(f"expected a sentence from 0 to {len(sentences) - 1} to trace, found {job.trace}")
    decoder, weights = _open(job, sentences, model)
    if job.trace is not None:
        return Decoding(None, _summary(job, None, _traced(decoder, sentences, weights, job.trace)))
    written = Written()
    with contextlib.ExitStack() as stack:
        writer = _forest_writer(job.forests, decoder, sentences, weights)
        keep = None if writer is None else _Keep(stack.enter_context(writer), str(job.forests), written)
        decoded = decoder.decode(
            sentences,
            weights,
            k=job.k or 1,
            unique=job.unique,
            threads=job.threads,
            derivations=any((job.k, job.links, job.trees)),
            forests=False if keep is None else keep.add,
            sizes=job.report is not None,
        )
        if keep is not None:
            keep.finish()
    _say_limits(decoded, decoder.options)
    if model is not None and job.ordinary:
        decoded = dataclasses.replace(decoded, pool=model.ordinary(decoded.pool, lines))
    _write(job, decoder, decoded, written, decoded.texts if model is None else model.restored(decoded.texts, lines))
    return Decoding(decoded, _summary(job, decoded, None))


def _open(
    job: DecodeJob, sentences: Texts, model: TranslationModel | None
) -> tuple[Decoder, Mapping[str, float] | None]:
    """Return the decoder of a model or of single files, and the weights, None for the default ones."""
    bins = None if job.bins is None else read_bins(job.bins)
    if model is None:
        lms = [open_lm(path) for path in job.lms]
        decoder = Decoder(read_grammar(str(job.grammar)), lms, SearchOptions(**job.limits), bins=bins)
        return decoder, None if job.weights is None else read_weights(job.weights)
    search = dataclasses.replace(model.settings.search, **job.limits)
    grammar = model.grammar(sentences, threads=job.threads)
    return Decoder(grammar, model.lms, search, bins=bins), model.weights


def _forest_writer(
    folder: str | None, decoder: Decoder, sentences: Texts, weights: Mapping[str, float] | None
) -> ForestWriter | None:
    """Return what takes the forests as they come, where they are asked for."""
    if folder is None:
        return None
    table = decoder.prepare(sentences).table
    return ForestWriter(table, weight_vector(weights or decoder.default_weights(), table.names, quiet=True), folder)


class _Keep:
    """Forests on their way into a folder; after one that cannot be written no more are taken, and decoding goes on."""

    def __init__(self, writer: ForestWriter, folder: str, written: Written) -> None:
        self._writer, self._folder, self._written = writer, folder, written
        self._whole = True

    def add(self, forest: Hypergraph) -> None:
        """Take the next forest."""
        self._try(lambda: self._writer.add(forest))

    def finish(self) -> None:
        """Write the file of all forests, if all of them came."""
        self._try(self._writer.finish)

    def _try(self, work: Callable[[], None]) -> None:
        if self._whole:
            self._whole = False
            with self._written.answer(self._folder):
                work()
                self._whole = True


def _check(job: DecodeJob) -> None:
    """Raise for what is missing, out of range or contradicts itself, before anything is read."""
    SearchOptions(**job.limits)
    if (job.model is None) == (job.grammar is None):
        found = "neither" if job.model is None else "both"
        raise LuthierError(f"expected a trained model or rules, found {found}. hint: give one of `model` and `grammar`")
    if job.model is not None and job.lms:
        raise LuthierError("expected a trained model alone, found language models too. hint: it has its own; drop `lm`")
    if job.ordinary and (job.k is None or job.model is None):
        raise LuthierError("lists as people write are those of a trained model. hint: give `model` and `k`")
    if job.trace is not None and job.trace < 0:
        raise LuthierError(f"expected a sentence from 0 on to trace, found {job.trace}")
    if job.k is not None and job.k < 1:
        raise LuthierError(f"expected `k` of at least 1, found {job.k}")
    if job.lists is not None:
        format_of(job.lists, job.list_format)
    check_distinct(job.text, job.lists, job.links, job.trees, job.report)
    for path in (job.text, job.lists, job.links, job.trees, job.report):
        if path is not None:
            check_writable(path)
            check_apart(
                path, *(p for p in (job.source, job.grammar, job.weights, job.bins, *job.lms) if p not in (None, STDIN))
            )


def _traced(decoder: Decoder, sentences: Texts, weights: Mapping[str, float] | None, row: int) -> Trace:
    """Decode one sentence, with the grammar it has among the others."""
    decoded = decoder.decode(sentences, weights, rows=[row], forests=True)
    forest, table = decoded.forests[0], decoded.table
    if not forest.n_nodes:
        raise LuthierError(f"expected a sentence with words to trace, found an empty one: {row}")
    vector = weight_vector(weights or decoder.default_weights(), table.names, quiet=True)
    scores = forest.edge_scores(table.rule_scores(vector), vector[table.features.n_features :])
    return trace(forest, scores, table, sentences[row], _tree(decoder, decoded, 0))


def _tree(decoder: Decoder, decoded: Decoded, row: int) -> DerivationTree:
    """Return the tree of the first hypothesis of a sentence."""
    first = decoded.firsts[row]
    return DerivationTree(decoder.grammar, decoded.table, first.rules, first.parents, first.spans)


def _write(job: DecodeJob, decoder: Decoder, decoded: Decoded, written: Written, texts: Texts) -> None:
    """Write all that the job names, the best `texts` as people write; what cannot be written costs nothing else."""
    if job.lists is not None:
        with written.answer(job.lists):
            write_pool(decoded.pool, job.lists, job.list_format)
    if job.text is not None:
        with written.answer(job.text):
            write_lines(job.text, texts)
    trees = [_tree(decoder, decoded, row) for row in range(len(decoded.texts))] if job.links or job.trees else []
    if job.links is not None:
        with written.answer(job.links):
            write_lines(job.links, (" ".join(f"{f}-{e}" for f, e in tree.links()) for tree in trees))
    if job.trees is not None:
        with written.answer(job.trees):
            write_lines(job.trees, (tree.text() for tree in trees))
    if job.report is not None:
        with written.answer(job.report):
            write_lines(job.report, _report_lines(decoded))
    written.check()


def _report_lines(decoded: Decoded) -> list[str]:
    lines = []
    for row, report in enumerate(decoded.reports):
        about = {"sentence": row, **dataclasses.asdict(report)}
        for part in ("before_models", "after_models"):
            size = about[part]
            if size is not None and not math.isfinite(size["log10_derivations"]):
                size["log10_derivations"] = None
        lines.append(json.dumps(about))
    return lines


def _say_limits(decoded: Decoded, options: SearchOptions) -> None:
    lowered = sum(0 < report.pops_of_cell < options.pops for report in decoded.reports)
    late = sum(report.out_of_time for report in decoded.reports)
    if lowered:
        notice(f"{lowered} long sentences had fewer pops a cell, to stay within the budget of {options.budget:,}")
    if late:
        notice(f"{late} sentences were out of time, and had no rules over longer spans. hint: `report` says which")


def _summary(job: DecodeJob, decoded: Decoded | None, traced: Trace | None) -> DecodingSummary:
    if decoded is None:
        return DecodingSummary(1, 0, 0, 0, 0.0, None, traced)
    reports = decoded.reports
    return DecodingSummary(
        len(reports),
        decoded.pool.n_hypotheses,
        sum(report.words for report in reports),
        sum(report.pops for report in reports),
        float(np.sum([report.seconds for report in reports])),
        job.lists or job.text,
        None,
    )
