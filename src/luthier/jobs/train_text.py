"""Ordinary text on its way into a training: copies of all texts, as the model sees them, in its folder."""

from __future__ import annotations

import dataclasses
from importlib.metadata import version
from pathlib import Path
from typing import Any

from luthier.core.files.io import make_folder, write_lines
from luthier.core.progress import notice
from luthier.corpus.lines import read_lines
from luthier.corpus.raw_text import TextForm
from luthier.corpus.tokenizers import tokenization_warning
from luthier.jobs.loop_config import Sentences
from luthier.jobs.train_config import TrainConfig
from luthier.metrics.base import Metric

PREPARED = "prepared"


@dataclasses.dataclass(frozen=True)
class Copy:
    """A text, the name of its copy in the model's folder, and its side."""

    path: str
    name: str
    is_source: bool


def copies(config: TrainConfig, home: Path) -> tuple[TrainConfig, list[Copy]]:
    """Return the settings with the paths of all copies in place of the texts, and the copies to make."""
    found: list[Copy] = []

    def copy(path: str, name: str, *, is_source: bool) -> str:
        found.append(Copy(path, f"{PREPARED}/{name}", is_source))
        return str(home / found[-1].name)

    source = copy(config.source, "corpus.source.txt", is_source=True)
    target = copy(config.target, "corpus.target.txt", is_source=False)
    lm_text = target if config.lm_text == config.target else copy(config.lm_text, "lm.txt", is_source=False)
    parts: dict[str, Any] = {
        name: Sentences(
            copy(part.source, f"{name}.source.txt", is_source=True),
            tuple(copy(ref, f"{name}.refs.{r}.txt", is_source=False) for r, ref in enumerate(part.refs)),
        )
        for name, part in config.parts.items()
    }
    return dataclasses.replace(config, source=source, target=target, lm_text=lm_text, **parts), found


def make_copies(config: TrainConfig, wanted: list[Copy], home: Path) -> None:
    """Learn the casing of both sides; write it and all copies into the model's folder."""
    assert config.text is not None
    make_folder(home / PREPARED)
    form = TextForm.learned(config.text, read_lines(config.source), read_lines(config.target))
    for copy in wanted:
        seen = form.source_lines if copy.is_source else form.target_lines
        write_lines(home / copy.name, seen(read_lines(copy.path)))
    form.save(home)


def say_if_raw(config: TrainConfig) -> None:
    """Say so where text that is taken as it is looks like ordinary text."""
    if tokenization_warning(read_lines(config.source), read_lines(config.target)):
        notice(
            "the text looks untokenised: punctuation is glued to words. hint: a table [text] with "
            'source = "de" and target = "en" takes ordinary text in these languages'
        )


def for_text(metric: Metric) -> Metric:
    """Return a metric for ordinary text: where no tokenizer is set, it is sacrebleu's 13a."""
    if getattr(metric, "tokenizer", "") != "none":
        return metric
    return dataclasses.replace(metric, tokenizer="13a")  # type: ignore[call-arg]


def published_signature(metric: Metric, references: int) -> str:
    """Return sacrebleu's own signature of BLEU on ordinary text; "" of what it would compute otherwise."""
    if metric.name != "bleu" or type(metric)() != dataclasses.replace(metric, tokenizer="none", lowercase=False):  # type: ignore[call-arg]
        return ""
    case = "lc" if metric.lowercase else "mixed"  # type: ignore[attr-defined]
    how = f"nrefs:{references}|case:{case}|eff:no|tok:{metric.tokenizer}|smooth:exp"  # type: ignore[attr-defined]
    return f"sacrebleu: BLEU|{how}|version:{version('sacrebleu')}"
