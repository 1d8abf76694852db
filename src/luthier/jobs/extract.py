"""Rules for a text: ``luthier.extract`` reads or opens a model, looks up and writes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.files.io import STDIN, check_apart, check_writable
from luthier.core.html import Shown
from luthier.core.params import checked, path_of
from luthier.core.progress import notice
from luthier.corpus.lines import read_lines
from luthier.grammar.extraction.extract import Extracted
from luthier.grammar.extraction.extract import extract as extract_rules
from luthier.grammar.extraction.leave_one_out import extract_held_out
from luthier.grammar.extraction.options import Limits, feature_names
from luthier.grammar.grammar import Grammar
from luthier.grammar.model import FILE, Model, open_model, read_model, save_model
from luthier.grammar.storage import save_grammar
from luthier.grammar.writing import write_folder, write_grammar
from luthier.jobs.opening import AnyPath, cores

PACKED = (".gz", ".zst")
TEXT_ENDINGS = (".txt", *PACKED)
HINT = "hint: give `source`, `target` and `links`, or `model`"


@dataclasses.dataclass(frozen=True)
class ExtractJob:
    """What there is to extract; see `extract`."""

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


@dataclasses.dataclass(frozen=True, eq=False)
class Extraction(Shown):
    """The rules for a text, None if only a model was made, and the same in numbers."""

    grammar: Grammar | None
    summary: Extracted

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the rules."""
        return dataclasses.asdict(self.summary)


@checked
def extract(
    sentences: AnyPath | None = None,
    *,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
    links: AnyPath | None = None,
    model: AnyPath | None = None,
    output: AnyPath | None = None,
    features: str | Sequence[str] = "log",
    leave_one_out: bool = False,
    max_words: int = 100,
    threads: int | None = None,
    **limits: Any,
) -> Extraction:
    """Extract translation rules for a text from a parallel text and its word links.

    Parameters
    ----------
    sentences
        The text to extract for, a file; None only makes the model.
    source, target, links
        The parallel text and its links, files; None to open a kept model.
    model
        A folder where the indexed text is kept, or was.
    output
        Where rules go: a folder (it ends in /), a text (.txt, .gz, .zst), else our own file.
    features
        Kinds: ``log``, ``raw``, ``counts``, ``all``.
    leave_one_out
        Of sentences of the corpus: as if their pairs were not in it.
    max_words
        Longer pairs are left out.
    limits
        Of rules, by name (``max_span=15``, ``max_symbols=5`` …).
    """
    kinds = features.split(",") if isinstance(features, str) else list(features)
    job = ExtractJob(
        _name(source),
        _name(target),
        _name(links),
        _name(model),
        _name(sentences),
        _name(output),
        Limits(**limits),
        tuple(kinds),
        leave_one_out,
        max_words,
        cores(threads),
    )
    _check(job)
    made, left_out = _model(job)
    if job.sentences is None:
        return Extraction(None, Extracted(job.model, made.n_pairs, left_out, None, 0, 0, None, 0, 0))
    texts, in_corpus = read_lines(job.sentences), None
    if leave_one_out:
        grammar, in_corpus = extract_held_out(made, texts, job.limits, features=job.features, threads=job.threads)
        if in_corpus < len(texts):
            notice(f"{len(texts) - in_corpus} of {len(texts)} sentences are not in the corpus: nothing left out")
    else:
        grammar = extract_rules(made, texts, job.limits, features=job.features, threads=job.threads)
    if job.output is not None:
        write_output(grammar, job.output, threads=job.threads)
    without = int(np.count_nonzero(np.diff(grammar.sentence_offsets) == 0))
    summary = Extracted(
        job.model, made.n_pairs, left_out, job.output, len(texts), without, in_corpus, grammar.n_sides, grammar.n_rules
    )
    return Extraction(grammar, summary)


def _name(path: AnyPath | None) -> str | None:
    return None if path is None else path_of(path)


def write_output(grammar: Grammar, output: str, *, threads: int = 1) -> None:
    """Write a grammar as its name says: a folder for each sentence, one text, or our own file."""
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
    if job.sentences is None and job.output is not None:
        raise LuthierError("expected a text for the rules to go there, found none. hint: `for` names the text")
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
