"""Bins of a grammar or a pool, and grammars with bins, as jobs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import STDIN, check_apart, check_writable, display_name, open_bytes, open_output
from luthier.features.bins import Bins, Scope
from luthier.features.bins_file import read_bins
from luthier.features.fit_bins import BinOptions, bins_of_grammar, bins_of_grammars, bins_of_pool
from luthier.features.induction import induce_grammar
from luthier.features.rewrite_grammar import Rewriter, rewrite_grammar
from luthier.grammar.grammar import Grammar
from luthier.grammar.reader import HEAD_BYTES
from luthier.grammar.readers.cdec import Method as Cdec
from luthier.grammar.reading import AUTO, find_reader, read_grammar
from luthier.grammar.storage import is_grammar_file
from luthier.grammar.writing import whole_folder
from luthier.jobs.extract import TEXT_ENDINGS, write_output
from luthier.kbest.storage.pool_file import is_pool, open_pool


@dataclasses.dataclass(frozen=True)
class BinsJob:
    """What `luthier engine bins` is asked for; `source` is a grammar, a folder of grammars or a pool."""

    source: str
    features: tuple[str, ...]
    options: BinOptions = dataclasses.field(default_factory=BinOptions)
    scope: Scope = "local"
    by_use: bool = False


def run_bins(job: BinsJob) -> Bins:
    """Count the values of the chosen features, and cut them."""
    of_pool = is_pool(job.source)
    if not of_pool and (job.by_use or job.scope == "global"):
        option = "by_use" if job.by_use else "global"
        raise InputError(
            expected="a pool", found="no pool", path=display_name(job.source), hint=f"`{option}` is for pools only"
        )
    if of_pool:
        pool = open_pool(job.source)
        bins = bins_of_pool(pool, job.features, job.options, scope=job.scope, by_use=job.by_use)
        kind = "pool"
    elif Path(job.source).is_dir():
        grammars = (read_grammar(path) for path in _files(job.source) if _head(path))  # some sentences have no rules
        bins, kind = bins_of_grammars(grammars, job.features, job.options), "folder of grammars"
    else:
        bins, kind = bins_of_grammar(read_grammar(job.source), job.features, job.options), "grammar"
    return dataclasses.replace(bins, origin={"path": display_name(job.source), "kind": kind, **bins.origin})


def _files(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the files of a folder of grammars in a fixed order; hidden ones are none."""
    files = sorted(path for path in Path(folder).iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(expected="a folder of grammars", found="no file in it", path=display_name(folder))
    yield from files


@dataclasses.dataclass(frozen=True)
class Discretized:
    """What became of a grammar: its rules, the features that have bins, the columns of these, where it stands."""

    rules: int
    features: tuple[str, ...]
    columns: int
    output: str


def discretize(source: str, bins_path: str, output: str) -> Discretized:
    """Write a grammar, or a folder of grammars, with bins.

    Text in cdec's format is rewritten line by line in the memory of a block. Our own file, and text of other formats,
    are opened, and written as the name of the output says: our own file, or text.
    """
    bins = read_bins(bins_path)
    if Path(source).is_dir():
        rules = _discretize_folder(source, bins, output)
    else:
        check_writable(output)
        check_apart(output, source, bins_path)
        rules = _discretize_file(source, bins, output)
    return Discretized(rules, tuple(feature.feature for feature in bins.features), len(bins.names), output)


def _discretize_folder(source: str, bins: Bins, output: str) -> int:
    rewriter = Rewriter(bins)
    with whole_folder(output) as temporary:
        for path in _files(source):
            with open_output(temporary / path.name) as file:
                if _head(path):
                    rewrite_grammar(path, rewriter, file)
        rewriter.finish(display_name(source))
    return rewriter.n_rules


def _discretize_file(source: str, bins: Bins, output: str) -> int:
    as_text = output == STDIN or output.endswith(TEXT_ENDINGS)
    if as_text and (source == STDIN or _is_cdec(source)):
        rewriter = Rewriter(bins)
        with open_output(output) as file:
            rewrite_grammar(source, rewriter, file)
            rewriter.finish(display_name(source))
        return rewriter.n_rules
    grammar = _with_bins(read_grammar(source), bins, source)
    write_output(grammar, output)
    return grammar.n_rules


def _with_bins(grammar: Grammar, bins: Bins, source: str) -> Grammar:
    try:
        return induce_grammar(grammar, bins)
    except LuthierError as error:
        raise LuthierError(f"{display_name(source)}: {error}") from None


def _is_cdec(source: str) -> bool:
    return not is_grammar_file(source) and isinstance(find_reader(_head(source), AUTO, display_name(source)), Cdec)


def _head(path: str | os.PathLike[str]) -> bytes:
    """Return the first bytes of a file."""
    with open_bytes(path) as stream:
        return stream.peek(HEAD_BYTES)[:HEAD_BYTES]
