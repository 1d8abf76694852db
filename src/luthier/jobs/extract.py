"""Rules for a text, as a job: read or open the model, look up, write."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.files.io import STDIN, check_apart, check_writable
from luthier.core.progress import notice
from luthier.corpus.lines import read_lines
from luthier.grammar.extraction.extract import Extracted, extract
from luthier.grammar.extraction.leave_one_out import extract_held_out
from luthier.grammar.extraction.options import Limits, feature_names
from luthier.grammar.grammar import Grammar
from luthier.grammar.model import FILE, Model, open_model, read_model, save_model
from luthier.grammar.storage import save_grammar
from luthier.grammar.writing import write_folder, write_grammar

PACKED = (".gz", ".zst")
TEXT_ENDINGS = (".txt", *PACKED)
HINT = "hint: give `source`, `target` and `links`, or `model`"


@dataclasses.dataclass(frozen=True)
class ExtractJob:
    """What `luthier engine extract` is asked for.

    Attributes
    ----------
    source, target, links
        The parallel text and its links; None to open a kept model.
    model
        A folder where the model is kept, or was.
    sentences
        The text to extract for; ``-`` is standard input, None only makes the model.
    output
        A folder (it ends in /), a text (.txt, .gz, .zst, or ``-``), else our own file.
    """

    source: str | None
    target: str | None
    links: str | None
    model: str | None
    sentences: str | None
    output: str | None
    limits: Limits = dataclasses.field(default_factory=Limits)
    features: tuple[str, ...] = ("log",)
    leave_one_out: bool = False
    max_words: int = 100
    threads: int = 1


def run_extraction(job: ExtractJob) -> Extracted:
    """Make or open the model, extract, and write what was asked for."""
    _check(job)
    model, left_out = _model(job)
    if job.sentences is None:
        return Extracted(job.model, model.n_pairs, left_out, None, 0, 0, None, 0, 0)
    sentences = read_lines(job.sentences)
    in_corpus = None
    if job.leave_one_out:
        grammar, in_corpus = extract_held_out(model, sentences, job.limits, features=job.features, threads=job.threads)
        if in_corpus < len(sentences):
            notice(
                f"{len(sentences) - in_corpus} of {len(sentences)} sentences are not in the corpus: nothing left out"
            )
    else:
        grammar = extract(model, sentences, job.limits, features=job.features, threads=job.threads)
    assert job.output is not None
    write_output(grammar, job.output, threads=job.threads)
    without = int(np.count_nonzero(np.diff(grammar.sentence_offsets) == 0))
    return Extracted(
        job.model, model.n_pairs, left_out, job.output, len(sentences), without, in_corpus, grammar.n_sides,
        grammar.n_rules,
    )  # fmt: skip


def write_output(grammar: Grammar, output: str, *, threads: int = 1) -> None:
    """Write a grammar as its name asks for: a folder for each sentence, one text, or our own file."""
    if _is_folder(output):
        write_folder(grammar, output, threads=threads)
    elif output == STDIN or output.endswith(TEXT_ENDINGS):
        write_grammar(grammar, output)
    else:
        save_grammar(grammar, output)


def _is_folder(output: str) -> bool:
    return output.endswith(os.sep) or Path(output).is_dir()


def _check(job: ExtractJob) -> None:
    """Raise for what is missing or contradicts itself, before anything is read."""
    texts = (job.source, job.target, job.links)
    feature_names(job.features)
    if None in texts and any(text is not None for text in texts):
        raise LuthierError(f"expected a source, a target and their links, or a kept model, found less. {HINT}")
    if job.source is None and job.model is None:
        raise LuthierError(f"expected a parallel text or a kept model, found neither. {HINT}")
    if (job.sentences is None) != (job.output is None):
        raise LuthierError(
            "expected both a text and a place for its rules, or neither, found one of them. "
            "hint: `for` names the text, -o the place"
        )
    if job.sentences is None and (job.source is None or job.model is None):
        raise LuthierError(
            "nothing to do. hint: name a text (`for`) and an output (-o), or a folder for the model (`model`)"
        )
    if job.output is not None:
        if not _is_folder(job.output):
            check_writable(job.output)
            check_apart(job.output, *(path for path in (*texts, job.sentences) if path not in (None, STDIN)))
        elif not Path(os.path.realpath(job.output)).parent.is_dir():
            raise LuthierError(f"{job.output}: cannot write here: there is no folder to make it in. hint: make it")
    if job.model is not None and job.source is not None and Path(job.model).is_file():
        raise LuthierError(f"{job.model}: cannot write here: it is a file. hint: name a folder")


def _model(job: ExtractJob) -> tuple[Model, int | None]:
    """Return the model, and how many pairs were left out where it was read now."""
    if job.source is None:
        assert job.model is not None
        model = open_model(job.model)
        if model.depth < job.limits.max_symbols:
            raise LuthierError(
                f"{Path(job.model, FILE)}: expected an index at least {job.limits.max_symbols} words deep, "
                f"found {model.depth}. hint: make the model with the same `max_symbols`"
            )
        return model, None
    assert job.target is not None
    assert job.links is not None
    model, bitext = read_model(job.source, job.target, job.links, depth=job.limits.max_symbols, max_words=job.max_words)
    if job.model is not None:
        save_model(model, job.model)
    return model, bitext.empty + bitext.long
