"""Language models: ``luthier.estimate_lm`` makes one from a text, ``luthier.perplexity`` scores a text by one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from luthier.core.files.io import check_apart, check_writable, display_name
from luthier.core.files.tables import check_table_path, write_table
from luthier.core.files.written import Written
from luthier.core.params import checked
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.jobs.opening import AnyPath
from luthier.lm.arpa import write_arpa
from luthier.lm.estimate import Estimate, EstimateOptions
from luthier.lm.estimate import estimate_lm as estimate
from luthier.lm.model import LanguageModel, Perplexity, sentence_columns
from luthier.lm.model import perplexity as perplexity_of
from luthier.lm.storage import open_lm

Sentences = AnyPath | Texts | Sequence[str]


@checked
def estimate_lm(
    text: Sentences,
    *,
    order: int = 5,
    prune: Sequence[int] = (0,),
    skip_symbols: bool = False,
    output: AnyPath | None = None,
) -> Estimate:
    """Estimate a language model, interpolated modified Kneser–Ney, and write it as ARPA where `output` says.

    Parameters
    ----------
    text
        A file of sentences, one a line, or sentences; words are separated by white space.
    order, prune
        Length of the longest n-grams; those that occur at most so often leave, a threshold for each order from 1.
    skip_symbols
        Take <s>, </s> and <unk> in the text for white space.

    Examples
    --------
    >>> estimate_lm(["a b", "a"], order=2).model.counts
    (5, 4)
    """
    options = EstimateOptions(order, tuple(prune), skip_symbols)
    if output is not None:
        check_writable(output)
        if isinstance(text, str | os.PathLike):
            check_apart(output, text)
    made = estimate(_texts(text), options, path=_name(text))
    if output is not None:
        write_arpa(made.model, output)
    return made


@checked
def perplexity(
    model: AnyPath | LanguageModel,
    text: Sentences,
    *,
    per_line: AnyPath | None = None,
    skip_symbols: bool = False,
    written: Written | None = None,
) -> Perplexity:
    """Find how well a language model expects a text.

    `model` is an ARPA file or a model, `text` a file of sentences or sentences. `per_line` is a table to write of each
    line's numbers (.tsv, .json, .arrow). That it cannot be written is an error, or known to `written` if that is given.

    Examples
    --------
    >>> from luthier import LanguageModel
    >>> model = LanguageModel.from_arpa(estimate_lm(["a b", "a"], order=2).model)
    >>> perplexity(model, ["a b", "c"]).n_unknown
    1
    """
    if per_line is not None:
        check_table_path(per_line)
        check_apart(per_line, *(path for path in (model, text) if isinstance(path, str | os.PathLike)))
    opened = model if isinstance(model, LanguageModel) else open_lm(model)
    scores = opened.score_tokens(opened.tokens(_texts(text), _name(text), skip_symbols=skip_symbols))
    result = perplexity_of(scores)
    if per_line is not None:
        about = {"model": "" if isinstance(model, LanguageModel) else display_name(model), "text": _name(text)}
        files = Written() if written is None else written
        with files.answer(per_line):
            write_table(per_line, sentence_columns(scores), {**about, **result.as_dict()})
        if written is None:
            files.check()
    return result


def _texts(text: Sentences) -> Texts:
    if isinstance(text, Texts):
        return text
    return read_lines(text) if isinstance(text, str | os.PathLike) else Texts.from_strings(list(text))


def _name(text: Sentences) -> str:
    return display_name(text) if isinstance(text, str | os.PathLike) else ""
